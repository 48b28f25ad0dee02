/*
 * Rows while a run goes on: asking for them changes nothing. What a run that has been
 * asked often says is what one says that is asked once, after the same events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"

#define FUNCTIONS 8
#define TOP 0x7fff0000u
enum { ENTRY, EXIT, PROBES };
enum { DEEPEST = 6, STEPS = 6000, ASKED = 10, BATCH = 7 };

static struct fl_shm_site sites[FUNCTIONS * PROBES];
static uint32_t function_of[FUNCTIONS * PROBES];
static uint64_t edges[2 * STEPS];
static struct fl_view view;

static const char *name_of(const void *owner, uint32_t function)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };

	(void)owner;
	return names[function];
}

static bool symbol_at(const void *owner, uint64_t at, uint64_t *lo, uint64_t *hi)
{
	(void)owner;
	*lo = at & ~0xfffull;
	*hi = *lo + 0x1000;
	return true;
}

static void lay_sites(void)
{
	for (uint32_t p = 0; p < FUNCTIONS * PROBES; p++) {
		uint64_t begin = 0x1000ull * (p / PROBES + 1);

		function_of[p] = p / PROBES;
		sites[p] = (struct fl_shm_site){
			.at = begin + (p % PROBES == ENTRY ? 4 : 0xf00), .function = begin,
			.kind = p % PROBES == ENTRY ? FL_ENTRY : FL_EXIT, .wanted = 1,
			.state = FL_SITE_READY,
		};
	}
	/* g's sites are in f, too: who calls from there has to be learnt. */
	sites[6 * PROBES + ENTRY].at = 0x6100;
	sites[6 * PROBES + EXIT].at = 0x6200;
	for (uint32_t i = 0; i < 2 * STEPS; i++)
		edges[i] = 1000 + 2000ull * i;
	view = (struct fl_view){
		.sites = sites, .function_of = function_of, .n_sites = FUNCTIONS * PROBES,
		.n_functions = FUNCTIONS, .ns_per_tick = 1.5, .name = name_of,
		.symbol = symbol_at,
	};
}

/* ---- a program ----------------------------------------------------------------------- */

struct program {	/* the same each time: calls, some left without an exit */
	uint64_t random, now;
	uint32_t open[DEEPEST], depth;
	struct flick_record records[BATCH * 2];
	size_t n;
	struct fl_window window;
};

static uint32_t draw(struct program *p, uint32_t below)
{
	p->random = fl_random_next(p->random);
	return (uint32_t)(p->random >> 20) % below;
}

static void put(struct program *p, uint32_t probe, uint32_t sp)
{
	p->records[p->n++] = (struct flick_record){ p->now += 10 + draw(p, 40), probe, sp };
}

static void call_or_return(struct program *p)
{
	uint32_t f = draw(p, FUNCTIONS), sp = TOP - 64 * p->depth;

	if (view.sampled) {
		put(p, f * PROBES + ENTRY, sp);
		put(p, fl_typed(FLICK_TYPE_SAMPLED, f * PROBES + EXIT), 1 + draw(p, 3));
		return;
	}
	if (p->depth == DEEPEST || (p->depth && draw(p, 2))) {
		f = p->open[--p->depth];
		if (draw(p, 20))
			put(p, f * PROBES + EXIT, sp + 64);
		return;
	}
	p->open[p->depth++] = f;
	put(p, f * PROBES + ENTRY, sp);
	if (view.windows)
		p->records[p->n++] = (struct flick_record){
			0x1000ull * (1 + draw(p, FUNCTIONS)) + 0x10 * (1 + draw(p, 4)),
			fl_typed(FLICK_TYPE_CALLER, f), sp };
}

/* What bodies tell of their paths and accesses. */
static void tell_more(struct program *p)
{
	for (uint32_t i = 0; i < BATCH / 4; i++) {
		uint32_t f = draw(p, FUNCTIONS);

		p->records[p->n++] = (struct flick_record){
			0, fl_typed(FLICK_TYPE_PATH, f * PROBES + ENTRY), draw(p, 5) };
		p->records[p->n++] = (struct flick_record){
			draw(p, 1 << 20), fl_typed(FLICK_TYPE_ACCESS, draw(p, 100)),
			(1 + draw(p, 16)) | FLICK_ACCESS_LOAD };
	}
}

