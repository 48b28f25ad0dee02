/*
 * patch.c - what changing code costs, flick's way and the paper's.
 *
 *	toggle.one.call, .word, .wide, .wide.wait
 *	                        one switch of one place by flick/patch.h: by
 *	                        one byte, one word, three phases with membarrier
 *	                        and three with the calibrated wait; wide are splits
 *	                        of a nop at 2|3, 3|2, 4|1 (1|4 is refused)
 *	paper.callpatch, paper.wordpatch, paper.straddler
 *	                        the paper's protocols on the same code; the
 *	                        straddler with a fence before each wait, and
 *	paper.straddler.printed without, as it is printed
 *	init.place              taking such a place: flick_call_init()
 *	*.hot                   the same while another core runs that place
 *	paper.straddler.died, .printed.died
 *	                        runs that died of it under an executor
 *	toggle.set.flip, .wide  20,000 places as one set, per place, while
 *	                        another core runs through all of them
 *	floor.set, .wide        stores to each of them that change nothing, as
 *	                        many as such a change needs
 *	*.histogram.p50, .p99, .ratio, .modes
 *	                        (Figure 11) each of 20,000 places, at every
 *	                        offset of a line: what switching it takes, the
 *	                        mean of 16 switches that were timed alone
 *
 * A place is a call of five bytes (field.h). Switching goes through a pointer
 * to a function for all alike.
 */
#include "bench.h"
#include "subject.h"

#include <flick/patch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS		100
#define SET_RUNS	50
#define SET_WIDE_RUNS	20
#define PASSES		16	/* of a histogram: off, on, off, .. */
#define HISTOGRAMS	5
#define ONES		64	/* places, each measured in turn */
#define MANY		20000
#define RUN_TICKS	1e6	/* of a batch of switches */
#define BATCH_MAX	1000
#define DEATH_RUNS	20
#define DEATH_SWITCHES	50000

struct job {			/* what a child does */
	const char *name;
	const struct subject *subject;
	size_t n;		/* of a set: places */
};

static struct field field;
static struct executor executor;

/* False, and said so, when the subject cannot be measured here. */
static bool open_or_skip(const struct job *j, size_t n)
{
	const char *reason = subject_open(j->subject, &field, n);

	if (reason)
		bench_skip(j->name, reason);
	return !reason;
}

static void report_unless_failed(const struct job *j, const char *unit,
				 struct series *s)
{
	if (subject_failures())
		bench_skip(j->name, "switches failed while they were measured");
	else
		bench_report(j->name, unit, s);
}

static void run_job(const struct job *j, void (*measure)(const void *))
{
	char reason[64];
	int signo = bench_child(measure, j);

	snprintf(reason, sizeof(reason), "it died of signal %d", signo);
	if (signo)
		bench_skip(j->name, reason);
}

/* ---- one place -------------------------------------------------------------- */

/* Ticks of one switch, out of `pairs` of off and on. */
static double pair_ticks(const struct subject *s, size_t i, size_t pairs)
{
	uint64_t from = bench_ticks();

	for (size_t k = 0; k < pairs; k++) {
		s->put(i, 0);
		s->put(i, 1);
	}
	return ((double)(bench_ticks() - from) - bench_empty(pairs)) /
	       (2 * (double)pairs);
}

static size_t batch_of(const struct subject *s, size_t i)
{
	double pairs = RUN_TICKS / (2 * pair_ticks(s, i, 4));

	return pairs > BATCH_MAX ? BATCH_MAX : pairs < 4 ? 4 : (size_t)pairs;
}

static void measure_idle(const void *arg)
{
	static struct series ticks;
	const struct job *j = arg;

	if (!open_or_skip(j, ONES))
		return;
	for (size_t run = 0; run < RUNS; run++) {
		size_t i = run % ONES;

		series_add(&ticks, pair_ticks(j->subject, i,
					      batch_of(j->subject, i)));
	}
	report_unless_failed(j, "ticks", &ticks);
}

static void measure_hot(const void *arg)
{
	enum { PER_PLACE = 10 };
	static struct series ticks;
	const struct job *j = arg;

	if (!open_or_skip(j, ONES))
		return;
	for (size_t i = 0; i < RUNS / PER_PLACE; i++) {
		size_t pairs;

		executor_start(&executor, &field, i, 1, 64, BENCH_VICTIM);
		pairs = batch_of(j->subject, i);
		for (int k = 0; k < PER_PLACE; k++)
			series_add(&ticks, pair_ticks(j->subject, i, pairs));
		executor_stop(&executor);
	}
	report_unless_failed(j, "ticks", &ticks);
}

static void measure_one(const char *name, const struct subject *s)
{
	char hot[64];

	snprintf(hot, sizeof(hot), "%s.hot", name);
	run_job(&(struct job){ .name = name, .subject = s }, measure_idle);
	run_job(&(struct job){ .name = hot, .subject = s }, measure_hot);
}

static void measure_taking(const void *arg)
{
	enum { OPENS = 10 };
	static struct series ticks;
	const struct job *j = arg;

	for (int run = 0; run < OPENS; run++) {
		if (!open_or_skip(j, j->n))
			return;
		series_add(&ticks, subject_take_ticks);
	}
	bench_report(j->name, "ticks/place", &ticks);
}

