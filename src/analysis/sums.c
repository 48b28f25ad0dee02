/*
 * sums.c - how rows show the sums over calls.
 */
#include "analysis/sums.h"
#include "analysis/callers.h"

#include <stdlib.h>

int fl_state_open(void **state, size_t bytes, const struct flick_view *view, const char *arg)
{
	const struct flick_view **made = arg ? NULL : calloc(1, bytes);

	if (!made)
		return arg ? -EINVAL : -ENOMEM;
	*made = view;
	*state = made;
	return 0;
}

/* How many calls each of the function's calls stands for. */
static double scale_of(const struct fl_told *t)
{
	if (!(t->view->flags & FLICK_VIEW_WINDOWS) || !t->sums->calls ||
	    t->function >= t->view->n_functions)
		return 1;
	return t->view->scales[t->function] * (double)t->sums->weight /
	       (double)t->sums->calls;
}

uint64_t fl_told_calls(const struct fl_told *t, uint64_t n)
{
	return (uint64_t)((double)n * scale_of(t) + 0.5);
}

uint64_t fl_told_ns(const struct fl_told *t, uint64_t ticks)
{
	const struct fl_sums *s = t->sums;
	bool windows = t->view->flags & FLICK_VIEW_WINDOWS;

	if (s->calls == s->unknown - s->open || (windows && s->unknown > s->calls / 2))
		return FLICK_NONE;
	return (uint64_t)((double)ticks * scale_of(t) * t->view->ns_per_tick + 0.5);
}

uint64_t fl_told_raw_ns(const struct fl_told *t, uint64_t ticks)
{
	return t->view->flags & FLICK_VIEW_WINDOWS ? FLICK_NONE : fl_told_ns(t, ticks);
}

uint64_t fl_told_total_ns(const struct fl_told *t, uint64_t ticks)
{
	return fl_run_recurses(t->view, t->function) ? FLICK_NONE : fl_told_ns(t, ticks);
}

/* The average over the calls that ended; in windows over all calls. */
static uint64_t average_ns(const struct fl_told *t, uint64_t ticks)
{
	const bool windows = t->view->flags & FLICK_VIEW_WINDOWS;
	const uint64_t of = t->sums->calls - (windows ? 0 : t->sums->unknown);

	return !of || fl_told_ns(t, ticks) == FLICK_NONE ? FLICK_NONE :
	       (uint64_t)((double)ticks * t->view->ns_per_tick / (double)of + 0.5);
}

uint64_t *fl_told_row(const struct fl_told *t, uint64_t total, uint64_t raw_total,
		      uint64_t *cell)
{
	const struct fl_sums *s = t->sums;

	*cell++ = t->function == FLICK_NO_FUNCTION ? FLICK_NONE : t->function;
	*cell++ = fl_told_calls(t, s->calls);
	*cell++ = fl_told_total_ns(t, total);
	*cell++ = fl_told_ns(t, s->self);
	*cell++ = average_ns(t, s->total - s->open_total);
	*cell++ = fl_told_calls(t, s->unknown);
	*cell++ = fl_told_calls(t, s->unsure);
	*cell++ = fl_told_raw_ns(t, raw_total);
	*cell++ = fl_told_raw_ns(t, s->raw_self);
	*cell++ = average_ns(t, s->raw_total - s->open_raw);
	*cell++ = s->open;
	return cell;
}
