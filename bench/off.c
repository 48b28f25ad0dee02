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

static void measure(const void *arg)
{
	static struct series extra;
	static struct field f;
	const struct job *j = arg;
	const char *reason = subject_open(j->subject, &f, ONES);

	if (reason) {
		bench_skip(j->name, reason);
		return;
	}
	for (size_t run = 0; run < RUNS; run++) {
		size_t i = j->from + run % j->n * j->step;
		field_fn *fn = (field_fn *)field_at(&f, i);
		double none;

		j->subject->put(i, 0);
		field_strip(&f, i);
		call_ticks(f.bare);
		call_ticks(fn);			/* warm */
		none = call_ticks(f.bare);
		series_add(&extra, call_ticks(fn) - none);
	}
	if (subject_failures())
		bench_skip(j->name, "a place could not be switched off");
	else
		bench_report(j->name, "ticks/place", &extra);
}

int main(int argc, char **argv)
{
	bench_options(argc, argv);
	bench_pin(BENCH_VICTIM);
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		if (bench_child(measure, &jobs[i]))
			bench_skip(jobs[i].name, "it did not end well");
	return 0;
}
