/*
 * Calls are counted from records, from counters, and from both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/analysis.h"

static struct fl_shm_site sites[4] = {
	{ .kind = FL_ENTRY }, { .kind = FL_EXIT },
	{ .kind = FL_ENTRY }, { .kind = FL_TAIL },
};
static uint32_t function_of[4] = { 0, 0, 1, 1 };

static void feed(const struct fl_analysis *a, void *state, uint32_t probe)
{
	struct flick_record r = { 0, probe, 0 };
	struct fl_batch b = { 3, &r, 1 };

	assert_int_equal(a->feed(state, &b), 0);
}

static void entries_are_calls(void **unused)
{
	const struct fl_analysis *a = fl_analysis_find("counts");
	struct fl_view view = { sites, function_of, 2, 1, 1.0, false };
	struct fl_result r;
	void *state;

	(void)unused;
	assert_int_equal(a->open(&state, &view), 0);
	feed(a, state, 0);
	feed(a, state, 1);
	view.n_sites = 4;			/* a library was loaded */
	view.n_functions = 2;
	feed(a, state, 2);
	feed(a, state, 3);
	feed(a, state, 77);			/* no probe of ours */
	a->count(state, 0, 2, 5);
	a->count(state, 1, 2, 1);
	a->count(state, 1, 3, 9);		/* counters of exits are no calls */
	a->thread_end(state, 0);
	assert_int_equal(a->result(state, &r), 0);
	assert_int_equal(r.n_rows, 2);
	assert_int_equal(r.cells[1], 1);
	assert_int_equal(r.cells[2], 1);
	assert_int_equal(r.cells[3], 7);
	free(r.cells);
	a->close(state);
}

static void functions_never_called_have_no_row(void **unused)
{
	const struct fl_analysis *a = fl_analysis_find("counts");
	struct fl_view view = { sites, function_of, 4, 2, 1.0, false };
	struct fl_result r;
	void *state;

	(void)unused;
	assert_int_equal(a->open(&state, &view), 0);
	feed(a, state, 2);
	assert_int_equal(a->result(state, &r), 0);
	assert_int_equal(r.n_rows, 1);
	assert_int_equal(r.cells[0], 1);
	free(r.cells);
	a->close(state);
}

static void an_analysis_is_found_by_name(void **unused)
{
	(void)unused;
	for (size_t i = 0; fl_analyses[i]; i++)
		assert_ptr_equal(fl_analysis_find(fl_analyses[i]->name), fl_analyses[i]);
	assert_null(fl_analysis_find("nothing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_calls),
		cmocka_unit_test(functions_never_called_have_no_row),
		cmocka_unit_test(an_analysis_is_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
