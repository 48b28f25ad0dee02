/*
 * orphan.c - what a probe costs whose reader is dead. Run by orphan.sh, under flick.
 *
 *	invoke.orphan            extra ticks of a probe that was recorded, a site
 *	invoke.orphan.unnamed    the same at a place that no scan names and that was
 *	                         not met while the reader lived
 *
 * It kills the reader, its parent, gives what waits beside it time to notice, and then
 * measures as invoke.c does: invoke.off and invoke.unused are to be compared with.
 */
#include "bench.h"

#include <signal.h>
#include <unistd.h>

#define RUNS	400
#define CALLS	100000		/* a run */
#define PATIENCE 300		/* hundredths of a second */
#define PLAIN	__attribute__((BENCH_PLAIN))
#define TARGET	__attribute__((noinline, aligned(64)))
#define BODY	__asm__ volatile("" : "+r"(x)); return x

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

PLAIN TARGET static int bare(int x) { BODY; }
TARGET static int probed(int x) { BODY; }

static void *volatile whose;

PLAIN TARGET static int unnamed(int x)
{
	__cyg_profile_func_enter(whose, NULL);
	__cyg_profile_func_exit(whose, NULL);
	BODY;
}

BENCH_LOOP(bare_ticks, bare)
BENCH_LOOP(probed_ticks, probed)
BENCH_LOOP(unnamed_ticks, unnamed)

/* A recorded call costs many times a bare one. */
PLAIN static int is_recorded(void)
{
	return probed_ticks(CALLS) > 5 * bare_ticks(CALLS);
}

PLAIN static void measure(const char *name, double (*loop)(int n))
{
	struct series extra = { .n = 0 };

	loop(CALLS);				/* warm */
	for (int run = 0; run < RUNS; run++) {
		double none = bare_ticks(CALLS);

		series_add(&extra, (loop(CALLS) - none) / 2);
	}
	bench_report(name, "ticks/site", &extra);
}

PLAIN int main(int argc, char **argv)
{
	bench_options(argc, argv);
	bench_pin(BENCH_VICTIM);
	probed_ticks(CALLS);
	if (!is_recorded())
		return 1;
	kill(getppid(), SIGKILL);
	for (int i = 0; i < PATIENCE && is_recorded(); i++)
		usleep(10000);
	measure("invoke.orphan", probed_ticks);
	measure("invoke.orphan.unnamed", unnamed_ticks);
	return 0;
}
