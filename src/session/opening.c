/*
 * opening.c - the kernel's events of a program, opened while it starts.
 *
 * Hides that a machine's first event of a task takes the kernel ten milliseconds, a grace
 * period of its own (perf_sched_events); so does an event that is opened a second after the
 * last one was closed. Meanwhile the program is loaded and the agent reads its code. So a
 * thread opens events for the process that was just begun; they stand idle until the process
 * asks, before its first own instruction, what is wanted.
 *
 * No sample has the time that the program took until then. The part of it that the loader had
 * used when the agent began is the program's; the rest is the agent's work.
 */
#include "os/os.h"
#include "session/negotiation.h"
#include "session/opening.h"

static void *open_events(void *arg)
{
	struct fl_session *s = arg;
	struct fl_opening *o = &s->opening;

	o->sampler_error = fl_sampler_start(s->sampler, s->pid);
	o->preempt_error = s->preempt ? fl_preempt_start(s->preempt, s->pid) : 0;
	return NULL;
}

void fl_opening_begin(struct fl_session *s)
{
	if (s->attached || !s->sampler || s->launch.is_closed)
		return;
	s->opening.is_open = true;
	s->opening.has_thread = !pthread_create(&s->opening.thread, NULL, open_events, s);
	if (!s->opening.has_thread)
		open_events(s);
}

void fl_opening_end(struct fl_session *s)
{
	struct fl_opening *o = &s->opening;

	if (!o->is_open)
		return;
	if (o->has_thread)
		pthread_join(o->thread, NULL);
	o->is_open = false;
	if (o->sampler_error) {
		fl_sampler_close(s->sampler);
		s->sampler = NULL;
	}
	if (o->preempt_error) {
		fl_preempt_close(s->preempt);
		s->preempt = NULL;
		s->view.preempted = NULL;
	}
}

/* The program will ask nothing, so samples are of all that it does, and there is no agent's
 * work. */
int fl_opening_before(void *session, int pid)
{
	struct fl_session *s = session;

	s->pid = pid;
	s->opening.is_open = s->sampler != NULL;
	if (s->sampler)
		open_events(s);
	fl_opening_end(s);
	if (!s->sampler)
		return fl_negotiation_say_no_samples(s);
	fl_sampler_go(s->sampler, pid);
	fl_preempt_go(s->preempt);
	return 0;
}

void fl_opening_go(struct fl_session *s)
{
	uint64_t used = fl_os_process_ns(s->pid), loader = s->shm->loader_ns;

	fl_opening_end(s);
	if (s->attached || !s->sampler)
		return;
	s->pcs.work = used > loader ? (used - loader) / fl_sampler_period_ns() : 0;
	s->pcs.own = s->pcs.all = s->pcs.work;
	fl_sampler_go(s->sampler, s->pid);
	fl_preempt_go(s->preempt);
}
