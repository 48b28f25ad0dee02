/*
 * rate.c - `record --rate`: the rate that is asked for, and the rate it came to.
 *
 * The rate it came to is told to people; estimates do not need it: see analysis/scales.c.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "session/results.h"

enum { AUTO_BEGINS = FL_RATE_ALL / 20 };

int fl_rate_take(void *options, const struct fl_option *option, const char *text)
{
	struct fl_session_options *o = options;
	char *end;
	double percent = strtod(text, &end);

	(void)option;
	o->rate_text = text;
	o->rate_adapts = !strcmp(text, "auto");
	if (o->rate_adapts) {
		o->rate = AUTO_BEGINS;
		return 0;
	}
	end += *end == '%';
	if (end == text || *end || !(percent >= 0.1 && percent <= 100)) {
		fl_say("--rate takes 0.1%% to 100%%, or auto, not `%s`", text);
		return -1;
	}
	o->rate = (uint32_t)(percent * FL_RATE_ALL / 100 + 0.5);
	return 0;
}

bool fl_rate_counts_only(const struct fl_session_options *o)
{
	return fl_use_action(o->analyses, o->n_analyses, FL_ACT_TIME) == FL_ACT_COUNT;
}

/* The rate is a part of the target's CPU time. Since its last word the target is taken to have
 * run on one core. */
void fl_rate_measure(struct fl_session *s, uint64_t now)
{
	const struct fl_windows *w = &s->shared->windows;
	uint64_t published = load_relaxed(&w->published), on_ns = load_relaxed(&w->on_ns);
	uint64_t own_tsc = load_relaxed(&w->own_tsc);
	double own;

	s->n_windows = published / 2 + published % 2;
	s->rate = published == 1;	/* its first window lasted to the end: all of it */
	if (!s->o->rate || published < 2 || !on_ns)
		return;
	own = (double)load_relaxed(&w->own_ns);
	if (now > own_tsc)
		own += (double)(now - own_tsc) * s->view.ns_per_tick;
	s->rate = (double)on_ns < own ? (double)on_ns / own : 1;
}