/* ---- does it kill? ------------------------------------------------------------ */

/* Between two switches the executor must run the place whole: 0 to 4,000 ticks
 * of rest, so that no moment of it is spared. */
static void rest(uint64_t ticks)
{
	uint64_t from = bench_ticks();

	while (bench_ticks() - from < ticks)
		;
}

/* Switch under an executor, at a split that is this run's. */
static void switch_long(const void *arg)
{
	const struct job *j = arg;

	if (subject_open(j->subject, &field, ONES))
		exit(1);
	executor_start(&executor, &field, j->n, 1, 64, BENCH_VICTIM);
	for (unsigned int k = 0; k < DEATH_SWITCHES; k++) {
		j->subject->put(j->n, k % 2);
		rest(k * 2654435761u >> 20);
	}
	executor_stop(&executor);
}

static void measure_deaths(const char *name, const struct subject *s)
{
	struct series died = { .n = 0 };
	double n = 0;

	for (size_t run = 0; run < DEATH_RUNS; run++)
		n += bench_child(switch_long, &(struct job){
				 .subject = s, .n = run }) != 0;
	series_add(&died, n);
	bench_report(name, "of 20 runs", &died);
}

/* ---- a set --------------------------------------------------------------------- */

/* Let the executor run every place, so that its core holds all the lines. */
static void wait_lap(void)
{
	uint64_t until = executor_counts(&executor).calls + 2 * MANY;

	while (executor_counts(&executor).calls < until)
		__builtin_ia32_pause();
}

static double commit_ticks(struct flick_change *changes, size_t n,
			   enum flick_state to)
{
	uint64_t from;
	size_t bad;

	for (size_t i = 0; i < n; i++)
		changes[i] = (struct flick_change){ subject_patch(i), to };
	wait_lap();
	from = bench_ticks();
	if (flick_patch_commit(changes, n, &bad) < 0)
		return NAN;
	return (double)(bench_ticks() - from) / (double)n;
}

static void measure_set(const void *arg)
{
	static struct flick_change changes[MANY];
	static struct series ticks;
	const struct job *j = arg;
	bool is_whole = true;

	if (!open_or_skip(j, MANY))
		return;
	executor_start(&executor, &field, 0, MANY, 1, BENCH_VICTIM);
	for (size_t run = 0; run < j->n + 2; run++) {
		double t = commit_ticks(changes, MANY,
					run % 2 ? FLICK_OFF : FLICK_ON);

		is_whole = is_whole && !isnan(t);
		if (run > 1)		/* the first two are warm-up */
			series_add(&ticks, t);
	}
	executor_stop(&executor);
	if (is_whole)
		bench_report(j->name, "ticks/place", &ticks);
	else
		bench_skip(j->name, "a commit failed under the executor");
}

/* A byte stored to each place; then to each second line, then to each again,
 * as a wide change does. */
static void store_all(const struct subject *s)
{
	size_t passes = s == &floor_wide ? 3 : 1;

	for (size_t k = 0; k < passes; k++) {
		for (size_t i = 0; i < MANY; i++)
			s->put(i, k == 1 ? 2 : 1);
		__builtin_ia32_mfence();
	}
}

/* No set, no check, no synchronisation. */
static void measure_floor(const void *arg)
{
	static struct series ticks;
	const struct job *j = arg;

	if (!open_or_skip(j, MANY))
		return;
	executor_start(&executor, &field, 0, MANY, 1, BENCH_VICTIM);
	for (size_t run = 0; run < j->n; run++) {
		uint64_t from;

		wait_lap();
		from = bench_ticks();
		store_all(j->subject);
		series_add(&ticks, (double)(bench_ticks() - from) / MANY);
	}
	executor_stop(&executor);
	bench_report(j->name, "ticks/place", &ticks);
}

/* ---- the distribution ------------------------------------------------------------ */

/* A clock may move in steps of 26 ticks: a mean of many readings is finer than that.
 * The largest of each place is left out, as others on the machine only add. */
static struct place_ticks {
	double sum, largest;
} place_ticks[MANY];
static double lone_ticks[MANY];

