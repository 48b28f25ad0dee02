/*
 * verdict.c - all trials of a calibration, and what follows from them.
 *
 * READER code. Hides how the time is shared out and what counts as proof.
 *
 * T_max is MARGIN times the shortest wait that was tried at which, and at all longer
 * ones, no fenced trial failed; it is never below FL_WAIT_FLOOR. Failures get rarer as
 * waits get longer, so the longest wait that would have failed is longer than the
 * longest that was seen to fail. Hence the factor, which also covers conditions that
 * are not tried, such as cold page tables. The paper saw no failure from 600 ticks on
 * and used 3,000; where we see none at all, that floor is all there is to stand on. A
 * wait costs the patcher of one site time, and nobody else.
 *
 * `line` is blessed if every offset of a line was tried with a locked store, hot
 * and cold, with both subjects, and none failed.
 *
 * Nothing is said unless every control failed: an instrument that cannot see a
 * torn instruction has not proved that there is none.
 */
#include <stdlib.h>

#include "calibrate.h"
#include "os/os.h"

enum {
	MARGIN = 3,
	ROUNDS = 5,			/* paper 1 runs each variant 5 times */
	ROUND_S = 8,			/* seconds that a round should have */
	COARSE_S = 20,			/* with less, fewer waits */
	CONTROL_MS = 3000		/* at most: a control ends when it has failed */
};

/* Shares of the time: trials that decide get most. */
static const uint8_t weights[FL_N_WAYS] = {
	[FL_WAY_WAIT] = 8, [FL_WAY_WAIT_JUMP] = 4, [FL_WAY_WAIT_UNFENCED] = 3,
	[FL_WAY_LOCK8] = 2,
	[FL_WAY_PLAIN8] = 1, [FL_WAY_SSE16] = 1, [FL_WAY_AVX32] = 1,
};

/* ---- verdicts ------------------------------------------------------------------- */

/* The longest wait that failed, plus one; 0 when none did. */
static uint64_t beyond_failures(const struct fl_findings *f)
{
	uint64_t beyond = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct fl_trial *t = &f->trials[i];

		if (fl_trial_is_fenced(t) && fl_trial_failures(t) && t->wait >= beyond)
			beyond = t->wait + UINT64_C(1);
	}
	return beyond;
}

/* Find the shortest wait that was tried beyond all failures. */
static void judge_waits(struct fl_findings *f)
{
	uint64_t from = beyond_failures(f);

	f->wait_safe = false;
	for (size_t i = 0; i < f->n; i++) {
		const struct fl_trial *t = &f->trials[i];

		if (!fl_trial_is_fenced(t) || !t->runs || t->wait < from)
			continue;
		if (!f->wait_safe || t->wait < f->measured)
			f->measured = t->wait;
		f->wait_safe = true;
	}
}

static void judge_lock(struct fl_findings *f, const struct fl_trial *t,
		       uint32_t *tried)
{
	f->line &= fl_trial_failures(t) == 0;
	*tried += t->runs > 0;
}

static uint32_t count_locked(void)
{
	size_t n = fl_atoms_list(NULL);
	struct fl_trial *all = calloc(n, sizeof *all);
	uint32_t locked = 0;

	if (!all)
		return UINT32_MAX;
	fl_atoms_list(all);
	for (size_t i = 0; i < n; i++)
		locked += all[i].way == FL_WAY_LOCK8;
	free(all);
	return locked;
}

/* A control must fail in each of its runs. */
static bool is_blind(const struct fl_trial *t)
{
	return t->way == FL_WAY_HALVES && (!t->runs || fl_trial_failures(t) < t->runs);
}

void fl_findings_judge(struct fl_findings *f)
{
	uint32_t locked = 0, controls = 0;

	f->sees = f->line = true;
	f->measured = f->toggles = f->stores = 0;
	for (size_t i = 0; i < f->n; i++) {
		const struct fl_trial *t = &f->trials[i];

		controls += t->way == FL_WAY_HALVES;
		f->sees &= !is_blind(t);
		if (t->way == FL_WAY_LOCK8)
			judge_lock(f, t, &locked);
		if (fl_trial_is_fenced(t))
			f->toggles += t->toggles;
		if (t->way >= FL_WAY_LOCK8)
			f->stores += t->toggles;
	}
	judge_waits(f);
	f->sees &= controls > 0;
	f->wait_safe &= f->sees;
	f->line &= f->sees && locked == count_locked();
	f->t_max = MARGIN * f->measured;
	if (f->t_max < FL_WAIT_FLOOR)
		f->t_max = FL_WAIT_FLOOR;
}

/* ---- the run -------------------------------------------------------------------- */

static int list_all(struct fl_findings *f, unsigned seconds)
{
	unsigned cpus = fl_trial_cpus();
	enum fl_waits which = seconds < COARSE_S ? FL_WAITS_FEWER : FL_WAITS_ALL;

	if (cpus < 2)
		return -ENODEV;
	f->executors = cpus - 1 < FL_TRIAL_EXECUTORS ? cpus - 1 : FL_TRIAL_EXECUTORS;
	f->rounds = seconds / ROUND_S < 1 ? 1 : seconds / ROUND_S;
	if (f->rounds > ROUNDS)
		f->rounds = ROUNDS;
	f->n = fl_atoms_list(NULL) + fl_waits_list(NULL, f->executors, which);
	f->trials = calloc(f->n, sizeof *f->trials);
	if (!f->trials)
		return -ENOMEM;
	fl_waits_list(f->trials + fl_atoms_list(f->trials), f->executors, which);
	return 0;
}

/* Milliseconds for a trial: its part of the time that is left, at least one. */
static unsigned share(const struct fl_trial *t, uint64_t end_ns, uint64_t weight)
{
	uint64_t now = fl_os_monotonic_ns();
	uint64_t left_ms = now < end_ns ? (end_ns - now) / 1000000 : 0;

	if (t->way == FL_WAY_HALVES)
		return CONTROL_MS;
	return 1 + (unsigned)(left_ms * weights[t->way] / weight);
}

static uint64_t weigh(const struct fl_findings *f)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < f->n; i++)
		weight += weights[f->trials[i].way];
	return weight;
}

int fl_calibrate(struct fl_findings *f, unsigned seconds,
		 void (*progress)(void *arg, unsigned done), void *arg)
{
	uint64_t end_ns = fl_os_monotonic_ns() + seconds * UINT64_C(1000000000), weight;
	int err = list_all(f, seconds);
	size_t all = f->n * f->rounds;

	weight = weigh(f) * f->rounds;
	for (size_t i = 0; !err && i < all; i++) {
		struct fl_trial *t = &f->trials[i % f->n];

		progress(arg, (unsigned)(i * 1000 / all));
		err = fl_trial_run(t, share(t, end_ns, weight));
		weight -= weights[t->way];
	}
	if (!err)
		fl_findings_judge(f);
	return err;
}

void fl_findings_free(struct fl_findings *f)
{
	free(f->trials);
	f->trials = NULL;
	f->n = 0;
}
