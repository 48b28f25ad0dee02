/*
 * bench.c - ticks, pinning, series of runs, output.
 *
 * Hides the order statistics and the two output formats.
 */
#include "bench.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* One line; `reached` 0: of no rate. */
static void print_line(const char *name, const char *unit, const double *stat,
		       size_t n, double reached)
{
	char rate[64] = "";

	if (reached > 0)
		snprintf(rate, sizeof(rate),
			 want_json ? ",\"reached\":%.0f" : " at %.0f/s", reached);
	printf(want_json ? "{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\","
	       "\"lo\":%.2f,\"hi\":%.2f,\"runs\":%zu%s}\n"
	       : "%-28s %12.2f %-16s [%.2f, %.2f] %zu runs%s\n",
	       name, stat[0], unit, stat[1], stat[2], n, rate);
}

void bench_report(const char *name, const char *unit, struct series *s)
{
	bench_report_at(name, unit, s, 0);
}

void bench_report_at(const char *name, const char *unit, struct series *s,
		     double reached)
{
	double stat[3];

	if (!s->n) {
		bench_skip(name, "no run gave a number");
		return;
	}
	qsort(s->v, s->n, sizeof(s->v[0]), compare_doubles);
	stat[0] = median_of(s->v, s->n);
	stat[1] = rank_of(s->v, s->n, 0.1);
	stat[2] = rank_of(s->v, s->n, 0.9);
	print_line(name, unit, stat, s->n, reached);
	s->n = 0;
}

void bench_skip(const char *name, const char *reason)
{
	printf(want_json ? "{\"name\":\"%s\",\"skipped\":\"%s\"}\n"
	       : "%-28s skipped: %s\n", name, reason);
}

int bench_child(void (*run)(const void *arg), const void *arg)
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		run(arg);
		fflush(NULL);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WEXITSTATUS(status) ? -1 : 0;
}
