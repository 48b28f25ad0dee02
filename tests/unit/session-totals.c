/*
 * unit/session-totals: an average of timed calls that samples refute, because one call of a
 * thousand was held up, gives way to the median, if samples allow it. Where the median is no
 * better there is no total. Where timed calls tell too little samples do, with those that lack
 * the function and have it by what others tell.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "session/samples/profile.h"

enum { FUNCTION, CALLS, TOTAL, SELF, AVG, P50, SUM, SAMPLED, ERROR, STACKS, SWITCHED,
       N };

static const struct flick_column columns[] = {
	[FUNCTION] = { "function", FLICK_COL_FUNCTION }, [CALLS] = { "calls", FLICK_COL_COUNT },
	[TOTAL] = { "total_ns", FLICK_COL_NS }, [SELF] = { "self_ns", FLICK_COL_NS },
	[AVG] = { "avg_ns", FLICK_COL_NS }, [P50] = { "p50_ns", FLICK_COL_NS },
	[SUM] = { "sum_ns", FLICK_COL_NS }, [SAMPLED] = { "sampled", FLICK_COL_COUNT },
	[ERROR] = { "avg_error_ns", FLICK_COL_NS },
	[STACKS] = { "stack_samples", FLICK_COL_COUNT },
	[SWITCHED] = { "switched", FLICK_COL_COUNT },
};

/* A million calls of a program in which 300 samples lack callers: of 300 ms. */
static const uint64_t held_up[N] = {
	[CALLS] = 1000000, [TOTAL] = 900000000, [SUM] = 900000000, [AVG] = 900, [P50] = 100,
	[SAMPLED] = 1000, [ERROR] = 800,
};

static void fill(uint64_t row[N])
{
	static struct fl_session s;
	struct fl_profile p = { .s = &s, .n_cut = 300, .refutes = true };
	struct flick_rows rows = { columns, N, row, 1 };

	fl_totals_fill(&rows, &p);
}

/* Row `held_up`, with one cell that is another: its total then. */
static uint64_t total_with(int column, uint64_t cell)
{
	uint64_t row[N];

	memcpy(row, held_up, sizeof(row));
	row[column] = cell;
	fill(row);
	return row[TOTAL];
}

static void the_median_tells(void **unused)
{
	uint64_t row[N];

	(void)unused;
	memcpy(row, held_up, sizeof(row));
	fill(row);
	assert_int_equal(row[TOTAL], 100000000);
	assert_int_equal(row[SUM], 100000000);
	assert_int_equal(row[AVG], 100);
	assert_int_equal(row[ERROR], 800);	/* so it is marked */
	assert_int_equal(row[STACKS], 0);
}

static void where_it_tells_nothing_there_is_no_total(void **unused)
{
	(void)unused;
	assert_true(total_with(P50, 340) == FLICK_NONE);	/* more than samples allow */
	assert_true(total_with(SAMPLED, 100) == FLICK_NONE);	/* cold */
	assert_true(total_with(ERROR, 100) == FLICK_NONE);	/* no chance */
	assert_true(total_with(AVG, 2000) == FLICK_NONE);	/* some slept */
	assert_true(total_with(SUM, 900000001) == FLICK_NONE);	/* it calls itself */
}

/* Nor an average, by which the calls would have taken more than samples allow. */
static void what_is_refuted_has_no_average(void **unused)
{
	uint64_t row[N];

	(void)unused;
	memcpy(row, held_up, sizeof(row));
	row[P50] = 340;
	fill(row);
	assert_true(row[AVG] == FLICK_NONE && row[ERROR] == FLICK_NONE);
	assert_int_equal(row[P50], 340);
}

/* Too few for times of their own. */
static void few_samples_refute(void **unused)
{
	static struct fl_session s;
	struct fl_profile p = { .s = &s, .n_cut = 300, .refutes = true };
	uint64_t row[N];
	struct flick_rows rows = { columns, N, row, 1 };

	(void)unused;
	memcpy(row, held_up, sizeof(row));
	fl_totals_refute(&rows, &p);
	assert_true(row[TOTAL] == FLICK_NONE && row[SUM] == FLICK_NONE);
	assert_true(row[AVG] == FLICK_NONE);
	memcpy(row, held_up, sizeof(row));
	row[TOTAL] = row[SUM] = 290000000;
	fl_totals_refute(&rows, &p);
	assert_int_equal(row[TOTAL], 290000000);
	assert_int_equal(row[AVG], 900);
}

/* 900 ms of calls in a life of half a second; of calls in one another it may be. */
static void an_average_is_within_the_time_there_was(void **unused)
{
	static struct fl_session s;
	struct fl_profile p = { .s = &s, .lives.all.all_ns = 500000000 };
	uint64_t row[N];
	struct flick_rows rows = { columns, N, row, 1 };

	(void)unused;
	memcpy(row, held_up, sizeof(row));
	row[TOTAL] = FLICK_NONE;
	fl_totals_drop(&rows, &p);
	assert_int_equal(row[AVG], 900);
	row[SUM] = FLICK_NONE;
	fl_totals_drop(&rows, &p);
	assert_true(row[AVG] == FLICK_NONE && row[ERROR] == FLICK_NONE);
	row[AVG] = 400;
	fl_totals_drop(&rows, &p);
	assert_int_equal(row[AVG], 400);
}

