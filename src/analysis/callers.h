/*
 * callers.h - the caller of a call, told by where the call returns to; private to this folder.
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
/* Has the origin a caller that can become known? */
bool fl_callers_tells(const struct fl_callers *, uint32_t origin);
/* A call from the origin was seen to be made by `function`. */
void fl_callers_learn(struct fl_callers *, uint32_t origin, uint32_t function);
/* The function that calls from the origin, or FLICK_NO_FUNCTION. */
uint32_t fl_callers_of(const struct fl_callers *, uint32_t origin);
/* Take an origin of `from`, with all that is known of it. Returns its number in `into`. */
uint32_t fl_callers_adopt(struct fl_callers *into, const struct fl_callers *from,
			  uint32_t origin);
void fl_callers_close(struct fl_callers *);	/* NULL is fine */

/* Until rows are made an origin with this bit stands in for a caller. */
#define FL_ORIGIN 0x80000000u

static inline bool fl_is_origin(uint32_t function)
{
	return function >= FL_ORIGIN && function != FLICK_NO_FUNCTION;
}

/* ---- bodies in one machine function (nest.c) ------------------------------------------ */

struct fl_nest {
	uint64_t lo, hi;		/* the machine function */
	const unsigned char *code;	/* its bytes */
	/* The kind of the wanted site at an address, and its function; -1: no site. */
	int (*site)(const void *arg, uint64_t at, uint32_t *function);
	const void *arg;
};
/* The function of the body that `at` lies in; FLICK_NO_FUNCTION where the code does not
 * tell. */
uint32_t fl_nest_find(const struct fl_nest *, uint64_t at);

/* ---- of the run that a view is of (run.c) ------------------------------------------------ */

/* In windows: did a call of the function lie in another one of its calls? */
bool fl_run_recurses(const struct flick_view *, uint32_t function);
/* While `from` is merged into another run: the number there of an origin, or `function` as it
 * is. */
uint32_t fl_run_renamed(const struct flick_view *from, uint32_t function);

#endif