static void step(struct program *p, struct fl_run *run, uint32_t number)
{
	struct fl_batch b = { .records = p->records };

	p->n = 0;
	while (p->n < BATCH)
		call_or_return(p);
	b.n = p->n;
	if (view.windows) {
		p->window = (struct fl_window){ .number = 1 + number / 3,
						.weight = 20 * FL_WEIGHT_ONE,
						.edges = edges, .n_edges = 2 * STEPS };
		b.window = &p->window;
	}
	assert_int_equal(fl_run_feed(run, &b), 0);
	p->n = 0;
	tell_more(p);
	b.n = p->n;
	assert_int_equal(fl_run_feed(run, &b), 0);
	if (view.windows || view.sampled)
		assert_int_equal(fl_run_count(run, 0, number % FUNCTIONS * PROBES, 30), 0);
}

/* ---- asking -------------------------------------------------------------------------- */

static bool are_equal(const struct flick_rows *a, const struct flick_rows *b)
{
	if (a->n_rows != b->n_rows || a->n_columns != b->n_columns)
		return false;
	for (size_t i = 0; i < a->n_rows * a->n_columns; i++) {
		uint64_t x = a->cells[i], y = b->cells[i];

		if (a->columns[i % a->n_columns].type == FLICK_COL_TEXT &&
		    x != FLICK_NONE && y != FLICK_NONE ?
		    strcmp((const char *)(uintptr_t)x, (const char *)(uintptr_t)y) != 0 :
		    x != y)
			return false;
	}
	return true;
}

/* What one says that is asked for the first time after so many steps. */
static void check(const struct fl_use *use, const struct flick_rows *got, uint32_t steps)
{
	struct program p = { .random = 1, .now = 1000 };
	struct flick_rows want;
	struct fl_run *run;

	assert_int_equal(fl_run_open(&run, use, 1, &view), 0);
	for (uint32_t i = 0; i < steps; i++)
		step(&p, run, i);
	assert_int_equal(fl_run_rows(run, 0, &want), 0);
	assert_true(want.n_rows);
	assert_true(are_equal(got, &want));
	free(want.cells);
	fl_run_close(run);
}

static void ask_often(const char *spec)
{
	struct program p = { .random = 1, .now = 1000 };
	struct flick_rows rows[ASKED];
	char why[FL_USE_WHY];
	struct fl_use use;
	struct fl_run *run;

	assert_int_equal(fl_use_open(&use, spec, why), 0);
	assert_int_equal(fl_run_open(&run, &use, 1, &view), 0);
	for (uint32_t i = 0; i < STEPS; i++) {
		step(&p, run, i);
		if (i % (STEPS / ASKED) == STEPS / ASKED - 1)
			assert_int_equal(fl_run_rows(run, 0, &rows[i / (STEPS / ASKED)]), 0);
	}
	/* Texts of all of them live until close. */
	for (uint32_t i = 0; i < ASKED; i++) {
		check(&use, &rows[i], (i + 1) * (STEPS / ASKED));
		free(rows[i].cells);
	}
	fl_run_close(run);
	fl_use_close(&use);
}

static void ask_each(void)
{
	for (size_t i = 0; fl_analyses[i]; i++)
		ask_often(fl_analyses[i]->name);
}

static void of_all_calls(void **unused)
{
	(void)unused;
	lay_sites();
	ask_each();
}

static void of_windows(void **unused)
{
	(void)unused;
	lay_sites();
	view.windows = true;
	ask_each();
}

static void of_samples(void **unused)
{
	(void)unused;
	lay_sites();
	view.sampled = true;
	ask_often("latency");
	ask_often("spread");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_all_calls),
		cmocka_unit_test(of_windows),
		cmocka_unit_test(of_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
