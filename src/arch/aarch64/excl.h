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

/* What may hold the monitor: a load that a store follows; a load that no store follows; a
 * caller's load, for a store that is met first. */
enum a64_holder { A64_PAIRED, A64_LONELY, A64_CALLERS, A64_HOLDERS };

/* What is known of the moment before an instruction. Instructions are counted through all
 * parts. */
struct a64_point {
	uint32_t load, store;		/* the pair that the moment lies between; NOWHERE: no
					 * pair, or this one is not in this function */
	uint32_t hoist;			/* the load, if what is done here may be done before
					 * the load as well; or NOWHERE */
	uint32_t to;			/* where the branch leads, or NOWHERE */
	uint32_t open[A64_HOLDERS];	/* loads that may hold the monitor, by sort */
	uint8_t kind;			/* enum a64_kind */
	uint8_t part;			/* enum a64_part_of; W whole.c, lse.c */
	uint16_t met;			/* enum a64_met, of all ways here; W whole.c */
	bool inside;
	bool costs;			/* moved, it accesses memory once more */
	bool is_label;			/* a direct branch of the function leads there */
};

/* What an instruction of a pair becomes. BLIND: the function has a store whose status nobody
 * sees, so failures cannot be counted. */
enum a64_part_of {
	A64_PART_NONE, A64_PART_LOAD, A64_PART_LOAD_BLIND, A64_PART_STORE, A64_PART_CLEAR,
	A64_PART_ATOMIC, A64_PART_DONE, A64_N_PARTS
};
/* What a way to an instruction has met last: a load of a shape (a64_shape_of(), a bit each);
 * the function's start; the store, or clrex; the kernel. */
enum a64_met { A64_MET_START = 1 << 8, A64_MET_END = 1 << 9, A64_MET_KERNEL = 1 << 10 };
/* The size of an exclusive, and whether it has two registers. */
static inline unsigned int a64_shape_of(uint32_t w)
{
	return a64_size(w) | (unsigned int)a64_is_pair(w) << 2;
}

/* Fill one point for each instruction. Returns how many are inside a region. */
uint32_t a64_regions(const struct a64_part *, uint32_t n_parts, struct a64_point *);
/* Does `k` of `n` go on with the next one? */
bool a64_falls_on(const struct a64_point *, uint32_t n, uint32_t k);
/* whole.c: make all pairs compare-and-swap, if all are whole. Points: from a64_regions(). */
bool a64_swap_pairs(const struct a64_part *, uint32_t n_parts, struct a64_point *);
/* lse.c: make one atomic instruction of each pair that does what one does. */
void a64_join_pairs(const struct a64_part *, uint32_t n_parts, struct a64_point *);
/* ... and put that instruction, for a pair that begins at `code`, where `n` words are. Returns
 * the bytes, at most FL_ARCH_PAIR_MAX; 0: there is no such pair. *words: how many belong to
 * the pair. */
size_t a64_put_atomic(unsigned char *out, const unsigned char *code, uint32_t n,
		      uint32_t *words);
struct fl_exclusive_code;
/* swap.c: what fl_arch_put_exclusive() puts for these parts. */
size_t a64_put_swap(unsigned char *out, struct fl_exclusive_code *);
/* Where instruction `k` stands. */
uintptr_t a64_point_at(const struct a64_part *, uint32_t k);

#endif
