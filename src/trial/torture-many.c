/*
 * torture-many.c - many places at once (set, async), and many threads at one
 * place (contest).
 *
 * READER code.
 *
 * async: a patcher starts places, and a finisher thread finishes them after it.
 *
 *	patcher				finisher
 *	start a place			load started	(B)
 *	started++	(A)		finish those below
 *	...				finished++	(C)
 *	wait until all (D)
 *
 * (A) pairs with (B): a place that is counted has been started.
 * (C) pairs with (D): a place that is counted has been finished.
 */
#include <sched.h>
#include <stdlib.h>

#include "torture.h"

enum {
	ALL_SHAPES = (1 << FL_N_SHAPES) - 1,
	SET_PLACES = 600,		/* of each patcher */
	TWICE_EVERY = 16,
	ASYNC_PLACES = 1500,		/* of each patcher */
	N_RIVALS = 3
};

static enum flick_state other(enum flick_state s)
{
	return s == FLICK_ON ? FLICK_OFF : FLICK_ON;
}

static struct fl_torture_place *share(const struct fl_worker *w)
{
	return &w->rig->places[w->first];
}

/* ---- set ------------------------------------------------------------------------------- */

/* Choose by chance which places to switch; `made` counts them by tactic. */
static void choose(struct fl_worker *w, struct flick_change *c, struct fl_tally *made)
{
	for (size_t i = 0; i < w->n; i++) {
		struct fl_torture_place *p = &share(w)[i];
		enum flick_state now = flick_patch_state(&p->patch);

		c[i].patch = &p->patch;
		c[i].to = fl_any(&w->seed, 4) ? other(now) : now;
		made->switched[p->tactic] += c[i].to != now;
	}
}

static void commit(struct fl_worker *w, struct flick_change *c)
{
	struct fl_tally made = { 0 };
	size_t bad = 0;
	int err;

	choose(w, c, &made);
	for (size_t i = 0; i < w->n; i++)
		fl_place_loosen(&share(w)[i]);
	err = flick_patch_commit(c, w->n, &bad);
	if (err) {
		w->tally->lost += w->n;
		fl_rig_note("a set failed at its place %zu (%d)", bad, err);
		return;
	}
	fl_tally_merge(w->tally, &made);
	for (size_t i = 0; i < w->n; i++)
		fl_place_settle(&share(w)[i], c[i].to);
}

/* A set that has a place twice is refused, and changes nothing: executors go on
 * comparing every place with its state. */
static void commit_twice(struct fl_worker *w, struct flick_change *c)
{
	size_t k = fl_any(&w->seed, w->n - 1), bad = w->n;
	int err;

	for (size_t i = 0; i < w->n; i++)
		c[i].to = other(flick_patch_state(c[i].patch));
	c[w->n - 1] = c[k];
	err = flick_patch_commit(c, w->n, &bad);
	if (err == FLICK_E_BUSY && (bad == k || bad == w->n - 1))
		return;
	w->tally->lost++;
	fl_rig_note("a set with place %zu twice: %d at %zu", k, err, bad);
}

static void patch_sets(struct fl_worker *w)
{
	struct flick_change *c = calloc(w->n, sizeof *c);

	fl_rig_show(w, w->first, w->n);
	for (unsigned i = 1; c && !fl_rig_is_over(w->rig); i++) {
		commit(w, c);
		if (i % TWICE_EVERY == 0)
			commit_twice(w, c);
	}
	free(c);
}

void fl_torture_set(struct fl_rig *r)
{
	fl_rig_lay(r, SET_PLACES * r->n_patchers, ALL_SHAPES);
	fl_rig_run(r, patch_sets);
	fl_rig_release(r);
}

/* ---- async ----------------------------------------------------------------------------- */

static struct queue {
	_Alignas(64) uint64_t started;	/* W patcher, R finisher at (B) */
	_Alignas(64) uint64_t finished;	/* W finisher, R patcher at (D) */
	uint32_t stop;
	struct fl_worker *patcher;
	struct fl_worker finisher;
} queues[FL_RIG_PATCHERS];

static void *finish_all(void *arg)
{
	struct fl_worker *w = arg;
	struct queue *q = &queues[w->i];

	while (!load_relaxed(&q->stop)) {
		/* (B) pairs with (A) */
		if (q->finished == load_acquire(&q->started)) {
			sched_yield();
			continue;
		}
		fl_place_finish(w, &share(w)[q->finished % w->n]);
		store_release(&q->finished, q->finished + 1);	/* (C) pairs with (D) */
	}
	return NULL;
}

static void start_all(struct fl_worker *w, struct queue *q)
{
	for (size_t i = 0; i < w->n; i++) {
		struct fl_torture_place *p = &share(w)[i];
		enum flick_state to = other(flick_patch_state(&p->patch));

		fl_place_loosen(p);
		fl_place_start(w, p, to);
		store_release(&q->started, q->started + 1);	/* (A) pairs with (B) */
	}
	while (load_acquire(&q->finished) != q->started)	/* (D) pairs with (C) */
		sched_yield();
	fl_rig_settle(share(w), w->n);
}

