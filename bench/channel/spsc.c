/*
 * spsc.c - a queue with cached indices, as the well-known ones of C++ have it.
 *
 * Either side keeps a copy of the other's index and looks at the real one only when
 * the copy says full or empty. Every word is published at once.
 */
#include "contender.h"

#include <stdlib.h>
#include <string.h>

struct ring {
	APART uint64_t written;		/* W producer, R consumer */
	APART uint64_t seen_read;	/* producer's copy of `read` */
	APART uint64_t read;		/* W consumer, R producer */
	APART uint64_t *words;		/* constant */
	uint64_t mask;
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

static __attribute__((noinline)) uint64_t wait_room(const struct ring *r, uint64_t written)
{
	uint64_t read;

	while (written - (read = load_acquire(&r->read)) > r->mask)
		relax();
	return read;
}

/* What the compiler keeps in registers. */
struct place {
	uint64_t written, seen, mask, *words;
};

static inline void step(struct ring *r, struct place *p, uint64_t word)
{
	if (__builtin_expect(p->written - p->seen > p->mask, 0))
		p->seen = wait_room(r, p->written);
	p->words[p->written & p->mask] = word;
	store_release(&r->written, ++p->written);
}

static void put_register(void *ring, uint64_t n)
{
	struct ring *r = ring;
	struct place p = { r->written, r->seen_read, r->mask, r->words };
	uint64_t i = 1;

	for (; i + 3 <= n; i += 4) {
		step(r, &p, i);
		step(r, &p, i + 1);
		step(r, &p, i + 2);
		step(r, &p, i + 3);
	}
	for (; i <= n; i++)
		step(r, &p, i);
	r->seen_read = p.seen;
}

CALLED static void put(uint64_t word)
{
	struct ring *r = mine;
	uint64_t written = r->written;

	if (__builtin_expect(written - r->seen_read > r->mask, 0))
		r->seen_read = wait_room(r, written);
	r->words[written & r->mask] = word;
	store_release(&r->written, written + 1);
}

static void put_memory(uint64_t n)
{
	for (uint64_t i = 1; i <= n; i++)
		put(i);
}

static void leave(void *p)
{
	(void)p;
}

static void take(void *p, struct eater *e, uint64_t n)
{
	struct ring *r = p;
	uint64_t read = 0, seen = 0;

	while (e->n < n) {
		while (read == seen) {
			seen = load_acquire(&r->written);
			if (read == seen)
				relax();
		}
		eat(e, r->words[read & r->mask]);
		store_release(&r->read, ++read);
	}
}

const struct contender contender_spsc = {
	"peer.spsc", make, unmake, enter, put_register, put_memory, leave, take,
};