/* Timed calls of a function that calls itself have others in them: but where each was timed. */
static void an_average_of_outermost_calls_is_marked(void **unused)
{
	uint64_t row[N];
	struct flick_rows rows = { columns, N, row, 1 };

	(void)unused;
	memcpy(row, held_up, sizeof(row));
	row[ERROR] = 10;
	fl_totals_mark(&rows);
	assert_int_equal(row[ERROR], 10);
	row[TOTAL] = FLICK_NONE;
	fl_totals_mark(&rows);
	assert_int_equal(row[ERROR], 900);
	row[ERROR] = 0;
	row[SAMPLED] = row[CALLS];
	fl_totals_mark(&rows);
	assert_int_equal(row[ERROR], 0);
	row[SAMPLED] = 1000;
	row[SUM] = FLICK_NONE;
	fl_totals_mark(&rows);
	assert_int_equal(row[ERROR], 0);
}

static void what_samples_allow_stays(void **unused)
{
	uint64_t row[N];

	(void)unused;
	memcpy(row, held_up, sizeof(row));
	row[TOTAL] = row[SUM] = 290000000;
	fill(row);
	assert_int_equal(row[TOTAL], 290000000);
}

/* Its probes were off for a part of the time: timed calls stand for no total, and their average
 * is theirs. */
static void what_was_switched_has_no_total_of_timed_calls(void **unused)
{
	uint64_t row[N];

	(void)unused;
	memcpy(row, held_up, sizeof(row));
	row[TOTAL] = row[SUM] = 290000000;
	row[SWITCHED] = 1;
	fill(row);
	assert_true(row[TOTAL] == FLICK_NONE && row[SUM] == FLICK_NONE);
	assert_int_equal(row[AVG], 900);
}

/* A hundred calls of which one had nearly all the time and was not timed, as ten were: of 163
 * samples that stood in them 60 have the function in their stacks, and others tell of 103. */
static const uint64_t cut_off[N] = {
	[CALLS] = 100, [TOTAL] = 2000000, [SUM] = 2000000, [AVG] = 20000, [P50] = 20000,
	[SAMPLED] = 10, [ERROR] = 100, [STACKS] = FLICK_NONE,
};

static uint64_t waited_ns;

static void fill_told(uint64_t row[N], uint64_t in_stacks, uint64_t told, uint64_t lacking)
{
	static struct fl_session s;
	struct fl_profile p = { .s = &s, .calls = { &in_stacks, 1 }, .told = { &told, 1 },
				.n_lacking = lacking, .lives.all.waited_ns = waited_ns,
				.refutes = true };
	struct flick_rows rows = { columns, N, row, 1 };

	fl_totals_fill(&rows, &p);
}

static void what_others_tell_is_in_the_total(void **unused)
{
	uint64_t row[N];

	(void)unused;
	memcpy(row, cut_off, sizeof(row));
	fill_told(row, 60, 163, 0);
	assert_int_equal(row[STACKS], 163);
	assert_in_range(row[TOTAL], 162000000, 163000000);
	assert_int_equal(row[AVG], (row[TOTAL] + 50) / 100);
	assert_true(row[ERROR] < row[AVG]);
}

static void what_has_no_probe_has_what_others_tell(void **unused)
{
	uint64_t row[N] = { [TOTAL] = FLICK_NONE, [SUM] = FLICK_NONE, [AVG] = FLICK_NONE,
			    [CALLS] = FLICK_NONE, [P50] = FLICK_NONE, [STACKS] = FLICK_NONE,
			    [SAMPLED] = FLICK_NONE };

	(void)unused;
	fill_told(row, 60, 163, 0);
	assert_int_equal(row[STACKS], 163);
}

/* Each call was timed: what others tell of it is not asked. */
static void who_was_timed_whole_has_what_its_stacks_tell(void **unused)
{
	uint64_t row[N];

	(void)unused;
	memcpy(row, cut_off, sizeof(row));
	row[SAMPLED] = row[CALLS];
	fill_told(row, 0, 163, 0);
	assert_int_equal(row[TOTAL], 2000000);
	assert_true(row[STACKS] == FLICK_NONE);
}

/* As many samples again may have stood in them: the total is marked. */
static void what_nobody_tells_of_is_an_error(void **unused)
{
	uint64_t row[N];

	(void)unused;
	memcpy(row, cut_off, sizeof(row));
	fill_told(row, 60, 60, 120);
	assert_int_equal(row[STACKS], 60);
	assert_true(row[ERROR] > 2 * row[AVG]);
}

/* 100 samples are 10 off by chance, and timed calls by `error` of 90 ms. */
static uint64_t total_by(uint64_t samples, uint64_t error)
{
	uint64_t row[N];

	memcpy(row, cut_off, sizeof(row));
	row[CALLS] = 9000;
	row[TOTAL] = row[SUM] = 90000000;
	row[AVG] = 10000;
	row[ERROR] = error;
	fill_told(row, samples, samples, 0);
	return row[TOTAL];
}

