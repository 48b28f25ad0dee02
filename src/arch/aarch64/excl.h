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
	bool inside;
	bool costs;			/* what it is moved to accesses memory once more */
	bool is_label;			/* a direct branch of the function leads there */
};

/* Fill one point for each instruction. How many are inside a region. */
uint32_t a64_regions(const struct a64_part *, uint32_t n_parts, struct a64_point *);
/* Where instruction `k` stands. */
uintptr_t a64_point_at(const struct a64_part *, uint32_t k);

#endif
