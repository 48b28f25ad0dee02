/*
 * live-change.c - flick live: keys that switch functions on and off.
 *
 * A key stages and commits at once (change.h). The program answers a little later, which
 * is told in a line; until then functions are shown as they were.
 */
#include <stdlib.h>

#include "cli/live.h"

/* Switch the marked functions, or say why that cannot be. */
static void switch_marked(struct fl_live *l, const bool *marks, enum fl_stage to,
			  struct fl_live_line line)
{
	struct fl_change_sum sum;
	char why[FL_WHY] = "";

	if (fl_change_stage_marked(l->s, l, to, marks, &sum, why)) {
		snprintf(line.text, line.room, "%s", why);
	} else if (!sum.sites && sum.refused) {
		snprintf(line.text, line.room, "it cannot have a probe: %s",
			 fl_reason(load_relaxed(&l->s->sites[sum.refused_site].refusal)));
		fl_change_abort(l->s, l);
	} else if (!sum.sites) {
		snprintf(line.text, line.room, "nothing here can be switched %s",
			 to == FL_STAGE_OFF ? "off" : "on");
		fl_change_abort(l->s, l);
	} else if (fl_change_commit(l->s, l, why)) {
		snprintf(line.text, line.room, "%s", why);
		fl_change_abort(l->s, l);
	} else {
		l->n_asked = sum.functions;
		l->is_asked_on = to != FL_STAGE_OFF;
	}
}

/* Switch `n` functions that are shown, from one on: if any is on, all go off. */
static void switch_lines(struct fl_live *l, uint32_t from, uint32_t n, struct fl_live_line line)
{
	const struct fl_live_model *m = &l->model;
	bool *marks = calloc(l->s->functions.n + 1, sizeof(*marks)), any_on = false;

	for (uint32_t i = from; marks && i < from + n && i < m->n_shown; i++) {
		marks[m->order[i]] = true;
		any_on |= m->rows[m->order[i]].seen.state == FL_LIVE_ON;
	}
	if (marks)
		switch_marked(l, marks, any_on ? FL_STAGE_OFF : FL_STAGE_ON, line);
	free(marks);
}

void fl_live_switch(struct fl_live *l, enum fl_live_which which, struct fl_live_line line)
{
	if (!l->s || l->has_ended || l->model.cursor == FL_LIVE_NOBODY)
		return;
	l->model.is_moved = true;
	if (which == FL_LIVE_ALL_SHOWN)
		switch_lines(l, 0, l->model.n_shown, line);
	else
		switch_lines(l, fl_live_line(&l->model), 1, line);
}

bool fl_live_answered(struct fl_live *l, struct fl_live_line line)
{
	struct fl_change_status is = fl_change_status(l->s);

	if (is.answers == l->n_answers)
		return false;
	l->n_answers = is.answers;
	l->n_switched += is.switched;
	if (is.error)
		snprintf(line.text, line.room, "nothing has changed: %s",
			 fl_reason(is.error));
	else
		snprintf(line.text, line.room, "%u function%s %s: %u probes switched in %.0f us"
			 "%s",
			 l->n_asked, l->n_asked == 1 ? "" : "s", l->is_asked_on ? "on" : "off",
			 is.switched, (double)is.took_ticks * l->s->view.ns_per_tick / 1e3,
			 is.refused ? "; some cannot be" : "");
	return true;
}
