/*
 * cab.c - cache-friendly asymmetric buffering as published: Ha, Arnold, Blackburn,
 * McKinley, OOPSLA 2009, figure 3.
 *
 * The producer tests the place it is about to write: CLEAR is free, MAGIC the ring's
 * end. The consumer stays two chunks behind, tells by one word that a chunk is full,
 * and clears what it has processed. CLEAR and MAGIC cannot be events. Where the
 * paper sleeps this spins: either side has a CPU of its own here.
 */
#include "contender.h"

#include <stdlib.h>
#include <string.h>

#define CLEAR 0ull
#define MAGIC (~0ull)
#define LINE 8				/* words */

struct ring {
	APART uint64_t *bufptr;		/* producer; in memory */
	APART uint64_t *buffer;		/* constant, as all below but `over` */
	size_t words, chunk_words;
	APART uint64_t over;		/* 1: no more events, flush */
};

static __thread struct ring *mine;

static void unmake(void *p)
{
	struct ring *r = p;

	if (r->buffer)
		munmap(r->buffer, (r->words + 1) * 8);
	free(r);
}

/* The mark stands behind the last word. */
static void *make(size_t ring_bytes, size_t chunk_bytes)
{
	struct ring *r = aligned_alloc(128, sizeof(*r));

	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->words = ring_bytes / 8;
	r->chunk_words = chunk_bytes / 8;
	r->buffer = map_pages((r->words + 1) * 8);
	if (!r->buffer) {
		unmake(r);
		return NULL;
	}
	r->buffer[r->words] = MAGIC;
	r->bufptr = r->buffer;
	return r;
}

static void enter(void *p)
{
	mine = p;
}

static uint64_t look(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* Back off: there are two free chunks when this returns. */
static __attribute__((noinline)) void block(struct ring *r, const uint64_t *at)
{
	size_t i = ((size_t)(at - r->buffer) + 2 * r->chunk_words) % r->words;

	while (look(&r->buffer[i]) != CLEAR || look(at) != CLEAR)
		relax();
}

static inline uint64_t *find_room(struct ring *r, uint64_t *at)
{
	while (__builtin_expect(look(at) != CLEAR, 0)) {
		if (look(at) == MAGIC)
			at = r->buffer;
		if (look(at) != CLEAR)
			block(r, at);
	}
	return at;
}

static inline uint64_t *step(struct ring *r, uint64_t *at, uint64_t word)
{
	at = find_room(r, at);
	store_release(at, word);
	return at + 1;
}

static void put_register(void *p, uint64_t n)
{
	struct ring *r = p;
	uint64_t *at = r->bufptr, i = 1;

	for (; i + 3 <= n; i += 4) {
		at = step(r, at, i);
		at = step(r, at, i + 1);
		at = step(r, at, i + 2);
		at = step(r, at, i + 3);
	}
	for (; i <= n; i++)
		at = step(r, at, i);
	r->bufptr = at;
}

CALLED static void put(uint64_t word)
{
	struct ring *r = mine;

	r->bufptr = step(r, r->bufptr, word);
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

typedef uint64_t pair __attribute__((vector_size(16)));

/* Each word by one store. A memset(), or one string instruction, may store to a word twice,
 * and the producer, who may follow at once, have put a word there in between: it would be
 * gone (seen on a Granite Rapids: three words in two thousand runs of a million). */
static void clear(uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i += 2)
		*(volatile pair *)(words + i) = (pair){ CLEAR, CLEAR };
}

/* Clear each line right after it was processed. */
static void consume_chunk(struct eater *e, uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i += 8 * LINE) {
		eat_all(e, words + i, 8 * LINE);
		clear(words + i, 8 * LINE);
	}
}

/* What is in the ring when the producer has ended: at most all of it. */
static void consume_rest(struct ring *r, struct eater *e, size_t at, uint64_t n)
{
	while (e->n < n) {
		eat(e, r->buffer[at]);
		r->buffer[at] = CLEAR;
		at = (at + 1) % r->words;
	}
}

static void take(void *p, struct eater *e, uint64_t n)
{
	struct ring *r = p;
	size_t at = 0;

	for (;;) {
		const uint64_t *ahead = &r->buffer[(at + 2 * r->chunk_words) % r->words];

		while (load_acquire(ahead) == CLEAR) {
			if (load_acquire(&r->over)) {
				consume_rest(r, e, at, n);
				return;
			}
			relax();
		}
		consume_chunk(e, r->buffer + at, r->chunk_words);
		at = (at + r->chunk_words) % r->words;
	}
}

const struct contender contender_cab = {
	"channel.cab", make, unmake, enter, put_register, put_memory, leave, take,
};
