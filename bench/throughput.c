/*
 * throughput.c - what is left of the calls through a site while it is
 * switched, and how evenly its two states are met (paper 1, Figures 12 to 14).
 *
 *	toggle.throughput.0       calls a second through the site left alone,
 *	                          the mean of on and off
 *	toggle.throughput.RATE    calls left at that many switches a second, of
 *	                          that mean in the same round
 *	toggle.swap.RATE          the same, between calls to two targets
 *	toggle.balance.RATE       of those: calls to the target met more often,
 *	                          over calls to the other
 *	paper.*.throughput, .swap, .balance
 *	                          the same for the paper's protocols
 *	floor.throughput.RATE     the same while the byte that stands there is
 *	                          stored again: what the processors charge
 *	floor.line                a cache line's way from one CPU to the other
 *	toggle.threads.N          N threads run it at 10,000 switches a second:
 *	                          calls left, of min(N, CPUs) times one calm thread
 *	toggle.threads.swap.N     the same between two targets
 *	floor.threads.N           the same, but the patcher wakes and stores nothing
 *
 * The executor is on CPU 0, the patcher on CPU 1; executors of toggle.threads
 * are on all CPUs in turn, and the patcher sleeps between its switches.
 */
#include "bench.h"
#include "rate.h"
#include "subject.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RUNS		15
#define THREAD_RUNS	7
#define WINDOW_SECONDS	0.02
#define CALM_SECONDS	0.01
#define HOT		64	/* sites, each hot in turn */
#define REPEAT		64	/* calls in a round of the executor */
#define THREADS_MAX	8
#define THREADS_RATE	10000.0

static const struct rate {
	const char *name;
	double per_second;
} rates[] = { { "1k", 1e3 }, { "10k", 1e4 }, { "100k", 1e5 }, { "1m", 1e6 } };

static const struct contest {
	const char *prefix;	/* of the names it is reported under */
	const char *part;	/* what follows it */
	const char *balance;	/* what follows it there; NULL: none asked for */
	const struct subject *subject;
} contests[] = {
	{ "floor", "throughput", NULL, &floor_store },
	{ "toggle", "throughput", NULL, &subject_flip },
	{ "toggle", "swap", "balance", &subject_swap },
	{ "paper.callpatch", "throughput", NULL, &paper_callpatch },
	{ "paper.callpatch", "swap", "balance", &paper_callpatch_swap },
	{ "paper.wordpatch", "throughput", NULL, &paper_wordpatch },
	{ "paper.wordpatch", "swap", "balance", &paper_wordpatch_swap },
	{ "paper.straddler", "throughput", NULL, &paper_straddler },
	{ "paper.straddler", "swap", "balance", &paper_straddler_swap },
};

struct job {			/* what a child does */
	const struct contest *contest;
	const struct rate *rate;
	int threads;
	char name[64], balance[64];	/* balance "": not reported */
};

static struct executor executors[THREADS_MAX];

static size_t site_of_run(size_t run)
{
	return run * 331 % HOT;
}

/* ---- one executor at a rate ------------------------------------------------ */

static double ratio_of(const struct counts *c, char off)
{
	double a = (double)c->a, b = (double)(off ? c->b : c->calls - c->a);

	return a > b ? a / b : b / a;
}

struct result {
	struct series left, balance, reached;
};

static void run_rate(const struct job *j, const struct field *f, size_t run,
		     struct result *r)
{
	const struct subject *s = j->contest->subject;
	struct executor *e = &executors[0];
	size_t i = site_of_run(run);
	struct window w;
	double calm;

	executor_start(e, f, i, 1, REPEAT, BENCH_VICTIM);
	calm = calm_rate(window_paced, s, i, e, 1, CALM_SECONDS);
	w = window_paced(s, i, e, 1, j->rate->per_second, WINDOW_SECONDS);
	calm += calm_rate(window_paced, s, i, e, 1, CALM_SECONDS);
	executor_stop(e);
	series_add(&r->left, 200 * window_rate(&w) / calm);
	series_add(&r->balance, ratio_of(&w.seen, s->off));
	series_add(&r->reached, window_reached(&w));
}

static void skip_both(const struct job *j, const char *reason)
{
	bench_skip(j->name, reason);
	if (*j->balance)
		bench_skip(j->balance, reason);
}

static void report_rate(const struct job *j, struct result *r)
{
	double reached = series_median(&r->reached);
	char reason[128];

	if (subject_failures()) {
		skip_both(j, "switches failed under the executor");
	} else if (reached < 0.95 * j->rate->per_second) {
		snprintf(reason, sizeof(reason), "%.0f switches a second is the "
			 "most it reaches, with %.1f %% of calls left",
			 reached, series_median(&r->left));
		skip_both(j, reason);
	} else {
		bench_report_at(j->name, "% of calls", &r->left, reached);
		if (*j->balance)
			bench_report_at(j->balance, "times", &r->balance,
					reached);
	}
}

static void measure_rate(const void *arg)
{
	static struct result r;
	static struct field f;
	const struct job *j = arg;
	const char *reason = subject_open(j->contest->subject, &f, HOT);

	if (reason) {
		skip_both(j, reason);
		return;
	}
	for (size_t run = 0; run < RUNS; run++)
		run_rate(j, &f, run, &r);
	report_rate(j, &r);
}

/* ---- the calm site ----------------------------------------------------------- */

