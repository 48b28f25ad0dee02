/*
 * subject.h - ways to switch a site, flick's and the paper's, all used alike.
 *
 * A bench opens one in a child of its own (bench_child): each has its own way
 * with traps, and one of them is known to be wrong on some processors.
 */
#ifndef SUBJECT_H
#define SUBJECT_H

#include "field.h"

/* State 1 is `call a`. State 0 is a site that is off, or `call b`. */
struct subject {
	field_place *place;
	const char *sync;	/* of flick, or NULL */
	const char *tactic;	/* which flick should choose; NULL: not flick */
	char off;		/* whom a call meets in state 0: 'b', or 0 */
	/* Take site `i`; 0, or an error of flick's. */
	int (*take)(const struct field *, size_t i);
	void (*put)(size_t i, int state);
};

extern const struct subject subject_flip, subject_word, subject_wide,
	subject_wide_wait, subject_swap;
extern const struct subject paper_callpatch, paper_wordpatch, paper_straddler,
	paper_printed, paper_callpatch_swap, paper_wordpatch_swap,
	paper_straddler_swap;
/* Both at every offset of a line; the second only starts its patches. */
extern const struct subject paper_wordpatch_dense, paper_async;
extern const struct subject paper_callpatch_split;	/* across lines only */
/* Nobody's: stores the byte that stands there, so nothing is ever changed. What
 * it costs, any way to change code costs that stores once. */
extern const struct subject floor_store;
/* Stores nothing: what remains is whoever should have. */
extern const struct subject floor_rest;
/* As floor_store across two lines; state 2 stores into the second one. */
extern const struct subject floor_wide;

/* Make a field of `n` sites, take all of them, and see both states run. NULL,
 * or why this cannot be measured here; every site is in state 1 then. */
const char *subject_open(const struct subject *, struct field *, size_t n);
/* Ticks a place that taking all of them took. */
extern double subject_take_ticks;
/* How many switches failed since. */
uint64_t subject_failures(void);
void subject_fail(void);	/* one more */
/* End what paper_async started at site `i`. */
void subject_finish(size_t i);

/* flick's patch of site `i`, for those that are flick's. */
struct flick_patch *subject_patch(size_t i);

#endif
