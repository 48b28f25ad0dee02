/*
 * toggle.c - what switching probes costs, and what the thread that runs
 * them pays for it.
 *
 *	toggle.one.flip         one probe on or off, no thread running it
 *	toggle.one.straddle     the same, sites that straddle a cache line only
 *	toggle.one.each         each of 10,000 probes once: nothing is cached
 *	toggle.one.flip.hot     one probe on or off, another core running it
 *	toggle.victim.*         calls a second of that core while one probe is
 *	                        switched, of the mean of always on and always off
 *	toggle.victim.handler.* the same while it stays on and its handler is
 *	                        switched, of always on
 *	toggle.set              20,000 probes as one set, per probe, while
 *	                        another core runs through all of them
 *	toggle.set.stage        staging that set by pattern, per probe
 *	toggle.set.victim       calls a second of that core meanwhile
 *	toggle.commit.10k       one commit of 10,000 probes
 *
 * Linked with the file of bench/synth. The handler is empty.
 */
#include "bench.h"
#include "probes.h"
#include "synth.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>

#define RUNS		400
#define SET_RUNS	100
#define VICTIM_RUNS	30
#define FLIPS		1000	/* on and off, a run */
#define SYNTH_MAX	20000	/* functions of the synthetic file */
#define SITE_BYTES	5
#define WINDOW_SECONDS	0.02

static flick *flick_open_one;	/* constant after main's start */

static void empty_handler(uint32_t id, void *arg)
{
	(void)id;
	(void)arg;
}

/* ---- the thread that runs probes ---------------------------------------- */

static void other_handler(uint32_t id, void *arg)
{
	(void)arg;
	(void)id;
	__asm__ volatile("" : : : "memory");
}

static struct executor {
	pthread_t thread;
	size_t first, count, repeat;	/* constant while it runs */
	_Atomic bool is_stopping;	/* W main, R thread */
	alignas(64) _Atomic uint64_t calls;	/* W thread, R main */
} executor;

static void *execute(void *arg)
{
	struct executor *e = arg;

	bench_pin(BENCH_VICTIM);
	while (!atomic_load_explicit(&e->is_stopping, memory_order_relaxed)) {
		for (size_t i = 0; i < e->count; i++)
			for (size_t k = 0; k < e->repeat; k++)
				synth_fn[e->first + i]((int)k);
		atomic_fetch_add_explicit(&e->calls, e->count * e->repeat,
					  memory_order_relaxed);
	}
	return NULL;
}

static void wait_calls(struct executor *e, uint64_t more)
{
	uint64_t until = atomic_load(&e->calls) + more;

	while (atomic_load(&e->calls) < until)
		__builtin_ia32_pause();
}

static void executor_start(size_t first, size_t count, size_t repeat)
{
	struct executor *e = &executor;

	e->first = first;
	e->count = count;
	e->repeat = repeat;
	atomic_store(&e->is_stopping, false);
	pthread_create(&e->thread, NULL, execute, e);
	wait_calls(e, 100000);
}

static void executor_stop(void)
{
	atomic_store(&executor.is_stopping, true);
	pthread_join(executor.thread, NULL);
}

/* ---- one probe ----------------------------------------------------------- */

static void switch_on(uint32_t id)
{
	flick_on(flick_open_one, id, empty_handler, NULL);
}

static void switch_off(uint32_t id)
{
	flick_off(flick_open_one, id);
}

/* Ticks of one switch; FLIPS times on and off. */
static double flip_ticks(uint32_t id)
{
	uint64_t from = bench_ticks();

	for (size_t i = 0; i < FLIPS; i++) {
		switch_on(id);
		switch_off(id);
	}
	return ((double)(bench_ticks() - from) - bench_empty(FLIPS)) /
	       (2 * FLIPS);
}

static const struct probe *entry_of(size_t i)
{
	return probes_entry((const void *)synth_fn[i % synth_n]);
}

static void measure_flip(void)
{
	struct series all = { .n = 0 }, straddle = { .n = 0 };

	for (size_t i = 0; i < synth_n && straddle.n < RUNS; i += 3) {
		const struct probe *p = entry_of(i);
		double ticks;

		if (!p || (all.n >= RUNS && !probe_straddles(p, SITE_BYTES)))
			continue;
		flip_ticks(p->id);	/* warm */
		ticks = flip_ticks(p->id);
		if (all.n < RUNS)
			series_add(&all, ticks);
		if (probe_straddles(p, SITE_BYTES))
			series_add(&straddle, ticks);
	}
	bench_report("toggle.one.flip", "ticks", &all);
	bench_report("toggle.one.straddle", "ticks", &straddle);
}

/* Entry probes of all functions, in an order no cache foresees. */
static size_t shuffled_ids(uint32_t *ids)
{
	size_t n = 0;

	for (size_t i = 0; i < synth_n; i++) {
		const struct probe *p = entry_of(i * 4241);

		if (p)
			ids[n++] = p->id;
	}
	return n;
}

