/*
 * recent.c - sums that looks in the middle of a run tell apart: an analysis.
 *
 * The difference of two looks is what ended between them. So flick live has the last second
 * (live-feed.c).
 */
#include <stdlib.h>

#include "session/session.h"

struct recent {
	const struct flick_view *view;
	struct recent_sum {
		uint64_t timed, ticks;
	} *of;				/* index: function */
	uint32_t n;
};

static int open_recent(void **state, const struct flick_view *view, const char *arg)
{
	struct recent *r = calloc(1, sizeof(*r));

	(void)arg;
	if (r)
		r->view = view;
	*state = r;
	return r ? 0 : -ENOMEM;
}

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct recent *r = state;
	uint64_t stands = call->weight / FLICK_WEIGHT_ONE;

	(void)mark;
	(void)caller;
	if (call->how != FLICK_ENDED)
		return 0;
	if (call->function >= r->n &&
	    fl_array_extend(&r->of, &r->n, r->view->n_functions, sizeof(*r->of)))
		return -ENOMEM;
	r->of[call->function].timed += stands;
	r->of[call->function].ticks += stands * call->total;
	return 0;
}

static int merge(void *into, void *from)
{
	struct recent *r = into, *other = from;

	if (fl_array_extend(&r->of, &r->n, other->n, sizeof(*r->of)))
		return -ENOMEM;
	for (uint32_t f = 0; f < other->n; f++) {
		r->of[f].timed += other->of[f].timed;
		r->of[f].ticks += other->of[f].ticks;
	}
	return 0;
}

static int recent_rows(void *state, struct flick_rows *rows)
{
	static const struct flick_column columns[FL_RECENT_COLUMNS] = {
		{ "function", FLICK_COL_FUNCTION }, { "timed", FLICK_COL_COUNT },
		{ "ticks", FLICK_COL_COUNT },
	};
	const struct recent *r = state;
	uint64_t *cell = malloc((r->n + 1) * FL_RECENT_COLUMNS * sizeof(*cell));

	if (!cell)
		return -ENOMEM;
	*rows = (struct flick_rows){ columns, FL_RECENT_COLUMNS, cell, 0 };
	for (uint32_t f = 0; f < r->n; f++) {
		if (!r->of[f].timed)
			continue;
		cell[FL_RECENT_FUNCTION] = f;
		cell[FL_RECENT_TIMED] = r->of[f].timed;
		cell[FL_RECENT_TICKS] = r->of[f].ticks;
		cell += FL_RECENT_COLUMNS;
		rows->n_rows++;
	}
	return 0;
}

static void close_recent(void *state)
{
	struct recent *r = state;

	free(r->of);
	free(r);
}

const struct flick_analysis fl_recent_analysis = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_SAMPLES,
	.name = "recent", .about = "sums that looks tell apart",
	.open = open_recent, .leave = leave, .merge = merge, .rows = recent_rows,
	.close = close_recent,
};
