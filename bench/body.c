/*
 * body.c - what a second body costs: a plain program. Run by body.sh, under flick.
 *
 *	body call FILE N   call `probed` N times, write the ticks a call to FILE
 *	body off FLICK     switch the probes off by `flick ctl`, since a recorder that ends
 *	                   gives the entry its old bytes back; then measure body.off: extra
 *	                   ticks of a call of an armed function
 *
 * Compiled without sites. Only `probed` has probes.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNS	400
#define CALLS	100000		/* a run */
#define PATIENCE 300		/* hundredths of a second */
#define TARGET	__attribute__((noinline, noipa, aligned(64)))
#define WORK	__asm__ volatile("" : "+r"(x)); return x + 12345

TARGET static int bare(int x) { WORK; }
TARGET static int probed(int x) { WORK; }

BENCH_LOOP(bare_ticks, bare)
BENCH_LOOP(probed_ticks, probed)

static int is_recorded(void)
{
	return probed_ticks(CALLS) > 5 * bare_ticks(CALLS);
}

/* Its own children are not recorded. */
static int switch_off(const char *flick)
{
	char command[1024];
	int pid = (int)getpid();

	snprintf(command, sizeof(command), "unset LD_PRELOAD; \"%s\" ctl -p %d stage off "
		 "probed && \"%s\" ctl -p %d commit", flick, pid, flick, pid);
	return system(command);
}

static int measure_off(const char *flick)
{
	static struct series off;
	int patience = PATIENCE;

	if (!is_recorded() || switch_off(flick))
		return 1;
	while (is_recorded() && patience--)
		usleep(10000);
	for (int run = 0; run < RUNS; run++) {
		double none = bare_ticks(CALLS);

		series_add(&off, probed_ticks(CALLS) - none);
	}
	if (is_recorded())
		bench_skip("body.off", "probes stay on");
	else
		bench_report("body.off", "ticks/call", &off);
	return 0;
}

static int measure_call(const char *path, int n)
{
	FILE *out = fopen(path, "w");

	if (!out || fprintf(out, "%.3f\n", probed_ticks(n)) < 0)
		return 1;
	return fclose(out) != 0;
}

int main(int argc, char **argv)
{
	bench_pin(BENCH_VICTIM);
	if (argc == 4 && !strcmp(argv[1], "call"))
		return measure_call(argv[2], atoi(argv[3]));
	if (argc < 3 || strcmp(argv[1], "off")) {
		fprintf(stderr, "usage: body call FILE N | off FLICK [--json]\n");
		return 2;
	}
	bench_options(argc - 2, argv + 2);
	return measure_off(argv[2]);
}
