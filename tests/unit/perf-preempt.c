/*
 * How long a thread was preempted between two ticks, by its switches: of each thread its own,
 * of waiting nothing, of what was lost nothing, and of however many gaps. How often threads
 * were switched, but for flick's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "perf/preempted.h"

enum { FLICKS = 77 };

static struct fl_preempted *p;

static bool is_beside(int32_t tid)
{
	return tid == FLICKS;
}

static int set_up(void **unused)
{
	(void)unused;
	p = fl_preempted_open(is_beside);
	return !p;
}

static int tear_down(void **unused)
{
	(void)unused;
	fl_preempted_close(p);
	return 0;
}

static void note(int32_t tid, enum fl_switch how, uint64_t at)
{
	assert_int_equal(fl_preempted_switch(p, tid, how, at), 0);
}

static void gap(int32_t tid, uint64_t begin, uint64_t end)
{
	note(tid, FL_SWITCH_PREEMPTED, begin);
	note(tid, FL_SWITCH_IN, end);
}

static void expect(int32_t tid, uint64_t begin, uint64_t end, uint64_t want)
{
	assert_int_equal(fl_preempted_between(p, tid, begin, end), want);
}

static void gaps_count_as_far_as_they_lie_between(void **unused)
{
	(void)unused;
	gap(1, 100, 110);
	gap(1, 200, 230);
	gap(1, 300, 305);
	expect(1, 50, 400, 45);
	expect(1, 110, 200, 0);
	expect(1, 105, 210, 15);
	expect(1, 100, 110, 10);
	expect(1, 210, 220, 10);
	expect(1, 230, 301, 1);
	expect(1, 10, 20, 0);
	expect(1, 500, 600, 0);
	expect(1, 600, 500, 0);
}

static void threads_have_their_own(void **unused)
{
	(void)unused;
	gap(1, 100, 110);
	gap(1 + 4096, 100, 150);	/* in the same bucket */
	expect(1, 0, 1000, 10);
	expect(1 + 4096, 0, 1000, 50);
	expect(2, 0, 1000, 0);
}

/* Nor what has no begin, or no end yet. */
static void who_waits_is_not_preempted(void **unused)
{
	(void)unused;
	note(1, FL_SWITCH_IN, 50);
	note(1, FL_SWITCH_WAITS, 100);
	note(1, FL_SWITCH_IN, 200);
	note(1, FL_SWITCH_PREEMPTED, 300);
	expect(1, 0, 1000, 0);
	note(1, FL_SWITCH_PREEMPTED, 400);
	note(1, FL_SWITCH_IN, 450);
	expect(1, 0, 1000, 50);
	assert_int_equal(fl_preempted_ran(p), 50 + 100);
}

static void wait_often(int32_t tid, uint64_t from, int n)
{
	for (int i = 0; i < n; i++) {
		note(tid, FL_SWITCH_IN, from + 100 * (uint64_t)i);
		note(tid, FL_SWITCH_WAITS, from + 100 * (uint64_t)i + 3);
	}
}

/* What waits beside a process wakes up, and may preempt the process each time. */
static void what_is_beside_the_program_is_not_counted(void **unused)
{
	(void)unused;
	wait_often(1, 1000, 7);
	assert_int_equal(fl_preempted_switches(p), 7);
	assert_int_equal(fl_preempted_ran(p), 21);
	for (uint64_t i = 1; i <= 40; i++)
		gap(1, 10000 + 100 * i, 10000 + 100 * i + 10);
	assert_int_equal(fl_preempted_switches(p), 47);
	wait_often(FLICKS, 1000, 30);
	assert_int_equal(fl_preempted_switches(p), 7 + 40 - 30);
	assert_int_equal(fl_preempted_ran(p), 21 + 39 * 90);
	wait_often(FLICKS, 5000, 30);
	assert_int_equal(fl_preempted_switches(p), 7);
	wait_often(2, 1000, 30);
	assert_int_equal(fl_preempted_switches(p), 37);
}

/* A record that was lost may have been an end, and the next begin. */
static void what_was_lost_corrects_nothing(void **unused)
{
	(void)unused;
	gap(1, 100, 110);
	note(1, FL_SWITCH_PREEMPTED, 200);
	fl_preempted_forget(p, 250);
	note(1, FL_SWITCH_IN, 300);
	gap(1, 400, 410);
	expect(1, 90, 120, 0);
	expect(1, 240, 500, 0);
	expect(1, 250, 500, 10);
}

static void clocks_that_disagree_are_not_negative(void **unused)
{
	(void)unused;
	note(1, FL_SWITCH_PREEMPTED, 100);
	note(1, FL_SWITCH_IN, 90);
	expect(1, 0, 1000, 0);
	note(1, FL_SWITCH_IN, 120);
	expect(1, 0, 1000, 20);
}

/* The last ones are known as they were; of older ones nearly all, and never more. */
static void of_many_gaps_sums_are_kept(void **unused)
{
	enum { MANY = 100000 };

	(void)unused;
	for (uint64_t i = 1; i <= MANY; i++)
		gap(1, 100 * i, 100 * i + 10);
	for (uint64_t i = MANY - 20; i <= MANY; i++) {
		expect(1, 100 * i - 5, 100 * i + 5, 5);
		expect(1, 100 * i + 10, 100 * i + 100, 0);
	}
	for (uint64_t i = 1; i < MANY; i += 77) {
		uint64_t got = fl_preempted_between(p, 1, 100 * i, UINT64_MAX);
		uint64_t want = 10 * (MANY + 1 - i);

		assert_in_range(got, want - want / 25, want);
	}
}

/* Records of calls may come much later than those of switches: what a call was preempted is
 * known then, however short it was, and of a long one that began before as well. */
static void of_calls_that_are_asked_for_late_all_is_known(void **unused)
{
	enum { LATE = 4000, TURNS = 5 };

	(void)unused;
	for (uint64_t turn = 0; turn < TURNS; turn++) {
		for (uint64_t i = 1; i <= LATE; i++)
			gap(1, 100 * (turn * LATE + i), 100 * (turn * LATE + i) + 10);
		for (uint64_t i = 1; i <= LATE; i++) {
			uint64_t at = 100 * (turn * LATE + i);

			expect(1, at - 5, at + 15, 10);
		}
	}
	assert_in_range(fl_preempted_between(p, 1, 100, UINT64_MAX), TURNS * LATE * 96 / 10,
			TURNS * LATE * 10);
}

static void threads_may_come_and_go(void **unused)
{
	enum { MANY = 50000 };

	(void)unused;
	for (int32_t i = 1; i <= MANY; i++) {
		gap(i, 100 * (uint64_t)i, 100 * (uint64_t)i + 10);
		expect(i, 0, UINT64_MAX, 10);
	}
	expect(MANY - 1000, 0, UINT64_MAX, 10);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(gaps_count_as_far_as_they_lie_between),
		T(threads_have_their_own),
		T(who_waits_is_not_preempted),
		T(what_is_beside_the_program_is_not_counted),
		T(what_was_lost_corrects_nothing),
		T(clocks_that_disagree_are_not_negative),
		T(of_many_gaps_sums_are_kept),
		T(of_calls_that_are_asked_for_late_all_is_known),
		T(threads_may_come_and_go),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
