/*
 * excl.h - where in a function an exclusive monitor may be held; private to this port.
 */
#ifndef FL_A64_EXCL_H
#define FL_A64_EXCL_H

#include "decode.h"

/* Code of a function, in one or several places. */
struct a64_part {
	uintptr_t start;
	const unsigned char *code;
	uint32_t n;			/* instructions */
};

enum { A64_NOWHERE = UINT32_MAX };

/* Who may hold the monitor: a load that a store follows; one that none does; a caller, for
 * a store that is met first. */
enum a64_holder { A64_PAIRED, A64_LONELY, A64_CALLERS, A64_HOLDERS };

/* What is known of the moment before an instruction. Instructions are counted through all
 * parts. */
struct a64_point {
	uint32_t load, store;		/* the pair that it lies between; NOWHERE: none, or
					 * one of both is not in this function */
	uint32_t hoist;			/* the load, if what is done there may be done before
					 * that as well; or NOWHERE */
	uint32_t to;			/* where its branch leads, or NOWHERE */
	uint32_t open[A64_HOLDERS];	/* loads that may hold the monitor, by sort */
	uint8_t kind;			/* enum a64_kind */
	uint8_t part;			/* enum a64_part_of; W whole.c, lse.c */
	uint16_t met;			/* enum a64_met, of all ways here; W whole.c */
	bool inside;
	bool costs;			/* what it is moved to accesses memory once more */
	bool is_label;			/* a direct branch of the function leads there */
};

/* What an instruction of a pair becomes. BLIND: the function has a store whose status nobody
 * sees, so what fails cannot be counted. */
enum a64_part_of {
	A64_PART_NONE, A64_PART_LOAD, A64_PART_LOAD_BLIND, A64_PART_STORE, A64_PART_CLEAR,
	A64_PART_ATOMIC, A64_PART_DONE, A64_N_PARTS
};
/* What a way to an instruction has met last: a load of a shape (a64_shape_of(), a bit each);
 * the function's start; the store, or clrex; the kernel. */
enum a64_met { A64_MET_START = 1 << 8, A64_MET_END = 1 << 9, A64_MET_KERNEL = 1 << 10 };
/* Its size, and whether it is a pair's. */
static inline unsigned int a64_shape_of(uint32_t w)
{
	return a64_size(w) | (unsigned int)a64_is_pair(w) << 2;
}

/* Fill one point for each instruction. How many are inside a region. */
uint32_t a64_regions(const struct a64_part *, uint32_t n_parts, struct a64_point *);
/* Does `k` of `n` go on with the next one? */
bool a64_falls_on(const struct a64_point *, uint32_t n, uint32_t k);
/* whole.c: make compare-and-swap of all pairs, if all are whole. Points are as above. */
bool a64_swap_pairs(const struct a64_part *, uint32_t n_parts, struct a64_point *);
/* lse.c: make one atomic instruction of each pair that is one. */
void a64_join_pairs(const struct a64_part *, uint32_t n_parts, struct a64_point *);
/* ... and what that is, of a pair that begins there: bytes; 0: none. At most
 * FL_ARCH_PAIR_MAX. `n` words are there. *words: how many belong to the pair. */
size_t a64_put_atomic(unsigned char *out, const unsigned char *code, uint32_t n,
		      uint32_t *words);
struct fl_exclusive_code;
/* swap.c: bytes, as fl_arch_put_exclusive() has them. */
size_t a64_put_swap(unsigned char *out, struct fl_exclusive_code *);
/* Where instruction `k` stands. */
uintptr_t a64_point_at(const struct a64_part *, uint32_t k);

#endif
