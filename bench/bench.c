/*
 * bench.c - ticks, pinning, series of runs, output.
 *
 * Hides the order statistics and the two output formats.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool want_json;

void bench_options(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--json")) {
		want_json = true;
	} else if (argc != 1) {
		fprintf(stderr, "usage: %s [--json]\n", argv[0]);
		exit(2);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
}

void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fprintf(stderr, "bench: cannot pin to CPU %d\n", cpu);
}

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double bench_ticks_hz(void)
{
	static double hz;
	double start = seconds_now();
	uint64_t from = bench_ticks();

	if (hz > 0)
		return hz;
	while (seconds_now() - start < 0.1)
		;
	hz = (double)(bench_ticks() - from) / (seconds_now() - start);
	return hz;
}

double bench_empty(size_t n)
{
	double best = HUGE_VAL;

	for (int run = 0; run < 20; run++) {
		uint64_t from = bench_ticks();

		for (size_t i = 0; i < n; i++)
			__asm__ volatile("" : : "r"(i));
		best = fmin(best, (double)(bench_ticks() - from));
	}
	return best;
}

void series_add(struct series *s, double value)
{
	if (s->n < BENCH_RUNS_MAX)
		s->v[s->n++] = value;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value at `share` of the sorted series, by nearest rank. */
static double rank_of(const double *sorted, size_t n, double share)
{
	size_t rank = (size_t)ceil(share * (double)n);

	return sorted[rank ? rank - 1 : 0];
}

static double median_of(const double *sorted, size_t n)
{
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double series_median(const struct series *s)
{
	struct series sorted = *s;

	qsort(sorted.v, sorted.n, sizeof(sorted.v[0]), compare_doubles);
	return s->n ? median_of(sorted.v, s->n) : NAN;
}

void bench_report(const char *name, const char *unit, struct series *s)
{
	double value, lo, hi;

	if (!s->n) {
		bench_skip(name, "no run gave a number");
		return;
	}
	qsort(s->v, s->n, sizeof(s->v[0]), compare_doubles);
	value = median_of(s->v, s->n);
	lo = rank_of(s->v, s->n, 0.1);
	hi = rank_of(s->v, s->n, 0.9);
	printf(want_json ? "{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\","
	       "\"lo\":%.2f,\"hi\":%.2f,\"runs\":%zu}\n"
	       : "%-28s %12.2f %-16s [%.2f, %.2f] %zu runs\n",
	       name, value, unit, lo, hi, s->n);
	s->n = 0;
}

void bench_skip(const char *name, const char *reason)
{
	printf(want_json ? "{\"name\":\"%s\",\"skipped\":\"%s\"}\n"
	       : "%-28s skipped: %s\n", name, reason);
}
