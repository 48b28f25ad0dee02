/*
 * torture-life.c - switching while signals arrive, threads come and go, and
 * children fork off.
 *
 * READER code. The patchers do the same in all three: they switch at once, in
 * steps and by sets, at places of every kind.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "torture.h"

enum {
	ALL_SHAPES = (1 << FL_N_SHAPES) - 1,
	N_PLACES = 2 * FL_N_SHAPES * FL_ARCH_LINE,
	SET = 24,			/* places of a set, or started together */
	TIMER_US = 300,
	RUN_IN_HANDLER = 3,
	RUN_IN_THREAD = 100,
	N_CHURNERS = 2,
	CHILD_S = 5,			/* a child that takes longer hangs */
	CHILD_LOOK_US = 100
};

static enum flick_state other(enum flick_state s)
{
	return s == FLICK_ON ? FLICK_OFF : FLICK_ON;
}

/* ---- what patchers do -------------------------------------------------------------------- */

static void switch_each(struct fl_worker *w, struct fl_torture_place *p)
{
	for (size_t i = 0; i < SET; i++) {
		enum flick_state to = other(flick_patch_state(&p[i].patch));

		fl_place_loosen(&p[i]);
		fl_place_switch(w, &p[i], to);
	}
	fl_rig_settle(p, SET);
}

static void start_and_finish(struct fl_worker *w, struct fl_torture_place *p)
{
	for (size_t i = 0; i < SET; i++) {
		fl_place_loosen(&p[i]);
		fl_place_start(w, &p[i], other(flick_patch_state(&p[i].patch)));
	}
	for (size_t i = 0; i < SET; i++)
		fl_place_finish(w, &p[i]);
	fl_rig_settle(p, SET);
}

static void commit_all(struct fl_worker *w, struct fl_torture_place *p)
{
	struct flick_change c[SET];
	size_t bad = 0;
	int err;

	for (size_t i = 0; i < SET; i++) {
		c[i] = (struct flick_change){
			&p[i].patch, other(flick_patch_state(&p[i].patch)),
		};
		fl_place_loosen(&p[i]);
	}
	err = flick_patch_commit(c, SET, &bad);
	if (err) {
		w->tally->lost += SET;
		fl_rig_note("a set failed at its place %zu (%d)", bad, err);
		return;
	}
	for (size_t i = 0; i < SET; i++) {
		w->tally->switched[p[i].tactic]++;
		fl_place_settle(&p[i], c[i].to);
	}
}

static void patch_all_ways(struct fl_worker *w)
{
	static void (*const ways[])(struct fl_worker *, struct fl_torture_place *) = {
		switch_each, start_and_finish, commit_all,
	};

	for (size_t i = 0; !fl_rig_is_over(w->rig); i++) {
		size_t at = w->first + fl_any(&w->seed, w->n - SET);

		fl_rig_show(w, at, SET);
		ways[i % ARRAY_LEN(ways)](w, &w->rig->places[at]);
	}
}

/* ---- signals ----------------------------------------------------------------------------- */

static struct fl_rig *rig;		/* what handlers and threads run */
static struct fl_torture_place *handlers_own;
static uint32_t handled, over;		/* atomic */

static void on_signal(int sig)
{
	int saved = errno;
	struct fl_tally t = { 0 };
	uint64_t seed = fl_arch_ticks();
	enum flick_state to = fl_any(&seed, 2) ? FLICK_ON : FLICK_OFF;
	int err = flick_patch_switch(&handlers_own->patch, to);

	(void)sig;
	if (err && err != FLICK_E_BUSY) {
		t.lost++;
		fl_rig_note("a switch in a handler failed (%d)", err);
	}
	t.switched[FL_FLIP] += !err;
	fl_place_run(handlers_own, &t);
	for (int i = 0; i < RUN_IN_HANDLER; i++) {
		uint64_t now = load_relaxed(&rig->current[i % rig->n_patchers]);
		uint32_t n = (uint32_t)now;

		if (n)
			fl_place_run(&rig->places[(now >> 32) + fl_any(&seed, n)], &t);
	}
	fl_tally_merge(&rig->ledger->shared, &t);
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
	errno = saved;
}

struct victims { int tids[FL_RIG_EXECUTORS + FL_RIG_PATCHERS + 8]; size_t n; };

static int take_victim(void *arg, int tid)
{
	struct victims *v = arg;

	if (v->n < ARRAY_LEN(v->tids))
		v->tids[v->n++] = tid;
	return 0;
}

/* Send a signal to each thread in turn, when the last one is handled or after a while. */
static void *send_signals(void *arg)
{
	struct victims v = { .n = 0 };
	sigset_t all;

	(void)arg;
	sigfillset(&all);
	sigdelset(&all, SIGURG);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (size_t i = 0; !load_relaxed(&over); i++) {
		uint32_t before = load_relaxed(&handled);

		if (i % 64 == 0) {
			v.n = 0;
			fl_os_threads(fl_os_tid(), take_victim, &v);
		}
		syscall(SYS_tgkill, getpid(), v.tids[i % v.n], SIGUSR1);
		for (int k = 0; k < 100 && load_relaxed(&handled) == before; k++)
			sched_yield();
	}
	return NULL;
}

