/*
 * floor.c - what no ring can do without: for each word, a store and a pointer in memory
 * that goes on. Nobody reads, and nothing is ever full.
 */
#include "bench.h"
#include "contender.h"

struct floor {
	char *ring;
	size_t bytes;
	uint64_t at;
};

static __thread struct floor *mine;

CALLED static void put(uint64_t word)
{
	struct floor *f = mine;
	uint64_t at = __atomic_load_n(&f->at, __ATOMIC_RELAXED);

	*(volatile uint64_t *)(f->ring + (at & (f->bytes - 1))) = word;
	__atomic_store_n(&f->at, at + sizeof(word), __ATOMIC_RELAXED);
}

double floor_once(size_t ring_bytes, uint64_t n)
{
	struct floor f = { .ring = map_pages(ring_bytes), .bytes = ring_bytes };
	uint64_t from = bench_ticks();

	if (!f.ring)
		return -1;
	mine = &f;
	for (uint64_t i = 1; i <= n; i++)
		put(i);
	from = bench_ticks() - from;
	munmap(f.ring, ring_bytes);
	return (double)from / (double)n;
}
