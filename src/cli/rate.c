/*
 * rate.c - `record --rate`: what is asked for, and what it came to.
 *
 * Hides the arithmetic between windows (probe/window.c) and estimates: what the
 * windows stand for, set against the time that the target ran, is the scale of
 * all counts; see flick_view.scale.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "cli/cli.h"

enum { AUTO_BEGINS = FL_RATE_ALL / 20 };

int fl_rate_take(struct fl_session_options *o, const char *text)
{
	char *end;
	double percent = strtod(text, &end);

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

enum fl_action fl_rate_action(const struct fl_session_options *o)
{
	for (size_t i = 0; i < o->n_analyses; i++)
		if (o->analyses[i].analysis->needs == FLICK_NEEDS_CALLS)
			return FL_ACT_WINDOW;
	return FL_ACT_TIME;
}

/* Time is CPU time without what recording cost: see probe/window.c. What windows
 * stand for, and the rest, by what a byte is known to cost by now. Since its last
 * word the target is taken to have run on one core. */
void fl_rate_measure(struct fl_session *s, uint64_t now)
{
	const struct fl_windows *w = &s->shm->windows;
	double byte_ns = (double)w->byte_cost / 65536, cost, own, stands;

	s->view.scale = 1.0 / FL_WEIGHT_ONE;
	s->n_windows = (w->published + 1) / 2;
	s->rate = w->published == 1;	/* its first window lasted to the end: all of it */
	if (!s->o->rate || w->published < 2 || !w->on_ns)
		return;
	stands = (double)w->cpu_stands_ns - byte_ns * (double)w->byte_stands;
	cost = byte_ns * (double)w->byte_stands * (double)w->on_ns / (double)w->cpu_stands_ns;
	own = (double)w->own_ns + (double)w->cost_ns - cost;
	if (now > w->own_tsc)
		own += (double)(now - w->own_tsc) * s->view.ns_per_tick;
	if (stands <= 0 || own <= 0)
		return;
	s->rate = ((double)w->on_ns - cost) / own;
	s->rate = s->rate > 1 ? 1 : s->rate;
	s->window_cost = cost / (double)w->on_ns;
	s->view.scale = own / stands / FL_WEIGHT_ONE;
}
