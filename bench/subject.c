/*
 * subject.c - ways to switch a site.
 *
 * Hides what each needs to know of a site, and whether it does what it says.
 * What is looked up here at a switch is what the paper keeps in its probes'
 * metadata: the bytes, ready to be stored.
 */
#include "subject.h"
#include "bench.h"

#include <flick/patch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paper/paper.h"

enum { PAPER_WAIT = 3000 };	/* ticks: section 8.1 */

/* Of the process's one subject; constant after subject_open(). */
static struct flick_patch *patches;
static struct place {
	unsigned char *at;
	uint64_t word[2];	/* the paper's value, by state */
	uint32_t offset[2];
} *places;
static uint64_t n_failed;
double subject_take_ticks;

struct flick_patch *subject_patch(size_t i)
{
	return &patches[i];
}

uint64_t subject_failures(void)
{
	return n_failed;
}

void subject_fail(void)
{
	n_failed++;
}

/* ---- flick ---------------------------------------------------------------- */

static int take_flip(const struct field *f, size_t i)
{
	return flick_call_init(&patches[i], field_at(f, i), f->target_a, 0);
}

static void put_flip(size_t i, int state)
{
	n_failed += flick_patch_switch(&patches[i],
				       state ? FLICK_ON : FLICK_OFF) != 0;
}

static int take_nop(const struct field *f, size_t i)
{
	return flick_patch_init(&patches[i], field_at(f, i), field_nop,
				SITE_BYTES);
}

static int take_swap(const struct field *f, size_t i)
{
	unsigned char call_b[SITE_BYTES];

	field_call(call_b, f, i, f->target_b);
	return flick_patch_init(&patches[i], field_at(f, i), call_b, SITE_BYTES);
}

/* What stood there, state 1, is FLICK_OFF to flick_patch_init(). */
static void put_other(size_t i, int state)
{
	n_failed += flick_patch_switch(&patches[i],
				       state ? FLICK_OFF : FLICK_ON) != 0;
}

const struct subject subject_flip = {
	place_dense, NULL, "flip", 0, take_flip, put_flip
};
const struct subject subject_word = {
	place_word, NULL, "word", 0, take_nop, put_other
};
const struct subject subject_wide = {
	place_parkable, "membarrier", "wide", 0, take_nop, put_other
};
const struct subject subject_wide_wait = {
	place_parkable, "wait", "wide", 0, take_nop, put_other
};
const struct subject subject_swap = {
	place_word, NULL, "word", 'b', take_swap, put_other
};

/* ---- the paper ------------------------------------------------------------ */

static uint64_t word_with(const unsigned char *at, const unsigned char *five)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	memcpy(&word, five, SITE_BYTES);
	return word;
}

static void note_place(const struct field *f, size_t i,
		       const unsigned char *off)
{
	struct place *p = &places[i];
	unsigned char call[SITE_BYTES];

	p->at = field_at(f, i);
	field_call(call, f, i, f->target_a);
	p->word[1] = word_with(p->at, call);
	memcpy(&p->offset[1], call + 1, 4);
	p->word[0] = word_with(p->at, off);
	memcpy(&p->offset[0], off + 1, 4);
}

static int take_place(const struct field *f, size_t i)
{
	note_place(f, i, field_nop);
	return 0;
}

static int take_calls(const struct field *f, size_t i)
{
	unsigned char call_b[SITE_BYTES];

	field_call(call_b, f, i, f->target_b);
	note_place(f, i, call_b);
	return 0;
}

static void put_call(size_t i, int state)
{
	const struct place *p = &places[i];

	n_failed += !(state ? paper_activate_call(p->at, p->offset[1])
			    : paper_deactivate_call(p->at));
}

static void put_call_swap(size_t i, int state)
{
	n_failed += !paper_activate_call(places[i].at, places[i].offset[state]);
}

static void put_word(size_t i, int state)
{
	n_failed += !paper_patch(places[i].at, places[i].word[state]);
}

static void put_start(size_t i, int state)
{
	n_failed += !paper_start_patch(places[i].at, places[i].word[state]);
}

void subject_finish(size_t i)
{
	while (!paper_finish_patch(places[i].at))
		;
}

