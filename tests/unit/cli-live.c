/*
 * What flick live shows, of functions that are made of numbers: who stands where, what is
 * under the cursor, what is counted a second.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/live.h"

enum { MANY = 100000 };

static struct fl_live_model m;
static struct fl_live_seen seen[MANY];
static char names[MANY][16];

static const char *name_of(const void *owner, uint32_t f)
{
	(void)owner;
	return names[f];
}

static int set_up(void **unused)
{
	(void)unused;
	m = (struct fl_live_model){ .cursor = FL_LIVE_NOBODY, .name = name_of, .height = 10 };
	for (uint32_t f = 0; f < MANY; f++) {
		seen[f] = (struct fl_live_seen){ .state = FL_LIVE_ON, .avg_ns = FLICK_NONE,
						 .p99_ns = FLICK_NONE,
						 .recent_ns = FLICK_NONE };
		snprintf(names[f], sizeof(names[f]), "f%05u", f);
	}
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	fl_live_free(&m);
	return 0;
}

static void look(uint32_t n, double seconds)
{
	assert_int_equal(0, fl_live_take(&m, seen, n, seconds, 1000));
	assert_int_equal(0, fl_live_arrange(&m));
}

static void assert_order(uint32_t n, const uint32_t *want)
{
	assert_int_equal(n, m.n_shown);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(want[i], m.order[i]);
}

static void the_largest_stands_first_and_the_unknown_last(void **unused)
{
	(void)unused;
	seen[0].avg_ns = 5;
	seen[2].avg_ns = 7;
	m.key = FL_LIVE_BY_AVG;
	look(4, 1);
	assert_order(4, (const uint32_t[]){ 2, 0, 1, 3 });
	m.is_reversed = true;
	look(4, 1);
	assert_order(4, (const uint32_t[]){ 1, 3, 0, 2 });
}

/* One calls itself, so its total is not known; two were never called. */
static void the_never_called_stand_last(void **unused)
{
	(void)unused;
	seen[1] = (struct fl_live_seen){ .state = FL_LIVE_ON, .calls = 9, .avg_ns = 7 };
	seen[2] = (struct fl_live_seen){ .state = FL_LIVE_ON, .calls = 5,
					 .avg_ns = FLICK_NONE };
	m.key = FL_LIVE_BY_TOTAL;
	look(4, 1);
	assert_order(4, (const uint32_t[]){ 1, 2, 0, 3 });
}

