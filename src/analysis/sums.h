/*
 * sums.h - sums over calls, and how rows show them; private to this folder.
 *
 * Times are kept in ticks and become nanoseconds in rows, so the rate of ticks, which is
 * known better at the end, counts for all times.
 */
#ifndef FL_ANALYSIS_SUMS_H
#define FL_ANALYSIS_SUMS_H

#include "analysis/analysis.h"

/*
 * All fields are words of 64 bits, because fl_sums_add_up() adds them as an array.
 *
 * INVARIANT	open <= unknown <= calls; unsure <= calls.
 */
struct fl_sums {
	uint64_t calls;
	uint64_t weight;		/* what the calls stand for: see flick_view.scales */
	uint64_t unknown;		/* of the calls: those without a known end */
	uint64_t open;			/* of `unknown`: those alive at the end, with a time */
	uint64_t unsure;		/* of the calls: those that may not belong here */
	uint64_t total, self;		/* ticks, of the calls whose time is known */
	uint64_t raw_total, raw_self;	/* likewise, with what probes took */
	uint64_t outer, raw_outer;	/* of the totals: those of calls in no other call of
					 * their function */
	uint64_t open_total, open_raw;	/* of the totals: those of calls alive at the end */
};

/* Add a call that is over. */
static inline void fl_sums_add(struct fl_sums *s, const struct flick_call *call)
{
	if (call->flags & FL_CALL_BEHIND) {
		s->outer += call->inside;
		s->raw_outer += call->inside;
		return;
	}
	s->calls++;
	s->weight += call->weight;
	s->unknown += call->how != FLICK_ENDED;
	s->total += call->total;
	s->self += call->self;
	s->raw_total += call->raw_total;
	s->raw_self += call->raw_self;
	if (!(call->flags & FLICK_CALL_NESTED)) {
		s->outer += call->total + call->inside;
		s->raw_outer += call->raw_total + call->inside;
	}
	if (call->flags & FLICK_CALL_ALIVE) {
		s->open++;
		s->open_total += call->total;
		s->open_raw += call->raw_total;
	}
}

/* Add the sums of other calls. */
static inline void fl_sums_add_up(struct fl_sums *to, const struct fl_sums *from)
{
	uint64_t *word = (uint64_t *)to;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*word); i++)
		word[i] += ((const uint64_t *)from)[i];
}

/* The sums of a function's calls, for its row. In windows all cells are estimates. */
struct fl_told {
	const struct flick_view *view;
	uint32_t function;
	const struct fl_sums *sums;
};

/* How many calls `n` of the calls stand for; without windows n. */
uint64_t fl_told_calls(const struct fl_told *, uint64_t n);
/* The nanoseconds for `ticks` of a sum. FLICK_NONE when no call has a time, or when windows cut
 * off most calls. total: FLICK_NONE also for a function that windows saw recurse, because
 * nobody knows how deep. raw: FLICK_NONE in windows, where most calls had no such probes. */
uint64_t fl_told_ns(const struct fl_told *, uint64_t ticks);
uint64_t fl_told_total_ns(const struct fl_told *, uint64_t ticks);
uint64_t fl_told_raw_ns(const struct fl_told *, uint64_t ticks);

/* The columns that graph and tree share, and their cells; `total` and `raw_total` are fields
 * of the sums. */
#define FL_SUM_COLUMNS \
	{ "function", FLICK_COL_FUNCTION }, \
	{ "calls", FLICK_COL_COUNT }, \
	{ "total_ns", FLICK_COL_NS }, \
	{ "self_ns", FLICK_COL_NS }, \
	{ "avg_ns", FLICK_COL_NS }, \
	{ "unknown", FLICK_COL_COUNT }, \
	{ "unsure", FLICK_COL_COUNT }, \
	{ "raw_total_ns", FLICK_COL_NS }, \
	{ "raw_self_ns", FLICK_COL_NS }, \
	{ "raw_avg_ns", FLICK_COL_NS }, \
	{ "open", FLICK_COL_COUNT }
/* Fill these cells from `cell` on. Returns the next cell. */
uint64_t *fl_told_row(const struct fl_told *, uint64_t total, uint64_t raw_total,
		      uint64_t *cell);

/* How many of `n` columns there are: the last one, `sampled`, is for windows only. */
static inline size_t fl_columns(const struct flick_view *view, size_t n)
{
	return view->flags & FLICK_VIEW_WINDOWS ? n : n - 1;
}

/* Open an analysis that takes no argument: its state is zeros behind the view. 0, -EINVAL or
 * -ENOMEM. */
int fl_state_open(void **state, size_t bytes, const struct flick_view *, const char *arg);

#endif
