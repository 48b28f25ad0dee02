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

#define PLAIN	__attribute__((no_instrument_function))

__attribute__((noinline, aligned(64)))
static int probed(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

PLAIN static double calls_ticks(long n)
{
	uint64_t from = bench_ticks();

	for (long i = 0; i < n; i++)
		probed((int)i);
	return (double)(bench_ticks() - from) / (double)n;
}

PLAIN int main(int argc, char **argv)
{
	FILE *out;

	if (argc != 3) {
		fprintf(stderr, "usage: call N FILE\n");
		return 2;
	}
	bench_pin(BENCH_VICTIM);
	out = fopen(argv[2], "w");
	if (!out || fprintf(out, "%.3f\n", calls_ticks(atol(argv[1]))) < 0)
		return 1;
	return fclose(out) != 0;
}