/* What is equal stays where it is, whatever was shown before. */
static void what_is_equal_keeps_its_place(void **unused)
{
	(void)unused;
	m.key = FL_LIVE_BY_AVG;
	for (uint32_t f = 0; f < 1000; f++)
		seen[f].avg_ns = f % 2 ? 10 : 20;
	look(1000, 1);
	for (int turn = 0; turn < 3; turn++) {
		m.key = turn == 1 ? FL_LIVE_BY_NAME : FL_LIVE_BY_AVG;
		m.is_reversed = turn == 1;
		look(1000, 1);
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(i < 500 ? 2 * i : 2 * (i - 500) + 1, m.order[i]);
}

static void rates_are_of_the_time_since_the_look_before(void **unused)
{
	(void)unused;
	seen[0].calls = 1000;
	look(1, 1);
	seen[0].calls = 1500;
	look(1, 0.5);
	assert_true(m.rows[0].rate == 1000);
	look(1, 0.5);
	assert_true(m.rows[0].rate == 0);
	look(1, 0);				/* no time has passed */
	assert_true(m.rows[0].rate == 0);
}

static void counters_may_wrap(void **unused)
{
	(void)unused;
	seen[0].calls = UINT64_MAX - 9;
	look(1, 1);
	seen[0].calls = 20;
	look(1, 1);
	assert_true(m.rows[0].rate == 30);
}

/* An estimate that is corrected downwards is no call less than none. */
static void estimates_may_become_less(void **unused)
{
	(void)unused;
	seen[0].calls = 1000;
	look(1, 1);
	seen[0].calls = 900;
	look(1, 1);
	assert_true(m.rows[0].rate == 0);
	seen[0].calls = 950;
	look(1, 1);
	assert_true(m.rows[0].rate == 50);
}

static void totals_are_calls_times_the_average_if_that_is_known(void **unused)
{
	(void)unused;
	seen[0].calls = 1000;
	seen[0].avg_ns = 50;
	seen[1].calls = 1000;
	seen[2] = seen[0];
	seen[2].recurses = true;
	seen[4].calls = seen[4].avg_ns = 1ull << 40;
	look(5, 1);
	assert_int_equal(50000, m.rows[0].total_ns);
	assert_true(m.rows[1].total_ns == FLICK_NONE);
	assert_true(m.rows[2].total_ns == FLICK_NONE);
	assert_int_equal(0, m.rows[3].total_ns);
	assert_true(m.rows[4].total_ns == FLICK_NONE);	/* it is more than can be said */
}

static void self_is_a_share_of_all_samples(void **unused)
{
	(void)unused;
	seen[0].samples = 250;
	seen[1].samples = 500;
	look(2, 1);
	assert_true(m.rows[0].self > 24.9 && m.rows[0].self < 25.1);
	assert_true(m.rows[1].self > 49.9 && m.rows[1].self < 50.1);
	for (int i = 0; i < 50; i++)
		look(2, 1);			/* neither runs any more */
	assert_true(m.rows[1].self < 0.1);
}

static void a_cursor_that_nobody_moved_is_on_the_first_line(void **unused)
{
	(void)unused;
	m.key = FL_LIVE_BY_AVG;
	for (uint32_t turn = 0; turn < 3; turn++) {
		seen[turn].avg_ns = 100 + turn;
		look(4, 1);
		assert_int_equal(turn, m.cursor);
	}
	fl_live_move(&m, 0);
	seen[3].avg_ns = 200;
	look(4, 1);
	assert_int_equal(2, m.cursor);
}

/* The cursor is on a function: it goes where that goes. */
static void the_cursor_stays_on_its_function(void **unused)
{
	(void)unused;
	m.key = FL_LIVE_BY_AVG;
	for (uint32_t f = 0; f < 100; f++)
		seen[f].avg_ns = 1000 - f;
	look(100, 1);
	assert_int_equal(0, m.cursor);
	fl_live_move(&m, 3);
	assert_int_equal(3, m.cursor);
	seen[3].avg_ns = 1;			/* from line 3 to the last one */
	look(100, 1);
	assert_int_equal(3, m.cursor);
	assert_int_equal(99, fl_live_line(&m));
	assert_int_equal(90, m.top);
	fl_live_move(&m, -INT32_MAX);
	assert_int_equal(0, m.top);
	fl_live_move(&m, INT32_MAX);
	assert_int_equal(99, fl_live_line(&m));
	fl_live_fit(&m, 4);			/* the screen is less high */
	assert_int_equal(96, m.top);
	fl_live_fit(&m, 200);
	assert_int_equal(0, m.top);
}

/* Of a program that ran before there are no samples. */
static void without_samples_self_is_by_total(void **unused)
{
	(void)unused;
	m.key = FL_LIVE_BY_SELF;
	for (uint32_t f = 0; f < 4; f++)
		seen[f].calls = 10;
	seen[1].avg_ns = 50;
	seen[2].avg_ns = 70;
	assert_int_equal(0, fl_live_take(&m, seen, 4, 1, 0));
	assert_int_equal(0, fl_live_arrange(&m));
	assert_order(4, (const uint32_t[]){ 2, 1, 0, 3 });
}

static void a_filter_hides_and_the_cursor_goes_to_who_is_there(void **unused)
{
	(void)unused;
	look(100, 1);
	fl_live_move(&m, 50);
	strcpy(m.filter, "F0002");
	look(100, 1);
	assert_int_equal(10, m.n_shown);
	assert_int_equal(100, m.n_known);
	assert_int_equal(29, m.cursor);
	strcpy(m.filter, "f0003?");
	look(100, 1);
	assert_int_equal(10, m.n_shown);
	strcpy(m.filter, "nobody");
	look(100, 1);
	assert_int_equal(0, m.n_shown);
	assert_true(m.cursor == FL_LIVE_NOBODY);
	fl_live_move(&m, 1);
	assert_false(fl_live_search(&m, "f"));
	*m.filter = '\0';
	look(100, 1);
	assert_int_equal(100, m.n_shown);
	assert_int_equal(0, fl_live_line(&m));
}

static void a_search_goes_on_behind_the_cursor_and_round_the_end(void **unused)
{
	(void)unused;
	m.key = FL_LIVE_BY_NAME;
	look(100, 1);
	assert_true(fl_live_search(&m, "7"));
	assert_int_equal(7, m.cursor);
	assert_true(fl_live_search(&m, "7"));
	assert_int_equal(17, m.cursor);
	assert_true(fl_live_search(&m, "*01"));
	assert_int_equal(1, m.cursor);
	assert_true(fl_live_search(&m, "*01"));	/* it is the only one */
	assert_int_equal(1, m.cursor);
	assert_false(fl_live_search(&m, "x"));
}

/* dlclose: what was seen of it stays, and says that it is gone; what was never told of has
 * no row, and one that comes has one. */
static void functions_come_and_go(void **unused)
{
	(void)unused;
	seen[2].state = FL_LIVE_ABSENT;
	seen[1].calls = 100;
	seen[1].avg_ns = 10;
	look(3, 1);
	assert_int_equal(2, m.n_shown);
	fl_live_move(&m, -1);
	assert_int_equal(1, m.cursor);
	seen[1].state = FL_LIVE_GONE;
	look(3, 1);
	assert_int_equal(FL_LIVE_GONE, m.rows[1].seen.state);
	assert_int_equal(1000, m.rows[1].total_ns);
	assert_true(m.rows[1].rate == 0);
	assert_int_equal(1, m.cursor);
	seen[1].state = FL_LIVE_ON;		/* loaded again */
	seen[1].calls = 150;
	seen[2].state = FL_LIVE_ON;
	look(4, 1);
	assert_true(m.rows[1].rate == 50);
	assert_int_equal(4, m.n_shown);
	seen[1].state = FL_LIVE_ABSENT;		/* nothing was seen of it: it stays as it was */
	look(4, 1);
	assert_int_equal(FL_LIVE_ON, m.rows[1].seen.state);
	assert_int_equal(4, m.n_shown);
}

static void recent_latencies_move_to_the_left(void **unused)
{
	uint8_t heights[FL_LIVE_RECENT];

	(void)unused;
	seen[0].recent_ns = 100;
	look(1, 1);
	seen[0].recent_ns = FLICK_NONE;
	look(1, 1);
	seen[0].recent_ns = 800;
	look(1, 1);
	fl_live_heights(&m.rows[0], heights);
	assert_memory_equal(heights, ((const uint8_t[]){ 0, 0, 0, 0, 0, 1, 0, 8 }), 8);
}

static void a_hundred_thousand_functions_are_ordered(void **unused)
{
	uint32_t state = 1;

	(void)unused;
	for (uint32_t f = 0; f < MANY; f++) {
		state = state * 1664525 + 1013904223;
		seen[f].calls = state >> 16;
		seen[f].avg_ns = state >> 24;
	}
	for (uint32_t key = 0; key < FL_LIVE_N_KEYS; key++) {
		m.key = (enum fl_live_key)key;
		look(MANY, 1);
		assert_int_equal(MANY, m.n_shown);
	}
	m.key = FL_LIVE_BY_AVG;
	look(MANY, 1);
	for (uint32_t i = 1; i < MANY; i++) {
		const struct fl_live_row *a = &m.rows[m.order[i - 1]], *b = &m.rows[m.order[i]];

		assert_true(a->seen.avg_ns >= b->seen.avg_ns);
		if (a->seen.avg_ns == b->seen.avg_ns && a->seen.calls == b->seen.calls)
			assert_true(m.order[i - 1] < m.order[i]);
	}
	fl_live_move(&m, INT32_MAX);
	assert_int_equal(MANY - 10, m.top);
}

static void assert_count(const char *want, double n)
{
	char text[FL_LIVE_FIGURE];

	fl_live_count(text, n);
	assert_string_equal(want, text);
}

static void assert_time(const char *want, uint64_t ns)
{
	char text[FL_LIVE_FIGURE];

	fl_live_time(text, ns);
	assert_string_equal(want, text);
	assert_true(strlen(text) <= 6);
}

static void figures_have_three_digits(void **unused)
{
	(void)unused;
	assert_count("0", 0);
	assert_count("0.50", 0.5);
	assert_count("7", 7);
	assert_count("42", 41.7);
	assert_count("999", 999.4);
	assert_count("1.00k", 999.6);
	assert_count("12.3k", 12345);
	assert_count("1.00M", 999999);
	assert_count("18.0G", 18e9);
	assert_count("9999T", 1e18);
	assert_time("-", FLICK_NONE);
	assert_time("0ns", 0);
	assert_time("999ns", 999);
	assert_time("1.00us", 1000);
	assert_time("99.9us", 99900);
	assert_time("100us", 99960);
	assert_time("1.00ms", 999999);
	assert_time("3.60ks", 3600000000000);
	assert_time("9999ks", UINT64_MAX - 1);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_largest_stands_first_and_the_unknown_last),
		TEST(the_never_called_stand_last),
		TEST(what_is_equal_keeps_its_place),
		TEST(rates_are_of_the_time_since_the_look_before),
		TEST(counters_may_wrap),
		TEST(estimates_may_become_less),
		TEST(totals_are_calls_times_the_average_if_that_is_known),
		TEST(self_is_a_share_of_all_samples),
		TEST(a_cursor_that_nobody_moved_is_on_the_first_line),
		TEST(the_cursor_stays_on_its_function),
		TEST(without_samples_self_is_by_total),
		TEST(a_filter_hides_and_the_cursor_goes_to_who_is_there),
		TEST(a_search_goes_on_behind_the_cursor_and_round_the_end),
		TEST(functions_come_and_go),
		TEST(recent_latencies_move_to_the_left),
		TEST(a_hundred_thousand_functions_are_ordered),
		TEST(figures_have_three_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
