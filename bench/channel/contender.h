/*
 * contender.h - what every ring under comparison offers, and what eats its words.
 *
 * Words are 1, 2, 3, ... of 64 bits. Each ring has its producer in two forms: its
 * pointer in a register, in a loop of four puts, and in the thread's memory, in a
 * function that is called for each word, as a probe's routine is. Both loops are the
 * same in every file but for the put itself. Every word that arrives is checked, in
 * every run.
 */
#ifndef CONTENDER_H
#define CONTENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define APART	__attribute__((aligned(128)))	/* a pair of lines is fetched at a time */
#define CALLED	__attribute__((noipa, aligned(64)))

struct eater;

struct contender {
	const char *name;		/* of the result; the other form is name.tls */
	/* A ring of that many bytes, in chunks where it has chunks. NULL: no memory. */
	void *(*make)(size_t ring_bytes, size_t chunk_bytes);
	void (*unmake)(void *);
	/* The producer: before it, `n` words in either form, after it. */
	void (*enter)(void *);
	void (*put_register)(void *, uint64_t n);
	void (*put_memory)(uint64_t n);
	void (*leave)(void *);
	/* The consumer: until it has eaten `n` words. */
	void (*take)(void *, struct eater *, uint64_t n);
};

extern const struct contender contender_flick, contender_cab, contender_nway,
	contender_fastforward, contender_spsc, contender_ck_ring;

/* Ticks a word of what is no ring, see floor.c; negative without memory. The size is a
 * power of two. */
double floor_once(size_t ring_bytes, uint64_t n);

/* What has arrived. `wrong` stays 0 while word i is i + 1. */
struct eater {
	uint64_t n, sum, wrong;
};

static inline void eat(struct eater *e, uint64_t word)
{
	e->wrong |= word ^ ++e->n;
	e->sum += word;
}

/* The same for many; compiled to be faster than any ring. */
void eat_all(struct eater *e, const uint64_t *words, size_t n);

static inline void relax(void)
{
	__builtin_ia32_pause();
}

static inline void *map_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline uint64_t load_acquire(const uint64_t *p)
{
	/* ordering: none to name, each ring says what it waits for */
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void store_release(uint64_t *p, uint64_t v)
{
	/* ordering: none to name, as above */
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

#endif
