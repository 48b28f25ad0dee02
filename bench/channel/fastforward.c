/*
 * fastforward.c - FastForward: Giacomoni, Moseley, Vachharajani, PPoPP 2008.
 *
 * A place that holds NULL is free; each side has its index to itself. Temporal
 * slipping keeps the consumer some lines behind: when it finds itself near, it waits
 * until the place SLIP words ahead is written.
 */
#include "contender.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY 0ull
#define SLIP 512			/* words: eight lines or more are on their way */

struct ring {
	APART uint64_t head;		/* producer; in memory */
	APART uint64_t *words;		/* constant */
	uint64_t mask;
	APART uint64_t over;		/* 1: no more words, do not slip */
};

static __thread struct ring *mine;

static void unmake(void *p)
{
	struct ring *r = p;

	if (r->words)
		munmap(r->words, (r->mask + 1) * 8);
	free(r);
}

static void *make(size_t ring_bytes, size_t chunk_bytes)
{
	struct ring *r = aligned_alloc(128, sizeof(*r));

	(void)chunk_bytes;
	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->mask = ring_bytes / 8 - 1;
	r->words = map_pages(ring_bytes);
	if (r->words)
		return r;
	unmake(r);
	return NULL;
}

static void enter(void *p)
{
	mine = p;
}

static inline uint64_t enqueue(struct ring *r, uint64_t head, uint64_t word)
{
	while (__builtin_expect(load_acquire(&r->words[head]) != EMPTY, 0))
		relax();
	store_release(&r->words[head], word);
	return (head + 1) & r->mask;
}

static void put_register(void *p, uint64_t n)
{
	struct ring *r = p;
	uint64_t head = r->head, i = 1;

	for (; i + 3 <= n; i += 4) {
		head = enqueue(r, head, i);
		head = enqueue(r, head, i + 1);
		head = enqueue(r, head, i + 2);
		head = enqueue(r, head, i + 3);
	}
	for (; i <= n; i++)
		head = enqueue(r, head, i);
	r->head = head;
}

CALLED static void put(uint64_t word)
{
	struct ring *r = mine;

	r->head = enqueue(r, r->head, word);
}

static void put_memory(uint64_t n)
{
	for (uint64_t i = 1; i <= n; i++)
		put(i);
}

static void leave(void *p)
{
	store_release(&((struct ring *)p)->over, 1);
}

/* Wait for the slip when the next line is not there. */
static void keep_slip(const struct ring *r, uint64_t tail)
{
	if (load_acquire(&r->words[(tail + SLIP / 8) & r->mask]) != EMPTY)
		return;
	while (load_acquire(&r->words[(tail + SLIP) & r->mask]) == EMPTY &&
	       !load_acquire(&r->over))
		relax();
}

static void take(void *p, struct eater *e, uint64_t n)
{
	struct ring *r = p;
	uint64_t tail = 0, word;

	while (e->n < n) {
		if (tail % (SLIP / 8) == 0)
			keep_slip(r, tail);
		while ((word = load_acquire(&r->words[tail])) == EMPTY)
			relax();
		store_release(&r->words[tail], EMPTY);
		eat(e, word);
		tail = (tail + 1) & r->mask;
	}
}

const struct contender contender_fastforward = {
	"channel.fastforward", make, unmake, enter, put_register, put_memory, leave, take,
};
