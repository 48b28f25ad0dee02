/*
 * analysis-rig.h - synthetic streams of records for tests of analyses.
 *
 * A letter is a function, each has four probes; stack pointers are written as
 * bytes below the thread's top, so they grow with depth.
 */
#ifndef ANALYSIS_RIG_H
#define ANALYSIS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"

#define FUNCTIONS 8
#define TOP 0x7fff0000u

/* Probes of function f, its first being PROBES * f: entry, entry where it is
 * inlined, exit by call, exit by jump. */
enum { ENTRY, INLINED, EXIT, JUMP, PROBES };

static struct fl_shm_site sites[FUNCTIONS * PROBES];
static uint32_t function_of[FUNCTIONS * PROBES];
static struct fl_view view = {
	.sites = sites,
	.function_of = function_of,
	.n_sites = FUNCTIONS * PROBES,
	.n_functions = FUNCTIONS,
	.ns_per_tick = 1.0,
};
static struct fl_run *run;
static uint64_t now;

static inline void lay_sites(void)
{
	for (uint32_t p = 0; p < view.n_sites; p++) {
		function_of[p] = p / PROBES;
		sites[p].kind = p % PROBES < EXIT ? FL_ENTRY : FL_EXIT;
		sites[p].jump = p % PROBES == JUMP;
	}
}

static inline void feed_at(struct fl_run *to, uint32_t thread, uint32_t probe,
			   uint32_t below_top, uint64_t tsc)
{
	bool is_sample = view.sampled && probe % PROBES >= EXIT;
	struct flick_record r = { tsc, probe, TOP - below_top };
	struct fl_batch b = { .thread = thread, .records = &r, .n = 1 };

	if (is_sample)
		r.probe = fl_typed(FLICK_TYPE_SAMPLED, probe);
	assert_int_equal(fl_run_feed(to, &b), 0);
}

/* Each record comes 10 ticks after the one before it. */
static inline void feed(char f, uint32_t probe, uint32_t sp)
{
	feed_at(run, 0, (uint32_t)(f - 'a') * PROBES + probe, sp, now += 10);
}

static inline void enter(char f, uint32_t sp)
{
	feed(f, ENTRY, sp);
}

static inline void leave(char f, uint32_t sp)
{
	feed(f, EXIT, sp);
}

static inline void jump_out(char f, uint32_t sp)
{
	feed(f, JUMP, sp);
}

static inline int column(const struct flick_rows *r, const char *name)
{
	for (size_t c = 0; c < r->n_columns; c++)
		if (!strcmp(r->columns[c].name, name))
			return (int)c;
	fail_msg("no column %s", name);
	return -1;
}

/* Of the row of function f; FLICK_NONE: it has none. */
static inline uint64_t cell_of(const struct flick_rows *r, char f, const char *name)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[column(r, "function")] == (uint64_t)(f - 'a'))
			return row[column(r, name)];
	}
	return FLICK_NONE;
}

#endif
