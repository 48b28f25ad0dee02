/*
 * xray.c - the peer: LLVM's XRay on the same work.
 *
 *	peer.xray.on, .off     patch and unpatch all of 20,000 functions, a
 *	                       function (two sleds: entry and exit)
 *	peer.xray.one          patch or unpatch one function, another each time
 *	peer.xray.one.warm     the same one again and again
 *	peer.xray.call         extra ticks of an empty handler, an event
 *	peer.xray.call.off     extra ticks of unpatched sleds, a sled
 *
 * Built by clang -fxray-instrument together with the file of bench/synth.
 * XRay does not synchronise with running threads; here none runs.
 */
#include "bench.h"
#include "synth.h"

#include <stdio.h>

#define RUNS	40		/* of patching everything */
#define ONE_RUNS 400
#define CALLS	100000		/* a run */

/* xray/xray_interface.h is C++ only: the part used here. */
enum xray_status { XRAY_NOT_READY, XRAY_SUCCESS, XRAY_ONGOING, XRAY_FAILED };

extern int __xray_set_handler(void (*entry)(int32_t, int));
extern enum xray_status __xray_patch(void);
extern enum xray_status __xray_unpatch(void);
extern enum xray_status __xray_patch_function(int32_t id);
extern enum xray_status __xray_unpatch_function(int32_t id);
extern size_t __xray_max_function_id(void);
extern uintptr_t __xray_function_address(int32_t id);

static uint64_t n_events;

static void counting_handler(int32_t id, int kind)
{
	(void)id;
	(void)kind;
	n_events++;
}

static void empty_handler(int32_t id, int kind)
{
	(void)id;
	(void)kind;
}

#define BODY	__asm__ volatile("" : "+r"(x)); return x

__attribute__((noinline, aligned(64), BENCH_PLAIN))
static int bare(int x) { BODY; }

__attribute__((noinline, aligned(64), xray_always_instrument))
static int probed(int x) { BODY; }

static double patch_ticks(enum xray_status (*all)(void))
{
	uint64_t from = bench_ticks();

	if (all() != XRAY_SUCCESS)
		return -1;
	return (double)(bench_ticks() - from) /
	       (double)__xray_max_function_id();
}

/* Are all on after patching, and none after unpatching? */
static bool patching_works(void)
{
	uint64_t on, off;

	__xray_set_handler(counting_handler);
	__xray_patch();
	for (size_t i = 0; i < synth_n; i++)
		synth_fn[i](1);
	on = n_events;
	__xray_unpatch();
	for (size_t i = 0; i < synth_n; i++)
		synth_fn[i](1);
	off = n_events - on;
	__xray_set_handler(empty_handler);
	return on >= 2 * synth_n && off == 0;
}

static void measure_all(void)
{
	struct series on = { .n = 0 }, off = { .n = 0 };

	patch_ticks(__xray_patch);	/* warm: the pages become private */
	patch_ticks(__xray_unpatch);
	for (int run = 0; run < RUNS; run++) {
		series_add(&on, patch_ticks(__xray_patch));
		series_add(&off, patch_ticks(__xray_unpatch));
	}
	bench_report("peer.xray.on", "ticks/function", &on);
	bench_report("peer.xray.off", "ticks/function", &off);
}

static double one_ticks(int32_t id)
{
	uint64_t from = bench_ticks();

	__xray_patch_function(id);
	__xray_unpatch_function(id);
	return (double)(bench_ticks() - from) / 2;
}

static void measure_one(void)
{
	int32_t max = (int32_t)__xray_max_function_id();
	struct series one = { .n = 0 }, warm = { .n = 0 };

	for (int32_t run = 0; run < ONE_RUNS; run++) {
		int32_t id = 1 + run * 47 % max;

		series_add(&one, one_ticks(id));
		series_add(&warm, one_ticks(id));
	}
	bench_report("peer.xray.one", "ticks", &one);
	bench_report("peer.xray.one.warm", "ticks", &warm);
}

BENCH_LOOP(bare_ticks, bare)
BENCH_LOOP(probed_ticks, probed)

static int32_t find_probed(void)
{
	int32_t max = (int32_t)__xray_max_function_id();

	for (int32_t id = 1; id <= max; id++)
		if (__xray_function_address(id) == (uintptr_t)probed)
			return id;
	return 0;
}

static void measure_call(void)
{
	struct series call = { .n = 0 }, off = { .n = 0 };
	int32_t id = find_probed();

	for (int run = 0; id && run < ONE_RUNS; run++) {
		double none = bare_ticks(CALLS), idle = probed_ticks(CALLS);

		series_add(&off, (idle - none) / 2);
		__xray_patch_function(id);
		probed_ticks(CALLS);		/* warm */
		series_add(&call, (probed_ticks(CALLS) - idle) / 2);
		__xray_unpatch_function(id);
		probed_ticks(CALLS);
	}
	bench_report("peer.xray.call", "ticks/event", &call);
	bench_report("peer.xray.call.off", "ticks/site", &off);
}

int main(int argc, char **argv)
{
	bench_options(argc, argv);
	bench_pin(BENCH_OTHER);
	if (__xray_max_function_id() < synth_n || !patching_works()) {
		fprintf(stderr, "XRay does not patch every function here\n");
		return 1;
	}
	measure_all();
	measure_one();
	measure_call();
	return 0;
}
