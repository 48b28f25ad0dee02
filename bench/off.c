/*
 * off.c - what a place costs that is off, for every way to switch it off
 * (paper 1, section 8.5).
 *
 *	invoke.off.flip           test $imm32,%eax where the call stood
 *	invoke.off.word           a nop of five bytes
 *	invoke.off.wide           the same nop across two cache lines
 *	paper.callpatch.off.jump  splits 2|3, 3|2, 4|1: a short jump stays
 *	paper.callpatch.off.ret   split 1|4: a call of a lone `ret` stays
 *
 *	*.busy                    the same beside work that leaves nothing of the
 *	                          core unused
 *
 * A function of nothing but the place and `ret`, against one of `ret` alone;
 * one batch of each in turn. Where a jump must stay with flick: sled.c.
 */
#include "bench.h"
#include "subject.h"

#include <stdio.h>

#define RUNS	400
#define CALLS	20000		/* a run */
#define ONES	64

static const struct job {
	const char *name;
	const struct subject *subject;
	size_t from, step, n;	/* places: from, from + step, .. */
} jobs[] = {
	{ "invoke.off.flip", &subject_flip, 0, 1, ONES },
	{ "invoke.off.word", &subject_word, 0, 1, ONES },
	{ "invoke.off.wide", &subject_wide, 0, 1, ONES },
	{ "paper.callpatch.off.jump", &paper_callpatch_split, 1, 4, ONES / 4 },
	{ "paper.callpatch.off.ret", &paper_callpatch_split, 0, 4, ONES / 4 },
};

static double call_ticks(field_fn *fn)
{
	uint64_t from = bench_ticks();

	for (int i = 0; i < CALLS; i++)
		fn(NULL);		/* neither function looks at it */
	return (double)(bench_ticks() - from) / CALLS;
}

static double busy_ticks(field_fn *fn)
{
	uint64_t from = bench_ticks();

	for (int i = 0; i < CALLS; i++) {
		fn(NULL);
		BENCH_BUSY;
	}
	return (double)(bench_ticks() - from) / CALLS;
}

static double extra_ticks(double (*loop)(field_fn *), field_fn *bare, field_fn *fn)
{
	double none;

	loop(bare);
	loop(fn);			/* warm */
	none = loop(bare);
	return loop(fn) - none;
}

/* Both rows of a job, or why there are none. */
static void report(const struct job *j, const char *reason, struct series *extra,
		   struct series *busy)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.busy", j->name);
	if (reason) {
		bench_skip(j->name, reason);
		bench_skip(name, reason);
		return;
	}
	bench_report(j->name, "ticks/place", extra);
	bench_report(name, "ticks/place", busy);
}

static void measure(const void *arg)
{
	static struct series extra, busy;
	static struct field f;
	const struct job *j = arg;
	const char *reason = subject_open(j->subject, &f, ONES);

	if (reason) {
		report(j, reason, NULL, NULL);
		return;
	}
	for (size_t run = 0; run < RUNS; run++) {
		size_t i = j->from + run % j->n * j->step;
		field_fn *fn = (field_fn *)field_at(&f, i);

		j->subject->put(i, 0);
		field_strip(&f, i);
		series_add(&extra, extra_ticks(call_ticks, f.bare, fn));
		series_add(&busy, extra_ticks(busy_ticks, f.bare, fn));
	}
	if (subject_failures())
		reason = "a place could not be switched off";
	report(j, reason, &extra, &busy);
}

int main(int argc, char **argv)
{
	bench_options(argc, argv);
	bench_pin(BENCH_VICTIM);
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		if (bench_child(measure, &jobs[i]))
			report(&jobs[i], "it did not end well", NULL, NULL);
	return 0;
}
