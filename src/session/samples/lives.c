/*
 * lives.c - how long threads were there, and who called what.
 *
 * Hides that a thread's life begins when the thread itself says so, and that its end is seen a
 * little late. Of a life is left out what is left out of calls: time in which
 * the thread was preempted. Counts tell which thread called a function (budget/called.c).
 */
#include <stdlib.h>

#include "os/os.h"
#include "session/budget/budget.h"
#include "session/samples/profile.h"

/* What the target writes may be any number: a time that begins behind its end is none. */
static uint64_t time_between(const struct fl_session *s, uint32_t thread, uint64_t from,
			     uint64_t to)
{
	from = from > s->start_tsc ? from : s->start_tsc;
	if (to > from && s->view.preempted)
		to -= s->view.preempted(s->view.owner, thread, from, to);
	return to > from ? (uint64_t)((double)(to - from) * s->view.ns_per_tick) : 0;
}

/* A thread's life ends at `end` at the latest. Samples are of flick's work in it, too. */
static struct fl_life life_of(struct fl_session *s, const struct fl_thread *t, uint32_t number,
			      uint64_t end)
{
	uint64_t to_ns = t->to_ns && t->to_ns < end ? t->to_ns : end;
	uint64_t to = s->start_tsc +
		      (uint64_t)((double)(to_ns - s->start_ns) / s->view.ns_per_tick);
	uint64_t was = time_between(s, number, t->claimed_tsc, to);
	uint64_t ran = s->sampler ? fl_sampler_ran_ns(s->sampler, t->tid) : 0;

	return (struct fl_life){ time_between(s, number, t->begun_tsc, to),
				 was > ran ? was - ran : 0 };
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

int fl_lives_open(struct fl_lives *l, struct fl_session *s)
{
	uint64_t end = s->target.gone_ns && !s->o->follow ? s->target.gone_ns :
		       fl_os_monotonic_ns();
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
		struct fl_life of = life_of(s, &t[i], (uint32_t)i, end);

		l->threads[i] = of;
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
