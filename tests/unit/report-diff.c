/*
 * Two results are matched by the names in their rows, trees by the names on the
 * way from the root; what is in one only, or not known, is neither lost nor zero.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/report.h"

#define NONE FLICK_NONE

static const struct flick_column columns[] = {
	{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
	{ "total_ns", FLICK_COL_NS }, { "max_ns", FLICK_COL_NS },
};
static const struct flick_column tree_columns[] = {
	{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
	{ "id", FLICK_COL_ID }, { "parent", FLICK_COL_PARENT },
};
static const char *const before_names[] = { "main", "gone", "twice", "twice" };
static const char *const after_names[] = { "fresh", "twice", "main" };

struct side {
	struct flick_rows rows;
	struct fl_sheet sheet;
};

static void fill(struct side *s, const struct flick_column *c, const uint64_t *cells,
		 size_t n_rows, const char *const *names, size_t n_names)
{
	s->rows = (struct flick_rows){ c, 4, malloc(n_rows * 32), n_rows };
	memcpy(s->rows.cells, cells, n_rows * 32);
	s->sheet = (struct fl_sheet){ .result = &s->rows, .functions = names,
				      .n_functions = n_names };
}

/* The row called `name`; its parent's name is `parent`, NULL for none. */
static const uint64_t *row_of(const struct fl_sheet *s, const char *name,
			      const char *parent)
{
	const struct flick_rows *r = s->result;
	int f = fl_sheet_column(r, "function"), p = fl_sheet_column(r, "parent");

	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns, *above = NULL;

		for (size_t j = 0; p >= 0 && j < r->n_rows; j++)
			if (r->cells[j * r->n_columns + (size_t)p - 1] == row[p])
				above = r->cells + j * r->n_columns;
		if (!strcmp((const char *)(uintptr_t)row[f], name) &&
		    (parent ? above && !strcmp((const char *)(uintptr_t)above[f], parent) :
		     !above))
			return row;
	}
	return NULL;
}

/* Changes are v * 2, or -v * 2 - 1. */
static void expect(const uint64_t *row, uint64_t before, uint64_t after, uint64_t change)
{
	assert_non_null(row);
	assert_int_equal(row[0], before);
	assert_int_equal(row[1], after);
	assert_int_equal(row[2], change);
}

static void names_match_rows(void **unused)
{
	static const uint64_t old[] = { 0, 1, 90, 90,  1, 5, 50, 10,
					2, 2, 20, 15,  3, 3, 30, 20 };
	static const uint64_t new[] = { 0, 4, NONE, NONE,  1, 5, 40, 40,  2, 1, 100, 100 };
	static const char *const keys[] = { "calls", "total_ns", "max_ns", "nothing", NULL };
	struct side a, b;
	struct fl_diff *d;
	struct fl_sheet *s;

	(void)unused;
	fill(&a, columns, old, 4, before_names, 4);
	fill(&b, columns, new, 3, after_names, 3);
	assert_int_equal(fl_diff_make(&d, &a.sheet, &b.sheet, keys, "function"), 0);
	s = fl_diff_sheet(d);
	assert_int_equal(s->result->n_rows, 4);
	assert_int_equal(s->result->n_columns, 10);
	assert_string_equal(s->result->columns[3].name, "total_before_ns");
	expect(row_of(s, "main", NULL), 1, 1, 0);
	expect(row_of(s, "main", NULL) + 3, 90, 100, 20);
	expect(row_of(s, "gone", NULL), 5, NONE, 9);
	expect(row_of(s, "fresh", NULL), NONE, 4, 8);
	expect(row_of(s, "fresh", NULL) + 3, NONE, NONE, NONE);
	expect(row_of(s, "twice", NULL), 5, 5, 0);
	expect(row_of(s, "twice", NULL) + 3, 50, 40, 19);
	expect(row_of(s, "twice", NULL) + 6, NONE, 40, NONE);	/* no sum of two maxima */
	fl_diff_free(d);
	fl_sheet_free(&a.sheet);
	fl_sheet_free(&b.sheet);
}

/* The same function in two places is two rows. */
static void places_match_in_trees(void **unused)
{
	static const uint64_t old[] = { 0, 1, 0, NONE,  2, 7, 1, 0,  1, 3, 2, 0,  2, 9, 3, 2 };
	static const uint64_t new[] = { 1, 8, 1, 0,  2, 1, 0, NONE,  1, 6, 2, NONE };
	static const char *const keys[] = { "calls", NULL };
	struct side a, b;
	struct fl_diff *d;
	struct fl_sheet *s;

	(void)unused;
	fill(&a, tree_columns, old, 4, before_names, 4);
	fill(&b, tree_columns, new, 3, after_names, 3);
	assert_int_equal(fl_diff_make(&d, &a.sheet, &b.sheet, keys, "function"), 0);
	s = fl_diff_sheet(d);
	assert_int_equal(s->result->n_rows, 5);
	expect(row_of(s, "main", NULL), 1, 1, 0);
	expect(row_of(s, "twice", "main"), 7, 8, 2);
	expect(row_of(s, "twice", "gone"), 9, NONE, 17);
	expect(row_of(s, "twice", NULL), NONE, 6, 12);
	assert_non_null(s->depth);
	fl_diff_free(d);
	fl_sheet_free(&a.sheet);
	fl_sheet_free(&b.sheet);
}

