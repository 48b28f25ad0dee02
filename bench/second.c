/*
 * second.c - what an event costs where one recorder wants it, and where two do. Run by
 * second.sh, under flick.
 *
 * For each line of standard input it measures a while and writes the median, in ticks an event:
 * entries and exits of a function that does nothing, in bursts that the ring has room for, so
 * that no event waits for a reader.
 */
#include "bench.h"

#include <stdio.h>
#include <unistd.h>

enum { RUNS = 200, CALLS = 1000, PAUSE_US = 2000 };

#define PLAIN	__attribute__((BENCH_PLAIN))
#define TARGET	__attribute__((noinline, aligned(64)))
#define BODY	__asm__ volatile("" : "+r"(x)); return x

PLAIN TARGET static int bare(int x) { BODY; }
TARGET static int probed(int x) { BODY; }

BENCH_LOOP(bare_ticks, bare)
BENCH_LOOP(probed_ticks, probed)

PLAIN static double ticks_an_event(void)
{
	struct series extra = { .n = 0 };

	for (int run = 0; run < RUNS; run++) {
		double none = bare_ticks(CALLS);

		series_add(&extra, (probed_ticks(CALLS) - none) / 2);
		usleep(PAUSE_US);
	}
	return series_median(&extra);
}

PLAIN int main(void)
{
	char line[16];

	bench_pin(BENCH_VICTIM);
	while (fgets(line, sizeof(line), stdin)) {
		ticks_an_event();		/* warm */
		printf("%.3f\n", ticks_an_event());
		fflush(stdout);
	}
	return 0;
}
