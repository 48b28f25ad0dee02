/*
 * Calls are counted from records, from counters, and from both; and what may
 * stand behind -a.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"

static struct fl_shm_site sites[4] = {
	{ .kind = FL_ENTRY }, { .kind = FL_EXIT },
	{ .kind = FL_ENTRY }, { .kind = FL_TAIL },
};
static uint32_t function_of[4] = { 0, 0, 1, 1 };
static struct fl_view view;
static struct fl_use use;
static struct fl_run *run;
static struct flick_rows rows;
static char why[FL_USE_WHY];

static int set_up(void **unused)
{
	(void)unused;
	view = (struct fl_view){ .sites = sites, .function_of = function_of, .n_sites = 2,
				 .n_functions = 1, .ns_per_tick = 1.0 };
	assert_int_equal(fl_use_open(&use, "counts", why), 0);
	return fl_run_open(&run, &use, 1, &view);
}

static int tear_down(void **unused)
{
	(void)unused;
	free(rows.cells);
	fl_run_close(run);
	fl_use_close(&use);
	return 0;
}

static void feed(uint32_t probe)
{
	struct flick_record r = { 0, probe, 0 };
	struct fl_batch b = { .thread = 3, .records = &r, .n = 1 };

	assert_int_equal(fl_run_feed(run, &b), 0);
}

static void entries_are_calls(void **unused)
{
	(void)unused;
	feed(0);
	feed(1);
	view.n_sites = 4;			/* a library was loaded */
	view.n_functions = 2;
	feed(2);
	feed(3);
	feed(77);				/* no probe of ours */
	fl_run_count(run, 0, 2, 5);
	fl_run_count(run, 1, 2, 1);
	fl_run_count(run, 1, 3, 9);		/* counters of exits are no calls */
	fl_run_count(run, 1, 99, 9);
	fl_run_thread_end(run, 0, 0);
	assert_int_equal(fl_run_rows(run, 0, &rows), 0);
	assert_int_equal(rows.n_rows, 2);
	assert_int_equal(rows.cells[1], 1);
	assert_int_equal(rows.cells[2], 1);
	assert_int_equal(rows.cells[3], 7);
}

static void functions_never_called_have_no_row(void **unused)
{
	(void)unused;
	view.n_sites = 4;
	view.n_functions = 2;
	feed(2);
	assert_int_equal(fl_run_rows(run, 0, &rows), 0);
	assert_int_equal(rows.n_rows, 1);
	assert_int_equal(rows.cells[0], 1);
}

static void an_analysis_is_found_by_name(void **unused)
{
	(void)unused;
	for (size_t i = 0; fl_analyses[i]; i++)
		assert_ptr_equal(fl_analysis_find(fl_analyses[i]->name), fl_analyses[i]);
	assert_null(fl_analysis_find("nothing"));
}

static void expect_refused(const char *spec, const char *text)
{
	struct fl_use other;

	assert_int_equal(fl_use_open(&other, spec, why), -1);
	if (!strstr(why, text))
		fail_msg("%s: %s", spec, why);
	assert_null(strchr(why, '\n'));
}

static void what_is_no_analysis_is_told(void **unused)
{
	(void)unused;
	expect_refused("nothing", "there are latency, counts");
	expect_refused("", "there is no analysis");
	expect_refused("counts:fast", "does not take `fast`");
	expect_refused("./nothing.so", "No such file");
	expect_refused("/etc/passwd", "/etc/passwd");
	expect_refused("/proc/self/exe", "cannot dynamically load");
}

/* Counters where they suffice, every record where counts are one of several. */
static void probes_do_what_all_need(void **unused)
{
	static const struct {
		const char *names[2];
		enum fl_action action;
	} cases[] = {
		{ { "counts", NULL }, FL_ACT_COUNT },
		{ { "latency", NULL }, FL_ACT_SAMPLE },
		{ { "latency", "spread" }, FL_ACT_SAMPLE },
		{ { "latency", "counts" }, FL_ACT_TIME },
		{ { "counts", "graph" }, FL_ACT_TIME },
		{ { "tree", NULL }, FL_ACT_TIME },
		{ { "latency", "subtrees" }, FL_ACT_TIME },
	};
	struct fl_use uses[2];

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t n = 0;

		for (; n < 2 && cases[i].names[n]; n++)
			assert_int_equal(fl_use_open(&uses[n], cases[i].names[n], why), 0);
		assert_int_equal(fl_use_action(uses, n, FL_ACT_SAMPLE), cases[i].action);
		while (n--)
			fl_use_close(&uses[n]);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(entries_are_calls),
		T(functions_never_called_have_no_row),
		cmocka_unit_test(an_analysis_is_found_by_name),
		cmocka_unit_test(what_is_no_analysis_is_told),
		cmocka_unit_test(probes_do_what_all_need),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
