/*
 * preempt.c - when the kernel took the processor from threads of the target.
 *
 * Hides that the kernel writes a record at each switch, into the ring of the CPU where it
 * was: so a thread's records stand in several rings. The time that a thread was preempted in
 * the middle of a timed call is taken out of the call, not the time that it slept or waited.
 *
 * PROTOCOL	The reader has copied a call's records; it reads the clock, c; then takes all
 *		rings; then heeds, in the order of time, switches before c. Later ones wait.
 * INVARIANT	1. All switches of the thread before the call's end are heeded (OS26).
 *		2. A thread's switches are heeded in their order.
 * WHY		1. The kernel counts a switch's record before the thread runs on, and only then
 *		   the thread wrote what the reader has seen; and the switch's time is before c.
 *		2. That a thread leaves a CPU is counted before it gets another one. So before
 *		   a switch that is in a ring that was looked at, and whose time is before c,
 *		   the thread had none that was missed.
 * FAILURE	A ring that was nearly full may have lost records: nothing is taken out of
 *		calls that began before that was found. Where the records would cost the
 *		program more than they are worth, they end for good. What waits beside a
 *		process has its events, and wakes up a thousand times a second: these records,
 *		and those of whom it preempts, go with what that costs, which has its budget.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "arch/arch.h"
#include "channel/channel.h"
#include "os/os.h"
#include "perf/perf.h"
#include "perf/preempted.h"
#include "perf/rings.h"

#define NEARLY_FULL (FL_PERF_RING_BYTES - FL_PAGE)
#define APART_NS 100000000ull		/* both clocks are read to some 100 ns */
#define RECORD_NS 200.0			/* of the program's: see docs/FINDINGS.md */
#define MOST_OF_CPU 0.002
#define STAKE_NS 1e6			/* a short program's, whatever it does */

struct event {
	uint64_t time;
	int32_t tid;
	enum fl_switch how;
};

struct instant {
	uint64_t tsc, ns;
};

struct fl_preempt {
	struct fl_perf_rings rings;
	struct fl_preempted *times;
	struct event *events;		/* taken, not yet heeded */
	uint32_t n;
	uint64_t n_dropped;		/* records not heeded: it is not known whose */
	struct instant was, is, now;	/* was, is: APART_NS and more before the next one */
	bool lost;			/* a record, or there was no memory */
	bool is_off;
	bool goes;			/* the rings are there, and this thread's */
};

/* ---- records ------------------------------------------------------------------------- */

struct record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time, id;
};

static void take(void *arg, const struct perf_event_header *h)
{
	const struct record *r = (const struct record *)h;
	struct fl_preempt *p = arg;

	p->lost |= h->type == PERF_RECORD_LOST ||
		   fl_array_room(&p->events, p->n, sizeof(*p->events));
	p->n_dropped += p->lost;
	if (h->type != PERF_RECORD_SWITCH || p->lost)
		return;
	p->events[p->n++] = (struct event){
		.time = r->time, .tid = (int32_t)r->tid,
		.how = !(h->misc & PERF_RECORD_MISC_SWITCH_OUT) ? FL_SWITCH_IN :
		       h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? FL_SWITCH_PREEMPTED :
		       FL_SWITCH_WAITS,
	};
}

/* The two clocks drift: what a tick is now is told from the last moments. */
static double read_clocks(struct fl_preempt *p)
{
	fl_clocks_read(&p->now.tsc, &p->now.ns);
	if (p->now.ns - p->is.ns >= APART_NS) {
		p->was = p->is;
		p->is = p->now;
	}
	return (double)(p->now.tsc - p->was.tsc) / (double)(p->now.ns - p->was.ns);
}

void fl_preempt_poll(struct fl_preempt *p)
{
	uint32_t held, i = 0;
	double ticks_per_ns, cost_ns, ran_ns;

	if (!p || !p->goes || p->is_off || (!p->n && !fl_perf_rings_have(&p->rings)))
		return;
	ticks_per_ns = read_clocks(p);
	held = fl_perf_rings_take(&p->rings, take, p);
	fl_rows_sort(p->events, p->n, sizeof(*p->events));
	for (; i < p->n && p->events[i].time < p->now.ns; i++) {
		const struct event *e = &p->events[i];
		double ago = (double)(p->now.ns - e->time) * ticks_per_ns;

		p->lost |= fl_preempted_switch(p->times, e->tid, e->how,
					       p->now.tsc - (uint64_t)ago) != 0;
	}
	p->n -= i;
	memmove(p->events, p->events + i, p->n * sizeof(*p->events));
	if (p->lost || held > NEARLY_FULL) {
		p->lost = false;
		p->n_dropped += p->n;
		p->n = 0;
		fl_preempted_forget(p->times, fl_arch_ticks());
	}
	cost_ns = (2 * (double)fl_preempted_switches(p->times) + (double)p->n_dropped) *
		  RECORD_NS;
	ran_ns = (double)fl_preempted_ran(p->times) / ticks_per_ns;
	if (cost_ns > ran_ns * MOST_OF_CPU + STAKE_NS) {
		p->is_off = true;
		fl_perf_rings_close(&p->rings);
		fl_preempted_forget(p->times, UINT64_MAX);
	}
}

uint64_t fl_preempt_between(const struct fl_preempt *p, int32_t tid, uint64_t begin,
			    uint64_t end)
{
	return p ? fl_preempted_between(p->times, tid, begin, end) : 0;
}

bool fl_preempt_is_told(const struct fl_preempt *p)
{
	return p && !p->is_off;
}

/* ---- opening -------------------------------------------------------------------- */

/* Before Linux 4.17 nothing says whether a thread could have run on. */
static bool is_too_old(void)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	return uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2 || major < 4 ||
	       (major == 4 && minor < 17);
}

static struct perf_event_attr switches(void)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID,
		.inherit = 1, .exclude_kernel = 1, .exclude_hv = 1, .exclude_guest = 1,
		.context_switch = 1,
		.sample_id_all = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
	};
}

int fl_preempt_start(struct fl_preempt *p, int pid)
{
	struct perf_event_attr attr = switches();

	attr.disabled = 1;
	return fl_perf_rings_open(&p->rings, &attr, pid);
}

void fl_preempt_go(struct fl_preempt *p)
{
	if (!p)
		return;
	p->goes = true;
	fl_perf_rings_go(&p->rings);
}

static int open_running(struct fl_preempt *p, int pid)
{
	struct perf_event_attr attr = switches();

	attr.task = 1;
	p->goes = true;
	return fl_perf_rings_open_of(&p->rings, &attr, pid);
}

static bool is_beside(int32_t tid)
{
	char name[16] = "";

	fl_os_thread_name_of(tid, tid, name);
	return !strcmp(name, FL_OS_OUTSIDE_NAME);
}

/* Switches have an event of their own, which counts nothing: it can end before samples do. */
int fl_preempt_open(struct fl_preempt **out, int running)
{
	struct fl_preempt *p = is_too_old() ? NULL : calloc(1, sizeof(*p));
	int err = -ENOSYS;

	if (p)
		p->times = fl_preempted_open(is_beside);
	if (p && p->times)
		err = running ? open_running(p, running) : 0;
	if (err) {
		fl_preempt_close(p);
		return err;
	}
	fl_clocks_read(&p->now.tsc, &p->now.ns);
	p->was = p->is = p->now;
	*out = p;
	return 0;
}

void fl_preempt_close(struct fl_preempt *p)
{
	if (!p)
		return;
	fl_perf_rings_close(&p->rings);
	fl_preempted_close(p->times);
	free(p->events);
	free(p);
}