static void of_two_that_are_off_the_one_that_is_less_tells(void **unused)
{
	(void)unused;
	assert_in_range(total_by(100, 1200), 99000000, 100000000);	/* 10.8 ms */
	assert_int_equal(total_by(100, 1000), 90000000);
	assert_int_equal(total_by(100, FLICK_NONE), 90000000);
	assert_int_equal(total_by(85, 1200), 90000000);	/* its calls waited, too */
}

/* By its timed calls it had more than all there was: long calls, too, have the CPU time of
 * samples, if they can hardly have waited. */
static void what_cannot_be_is_cpu_time_where_nobody_waits(void **unused)
{
	uint64_t row[N];

	(void)unused;
	memcpy(row, cut_off, sizeof(row));
	row[TOTAL] = row[SUM] = FLICK_NONE;
	fill_told(row, 60, 163, 0);
	assert_int_equal(row[STACKS], 163);
	memcpy(row, cut_off, sizeof(row));
	row[TOTAL] = row[SUM] = FLICK_NONE;
	waited_ns = 100000000;
	fill_told(row, 60, 163, 0);
	waited_ns = 0;
	assert_true(row[TOTAL] == FLICK_NONE);
	fill_told(row, 60, 163, 200);
	assert_true(row[TOTAL] == FLICK_NONE);		/* 200 others may have stood in it */
}

/* In a function whose thread waits for 100 ms 60 samples stood, and 87 would by chance. */
static uint64_t total_of_waiting(uint64_t total, uint64_t error)
{
	uint64_t row[N];

	memcpy(row, cut_off, sizeof(row));
	row[TOTAL] = row[SUM] = total;
	row[AVG] = total / 100;
	row[ERROR] = error;
	waited_ns = 100000000;
	fill_told(row, 60, 60, 0);
	waited_ns = 0;
	assert_true(row[STACKS] == FLICK_NONE);
	assert_true(row[TOTAL] == row[SUM]);
	assert_true(row[TOTAL] == FLICK_NONE || row[AVG] == (row[TOTAL] + 50) / 100);
	return row[TOTAL];
}

static void who_waits_all_the_time_has_that_time(void **unused)
{
	(void)unused;
	assert_int_equal(total_of_waiting(180000000, 100), 180000000);
	assert_in_range(total_of_waiting(200000000, 100), 185000000, 187000000);
	assert_in_range(total_of_waiting(240000000, 200000), 185000000, 187000000);
	assert_true(total_of_waiting(240000000, 100) == FLICK_NONE);
	assert_true(total_of_waiting(600000000, 6000000) == FLICK_NONE);
}

/* Without a probe, and in 60 samples; 61 that are cut may have stood in its calls, too. */
static void who_may_be_above_many_has_no_total(void **unused)
{
	uint64_t row[N] = { [TOTAL] = FLICK_NONE, [SUM] = FLICK_NONE, [AVG] = FLICK_NONE,
			    [CALLS] = FLICK_NONE, [P50] = FLICK_NONE, [STACKS] = FLICK_NONE };
	struct fl_function of_no_file = { .module = 0 };
	struct fl_session s = { .functions.all = &of_no_file };
	uint64_t in_stacks = 60;
	struct fl_profile p = { .s = &s, .calls = { &in_stacks, 1 }, .n_cut = 61,
				.refutes = true };
	struct flick_rows rows = { columns, N, row, 1 };

	(void)unused;
	assert_int_equal(fl_symbols_open(&s.functions.symbols), 0);
	fl_totals_fill(&rows, &p);
	assert_true(row[TOTAL] == FLICK_NONE);
	p.n_cut = 60;
	fl_totals_fill(&rows, &p);
	assert_int_equal(row[STACKS], 60);
	fl_symbols_close(s.functions.symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_median_tells),
		cmocka_unit_test(where_it_tells_nothing_there_is_no_total),
		cmocka_unit_test(what_is_refuted_has_no_average),
		cmocka_unit_test(few_samples_refute),
		cmocka_unit_test(an_average_is_within_the_time_there_was),
		cmocka_unit_test(what_samples_allow_stays),
		cmocka_unit_test(what_was_switched_has_no_total_of_timed_calls),
		cmocka_unit_test(what_others_tell_is_in_the_total),
		cmocka_unit_test(who_was_timed_whole_has_what_its_stacks_tell),
		cmocka_unit_test(what_has_no_probe_has_what_others_tell),
		cmocka_unit_test(what_nobody_tells_of_is_an_error),
		cmocka_unit_test(an_average_of_outermost_calls_is_marked),
		cmocka_unit_test(who_waits_all_the_time_has_that_time),
		cmocka_unit_test(of_two_that_are_off_the_one_that_is_less_tells),
		cmocka_unit_test(who_may_be_above_many_has_no_total),
		cmocka_unit_test(what_cannot_be_is_cpu_time_where_nobody_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
