/*
 * watch.c - what watches the recorder, and switches on again what it samples.
 *
 * Hides where the watch is: in a process of its own beside the program, so that what the
 * program does to its threads does not meet it (os/outside.c). Windows of --rate want the
 * clocks of the program's threads, which the kernel shows to their own process alone, and the
 * sync `stop` wants to be traced by its own child: then, and where there can be no such
 * process, the watch is a thread of the program's. Either waits by futex(2), for one word and a
 * time. Where that is denied from the start no watch begins; where it is denied one day the
 * watch ends in order: all probes off.
 */
#include "agent.h"
#include "os/os.h"
#include "patch/patch.h"

enum {
	WATCH_US = 100000,		/* how soon a dead reader is noticed */
	UNLOADING_US = 500,
	/* A reader that has changed something is likely to change more. */
	SOON_US = 2000, SOON_NS = 1000000000
};

static bool is_started;
static uint32_t by_thread;		/* 1: a thread watches, and has not come to its end */

static uint64_t rest_us(struct fl_region *m)
{
	static uint32_t seen;
	static uint64_t until_ns;
	uint32_t done;
	uint64_t us;

	if (fl_control_turn(m))
		return UNLOADING_US;
	us = m->session[0].windows.rate ? fl_windows_turn() :
	     m->session[0].action == FL_ACT_SAMPLE ? fl_sample_turn() : WATCH_US;
	done = m->session[0].change.done;
	if (done == seen && !until_ns)
		return us;
	if (done != seen)
		until_ns = fl_os_monotonic_ns() + SOON_NS;
	else if (fl_os_monotonic_ns() > until_ns)
		until_ns = 0;
	seen = done;
	return us < SOON_US ? us : SOON_US;
}

/* The last one to leave the program's memory frees it: that time is the program's. */
static void say_time(struct fl_region *m)
{
	if (fl_os_is_outside())
		__atomic_fetch_add(&m->watch_ns, fl_os_cpu_ns(0), __ATOMIC_RELAXED);
}

static int run(void *arg)
{
	struct fl_region *m = arg;
	int err;

	while (!(err = fl_os_rest(rest_us(m))) && fl_channel_reader_lives() &&
	       !load_relaxed(&m->detach))
		fl_joint_turn();
	FL_POINT("watch.over");
	store_relaxed(&m->session[0].ended_tsc, fl_arch_ticks());
	if (err != -ESRCH)			/* else there is nobody to care for */
		fl_agent_end();
	else if (m->session[0].action == FL_ACT_SAMPLE)
		fl_sample_end();
	say_time(m);
	store_relaxed(&m->has_left, 1);
	while (!err && fl_joint_is_there()) {	/* a second recorder goes on */
		err = fl_os_rest(WATCH_US);
		if (!err)
			fl_joint_turn();
	}
	store_relaxed(&by_thread, 0);
	return 0;
}

int fl_watch_open(const struct fl_region *m)
{
	is_started = false;
	return m->is_attached ? fl_os_outside_open_late() : fl_os_outside_open();
}

/* An orphan would come to a process of the program's, which may wait for any child. */
static bool would_be_seen(const struct fl_region *m)
{
	return load_relaxed(&m->has_reaper) &&
	       fl_os_parent() != m->session[0].reader_pid;
}

static bool wants_thread(const struct fl_region *m)
{
	return m->session[0].windows.rate || would_be_seen(m) ||
	       !__builtin_strcmp(fl_patch_sync_name(), "stop");
}

/* The word is not what the kernel is told that it is, so nobody sleeps. */
static bool is_waiting_denied(void)
{
	uint32_t word = 0;
	int err = fl_os_futex_wait(&word, 1, 0);

	return err && err != -EAGAIN && err != -EINTR && err != -ETIMEDOUT;
}

int fl_watch_start(struct fl_region *m)
{
	int err = -ENOTSUP, tid;

	if (is_started)
		return 0;
	if (is_waiting_denied())
		return FLE_NOWAIT;
	if (!wants_thread(m))
		err = fl_os_outside_start(run, m, m->session[0].reader_pid,
					  m->reader_cpus);
	store_relaxed(&m->watcher_pid, fl_os_outside_pid());
	if (err) {
		store_relaxed(&by_thread, 1);
		tid = fl_os_thread_start(run, m);
		err = tid < 0 ? tid : 0;
		if (err)
			store_relaxed(&by_thread, 0);
	}
	is_started = !err;
	return err;
}

bool fl_watch_is_there(void)
{
	return is_started && (fl_os_outside_pid() || load_relaxed(&by_thread));
}
