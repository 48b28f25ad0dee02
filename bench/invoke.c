/*
 * invoke.c - what a probe costs the thread that meets it.
 *
 *	invoke.empty             extra ticks of an empty handler, an event
 *	invoke.off               extra ticks of a probe that is off, a site
 *	invoke.off.busy          the same beside work that leaves nothing of the core
 *	                         unused: what the site's instructions take
 *	invoke.unused            the same before flick_open(): what the
 *	                         compiler's call costs where flick is not used
 *	invoke.*.patchable       the same at -fpatchable-function-entry
 *
 * Compiled with -finstrument-functions. Every number is the difference of two
 * loops that call the same body, one batch of each in turn; a cyg function
 * has two sites, so its difference is halved.
 */
#include "bench.h"
#include "probes.h"

#define RUNS	400
#define CALLS	100000		/* a run */
#define PLAIN	__attribute__((BENCH_PLAIN))
#define TARGET	__attribute__((noinline, aligned(64)))
#define BODY	__asm__ volatile("" : "+r"(x)); return x

PLAIN TARGET static int bare(int x) { BODY; }
TARGET static int probed(int x) { BODY; }
PLAIN TARGET __attribute__((patchable_function_entry(5)))
static int padded(int x) { BODY; }

BENCH_LOOP(bare_ticks, bare)
BENCH_LOOP(probed_ticks, probed)
BENCH_LOOP(padded_ticks, padded)
BENCH_LOOP_BESIDE(bare_busy, bare, BENCH_BUSY)
BENCH_LOOP_BESIDE(probed_busy, probed, BENCH_BUSY)
BENCH_LOOP_BESIDE(padded_busy, padded, BENCH_BUSY)

PLAIN static void empty_handler(uint32_t id, void *arg)
{
	(void)id;
	(void)arg;
}

PLAIN static void switch_all(flick *f, bool to_on,
			     const struct probe *const *p)
{
	for (; *p; p++) {
		if (to_on)
			flick_on(f, (*p)->id, empty_handler, NULL);
		else
			flick_off(f, (*p)->id);
	}
}

/* A function with its probes, and under which names it is reported. */
struct subject {
	double (*loop)(int n), (*busy)(int n);
	const struct probe *probes[3];	/* NULL-terminated */
	double sites;
	const char *empty, *off, *off_busy;
};

PLAIN static void count_event(uint32_t id, void *arg)
{
	(void)id;
	++*(uint64_t *)arg;
}

/* Is every probe met exactly once a call while on, and never while off? */
PLAIN static bool is_true(flick *f, const struct subject *s)
{
	uint64_t n = 0;

	for (const struct probe *const *p = s->probes; *p; p++)
		flick_on(f, (*p)->id, count_event, &n);
	s->loop(CALLS);
	if (n != (uint64_t)s->sites * CALLS)
		return false;
	switch_all(f, false, s->probes);
	s->loop(CALLS);
	return n == (uint64_t)s->sites * CALLS;
}

PLAIN static void measure(flick *f, const struct subject *s)
{
	struct series empty = { .n = 0 }, off = { .n = 0 }, busy = { .n = 0 };

	if (!s->probes[(size_t)s->sites - 1] || !is_true(f, s)) {
		bench_skip(s->empty, "the probe is not met exactly while it is on");
		return;
	}
	for (int run = 0; run < RUNS; run++) {
		double none, idle, none_busy;

		switch_all(f, false, s->probes);
		s->loop(CALLS);
		bare_ticks(CALLS);		/* warm */
		none = bare_ticks(CALLS);
		idle = s->loop(CALLS);
		bare_busy(CALLS / 10);
		none_busy = bare_busy(CALLS / 2);
		s->busy(CALLS / 10);
		series_add(&busy, (s->busy(CALLS / 2) - none_busy) / s->sites);
		switch_all(f, true, s->probes);
		s->loop(CALLS);
		series_add(&off, (idle - none) / s->sites);
		series_add(&empty, (s->loop(CALLS) - idle) / s->sites);
	}
	switch_all(f, false, s->probes);
	bench_report(s->empty, "ticks/event", &empty);
	bench_report(s->off, "ticks/site", &off);
	bench_report(s->off_busy, "ticks/site", &busy);
}

PLAIN static void measure_unused(void)
{
	struct series unused = { .n = 0 };

	for (int run = 0; run < RUNS; run++) {
		double none = bare_ticks(CALLS);

		series_add(&unused, (probed_ticks(CALLS) - none) / 2);
	}
	bench_report("invoke.unused", "ticks/site", &unused);
}

PLAIN int main(int argc, char **argv)
{
	struct subject cyg = { .loop = probed_ticks, .busy = probed_busy, .sites = 2,
			       .empty = "invoke.empty", .off = "invoke.off",
			       .off_busy = "invoke.off.busy" };
	struct subject pad = { .loop = padded_ticks, .busy = padded_busy, .sites = 1,
			       .empty = "invoke.empty.patchable",
			       .off = "invoke.off.patchable",
			       .off_busy = "invoke.off.patchable.busy" };
	flick *f;

	bench_options(argc, argv);
	bench_pin(BENCH_VICTIM);
	measure_unused();
	f = probes_open();
	if (!f)
		return 1;
	cyg.probes[0] = probes_entry((const void *)probed);
	cyg.probes[1] = probes_exit((const void *)probed);
	pad.probes[0] = probes_entry((const void *)padded);
	measure(f, &cyg);
	measure(f, &pad);
	flick_close(f);
	return 0;
}
