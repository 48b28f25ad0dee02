/*
 * callers.h - who called, told by where a call returns to; private to this folder.
 *
 * An *origin* is one place in text that calls are made from.
 */
#ifndef FL_ANALYSIS_CALLERS_H
#define FL_ANALYSIS_CALLERS_H

#include "analysis/analysis.h"

struct fl_callers;

int fl_callers_open(struct fl_callers **, const struct fl_view *);
/* The number of the origin of a call whose entry is `probe`'s and which returns to `ret`,
 * from 1; 0: no memory. */
uint32_t fl_callers_origin(struct fl_callers *, uint32_t probe, uint64_t ret);
/* Has an origin a caller that can be known? */
bool fl_callers_tells(const struct fl_callers *, uint32_t origin);
/* A call from there was seen to be made by `function`. */
void fl_callers_learn(struct fl_callers *, uint32_t origin, uint32_t function);
/* Who calls from there, or FLICK_NO_FUNCTION. */
uint32_t fl_callers_of(const struct fl_callers *, uint32_t origin);
/* The number in `into` of an origin of another, with what is known of it. */
uint32_t fl_callers_adopt(struct fl_callers *into, const struct fl_callers *from,
			  uint32_t origin);
void fl_callers_close(struct fl_callers *);	/* NULL is fine */

/* What stands in for a caller until rows are made: the origin, with this bit. */
#define FL_ORIGIN 0x80000000u

static inline bool fl_is_origin(uint32_t function)
{
	return function >= FL_ORIGIN && function != FLICK_NO_FUNCTION;
}

/* ---- bodies in one machine function (nest.c) ------------------------------------------ */

struct fl_nest {
	uint64_t lo, hi;		/* the machine function */
	const unsigned char *code;	/* its bytes */
	/* The wanted site at an address: its kind and function; -1: none. */
	int (*site)(const void *arg, uint64_t at, uint32_t *function);
	const void *arg;
};
/* Of the body that `at` lies in: its function; FLICK_NO_FUNCTION where that cannot be
 * told. */
uint32_t fl_nest_find(const struct fl_nest *, uint64_t at);

/* ---- of the run that a view is of (run.c) ------------------------------------------------ */

/* In windows: did a call of it lie in another? */
bool fl_run_recurses(const struct flick_view *, uint32_t function);
/* The same stand-in after merging, where `function` is one. */
uint32_t fl_run_renamed(const struct flick_view *from, uint32_t function);

#endif
