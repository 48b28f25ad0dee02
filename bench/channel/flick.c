/*
 * flick.c - the ring of flick/channel.h, exhaustive.
 */
#include "contender.h"

#include <flick/channel.h>
#include <stdlib.h>

struct ring {
	struct flick_channel *c;
	struct flick_consumer *k;
	void *memory;
	size_t bytes;
};

static __thread struct flick_channel *mine;

static void unmake(void *p)
{
	struct ring *r = p;

	if (r->memory)
		munmap(r->memory, r->bytes);
	free(r->k);
	free(r);
}

static void *make(size_t ring_bytes, size_t chunk_bytes)
{
	struct flick_channel_opt o = {
		.size = sizeof(o), .chunk_bytes = (uint32_t)chunk_bytes,
		.chunks = (uint32_t)(ring_bytes / chunk_bytes),
	};
	struct ring *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->bytes = flick_channel_bytes(&o);
	r->memory = map_pages(r->bytes);
	r->k = malloc(sizeof(*r->k));
	if (r->memory && r->k && !flick_channel_init(r->memory, r->bytes, &o, &r->c))
		return r;
	unmake(r);
	return NULL;
}

static void enter(void *p)
{
	struct ring *r = p;

	if (flick_channel_produce(r->c))
		abort();
	mine = r->c;
}

static void put_register(void *p, uint64_t n)
{
	struct flick_channel *c = ((struct ring *)p)->c;
	struct flick_cursor at = flick_channel_begin(c);
	uint64_t i = 1;

	for (; i + 3 <= n; i += 4) {
		flick_cursor_put64(c, &at, i);
		flick_cursor_put64(c, &at, i + 1);
		flick_cursor_put64(c, &at, i + 2);
		flick_cursor_put64(c, &at, i + 3);
	}
	for (; i <= n; i++)
		flick_cursor_put64(c, &at, i);
	flick_channel_finish(c, &at);
}

CALLED static void put(uint64_t word)
{
	flick_channel_put64(mine, word);
}

static void put_memory(uint64_t n)
{
	for (uint64_t i = 1; i <= n; i++)
		put(i);
}

static void leave(void *p)
{
	flick_channel_end(((struct ring *)p)->c);
}

static void take(void *p, struct eater *e, uint64_t n)
{
	struct ring *r = p;
	struct flick_batch b;
	int got;

	(void)n;				/* the ring knows its end */
	if (flick_channel_consume(r->k, r->c))
		abort();
	while ((got = flick_channel_take(r->k, &b)) != FLICK_TAKE_END) {
		if (got == FLICK_TAKE_BATCH)
			eat_all(e, b.words, b.n);
		else
			relax();
	}
	flick_channel_leave(r->k);
}

const struct contender contender_flick = {
	"channel.flick", make, unmake, enter, put_register, put_memory, leave, take,
};
