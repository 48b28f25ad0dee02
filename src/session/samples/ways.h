/*
 * ways.h - private to session/: the function that all ways to a function lead through (ways.c).
 */
#ifndef FL_WAYS_H
#define FL_WAYS_H

#include "base/base.h"

/* Who called whom, each pair once. Functions are below `n`. */
struct fl_ways {
	uint32_t n;
	struct fl_way {
		uint32_t caller, callee;	/* 1 + a function; 0: nobody */
		uint32_t of_caller, of_callee;	/* the next one of the same: 1 + its index */
	} *of;
	uint32_t n_of;
	struct fl_hash by_pair;
	uint32_t *callees, *callers;	/* index: as above; the first one, 1 + its index */
	uint32_t *number;		/* likewise: in the order that ways are left; 0: no
					 * known way leads there */
	uint32_t *above;		/* likewise: the last that all ways lead through */
};
/* 0 or -ENOMEM. close: zeros are fine. */
int fl_ways_open(struct fl_ways *, uint32_t n);
/* begin: a way begins at that function. note: `caller` has called it. */
int fl_ways_begin(struct fl_ways *, uint32_t function);
int fl_ways_note(struct fl_ways *, uint32_t function, uint32_t caller);
/* All ways are noted: find what they lead through. */
int fl_ways_find(struct fl_ways *);
/* The nearest function that all ways to one lead through; UINT32_MAX: none, or some are not
 * known. */
uint32_t fl_ways_through(const struct fl_ways *, uint32_t function);
/* Has the function that all ways lead through called this one itself, and do ways to all other
 * callers lead through this one? */
bool fl_ways_is_call(const struct fl_ways *, uint32_t function);
void fl_ways_close(struct fl_ways *);

#endif
