/*
 * Events of the last ticks: what is kept, and the calls that were open where it begins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/last.h"

enum { TICKS = 100, FUNCTIONS = 8, SEEN = 4096 };

/* Probes 2f and 2f + 1 are entry and exit of function f. */
static struct fl_shm_site sites[2 * FUNCTIONS];
static uint32_t function_of[2 * FUNCTIONS];
static const struct fl_view view = { .sites = sites, .function_of = function_of,
				     .n_sites = 2 * FUNCTIONS,
				     .overhead = { { .inside = 2, .pair = 5 } } };
static struct fl_last *l;

/* What came out: of which thread, and an end as one without probe. */
static struct {
	uint32_t thread, probe;
	uint64_t tsc, paused;
} seen[SEEN];
static size_t n_seen;

static void feed(void *arg, const struct fl_batch *b)
{
	(void)arg;
	for (size_t i = 0; i < b->n && n_seen < SEEN; i++, n_seen++) {
		seen[n_seen].thread = b->thread;
		seen[n_seen].probe = b->records[i].probe;
		seen[n_seen].tsc = b->records[i].tsc;
		seen[n_seen].paused = i ? 0 : b->paused;
	}
}

static void thread_end(void *arg, uint32_t thread, uint64_t alive)
{
	(void)arg;
	(void)alive;
	seen[n_seen].thread = thread;
	seen[n_seen++].probe = UINT32_MAX;
}

static int set_up(void **unused)
{
	(void)unused;
	for (uint32_t i = 0; i < 2 * FUNCTIONS; i++) {
		sites[i].kind = i % 2 ? FL_EXIT : FL_ENTRY;
		function_of[i] = i / 2;
	}
	l = fl_last_open(&view, TICKS, 1 << 20);
	n_seen = 0;
	return l ? 0 : -1;
}

static int tear_down(void **unused)
{
	(void)unused;
	fl_last_close(l);
	return 0;
}

/* Behind it the thread waited for `ticks`. */
static void put_paused(uint32_t thread, struct flick_record r, uint64_t ticks)
{
	assert_int_equal(0, fl_last_put(l, &(struct fl_batch){ .thread = thread, .records = &r,
							       .n = 1, .paused = ticks }));
}

static void put(uint32_t thread, uint64_t tsc, uint32_t probe, uint32_t sp)
{
	put_paused(thread, (struct flick_record){ tsc, probe, sp }, 0);
}

static void enter(uint64_t tsc, uint32_t function, uint32_t sp)
{
	put(0, tsc, 2 * function, sp);
}

static void leave(uint64_t tsc, uint32_t function, uint32_t sp)
{
	put(0, tsc, 2 * function + 1, sp);
}

static void write_out(void)
{
	fl_last_write(l, &(struct fl_sink){ .feed = feed, .thread_end = thread_end });
}

static void assert_seen(size_t i, uint64_t tsc, uint32_t probe)
{
	assert_true(i < n_seen);
	assert_int_equal(tsc, seen[i].tsc);
	assert_int_equal(probe, seen[i].probe);
}

static void what_is_old_is_forgotten(void **unused)
{
	(void)unused;
	for (uint64_t t = 1; t <= 1000; t += 2) {
		enter(t, 1, 100);
		leave(t + 1, 1, 100);
	}
	write_out();
	assert_seen(0, 899, 2);		/* it was open then */
	assert_seen(1, 900, 3);
	assert_int_equal(102, n_seen);
	assert_int_equal(0, fl_last_short(l));
}

static void calls_that_are_open_stand_in_front(void **unused)
{
	(void)unused;
	enter(1, 0, 1000);
	enter(2, 1, 900);
	enter(3, 2, 800);
	leave(4, 2, 800);
	enter(5, 3, 800);
	for (uint64_t t = 500; t < 700; t++) {
		enter(t, 4, 700);
		leave(t, 4, 700);
	}
	leave(700, 3, 800);
	write_out();
	assert_seen(0, 1, 0);
	assert_seen(1, 2, 2);
	assert_seen(2, 5, 6);
	assert_seen(3, 600, 8);
	assert_seen(n_seen - 1, 700, 7);
}