static double each_ticks(void (*one)(uint32_t), const uint32_t *ids, size_t n)
{
	uint64_t from = bench_ticks();

	for (size_t i = 0; i < n; i++)
		one(ids[i]);
	return ((double)(bench_ticks() - from) - bench_empty(n)) / (double)n;
}

static void measure_each(void)
{
	static uint32_t ids[SYNTH_MAX];
	struct series each = { .n = 0 };
	size_t n = shuffled_ids(ids);

	for (int run = 0; n && run < SET_RUNS + 1; run++) {
		double on = each_ticks(switch_on, ids, n);
		double off = each_ticks(switch_off, ids, n);

		if (run)		/* the first is warm-up */
			series_add(&each, (on + off) / 2);
	}
	bench_report("toggle.one.each", "ticks", &each);
}

static void measure_hot(void)
{
	struct series hot = { .n = 0 };

	for (size_t run = 0; run < 20; run++) {
		size_t fn = run * 331 % synth_n;
		const struct probe *p = entry_of(fn);

		executor_start(fn, 1, 64);
		flip_ticks(p->id);
		for (int k = 0; k < 10; k++)
			series_add(&hot, flip_ticks(p->id));
		executor_stop();
	}
	bench_report("toggle.one.flip.hot", "ticks", &hot);
}

/* ---- what the victim pays ------------------------------------------------ */

/* Calls a tick during one window, in which `step(arg)` is called every
 * `period` ticks; *steps says how often. */
static double window_rate(double period, void (*step)(uint64_t, uint32_t),
			  uint32_t id, uint64_t *steps)
{
	uint64_t from = bench_ticks(), now = from;
	uint64_t calls = atomic_load(&executor.calls);
	double end = WINDOW_SECONDS * bench_ticks_hz();
	uint64_t n = 0;

	while ((double)(now - from) < end) {
		if (step && (double)(now - from) >= (double)n * period)
			step(n++, id);
		now = bench_ticks();
	}
	*steps = n;
	return (double)(atomic_load(&executor.calls) - calls) /
	       (double)(now - from);
}

static void step_one(uint64_t n, uint32_t id)
{
	if (n % 2)
		switch_off(id);
	else
		switch_on(id);
}

/* Of a victim whose probe is on half of the time: the mean of both rates. */
static double calm_rate(uint32_t id)
{
	uint64_t none;
	double on, off;

	switch_on(id);
	on = window_rate(0, NULL, id, &none);
	switch_off(id);
	off = window_rate(0, NULL, id, &none);
	return (on + off) / 2;
}

static void step_handler(uint64_t n, uint32_t id)
{
	flick_on(flick_open_one, id, n % 2 ? empty_handler : other_handler, NULL);
}

/* The mean of both handlers. */
static double calm_on_rate(uint32_t id)
{
	uint64_t none;
	double one, other;

	step_handler(0, id);
	other = window_rate(0, NULL, id, &none);
	step_handler(1, id);
	one = window_rate(0, NULL, id, &none);
	return (one + other) / 2;
}

static const struct victim {
	void (*step)(uint64_t n, uint32_t id);
	double (*calm)(uint32_t id);
} on_and_off = { step_one, calm_rate }, two_handlers = { step_handler, calm_on_rate };

/* How much is left of the calm rate, in percent; 0 `per_second`: full speed. */
static void measure_victim(const char *name, const struct victim *v,
			   double per_second)
{
	struct series left = { .n = 0 };
	double period = per_second > 0 ? bench_ticks_hz() / per_second : 0;
	uint64_t steps = 0, reached = 0;

	for (size_t run = 0; run < VICTIM_RUNS; run++) {
		size_t fn = run * 331 % synth_n;
		uint32_t id = entry_of(fn)->id;
		double rate, calm;

		executor_start(fn, 1, 64);
		calm = v->calm(id);
		rate = window_rate(period, v->step, id, &steps);
		calm = (calm + v->calm(id)) / 2;
		executor_stop();
		series_add(&left, 100 * rate / calm);
		reached += steps;
	}
	if ((double)reached < 0.95 * per_second * WINDOW_SECONDS * VICTIM_RUNS)
		bench_skip(name, "the switching thread did not reach this rate");
	else
		bench_report(name, "% of calls", &left);
}

/* ---- a set --------------------------------------------------------------- */

/* Ticks a probe of staging, and of committing, `n` probes. */
static void switch_set(const char *pattern, enum flick_state to,
		       double *stage, double *commit)
{
	uint64_t start = bench_ticks(), staged, committed;
	int n = flick_stage(flick_open_one, pattern, to);

	staged = bench_ticks();
	if (n <= 0 || flick_commit(flick_open_one) < 0)
		fprintf(stderr, "bench: set %s: %d\n", pattern, n);
	committed = bench_ticks();
	*stage = (double)(staged - start) / n;
	*commit = (double)(committed - staged) / n;
}

