/*
 * nway.c - N-way buffering: N buffers go to and fro between the two sides.
 *
 * As in PiPA (Zhao, Cutcutache, Wong, CGO 2010), with a flag a buffer, on a line of
 * its own, in the place of a lock: one store hands a buffer over, one takes it back.
 */
#include "contender.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BUFFERS 64

struct ring {
	APART uint64_t *at, *end;	/* producer; in memory */
	size_t filling;
	APART uint64_t *words;		/* constant */
	size_t n, buffer_words;
	struct {
		APART uint64_t full;	/* words handed over; 0: the producer's */
	} buffer[MAX_BUFFERS];
};

static __thread struct ring *mine;

static void unmake(void *p)
{
	struct ring *r = p;

	if (r->words)
		munmap(r->words, r->n * r->buffer_words * 8);
	free(r);
}

static void *make(size_t ring_bytes, size_t chunk_bytes)
{
	struct ring *r = aligned_alloc(128, sizeof(*r));

	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->n = ring_bytes / chunk_bytes;
	r->buffer_words = chunk_bytes / 8;
	r->words = r->n <= MAX_BUFFERS ? map_pages(ring_bytes) : NULL;
	if (!r->words) {
		unmake(r);
		return NULL;
	}
	r->at = r->words;
	r->end = r->at + r->buffer_words;
	return r;
}

static void enter(void *p)
{
	mine = p;
}

static void hand_over(struct ring *r, const uint64_t *at)
{
	const uint64_t *from = r->words + r->filling * r->buffer_words;

	store_release(&r->buffer[r->filling].full, (uint64_t)(at - from));
}

/* Hand the buffer over, wait for the next one. */
static __attribute__((noinline)) uint64_t *exchange(struct ring *r, uint64_t *at)
{
	hand_over(r, at);
	r->filling = (r->filling + 1) % r->n;
	while (load_acquire(&r->buffer[r->filling].full))
		relax();
	r->at = r->words + r->filling * r->buffer_words;
	r->end = r->at + r->buffer_words;
	return r->at;
}

static inline uint64_t *step(struct ring *r, uint64_t *at, uint64_t **end, uint64_t word)
{
	if (__builtin_expect(at == *end, 0)) {
		at = exchange(r, at);
		*end = r->end;
	}
	__atomic_store_n(at, word, __ATOMIC_RELAXED);
	return at + 1;
}

static void put_register(void *p, uint64_t n)
{
	struct ring *r = p;
	uint64_t *at = r->at, *end = r->end, i = 1;

	for (; i + 3 <= n; i += 4) {
		at = step(r, at, &end, i);
		at = step(r, at, &end, i + 1);
		at = step(r, at, &end, i + 2);
		at = step(r, at, &end, i + 3);
	}
	for (; i <= n; i++)
		at = step(r, at, &end, i);
	r->at = at;
}

CALLED static void put(uint64_t word)
{
	struct ring *r = mine;
	uint64_t *at = r->at;

	if (__builtin_expect(at == r->end, 0))
		at = exchange(r, at);
	__atomic_store_n(at, word, __ATOMIC_RELAXED);
	__atomic_store_n(&r->at, at + 1, __ATOMIC_RELAXED);
}

static void put_memory(uint64_t n)
{
	for (uint64_t i = 1; i <= n; i++)
		put(i);
}

static void leave(void *p)
{
	struct ring *r = p;

	hand_over(r, r->at);
}

static void take(void *p, struct eater *e, uint64_t n)
{
	struct ring *r = p;

	for (size_t i = 0; e->n < n; i = (i + 1) % r->n) {
		uint64_t full;

		while (!(full = load_acquire(&r->buffer[i].full)))
			relax();
		eat_all(e, r->words + i * r->buffer_words, full);
		store_release(&r->buffer[i].full, 0);
	}
}

const struct contender contender_nway = {
	"channel.nway", make, unmake, enter, put_register, put_memory, leave, take,
};
