/*
 * edge.c - the clocks by which windows are measured.
 *
 * Time is the program's. Where flick's process has the program's one CPU, the program does not
 * run while a window is opened and closed, nor until that process is off the CPU, so the
 * program's CPU time is exact. Where flick's process goes to another CPU (agent/watch.c), CPU
 * time lags, and the time that passes is exact.
 *
 * Hands are calls of functions that are counted always: a clock of the program's own, which
 * knows what slows it down (session/budget/clock.c). A thread that ended in between has taken
 * its part with it, once the reader has its counts: then the window is told as torn. The gauge
 * is no hand, but is counted alone behind a window, as long as the reader wants that.
 */
#include "edge.h"
#include "goal.h"
#include "os/os.h"

static bool has_one_cpu;
static uint32_t hands[FL_HANDS], gauge;	/* probes + 1 */

/* A program that has ended has no clock (0): its time stands still. */
static uint64_t program_ns(void)
{
	static uint64_t last;
	uint64_t ns = has_one_cpu ? fl_os_program_ns() : fl_os_monotonic_ns();

	if (ns)
		last = ns;
	return last;
}

void fl_edge_open(void)
{
	struct fl_seldom *s = &fl_table.session->seldom;
	uint32_t cpus = fl_os_shared_cpus(fl_table.shm->reader_cpus);

	has_one_cpu = cpus == 1 && fl_os_program_ns();
	fl_edge_hands();
	store_relaxed(&s->has_one_cpu, has_one_cpu);
	store_relaxed(&s->shared_cpus, cpus + 1);
}

void fl_edge_hands(void)
{
	for (uint32_t k = 0; k < FL_HANDS; k++)
		hands[k] = load_relaxed(&fl_table.session->seldom.hands[k]);
	gauge = load_relaxed(&fl_table.session->seldom.gauge_probe);
}

/* Read before a sum and behind it. A sum that lacks what a thread has counted was read when
 * n_taken had that thread; a sum behind which n_taken does not have it is whole. */
static uint32_t taken_now(void)
{
	uint32_t n;

	/* (W) pairs with (V) in channel/drain.c */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	n = load_relaxed(&fl_table.session->seldom.n_taken);
	/* (W) pairs with (V) in channel/drain.c */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return n;
}

/* Has any thread taken counts with it from one edge to the other, or is it not known? */
static bool is_torn_between(const struct fl_edge *from, const struct fl_edge *to)
{
	return from->taken_then != to->taken ||
	       load_relaxed(&fl_table.shm->n_slots_used) > FL_HANDS_SLOTS;
}

uint64_t fl_edge_ticks_per_us(void)
{
	const struct fl_region *m = fl_table.shm;
	uint64_t us = (fl_os_monotonic_ns() - m->mono0_ns) / 1000;

	return us < 100 ? 2000 : (fl_arch_ticks() - m->tsc0) / us + 1;
}

void fl_edge_read(struct fl_edge *m)
{
	m->taken_then = taken_now();
	m->ns = fl_os_monotonic_ns();
	m->ran_ns = program_ns();
	for (uint32_t k = 0; k < FL_HANDS; k++)
		m->ticks[k] = hands[k] ? fl_channel_counted(hands[k] - 1) : 0;
	m->gauge = gauge ? fl_channel_counted(gauge - 1) : 0;
	m->taken = taken_now();
}

/* What the program has run since is not known where that is CPU time. There flick's process,
 * which reads, is on the program's CPU, and comes soon. */
void fl_edge_read_as_of(struct fl_edge *m, uint64_t tsc)
{
	uint64_t ago_ns = (fl_arch_ticks() - tsc) * 1000 / fl_edge_ticks_per_us();

	fl_edge_read(m);
	m->ns -= ago_ns;
	if (!has_one_cpu)
		m->ran_ns -= ago_ns;
}

void fl_edge_half_way(struct fl_edge *m)
{
	struct fl_edge now;

	fl_edge_read(&now);
	m->ns += (now.ns - m->ns) / 2;
	m->ran_ns += (now.ran_ns - m->ran_ns) / 2;
	for (uint32_t k = 0; k < FL_HANDS; k++)
		if (now.ticks[k] > m->ticks[k])
			m->ticks[k] += (now.ticks[k] - m->ticks[k]) / 2;
	if (now.gauge > m->gauge)
		m->gauge += (now.gauge - m->gauge) / 2;
	m->taken = now.taken;
}

static void add(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

void fl_edge_tell(const struct fl_edge *closed, const struct fl_edge *opened,
		    const struct fl_edge *now)
{
	struct fl_seldom *s = &fl_table.session->seldom;

	for (uint32_t k = 0; k < FL_HANDS; k++)
		add(&s->ticks[k], now->ticks[k] - opened->ticks[k]);
	__atomic_fetch_add(&s->torn, is_torn_between(opened, now), __ATOMIC_RELAXED);
	add(&s->passed_ns, now->ns - closed->ns);
	add(&s->open_ns, now->ns - opened->ns);
	add(&s->ran_ns, now->ran_ns - closed->ran_ns);
	add(&s->ran_open_ns, now->ran_ns - opened->ran_ns);
	add(&s->windows, 1);
}

struct fl_function *fl_edge_gauge(void)
{
	struct fl_function *f;
	uint32_t n = 0;

	if (!gauge || gauge > fl_table.n)
		return NULL;
	f = &fl_table.functions[fl_table.probes[gauge - 1].function];
	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		n += fl_goal_wants_entry(id);
	return f->is_seldom && n == 1 && fl_goal_wants_entry(gauge - 1) ? f : NULL;
}

void fl_edge_tell_gauge(const struct fl_edge *opened, const struct fl_edge *closed,
			const struct fl_edge *from, const struct fl_edge *to)
{
	struct fl_gauge *g = &fl_table.session->seldom.gauge;

	if (is_torn_between(opened, to)) {
		add(&g->torn_ns, closed->ran_ns - opened->ran_ns);
		add(&g->torn_behind_ns, to->ran_ns - closed->ran_ns);
		return;
	}
	add(&g->calls, closed->gauge - opened->gauge);
	add(&g->ns, closed->ran_ns - opened->ran_ns);
	add(&g->behind, to->gauge - from->gauge);
	add(&g->behind_ns, to->ran_ns - from->ran_ns);
	add(&g->extra, to->gauge - closed->gauge);
	add(&g->windows, 1);
}

void fl_edge_tell_end(const struct fl_edge *closed, const struct fl_edge *opened)
{
	struct fl_seldom *s = &fl_table.session->seldom;
	uint64_t now = fl_os_monotonic_ns(), ran = program_ns();

	if (opened) {
		add(&s->open_ns, now - opened->ns);
		add(&s->ran_open_ns, ran - opened->ran_ns);
	}
	add(&s->ran_ns, ran - closed->ran_ns);
	add(&s->windows, opened != NULL);
	add(&s->passed_ns, now - closed->ns);
	store_relaxed(&s->closed_ns, now);
}
