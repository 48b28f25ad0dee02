/*
 * sync-stop.c - a tracer stops every thread that is on a core, and lets it go.
 *
 * For systems that refuse membarrier, and programs that block every signal. A
 * process cannot trace itself, so a child is the tracer. The child has this memory
 * and no other ties: no signal tells of its end, and waitpid(-1) does not know it
 * (os/clone.c). It lives for one sync. Threads are stopped one after the other,
 * each for some microseconds; a stop takes a thread off its core (OS18). System
 * calls that a stop interrupts go on (OS19).
 */
#include "arch/arch.h"
#include "os/os.h"
#include "round.h"
#include "sync.h"

struct task {
	int pid, caller;
	int only_try;		/* seize the caller alone; the tracer's end lets it go */
	int err;		/* W tracer */
	uint32_t go;		/* futex; W caller (A), R tracer (B) */
};

static bool needs_leave;	/* Yama: a child must be allowed to, each time */

static bool has_ended(int pid, int tid)
{
	struct fl_thread_status s;

	return fl_os_thread_status(pid, tid, &s) == -ESRCH;
}

static int stop_one(struct fl_round *r, int tid, const struct fl_thread_status *s,
		    enum fl_asked asked)
{
	int sig, err = fl_os_trace_seize(tid);

	(void)s;
	(void)asked;
	if (err)
		return err == -ESRCH || has_ended(r->pid, tid) ? 0 : err;
	fl_os_trace_interrupt(tid);
	if (fl_os_trace_wait(tid, &sig)) {
		fl_os_trace_call_again(tid, FL_ARCH_USER_CALL, FL_ARCH_USER_RESULT);
		fl_os_trace_release(tid, sig);
	}
	fl_round_serve(r->number, tid);
	return 0;
}

static int stop_all(const struct task *t)
{
	struct fl_round r = { .who = FL_WHO_CORES, .pid = t->pid, .caller = t->caller,
			      .ask = stop_one };
	int err;

	fl_round_begin(&r);
	while ((err = fl_round_pass(&r)) > 0)
		;
	return err;
}

/* The tracer. */
static int trace(void *arg)
{
	struct task *t = arg;

	while (!load_acquire(&t->go))			/* (B) pairs with (A) */
		fl_os_futex_wait(&t->go, 0, 100000);
	t->err = t->only_try ? fl_os_trace_seize(t->caller) : stop_all(t);
	return 0;
}

/* Run a tracer. -ECHILD stays when the tracer is killed before it ends. */
static int send(int only_try)
{
	struct task t = { .pid = fl_os_pid(), .caller = fl_os_tid(),
			  .only_try = only_try, .err = -ECHILD };
	int pid = fl_os_process_start(trace, &t);

	if (pid < 0)
		return pid;
	if (needs_leave)
		fl_os_trace_allow(pid);
	store_release(&t.go, 1);			/* (A) pairs with (B) */
	fl_os_futex_wake(&t.go, 1);
	fl_os_process_reap(pid);
	return t.err;
}

static int probe(void)
{
	int err = fl_round_open();

	if (!err)
		err = send(true);
	if (err != -EPERM)
		return err;
	needs_leave = true;
	return send(true);
}

static int ready(void)
{
	return send(true);
}

/* A tracer that worked in ready() may fail for a while: another tracer, no descriptor or
 * process left. */
static void all_cores(void)
{
	enum { AGAIN_US = 1000 };

	while (send(false))
		fl_os_sleep_us(AGAIN_US);
}

const struct fl_sync fl_sync_stop = {
	.name = "stop",
	.about = "a child stops every thread that runs by ptrace(2) for a moment",
	.probe = probe,
	.ready = ready,
	.all_cores = all_cores,
};
