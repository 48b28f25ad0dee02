/*
 * ck-ring.c - Concurrency Kit's ring of pointers, one producer and one consumer.
 *
 * Debian's libck-dev; without it the contender makes no ring.
 */
#include "contender.h"

#include <stdlib.h>
#include <string.h>

#if __has_include(<ck_ring.h>)
#include <ck_ring.h>

struct ring {
	APART ck_ring_t ck;
	ck_ring_buffer_t *words;
	size_t bytes;
};

static __thread struct ring *mine;

static void unmake(void *p)
{
	struct ring *r = p;

	if (r->words)
		munmap(r->words, r->bytes);
	free(r);
}

static void *make(size_t ring_bytes, size_t chunk_bytes)
{
	struct ring *r = aligned_alloc(128, sizeof(*r));

	(void)chunk_bytes;
	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->bytes = ring_bytes;
	r->words = map_pages(ring_bytes);
	if (!r->words) {
		unmake(r);
		return NULL;
	}
	ck_ring_init(&r->ck, (unsigned int)(ring_bytes / sizeof(*r->words)));
	return r;
}

static void enter(void *p)
{
	mine = p;
}

static inline void enqueue(struct ring *r, uint64_t word)
{
	while (__builtin_expect(!ck_ring_enqueue_spsc(&r->ck, r->words,
						      (void *)(uintptr_t)word), 0))
		relax();
}

static void put_register(void *p, uint64_t n)
{
	struct ring *r = p;
	uint64_t i = 1;

	for (; i + 3 <= n; i += 4) {
		enqueue(r, i);
		enqueue(r, i + 1);
		enqueue(r, i + 2);
		enqueue(r, i + 3);
	}
	for (; i <= n; i++)
		enqueue(r, i);
}

CALLED static void put(uint64_t word)
{
	enqueue(mine, word);
}

static void put_memory(uint64_t n)
{
	for (uint64_t i = 1; i <= n; i++)
		put(i);
}

static void take(void *p, struct eater *e, uint64_t n)
{
	struct ring *r = p;
	void *word;

	while (e->n < n) {
		while (!ck_ring_dequeue_spsc(&r->ck, r->words, &word))
			relax();
		eat(e, (uintptr_t)word);
	}
}
#else
static void *make(size_t ring_bytes, size_t chunk_bytes)
{
	(void)ring_bytes;
	(void)chunk_bytes;
	return NULL;
}

static void unmake(void *p) { (void)p; }
static void enter(void *p) { (void)p; }
static void put_register(void *p, uint64_t n) { (void)p; (void)n; }
static void put_memory(uint64_t n) { (void)n; }
static void take(void *p, struct eater *e, uint64_t n) { (void)p; (void)e; (void)n; }
#endif

static void leave(void *p)
{
	(void)p;
}

const struct contender contender_ck_ring = {
	"peer.ck_ring", make, unmake, enter, put_register, put_memory, leave, take,
};
