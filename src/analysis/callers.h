/*
 * callers.h - who called, told by the place a call was made from. Private.
 *
 * A window shows a call whose caller began before it. Where the call returns to
 * says who that was, if it is known whose code is there.
 */
#ifndef FL_ANALYSIS_CALLERS_H
#define FL_ANALYSIS_CALLERS_H

#include "analysis/analysis.h"

struct fl_callers;

int fl_callers_open(struct fl_callers **, const struct fl_view *);
/* The number of the place from which `probe` was entered that returns to `ret`;
 * 0: none, or no memory. */
uint32_t fl_callers_place(struct fl_callers *, uint32_t probe, uint64_t ret);
/* Can the place alone tell who called? */
bool fl_callers_tells(const struct fl_callers *, uint32_t place);
/* A call from there was seen to be made by `function`. */
void fl_callers_learn(struct fl_callers *, uint32_t place, uint32_t function);
/* Who calls from there, or FLICK_NO_FUNCTION. */
uint32_t fl_callers_of(const struct fl_callers *, uint32_t place);
/* The number in `into` of a place of another, with what is known of it. */
uint32_t fl_callers_adopt(struct fl_callers *into, const struct fl_callers *from,
			  uint32_t place);
void fl_callers_close(struct fl_callers *);	/* NULL is fine */

/* What stands in for a caller until rows are made: the place of the call. */
#define FL_PLACE 0x80000000u

static inline bool fl_is_place(uint32_t function)
{
	return function >= FL_PLACE && function != FLICK_NO_FUNCTION;
}

/* In windows: did a call of it lie in another? */
bool fl_run_recurses(const struct flick_view *, uint32_t function);
/* The same stand-in after merging, where `function` is one (run.c). */
uint32_t fl_run_renamed(const struct flick_view *from, uint32_t function);

#endif
