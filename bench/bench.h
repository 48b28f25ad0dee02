/*
 * bench.h - what the benches share: ticks, pinning, series of runs, output.
 *
 * A bench measures batches; each batch gives one number, a run. A series of
 * runs is reported by its median and its 10th and 90th percentile (nearest
 * rank), with --json as one object a line, without as one line of text.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_RUNS_MAX	4096
#define BENCH_VICTIM	0	/* the CPU of the thread that runs the probes */
#define BENCH_OTHER	1	/* the CPU of the one that switches or reads */

struct series {
	double v[BENCH_RUNS_MAX];
	size_t n;
};

/* TSC ticks, after everything before has been executed. */
static inline uint64_t bench_ticks(void)
{
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
}

/* Work that waits for nothing: it fills what a core can issue for some ten ticks, so
 * that each instruction more takes time. A loop of calls alone waits for its calls and
 * returns, and hides a few instructions. */
#define BENCH_BUSY __asm__ volatile(".rept 48\n\tnopl 0(%rax)\n\t.endr")

/* Define `static double name(int n)`: the ticks of one call of `function` in a
 * loop of n, in which `beside` stands too. A loop of its own each, so that each
 * calls a constant. */
#define BENCH_LOOP(name, function) BENCH_LOOP_BESIDE(name, function, (void)0)
#define BENCH_LOOP_BESIDE(name, function, beside)			\
__attribute__((noinline, aligned(64), BENCH_PLAIN))			\
static double name(int n)						\
{									\
	uint64_t from = bench_ticks();					\
									\
	for (int i = 0; i < n; i++) {					\
		function(i);						\
		beside;							\
	}								\
	return (double)(bench_ticks() - from) / n;			\
}
#ifdef __clang__
#define BENCH_PLAIN xray_never_instrument
#else
#define BENCH_PLAIN no_instrument_function
#endif

/* Take --json, refuse anything else: exits with 2. */
void bench_options(int argc, char **argv);

/* Keep the calling thread on one CPU; a machine without it is left alone. */
void bench_pin(int cpu);

/* TSC ticks a second, measured once against CLOCK_MONOTONIC_RAW. */
double bench_ticks_hz(void);

/* What a loop of `n` rounds costs by itself, and one pair of bench_ticks(). */
double bench_empty(size_t n);

void series_add(struct series *, double);
double series_median(const struct series *);

/* Print the series under `name`, and start it anew. */
void bench_report(const char *name, const char *unit, struct series *);
/* The same, and how many switches a second were reached meanwhile. */
void bench_report_at(const char *name, const char *unit, struct series *,
		     double reached);
/* Print that `name` was not measured, and why. */
void bench_skip(const char *name, const char *reason);

/* Call run(arg) in a child of its own. 0, or the signal it died of, or -1 when
 * it ended otherwise. */
int bench_child(void (*run)(const void *arg), const void *arg);

#endif
