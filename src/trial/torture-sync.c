/*
 * torture-sync.c - does flick_patch_barrier() reach every core?
 *
 * READER code. No code is changed: stale instructions rarely show that a
 * synchronisation does nothing, because the next fetch is bound to see the store.
 *
 *	patcher					executor
 *	current = the other thing	(C)	hazard = it, lazily
 *	flick_patch_barrier()			current the same?	(D)
 *	hazard (F) is not the old one?		...
 *	then poison it				is it poisoned?
 *						hazard = none		(E)
 *
 * The executor has no fence, and its store stays in its core as long as it can:
 * (C) pairs with (D) by the patcher's synchronisation alone, which makes the
 * core give up its store, or look again. After a synchronisation that does nothing
 * the thing is poisoned in the executor's hands. (E) pairs with (F). Strategy
 * `wait` promises such synchronisation for code only, and is not held to more.
 */
#include "torture.h"

enum { ALIVE, POISON, N_THINGS = 2, KEEP_TICKS = 2048, PAUSE_TICKS = 4096 };

static struct cell {
	_Alignas(64) uint32_t current;	/* which thing; W patcher (C), R executors (D) */
	uint32_t things[N_THINGS];
	struct {
		/* 1 + which thing, 0: none; W executor (E), R patcher (F) */
		_Alignas(64) uint32_t hazard;
	} executors[FL_RIG_EXECUTORS];
} cells[FL_RIG_PATCHERS];

static void let_pass(uint64_t ticks)
{
	uint64_t start = fl_arch_ticks();

	while (fl_arch_ticks() - start < ticks)
		fl_arch_pause();
}

static bool is_held(const struct cell *c, const struct fl_rig *r, uint32_t thing)
{
	for (unsigned e = 0; e < r->n_executors; e++)
		/* (F) pairs with (E) */
		if (load_acquire(&c->executors[e].hazard) == 1 + thing)
			return true;
	return false;
}

static void replace(struct fl_worker *w, struct cell *c)
{
	uint32_t old = c->current, next = !old;

	store_relaxed(&c->things[next], ALIVE);
	store_release(&c->current, next);		/* (C) pairs with (D) */
	flick_patch_barrier();
	if (!fl_patch_sync_waits() && !is_held(c, w->rig, old))
		store_relaxed(&c->things[old], POISON);
}

static void replace_all(struct fl_worker *w)
{
	while (!fl_rig_is_over(w->rig)) {
		replace(w, &cells[w->i]);
		let_pass(fl_any(&w->seed, PAUSE_TICKS));
	}
}

static void judge(struct fl_worker *w, const struct cell *c, uint32_t thing)
{
	w->tally->old += !thing;
	w->tally->new += thing;
	if (load_relaxed(&c->things[thing]) != POISON)
		return;
	w->tally->stray++;
	fl_rig_note("a synchronisation returned before a core was synchronised");
}

static void hold_one(struct fl_worker *w)
{
	struct cell *c = &cells[fl_any(&w->seed, w->rig->n_patchers)];
	uint32_t *hazard = &c->executors[w->i].hazard;
	uint32_t thing = load_relaxed(&c->current);

	fl_store_lazily(hazard, 1 + thing);
	if (load_acquire(&c->current) == thing) {	/* (D) pairs with (C) */
		let_pass(fl_any(&w->seed, KEEP_TICKS));
		judge(w, c, thing);
	}
	store_release(hazard, 0);			/* (E) pairs with (F) */
}

void fl_torture_sync(struct fl_rig *r)
{
	r->execute = hold_one;
	fl_rig_run(r, replace_all);
}
