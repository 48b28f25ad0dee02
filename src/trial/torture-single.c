/*
 * torture-single.c - one place after the other: flip, body, word, line, wide.
 *
 * READER code. Each patcher goes round its share of the places; executors are
 * always on the places that are being switched.
 */
#include <sched.h>

#include "calibrate.h"
#include "torture.h"

enum {
	BURST = 2048,			/* switches of one place in a row */
	WIDE_BURST = 2,
	LOOK_TICKS = 3000		/* to let executors see that a place is settled */
};

static enum flick_state other(enum flick_state s)
{
	return s == FLICK_ON ? FLICK_OFF : FLICK_ON;
}

static void let_look(void)
{
	uint64_t start = fl_arch_ticks();

	while (fl_arch_ticks() - start < LOOK_TICKS)
		fl_arch_pause();
	if (fl_trial_cpus() == 1)
		sched_yield();
}

/* The number of switches varies, so that both states are left behind. A switch is made
 * before all cores have seen the one before it. */
static void patch_place(struct fl_worker *w, struct fl_torture_place *p)
{
	uint64_t n = p->tactic == FL_WIDE ? WIDE_BURST : BURST;
	enum flick_state s = flick_patch_state(&p->patch);

	fl_place_loosen(p);
	for (n += fl_any(&w->seed, 2); n; n--)
		if (fl_place_switch(w, p, other(s)))
			s = other(s);
	flick_patch_barrier();
	fl_place_settle(p, s);
	let_look();
}

static void patch_share(struct fl_worker *w)
{
	do
		for (size_t i = w->first; i < w->first + w->n; i++) {
			fl_rig_show(w, i, 1);
			patch_place(w, &w->rig->places[i]);
		}
	while (!fl_rig_is_over(w->rig));
}

static void run(struct fl_rig *r, enum fl_tactic t)
{
	fl_rig_lay_tactic(r, t);
	if (!r->n) {
		r->ledger->skipped = true;
		return;
	}
	fl_rig_run(r, patch_share);
	fl_rig_release(r);
}

/* Jumps are switched as entries of second bodies are. */
void fl_torture_body(struct fl_rig *r)
{
	fl_rig_lay(r, FL_ARCH_LINE, 1u << FL_SHAPE_STUBS);
	fl_rig_run(r, patch_share);
	fl_rig_release(r);
}

void fl_torture_flip(struct fl_rig *r)
{
	run(r, FL_FLIP);
}

void fl_torture_word(struct fl_rig *r)
{
	run(r, FL_WORD);
}

void fl_torture_line(struct fl_rig *r)
{
	run(r, FL_LINE);
}

void fl_torture_wide(struct fl_rig *r)
{
	run(r, FL_WIDE);
}
