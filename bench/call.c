/*
 * call.c - the target of call.sh: calls one instrumented function.
 *
 *	call N FILE    call it N times, write the ticks a call to FILE
 *
 * Compiled with -finstrument-functions; only the function called has probes.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#define PLAIN	__attribute__((BENCH_PLAIN))

__attribute__((noinline, aligned(64)))
static int probed(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

BENCH_LOOP(calls_ticks, probed)

PLAIN int main(int argc, char **argv)
{
	FILE *out;

	if (argc != 3) {
		fprintf(stderr, "usage: call N FILE\n");
		return 2;
	}
	bench_pin(BENCH_VICTIM);
	out = fopen(argv[2], "w");
	if (!out || fprintf(out, "%.3f\n", calls_ticks(atoi(argv[1]))) < 0)
		return 1;
	return fclose(out) != 0;
}
