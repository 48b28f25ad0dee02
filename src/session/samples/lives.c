/*
 * lives.c - how long threads were there, and who called what.
 *
 * Hides that a thread is seen a little late, and that one that lived for a moment only may be
 * seen when it has gone. Counts tell which thread called a function (budget/called.c).
 */
#include <stdlib.h>

#include "os/os.h"
#include "session/budget/budget.h"
#include "session/samples/profile.h"

/* A thread's life ends at `end` at the latest, and is no longer than the recording. */
static struct fl_life life_of(struct fl_session *s, const struct fl_thread *t, uint64_t end,
			      uint64_t late_ns)
{
	uint64_t to = t->to_ns && t->to_ns < end ? t->to_ns : end, wall = end - s->go.wall_ns;
	uint64_t lived = (to > t->from_ns ? to - t->from_ns : 0) + late_ns;
	uint64_t ran = s->sampler ? fl_sampler_ran_ns(s->sampler, t->tid) : 0;

	lived = lived < wall ? lived : wall;
	return (struct fl_life){ lived, lived > ran ? lived - ran : 0 };
}

/* Bare processes, of which no thread is known, are taken to be as long as others. */
static void add_bare(struct fl_lives *l, const struct fl_region *shm)
{
	for (uint32_t i = 0; i < FL_MAX_PROGRAMS; i++) {
		const struct fl_program *p = &shm->programs[i];
		double armed = load_relaxed(&p->n_armed), bare = load_relaxed(&p->n_bare);
		struct fl_life *of = &l->programs[i + 1];

		if (!(bare > 0 && armed > 0))
			continue;
		of->all_ns += (uint64_t)((double)of->all_ns * bare / armed);
		of->waited_ns += (uint64_t)((double)of->waited_ns * bare / armed);
	}
}

/* Any one thread may have been seen late, by SEEN_LATE_NS. In sums over threads only the first
 * one was; all others are taken to be seen soon. */
int fl_lives_open(struct fl_lives *l, struct fl_session *s)
{
	enum { SEEN_LATE_NS = 100000000, SEEN_SOON_NS = 5000000 };
	uint64_t end = s->gone_ns && !s->o->follow ? s->gone_ns : fl_os_monotonic_ns();
	const struct fl_thread *t = fl_readers_threads(s, &l->n_threads);

	l->callers = calloc(s->functions.n + 1, sizeof(*l->callers));
	l->threads = calloc(l->n_threads + 1, sizeof(*l->threads));
	if (!l->callers || !l->threads)
		return -ENOMEM;
	l->n_callers = s->functions.n;
	fl_budget_threads(s->budget, l->callers);
	if (!l->n_threads)
		l->all.all_ns = l->all.waited_ns = end - s->go.wall_ns;
	for (size_t i = 0; i < l->n_threads; i++) {
		struct fl_life of = life_of(s, &t[i], end, i ? SEEN_SOON_NS : SEEN_LATE_NS);

		l->threads[i] = life_of(s, &t[i], end, SEEN_LATE_NS);
		l->all.all_ns += of.all_ns;
		l->all.waited_ns += of.waited_ns;
		l->programs[t[i].program].all_ns += of.all_ns;
		l->programs[t[i].program].waited_ns += of.waited_ns;
	}
	add_bare(l, s->shm);
	return 0;
}

const struct fl_life *fl_lives_of_callers(const struct fl_lives *l, uint64_t function)
{
	uint32_t by = function < l->n_callers ? l->callers[function] : 0;

	if (by > FL_OF_PROGRAM && by <= FL_OF_PROGRAM + FL_MAX_PROGRAMS)
		return &l->programs[by - FL_OF_PROGRAM];
	return by && by - 1 < l->n_threads ? &l->threads[by - 1] : &l->all;
}

void fl_lives_close(struct fl_lives *l)
{
	free(l->callers);
	free(l->threads);
}