static void patch_async(struct fl_worker *w)
{
	struct queue *q = &queues[w->i];

	q->finisher = *w;
	q->finisher.tally = calloc(1, sizeof *w->tally);
	if (!q->finisher.tally ||
	    pthread_create(&q->finisher.thread, NULL, finish_all, &q->finisher))
		abort();
	fl_rig_show(w, w->first, w->n);
	do
		start_all(w, q);
	while (!fl_rig_is_over(w->rig));
	store_relaxed(&q->stop, 1);
	pthread_join(q->finisher.thread, NULL);
	fl_tally_merge(w->tally, q->finisher.tally);
	free(q->finisher.tally);
}

void fl_torture_async(struct fl_rig *r)
{
	fl_rig_lay(r, ASYNC_PLACES * r->n_patchers, ALL_SHAPES);
	fl_rig_run(r, patch_async);
	fl_rig_release(r);
}

/* ---- contest --------------------------------------------------------------------------- */

static struct contest {
	struct fl_rig *rig;
	struct fl_worker *master;
	pthread_barrier_t before, between, after;
	struct fl_torture_place *place;	/* W master, between the barriers */
	struct fl_torture_place *second;
	enum flick_state to;
	int (*try)(struct contest *);
	uint32_t won, busy;		/* atomic: this round */
	bool over;
} contest;

static int try_start(struct contest *c)
{
	return flick_patch_start(&c->place->patch, c->to);
}

static int try_switch(struct contest *c)
{
	return flick_patch_switch(&c->place->patch, c->to);
}

static int try_commit(struct contest *c)
{
	const struct flick_change changes[] = {
		{ &c->place->patch, c->to }, { &c->second->patch, c->to },
	};

	return flick_patch_commit(changes, ARRAY_LEN(changes), NULL);
}

/* All rivals try, then all finish the switch that one of them may have started.
 * False: the contest is over. */
static bool compete(struct contest *c)
{
	int err;

	pthread_barrier_wait(&c->before);
	if (c->over)
		return false;
	err = c->try(c);
	if (!err)
		__atomic_fetch_add(&c->won, 1, __ATOMIC_RELAXED);
	else if (err == FLICK_E_BUSY)
		__atomic_fetch_add(&c->busy, 1, __ATOMIC_RELAXED);
	pthread_barrier_wait(&c->between);
	while (flick_patch_finish(&c->place->patch) == -EAGAIN)
		sched_yield();
	pthread_barrier_wait(&c->after);
	return true;
}

static void *be_rival(void *arg)
{
	while (compete(arg))
		;
	return NULL;
}

/* May only one rival win? Of rivals that start one place exactly one wins as long as
 * nobody finishes, and nobody does before all have tried. A rival that switches the
 * place may come late and find it switched, so there more than one may win. */
static bool is_for_one(const struct contest *c)
{
	return c->try == try_start;
}

static void judge_round(struct contest *c)
{
	c->master->tally->switched[c->place->tactic] += c->won > 0;
	if (c->won + c->busy == N_RIVALS && c->won && (!is_for_one(c) || c->won == 1) &&
	    flick_patch_state(&c->place->patch) == c->to)
		return;
	c->master->tally->lost++;
	fl_rig_note("%u won, %u were told to wait, of %d", c->won, c->busy, N_RIVALS);
}

static void run_round(struct contest *c)
{
	c->won = c->busy = 0;
	fl_place_loosen(c->place);
	fl_place_loosen(c->second);
	compete(c);
	judge_round(c);
	fl_rig_settle(c->place, 2);
}

/* Three rounds at each place, so that the place does not end in the state it began in. */
static void run_rounds(struct fl_worker *w)
{
	static int (*const tries[])(struct contest *) = {
		try_start, try_switch, try_commit,
	};
	struct contest *c = &contest;

	for (size_t i = 0; !fl_rig_is_over(w->rig); i++) {
		size_t k = i / ARRAY_LEN(tries) % (w->n - 1);

		c->try = tries[i % ARRAY_LEN(tries)];
		c->place = &share(w)[k];
		c->second = c->place + 1;
		c->to = other(flick_patch_state(&c->place->patch));
		fl_rig_show(w, w->first + k, 2);
		run_round(c);
	}
}

static void patch_contested(struct fl_worker *w)
{
	pthread_t rivals[N_RIVALS - 1];
	struct contest *c = &contest;

	c->master = w;
	pthread_barrier_init(&c->before, NULL, N_RIVALS);
	pthread_barrier_init(&c->between, NULL, N_RIVALS);
	pthread_barrier_init(&c->after, NULL, N_RIVALS);
	for (size_t i = 0; i < ARRAY_LEN(rivals); i++)
		if (pthread_create(&rivals[i], NULL, be_rival, c))
			abort();
	run_rounds(w);
	c->over = true;
	pthread_barrier_wait(&c->before);
	for (size_t i = 0; i < ARRAY_LEN(rivals); i++)
		pthread_join(rivals[i], NULL);
}

void fl_torture_contest(struct fl_rig *r)
{
	r->n_patchers = 1;
	fl_rig_lay(r, FL_N_SHAPES * FL_ARCH_LINE, ALL_SHAPES);
	fl_rig_run(r, patch_contested);
	fl_rig_release(r);
}