/* Samples are called so on the side where they are; names are not subtracted. */
static void what_is_compared_is_called_what_it_is(void **unused)
{
	static const uint64_t row[] = { 0, 1, 90, 90 };
	static const char *const keys[] = { "function", "calls", NULL };
	struct side a, b;
	struct fl_diff *d;
	struct flick_rows *r;

	(void)unused;
	fill(&a, columns, row, 1, before_names, 4);
	fill(&b, columns, row, 1, after_names, 3);
	a.sheet.name = b.sheet.name = "latency";
	a.sheet.sampled = true;
	b.sheet.estimated = true;
	assert_int_equal(fl_diff_make(&d, &a.sheet, &b.sheet, keys, "function"), 0);
	r = fl_diff_sheet(d)->result;
	assert_int_equal(r->n_columns, 4);
	assert_string_equal(r->columns[0].name, "samples_before");
	assert_string_equal(r->columns[1].name, "calls_after");
	fl_diff_free(d);
	fl_sheet_free(&a.sheet);
	fl_sheet_free(&b.sheet);
}

static const struct flick_column program_columns[] = {
	{ "program", FLICK_COL_TEXT }, { "function", FLICK_COL_FUNCTION },
	{ "self_ns", FLICK_COL_NS }, { "samples", FLICK_COL_COUNT },
};

/* Two functions of one name in one program are one row, and not those of another program. */
static void functions_of_programs_add_up(void **unused)
{
	const uint64_t a_program = (uintptr_t)"/a", b_program = (uintptr_t)"/b";
	const uint64_t old[] = { a_program, 2, 50, 5,  a_program, 3, 30, 3,
				 b_program, 2, 10, 1 };
	const uint64_t new[] = { a_program, 1, 60, 6,  NONE, 1, 70, 7 };
	static const char *const keys[] = { "self_ns", "samples", NULL };
	struct side a, b;
	struct fl_diff *d;
	struct flick_rows *r;

	(void)unused;
	fill(&a, program_columns, old, 3, before_names, 4);
	fill(&b, program_columns, new, 2, after_names, 3);
	assert_int_equal(fl_diff_make(&d, &a.sheet, &b.sheet, keys, "function"), 0);
	r = fl_diff_sheet(d)->result;
	assert_int_equal(r->n_rows, 3);
	expect(row_of(fl_diff_sheet(d), "/a: twice", NULL), 80, 60, 39);
	expect(row_of(fl_diff_sheet(d), "/a: twice", NULL) + 3, 8, 6, 3);
	expect(row_of(fl_diff_sheet(d), "/b: twice", NULL) + 3, 1, NONE, 1);
	expect(row_of(fl_diff_sheet(d), "-: twice", NULL) + 3, NONE, 7, 14);
	fl_diff_free(d);
	fl_sheet_free(&a.sheet);
	fl_sheet_free(&b.sheet);
}

/* Rows of programs have no function. */
static void names_have_the_title_they_are_given(void **unused)
{
	const uint64_t row[] = { (uintptr_t)"/a", NONE, 50, 5 };
	static const struct flick_column no_functions[] = {
		{ "program", FLICK_COL_TEXT }, { "runs", FLICK_COL_COUNT },
		{ "self_ns", FLICK_COL_NS }, { "samples", FLICK_COL_COUNT },
	};
	static const char *const keys[] = { "runs", "self_ns", NULL };
	struct side a;
	struct fl_diff *d;
	struct flick_rows *r;

	(void)unused;
	fill(&a, no_functions, row, 1, before_names, 4);
	assert_int_equal(fl_diff_make(&d, &a.sheet, &a.sheet, keys, "program"), 0);
	r = fl_diff_sheet(d)->result;
	assert_int_equal(r->n_columns, 7);
	assert_string_equal(r->columns[6].name, "program");
	expect(r->cells, NONE, NONE, NONE);	/* how often is not known */
	expect(r->cells + 3, 50, 50, 0);
	fl_diff_free(d);
	fl_sheet_free(&a.sheet);
}

static void nothing_in_common_is_no_comparison(void **unused)
{
	static const uint64_t row[] = { 0, 1, 0, NONE };
	static const char *const keys[] = { "max_ns", NULL };
	struct side a, b;
	struct fl_diff *d;

	(void)unused;
	fill(&a, columns, row, 1, before_names, 4);
	fill(&b, tree_columns, row, 1, after_names, 3);
	assert_int_equal(fl_diff_make(&d, &a.sheet, &b.sheet, keys, "function"), -1);
	fl_sheet_free(&a.sheet);
	fl_sheet_free(&b.sheet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_match_rows),
		cmocka_unit_test(places_match_in_trees),
		cmocka_unit_test(what_is_compared_is_called_what_it_is),
		cmocka_unit_test(functions_of_programs_add_up),
		cmocka_unit_test(names_have_the_title_they_are_given),
		cmocka_unit_test(nothing_in_common_is_no_comparison),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