static void raise_storm(struct fl_rig *r, pthread_t *sender)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, TIMER_US }, { 0, TIMER_US } };

	rig = r;
	fl_place_loosen(handlers_own);		/* for good: handlers meet each other */
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	if (pthread_create(sender, NULL, send_signals, NULL))
		abort();
	setitimer(ITIMER_REAL, &often, NULL);
}

void fl_torture_signals(struct fl_rig *r)
{
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	pthread_t sender;

	fl_rig_lay(r, N_PLACES + 1, ALL_SHAPES);
	handlers_own = r->places++;		/* the first, a flip, is not the patchers' */
	r->n--;
	raise_storm(r, &sender);
	fl_rig_run(r, patch_all_ways);
	store_relaxed(&over, 1);
	pthread_join(sender, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	r->places--;
	r->n++;
	fl_rig_release(r);
}

/* ---- threads ----------------------------------------------------------------------------- */

static void *live_shortly(void *arg)
{
	uint64_t seed = fl_arch_ticks();
	struct fl_tally t = { 0 };

	(void)arg;
	for (int i = 0; i < RUN_IN_THREAD; i++)
		fl_place_run(&rig->places[fl_any(&seed, rig->n)], &t);
	fl_tally_merge(&rig->ledger->shared, &t);
	return NULL;
}

static void *churn(void *arg)
{
	(void)arg;
	while (!load_relaxed(&over)) {
		pthread_t t;

		if (!pthread_create(&t, NULL, live_shortly, NULL))
			pthread_join(t, NULL);
	}
	return NULL;
}

/* Run `body` in threads of their own, beside the patchers. */
static void run_beside(struct fl_rig *r, void *(*body)(void *), size_t n)
{
	pthread_t threads[N_CHURNERS];

	rig = r;
	fl_rig_lay(r, N_PLACES, ALL_SHAPES);
	for (size_t i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, body, NULL))
			abort();
	fl_rig_run(r, patch_all_ways);
	store_relaxed(&over, 1);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	fl_rig_release(r);
}

void fl_torture_threads(struct fl_rig *r)
{
	run_beside(r, churn, N_CHURNERS);
}

/* ---- fork -------------------------------------------------------------------------------- */

/* A child has no other thread, so only this one changes places. */
static void run_settled(struct fl_torture_place *p, struct fl_tally *t)
{
	fl_place_settle(p, flick_patch_state(&p->patch));
	fl_place_run(p, t);
}

/* The thread that began a switch is not in this process. A switch of one store may
 * have been cut off: such a place belongs to that thread for good. */
static void finish_and_switch(struct fl_worker *w, struct fl_torture_place *p)
{
	enum flick_state to;

	fl_place_finish(w, p);
	run_settled(p, w->tally);
	to = other(flick_patch_state(&p->patch));
	if (p->tactic == FL_WIDE && fl_place_switch(w, p, to))
		run_settled(p, w->tally);
}

static void be_child(void)
{
	struct fl_tally t = { 0 };
	struct fl_worker w = { .rig = rig, .tally = &t };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < rig->n; i++) {
		fl_place_loosen(&rig->places[i]);
		fl_place_run(&rig->places[i], &t);
	}
	for (size_t i = 0; i < rig->n; i += 5)
		finish_and_switch(&w, &rig->places[i]);
	fl_tally_merge(&rig->ledger->shared, &t);
	_exit(0);
}

/* A child's signals may be blocked, so no alarm of its own ends it when it hangs. */
static bool has_ended(pid_t pid, int *status)
{
	uint64_t end = fl_os_monotonic_ns() + CHILD_S * UINT64_C(1000000000);

	while (waitpid(pid, status, WNOHANG) == 0) {
		if (fl_os_monotonic_ns() > end)
			return false;
		fl_os_sleep_us(CHILD_LOOK_US);
	}
	return true;
}

static void judge_child(pid_t pid)
{
	struct fl_tally t = { 0 };
	int status = 0;

	if (!has_ended(pid, &status)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		t.lost++;
		fl_rig_note("a child hung");
	} else if (WIFSIGNALED(status)) {
		t.torn++;
		fl_rig_note("a child died of signal %d", WTERMSIG(status));
	}
	fl_tally_merge(&rig->ledger->shared, &t);
}

static void *fork_on(void *arg)
{
	(void)arg;
	while (!load_relaxed(&over)) {
		pid_t pid = fork();

		if (!pid)
			be_child();
		if (pid > 0)
			judge_child(pid);
	}
	return NULL;
}

void fl_torture_fork(struct fl_rig *r)
{
	run_beside(r, fork_on, 1);
}