const struct subject paper_callpatch = {
	place_dense, NULL, NULL, 0, take_place, put_call
};
const struct subject paper_callpatch_split = {
	place_split, NULL, NULL, 0, take_place, put_call
};
const struct subject paper_wordpatch = {
	place_inside, NULL, NULL, 0, take_place, put_word
};
const struct subject paper_straddler = {
	place_split, NULL, NULL, 0, take_place, put_word
};
const struct subject paper_printed = {
	place_split, NULL, NULL, 0, take_place, put_word
};
const struct subject paper_wordpatch_dense = {
	place_dense, NULL, NULL, 0, take_place, put_word
};
const struct subject paper_async = {
	place_dense, NULL, NULL, 0, take_place, put_start
};
const struct subject paper_callpatch_swap = {
	place_inside, NULL, NULL, 'b', take_calls, put_call_swap
};
const struct subject paper_wordpatch_swap = {
	place_inside, NULL, NULL, 'b', take_calls, put_word
};
const struct subject paper_straddler_swap = {
	place_split, NULL, NULL, 'b', take_calls, put_word
};

/* ---- nobody's ------------------------------------------------------------ */

/* These look nothing up: even a table would push text out of the cache. */
static const struct field *floor_field;

static int take_nothing(const struct field *f, size_t i)
{
	(void)i;
	floor_field = f;
	return 0;
}

static void put_same(size_t i, int state)
{
	volatile unsigned char *at = field_at(floor_field, i);

	(void)state;
	*at = 0xe8;
}

static void put_nothing(size_t i, int state)
{
	(void)i;
	(void)state;
}

static void put_half(size_t i, int state)
{
	volatile unsigned char *at = field_at(floor_field, i);

	if (state == 2)
		at[SITE_BYTES - 1] = 0xff;	/* targets lie below all sites */
	else
		*at = 0xe8;
}

const struct subject floor_wide = {
	place_parkable, NULL, NULL, 'a', take_nothing, put_half
};
const struct subject floor_rest = {
	place_dense, NULL, NULL, 'a', take_nothing, put_nothing
};
const struct subject floor_store = {
	place_dense, NULL, NULL, 'a', take_nothing, put_same
};

/* ---- opening --------------------------------------------------------------- */

static const char *open_paper(const struct subject *s, const struct field *f)
{
	if (!paper_open(PAPER_WAIT, s == &paper_printed ? PAPER_PRINTED
							: PAPER_FENCED))
		return "the trap handler cannot be installed";
	if (!paper_call_open(f->code + f->bytes))
		return "there is no memory for the trampoline near the code";
	return NULL;
}

static const char *open_flick(const struct subject *s)
{
	int err = flick_patch_open(s->sync);

	return err < 0 ? flick_error(err) : NULL;
}

static const char *take_all(const struct subject *s, const struct field *f)
{
	uint64_t from = bench_ticks();
	int err = 0;

	for (size_t i = 0; i < f->n && err >= 0; i++)
		err = s->take(f, i);
	subject_take_ticks = (double)(bench_ticks() - from) / (double)f->n;
	if (err < 0)
		return flick_error(err);
	for (size_t i = 0; i < f->n && s->tactic; i++)
		if (strcmp(flick_patch_tactic(&patches[i]), s->tactic))
			return "flick chose another tactic for such a site";
	return NULL;
}

static void put_through(const struct subject *s, size_t i, int state)
{
	s->put(i, state);
	if (s->put == put_start)
		subject_finish(i);
}

/* 64 sites: every offset of a line is among them. */
static bool is_true(const struct subject *s, const struct field *f)
{
	for (size_t i = 0; i < f->n && i < LINE_BYTES; i++)
		for (int round = 0; round < 4; round++) {
			put_through(s, i, round % 2);
			if (!field_runs(f, i, round % 2 ? 'a' : s->off))
				return false;
		}
	return n_failed == 0;
}

const char *subject_open(const struct subject *s, struct field *f, size_t n)
{
	const char *reason;

	patches = calloc(n, sizeof(*patches));
	places = calloc(n, sizeof(*places));
	if (!patches || !places || !field_make(f, n, s->place))
		return "there is not enough memory";
	reason = s->tactic ? open_flick(s) : open_paper(s, f);
	if (!reason)
		reason = take_all(s, f);
	if (!reason && !is_true(s, f))
		reason = "a site did not run as it had been switched";
	return reason;
}