/* Waits, and probes of calls that are forgotten: of what is open then. */
static void what_is_no_time_of_calls_is_kept_with_the_call(void **unused)
{
	(void)unused;
	put_paused(0, (struct flick_record){ 1, 0, 1000 }, 1000);
	put_paused(0, (struct flick_record){ 2, 2, 900 }, 2000);
	put_paused(0, (struct flick_record){ 3, 4, 800 }, 4000);
	put_paused(0, (struct flick_record){ 4, 5, 800 }, 8000);
	put_paused(0, (struct flick_record){ 5, 3, 900 }, 16000);
	enter(6, 2, 900);
	put_paused(0, (struct flick_record){ 7, 4, 950 }, 32000);	/* the other was left */
	put_paused(3, (struct flick_record){ 8, 5, 900 }, 64000);	/* nothing is open */
	put_paused(0, (struct flick_record){ 1000, 6, 700 }, 128000);
	write_out();
	assert_seen(0, 1, 0);
	assert_int_equal(seen[0].paused, 31000 + 2 * 5 + 2);
	assert_seen(1, 7, 4);
	assert_int_equal(seen[1].paused, 32000);
	assert_seen(2, 1000, 6);
	assert_int_equal(seen[2].paused, 128000);
	assert_int_equal(3, n_seen);
}

/* longjmp: frames below one that begins are left. One of another stack is not. */
static void frames_that_were_left_are_no_callers(void **unused)
{
	(void)unused;
	enter(1, 0, 100000000);
	enter(2, 1, 99999900);
	enter(3, 2, 99999800);		/* both are left without an exit */
	enter(4, 3, 99999950);
	enter(5, 4, 500);		/* on another stack */
	enter(6, 5, 99999940);
	enter(1000, 6, 99999000);
	write_out();
	assert_seen(0, 1, 0);
	assert_seen(1, 4, 6);
	assert_seen(2, 5, 8);
	assert_seen(3, 6, 10);
	assert_seen(4, 1000, 12);
	assert_int_equal(5, n_seen);
}

static void an_exit_ends_what_lies_in_its_call(void **unused)
{
	(void)unused;
	enter(1, 0, 1000);
	enter(2, 1, 900);
	enter(3, 2, 800);
	leave(4, 1, 900);		/* by an exception: 2 had no exit */
	leave(5, 7, 300);		/* of a call that began before all this */
	enter(1000, 3, 900);
	write_out();
	assert_seen(0, 1, 0);
	assert_seen(1, 1000, 6);
	assert_int_equal(2, n_seen);
}

static void threads_have_stacks_of_their_own(void **unused)
{
	(void)unused;
	put(0, 1, 0, 1000);
	put(3, 2, 2, 1000);
	put(3, 3, 4, 900);
	put(5, 4, 6, 1000);
	assert_int_equal(0, fl_last_thread_end(l, 5));
	put(0, 1000, 8, 900);
	put(0, 1001, 9, 900);
	assert_int_equal(0, fl_last_thread_end(l, 3));
	write_out();
	assert_int_equal(6, n_seen);
	assert_int_equal(0, seen[0].thread);
	assert_int_equal(3, seen[1].thread);
	assert_int_equal(3, seen[2].thread);
	assert_seen(3, 1000, 8);
	assert_int_equal(3, seen[5].thread);
	assert_int_equal(UINT32_MAX, seen[5].probe);
}

/* What there is no room for is forgotten early, and that is known. */
static void memory_has_a_bound(void **unused)
{
	(void)unused;
	fl_last_close(l);
	l = fl_last_open(&view, 1000000, 4096);
	enter(1, 0, 1000);
	for (uint64_t t = 2; t < 2000; t++)
		put(0, t, t % 2 ? 3 : 2, 900);
	write_out();
	assert_seen(0, 1, 0);
	assert_true(n_seen < 200);
	assert_seen(n_seen - 1, 1999, 3);
	assert_in_range(fl_last_short(l), 1, 200);
}

/* What the reader has not been told of is no call, and is kept. */
static void probes_nobody_knows_are_passed_over(void **unused)
{
	(void)unused;
	put(0, 1, 5000, 100);
	put(0, 2, fl_typed(FLICK_TYPE_CALLER, 2), 100);
	put(0, 1000, 5000, 100);
	write_out();
	assert_int_equal(1, n_seen);
	assert_seen(0, 1000, 5000);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_is_old_is_forgotten),
		TEST(calls_that_are_open_stand_in_front),
		TEST(what_is_no_time_of_calls_is_kept_with_the_call),
		TEST(frames_that_were_left_are_no_callers),
		TEST(an_exit_ends_what_lies_in_its_call),
		TEST(threads_have_stacks_of_their_own),
		TEST(memory_has_a_bound),
		TEST(probes_nobody_knows_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
