/*
 * Rows that are kept stay in their order, each with its depth in the tree; where none is,
 * nothing has moved.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/cli.h"

static const struct flick_column columns[] = {
	{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
};

static bool has_more(const void *arg, const uint64_t *row)
{
	return row[1] > *(const uint64_t *)arg;
}

static void rows_keep_their_depths(void **unused)
{
	uint64_t cells[] = { 0, 9,  1, 1,  2, 7,  3, 2,  4, 8 }, least = 6;
	uint32_t depth[] = { 0, 1, 2, 1, 0 };
	struct flick_rows rows = { columns, 2, cells, 5 };
	struct fl_sheet s = { .result = &rows, .depth = depth };

	(void)unused;
	assert_int_equal(fl_sheet_keep(&s, has_more, &least), 3);
	assert_int_equal(rows.n_rows, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(cells[2 * i], 2 * i);
		assert_int_equal(depth[i], i == 1 ? 2 : 0);
	}
	assert_int_equal(cells[5], 8);
}

static void where_none_is_kept_none_is_moved(void **unused)
{
	uint64_t cells[] = { 0, 9,  1, 1 }, least = 9;
	struct flick_rows rows = { columns, 2, cells, 2 };
	struct fl_sheet s = { .result = &rows };

	(void)unused;
	assert_int_equal(fl_sheet_keep(&s, has_more, &least), 0);
	assert_int_equal(rows.n_rows, 0);
	assert_int_equal(cells[1], 9);
	assert_int_equal(cells[3], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_keep_their_depths),
		cmocka_unit_test(where_none_is_kept_none_is_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