static int compare_ticks(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void add_ticks(struct place_ticks *p, double t)
{
	p->sum += t;
	p->largest = fmax(p->largest, t);
}

/* One switch of each place, each timed alone. */
static void run_pass(const struct subject *s, int state)
{
	for (size_t i = 0; i < MANY; i++) {
		uint64_t from = bench_ticks();

		s->put(i, state);
		add_ticks(&place_ticks[i], (double)(bench_ticks() - from));
	}
}

/* Of each place, sorted. */
static void sort_means(double pair_of_ticks)
{
	for (size_t i = 0; i < MANY; i++) {
		const struct place_ticks *p = &place_ticks[i];

		lone_ticks[i] = fmax((p->sum - p->largest) / (PASSES - 1) - pair_of_ticks, 1);
	}
	qsort(lone_ticks, MANY, sizeof(lone_ticks[0]), compare_ticks);
}

/* Groups of places that lie a fifth or more apart. A group begins after a quarter of
 * an octave that holds less than a half percent; one that holds less than two percent
 * of all is an outlier, not a mode. */
static double count_modes(void)
{
	enum { QUARTERS = 4 * 64 };
	size_t quarters[QUARTERS] = { 0 }, group = 0;
	int modes = 0;

	for (size_t i = 0; i < MANY; i++)
		quarters[(size_t)(4 * log2(lone_ticks[i]))]++;
	for (int q = 0; q < QUARTERS; q++) {
		if (quarters[q] >= MANY / 200) {
			group += quarters[q];
			continue;
		}
		modes += group >= MANY / 50;
		group = 0;
	}
	return modes + (group >= MANY / 50);
}

/* What was only started is ended before the next pass; not timed. */
static void finish_all(const struct subject *s, int state)
{
	if (s != &paper_async)
		return;
	for (size_t i = 0; i < MANY; i++)
		subject_finish(i);
	for (size_t i = 0; i < MANY; i++)
		if (!field_runs(&field, i, state ? 'a' : s->off))
			subject_fail();
}

static void report_part(const struct job *j, const char *part, const char *unit,
			struct series *s)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s", j->name, part);
	report_unless_failed(&(struct job){ .name = name }, unit, s);
}

/* What two readings take by themselves, as a place's mean has it. */
static double empty_pair(void)
{
	enum { READINGS = 10000 };
	struct place_ticks p = { 0 };
	double sum = 0;

	for (int i = 0; i < READINGS; i++) {
		p = (struct place_ticks){ 0 };
		for (int pass = 0; pass < PASSES; pass++) {
			uint64_t from = bench_ticks();

			add_ticks(&p, (double)(bench_ticks() - from));
		}
		sum += (p.sum - p.largest) / (PASSES - 1);
	}
	return sum / READINGS;
}

static void run_histogram(const struct subject *s)
{
	memset(place_ticks, 0, sizeof(place_ticks));
	for (int pass = 0; pass < PASSES; pass++) {
		run_pass(s, pass % 2);
		finish_all(s, pass % 2);
	}
}

static void measure_histogram(const void *arg)
{
	static struct series p50, p99, ratio, modes;
	const struct job *j = arg;
	double pair = empty_pair();

	if (!open_or_skip(j, MANY))
		return;
	run_histogram(j->subject);	/* warm */
	for (int n = 0; n < HISTOGRAMS; n++) {
		run_histogram(j->subject);
		sort_means(pair);
		series_add(&p50, lone_ticks[MANY / 2]);
		series_add(&p99, lone_ticks[MANY * 99 / 100]);
		series_add(&ratio, lone_ticks[MANY * 99 / 100] / lone_ticks[MANY / 2]);
		series_add(&modes, count_modes());
	}
	report_part(j, "p50", "ticks", &p50);
	report_part(j, "p99", "ticks", &p99);
	report_part(j, "ratio", "p99/p50", &ratio);
	report_part(j, "modes", "modes", &modes);
}

/* ---- all of it -------------------------------------------------------------------- */

static void measure_ones(void)
{
	static const struct job taking = { "init.place", &subject_flip, 500 };

	run_job(&taking, measure_taking);
	measure_one("toggle.one.call", &subject_flip);
	measure_one("toggle.one.word", &subject_word);
	measure_one("toggle.one.wide", &subject_wide);
	measure_one("toggle.one.wide.wait", &subject_wide_wait);
	measure_one("paper.callpatch", &paper_callpatch);
	measure_one("paper.wordpatch", &paper_wordpatch);
	measure_one("paper.straddler", &paper_straddler);
	measure_one("paper.straddler.printed", &paper_printed);
	measure_deaths("paper.straddler.died", &paper_straddler);
	measure_deaths("paper.straddler.printed.died", &paper_printed);
}

static void measure_sets(void)
{
	static const struct job floors[] = {
		{ "floor.set", &floor_store, SET_RUNS },
		{ "floor.set.wide", &floor_wide, SET_WIDE_RUNS },
	};
	static const struct job jobs[] = {
		{ "toggle.set.flip", &subject_flip, SET_RUNS },
		{ "toggle.set.wide", &subject_wide, SET_WIDE_RUNS },
	};

	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		run_job(&jobs[i], measure_set);
	for (size_t i = 0; i < sizeof(floors) / sizeof(floors[0]); i++)
		run_job(&floors[i], measure_floor);
}

static void measure_histograms(void)
{
	static const struct job jobs[] = {
		{ "toggle.histogram", &subject_flip, 0 },
		{ "paper.callpatch.histogram", &paper_callpatch, 0 },
		{ "paper.wordpatch.histogram", &paper_wordpatch_dense, 0 },
		{ "paper.async.histogram", &paper_async, 0 },
	};

	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		run_job(&jobs[i], measure_histogram);
}

int main(int argc, char **argv)
{
	bench_options(argc, argv);
	bench_pin(BENCH_OTHER);
	measure_ones();
	measure_sets();
	measure_histograms();
	return 0;
}