static void measure_calm(const void *arg)
{
	static struct series calls;
	static struct field f;
	const struct job *j = arg;
	const struct subject *s = j->contest->subject;
	const char *reason = subject_open(s, &f, HOT);

	if (reason) {
		bench_skip(j->name, reason);
		return;
	}
	for (size_t run = 0; run < RUNS; run++) {
		size_t i = site_of_run(run);

		executor_start(&executors[0], &f, i, 1, REPEAT, BENCH_VICTIM);
		series_add(&calls, 1e-6 * bench_ticks_hz() *
			   calm_rate(window_paced, s, i, executors, 1,
				     CALM_SECONDS));
		executor_stop(&executors[0]);
	}
	bench_report(j->name, "M calls/s", &calls);
}

/* ---- many executors ------------------------------------------------------------ */

static double run_threads(const struct subject *s, const struct field *f,
			  size_t i, size_t n, struct series *reached)
{
	size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	double calm, full;
	struct window w;

	executor_start(&executors[0], f, i, 1, REPEAT, 0);
	calm = calm_rate(window_slept, s, i, executors, 1, CALM_SECONDS);
	for (size_t t = 1; t < n; t++)
		executor_start(&executors[t], f, i, 1, REPEAT, (int)(t % cpus));
	w = window_slept(s, i, executors, n, THREADS_RATE, 5 * WINDOW_SECONDS);
	for (size_t t = n; t-- > 1;)
		executor_stop(&executors[t]);
	calm += calm_rate(window_slept, s, i, executors, 1, CALM_SECONDS);
	executor_stop(&executors[0]);
	full = calm / 2 * (double)(n < cpus ? n : cpus);
	series_add(reached, window_reached(&w));
	return 100 * window_rate(&w) / full;
}

static void measure_threads(const void *arg)
{
	static struct series left, reached;
	static struct field f;
	const struct job *j = arg;
	const struct subject *s = j->contest->subject;
	const char *reason = subject_open(s, &f, HOT);

	for (size_t run = 0; !reason && run < THREAD_RUNS; run++)
		series_add(&left, run_threads(s, &f, site_of_run(run),
					      (size_t)j->threads, &reached));
	if (reason)
		bench_skip(j->name, reason);
	else if (subject_failures())
		bench_skip(j->name, "switches failed under the executors");
	else
		bench_report_at(j->name, "% of calls", &left,
				series_median(&reached));
}

/* ---- how far apart the CPUs are ---------------------------------------------- */

/* 0: this thread's turn to write, 1: the other's; 2: the end. */
static alignas(LINE_BYTES) _Atomic int turn;

static void *answer(void *arg)
{
	int now;

	(void)arg;
	bench_pin(BENCH_VICTIM);
	while ((now = atomic_load(&turn)) != 2)
		if (now == 1)
			atomic_store(&turn, 0);
	return NULL;
}

static double way_ticks(size_t rounds)
{
	uint64_t from = bench_ticks();

	for (size_t i = 0; i < rounds; i++) {
		atomic_store(&turn, 1);
		while (atomic_load(&turn))
			;
	}
	return (double)(bench_ticks() - from) / (2 * (double)rounds);
}

static void measure_line(const void *arg)
{
	enum { LINE_RUNS = 100, ROUNDS = 1000 };
	static struct series ticks;
	const struct job *j = arg;
	pthread_t other;

	pthread_create(&other, NULL, answer, NULL);
	way_ticks(ROUNDS);		/* the other one has arrived */
	for (int run = 0; run < LINE_RUNS; run++)
		series_add(&ticks, way_ticks(ROUNDS));
	atomic_store(&turn, 2);
	pthread_join(other, NULL);
	bench_report(j->name, "ticks", &ticks);
}

/* ---- all of it ------------------------------------------------------------------ */

static void run_job(const struct job *j, void (*measure)(const void *))
{
	char reason[64];
	int signo = bench_child(measure, j);

	snprintf(reason, sizeof(reason), "it died of signal %d", signo);
	if (signo)
		skip_both(j, reason);
}

static void measure_contest(const struct contest *c)
{
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct job j = { .contest = c, .rate = &rates[i] };

		snprintf(j.name, sizeof(j.name), "%s.%s.%s", c->prefix,
			 c->part, rates[i].name);
		if (c->balance)
			snprintf(j.balance, sizeof(j.balance), "%s.%s.%s",
				 c->prefix, c->balance, rates[i].name);
		run_job(&j, measure_rate);
	}
}

static void measure_many(const struct contest *c, const char *part)
{
	for (int n = 1; n <= THREADS_MAX; n *= 2) {
		struct job j = { .contest = c, .threads = n };

		snprintf(j.name, sizeof(j.name), "%s.%s.%d", c->prefix, part, n);
		run_job(&j, measure_threads);
	}
}

int main(int argc, char **argv)
{
	const struct contest flips = { .prefix = "toggle",
				       .subject = &subject_flip };
	const struct contest rests = { .prefix = "floor",
				       .subject = &floor_rest };
	const struct contest swaps = { .prefix = "toggle",
				       .subject = &subject_swap };
	struct job line = { .name = "floor.line" };
	struct job calm = { .contest = &flips, .name = "toggle.throughput.0" };

	bench_options(argc, argv);
	bench_pin(BENCH_OTHER);
	bench_ticks_hz();
	run_job(&line, measure_line);
	run_job(&calm, measure_calm);
	for (size_t i = 0; i < sizeof(contests) / sizeof(contests[0]); i++)
		measure_contest(&contests[i]);
	measure_many(&flips, "threads");
	measure_many(&swaps, "threads.swap");
	measure_many(&rests, "threads");
	return 0;
}