#define ALL "[ab]_*"
#define HALF "a_*"

static void measure_set(void)
{
	struct series set = { .n = 0 }, stage = { .n = 0 };
	double staging, committing;

	executor_start(0, synth_n, 1);
	for (int run = 0; run < SET_RUNS + 2; run++) {
		switch_set(ALL, run % 2 ? FLICK_OFF : FLICK_ON,
			   &staging, &committing);
		if (run < 2)
			continue;	/* warm */
		series_add(&set, committing);
		series_add(&stage, staging);
	}
	executor_stop();
	bench_report("toggle.set", "ticks/probe", &set);
	bench_report("toggle.set.stage", "ticks/probe", &stage);
}

static void measure_commit(void)
{
	struct series ms = { .n = 0 };
	double staging, committing;

	executor_start(0, synth_n, 1);
	for (int run = 0; run < SET_RUNS; run++) {
		switch_set(HALF, run % 2 ? FLICK_OFF : FLICK_ON,
			   &staging, &committing);
		series_add(&ms, committing * (double)synth_n /
				bench_ticks_hz() * 1e3);
	}
	executor_stop();
	bench_report("toggle.commit.10k", "ms", &ms);
}

static void step_set(uint64_t n, uint32_t id)
{
	double staging, committing;

	(void)id;
	switch_set(ALL, n % 2 ? FLICK_OFF : FLICK_ON, &staging, &committing);
}

static double calm_set_rate(void)
{
	double unused, on, off;
	uint64_t none;

	switch_set(ALL, FLICK_ON, &unused, &unused);
	on = window_rate(0, NULL, 0, &none);
	switch_set(ALL, FLICK_OFF, &unused, &unused);
	off = window_rate(0, NULL, 0, &none);
	return (on + off) / 2;
}

static void measure_set_victim(void)
{
	struct series left = { .n = 0 };
	uint64_t sets;

	executor_start(0, synth_n, 1);
	for (int run = 0; run < VICTIM_RUNS; run++) {
		double calm = calm_set_rate();

		series_add(&left, 100 * window_rate(0, step_set, 0, &sets) /
				  calm);
	}
	executor_stop();
	bench_report("toggle.set.victim", "% of calls", &left);
}

/* ---- is what will be measured true? -------------------------------------- */

/* Every function is called; each entry probe was met so often before. */
static bool hits_are(uint64_t *before, uint64_t more)
{
	for (size_t i = 0; i < synth_n; i++)
		synth_fn[i](1);
	for (size_t i = 0; i < synth_n; i++) {
		const struct probe *p = entry_of(i);
		uint64_t hits = p ? flick_hits(flick_open_one, p->id) : 0;

		if (!p || hits - before[i] != more)
			return false;
		before[i] = hits;
	}
	return true;
}

/* Does a committed set run, and is it silent afterwards? Arms every probe. */
static bool set_works(void)
{
	static uint64_t hits[SYNTH_MAX];
	double unused;

	switch_set(ALL, FLICK_ON, &unused, &unused);
	if (!hits_are(hits, 1))
		return false;
	switch_set(ALL, FLICK_OFF, &unused, &unused);
	return hits_are(hits, 0);
}

static void count_event(uint32_t id, void *arg)
{
	(void)id;
	++*(uint64_t *)arg;
}

/* Does each single probe run its handler when on, and not when off? */
static bool ones_work(void)
{
	static uint64_t n;	/* a late event may still be counted */

	for (size_t i = 0; i < synth_n; i++) {
		const struct probe *p = entry_of(i);

		if (!p)
			return false;
		flick_on(flick_open_one, p->id, count_event, &n);
		synth_fn[i](1);
		flick_off(flick_open_one, p->id);
		synth_fn[i](1);
	}
	return n == synth_n;
}

static void measure_sets(void)
{
	measure_set();
	measure_commit();
	measure_set_victim();
}

static void measure_ones(void)
{
	measure_flip();
	measure_each();
	measure_hot();
	measure_victim("toggle.victim.100k", &on_and_off, 1e5);
	measure_victim("toggle.victim.1m", &on_and_off, 1e6);
	measure_victim("toggle.victim.max", &on_and_off, 0);
	measure_victim("toggle.victim.handler.100k", &two_handlers, 1e5);
	measure_victim("toggle.victim.handler.1m", &two_handlers, 1e6);
}

int main(int argc, char **argv)
{
	bench_options(argc, argv);
	bench_pin(BENCH_OTHER);
	flick_open_one = probes_open();
	if (!flick_open_one || synth_n > SYNTH_MAX)
		return 1;
	if (set_works())
		measure_sets();
	else
		fprintf(stderr, "a probe of a set was not met as it should\n");
	if (ones_work())
		measure_ones();
	else
		fprintf(stderr, "a single probe was not met as it should\n");
	flick_close(flick_open_one);
	return 0;
}
