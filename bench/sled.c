/*
 * sled.c - what a probe that is off costs where a jump must stay.
 *
 *	invoke.off.jump          a function's XRay sleds under flick: the jump
 *	                         over the entry's stays, the exit's is a `ret`
 *	invoke.empty.sled        an empty handler there, extra over off
 *
 * Compiled by clang -fxray-instrument, without XRay's runtime. Differences of
 * two loops that call the same body, one batch of each in turn; a function has
 * two sites, so a difference is halved.
 */
#include "bench.h"
#include "probes.h"

#include <stdio.h>

#define RUNS	400
#define CALLS	100000		/* a run */
#define BODY	__asm__ volatile("" : "+r"(x)); return x

__attribute__((noinline, aligned(64), BENCH_PLAIN))
static int bare(int x) { BODY; }
__attribute__((noinline, aligned(64), xray_always_instrument))
static int probed(int x) { BODY; }

BENCH_LOOP(bare_ticks, bare)
BENCH_LOOP(probed_ticks, probed)

static uint64_t n_met;

static void count_event(uint32_t id, void *arg)
{
	(void)id;
	(void)arg;
	n_met++;
}

static void empty_handler(uint32_t id, void *arg)
{
	(void)id;
	(void)arg;
}

static void switch_both(flick *f, const struct probe *const *p,
			flick_handler *handler)
{
	for (; *p; p++) {
		if (handler)
			flick_on(f, (*p)->id, handler, NULL);
		else
			flick_off(f, (*p)->id);
	}
}

/* Is each met exactly once a call while on, and never while off? */
static bool is_true(flick *f, const struct probe *const *p)
{
	switch_both(f, p, count_event);
	probed_ticks(CALLS);
	switch_both(f, p, NULL);
	probed_ticks(CALLS);
	return n_met == 2 * CALLS;
}

static void measure(flick *f, const struct probe *const *p)
{
	static struct series off, empty;

	for (int run = 0; run < RUNS; run++) {
		double none, idle;

		switch_both(f, p, NULL);
		probed_ticks(CALLS);
		bare_ticks(CALLS);		/* warm */
		none = bare_ticks(CALLS);
		idle = probed_ticks(CALLS);
		switch_both(f, p, empty_handler);
		probed_ticks(CALLS);
		series_add(&off, (idle - none) / 2);
		series_add(&empty, (probed_ticks(CALLS) - idle) / 2);
	}
	switch_both(f, p, NULL);
	bench_report("invoke.off.jump", "ticks/site", &off);
	bench_report("invoke.empty.sled", "ticks/event", &empty);
}

int main(int argc, char **argv)
{
	const struct probe *both[3] = { NULL };
	flick *f;

	bench_options(argc, argv);
	bench_pin(BENCH_VICTIM);
	f = probes_open();
	if (!f)
		return 1;
	both[0] = probes_entry((const void *)probed);
	both[1] = probes_exit((const void *)probed);
	if (both[0] && both[1] && is_true(f, both))
		measure(f, both);
	else
		fprintf(stderr, "a sled is not met exactly while it is on\n");
	flick_close(f);
	return 0;
}
