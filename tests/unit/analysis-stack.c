/*
 * Which call an exit ends, told by synthetic streams of one thread. A letter is
 * a function; stack pointers are written as bytes below the thread's top.
 */
#include "analysis-rig.h"

#include "analysis/stack.h"

static struct fl_use use;
static struct flick_rows result;
static char why[FL_USE_WHY];

static int set_up(void **unused)
{
	(void)unused;
	lay_sites();
	view.sampled = false;
	now = 1000;
	assert_int_equal(fl_use_open(&use, "latency", why), 0);
	return fl_run_open(&run, &use, 1, &view);
}

static int tear_down(void **unused)
{
	(void)unused;
	fl_run_close(run);
	fl_use_close(&use);
	free(result.cells);
	result = (struct flick_rows){ 0 };
	return 0;
}

/* End the thread and read function f's `column`; FLICK_NONE without a row. */
static uint64_t cell(char f, const char *column)
{
	if (!result.cells) {
		assert_int_equal(fl_run_thread_end(run, 0, 0), 0);
		assert_int_equal(fl_run_rows(run, 0, &result), 0);
	}
	for (size_t r = 0; r < result.n_rows; r++) {
		const uint64_t *row = result.cells + r * result.n_columns;

		for (size_t c = 0; c < result.n_columns; c++)
			if (row[0] == (uint64_t)(f - 'a') &&
			    !strcmp(result.columns[c].name, column))
				return row[c];
	}
	return FLICK_NONE;
}

static void expect(char f, uint64_t calls, uint64_t total, uint64_t self,
		   uint64_t unknown)
{
	assert_int_equal(cell(f, "calls"), calls);
	assert_int_equal(cell(f, "total_ns"), total);
	assert_int_equal(cell(f, "self_ns"), self);
	assert_int_equal(cell(f, "unknown"), unknown);
}

static void nesting_splits_self_from_total(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	leave('b', 200);
	enter('b', 200);
	leave('b', 200);
	leave('a', 100);
	expect('a', 1, 50, 30, 0);
	expect('b', 2, 20, 20, 0);
}

static void recursion_counts_every_level(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('a', 200);
	enter('a', 300);
	leave('a', 300);
	leave('a', 200);
	leave('a', 100);
	expect('a', 3, 50, 50, 0);
	assert_int_equal(cell('a', "avg_ns"), 30);
	assert_int_equal(cell('a', "min_ns"), 10);
	assert_int_equal(cell('a', "max_ns"), 50);
}

static void mutual_recursion(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	enter('a', 300);
	enter('b', 400);
	leave('b', 400);
	leave('a', 300);
	leave('b', 200);
	leave('a', 100);
	expect('a', 2, 70, 40, 0);
	expect('b', 2, 50, 30, 0);
}

/* Exits by jump stand where a call from the outer function would: at x equal
 * to the outer entry's stack pointer. */
static void recursion_left_by_jumps(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('a', 148);
	enter('a', 196);
	jump_out('a', 148);
	jump_out('a', 100);
	jump_out('a', 52);
	expect('a', 3, 50, 50, 0);
}

static void longjmp_over_two_functions(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	enter('c', 300);
	leave('a', 100);
	expect('a', 1, 30, 30, 0);
	expect('b', 1, FLICK_NONE, FLICK_NONE, 1);
	expect('c', 1, FLICK_NONE, FLICK_NONE, 1);
}

static void longjmp_over_recursion_ends_the_outer_call(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('a', 200);
	enter('a', 300);
	leave('a', 100);
	expect('a', 3, 30, 30, 2);
}

static void longjmp_into_the_middle_of_recursion(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('a', 200);
	enter('a', 300);
	enter('a', 400);
	leave('a', 200);
	leave('a', 100);
	expect('a', 4, 50, 50, 2);
	assert_int_equal(cell('a', "avg_ns"), 40);
	assert_int_equal(cell('a', "max_ns"), 50);
}

/* The first exit may be of the call at 300, made by the one at 100, or of that
 * at 200. The second can only be of that at 100. */
static void longjmp_over_recursion_left_by_jump(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('a', 200);
	enter('a', 300);
	jump_out('a', 168);
	jump_out('a', 68);
	expect('a', 3, 40, 40, 2);
	assert_int_equal(cell('a', "min_ns"), 40);
}

/* What ran in calls that were unwound still is not their catcher's own. */
static void children_of_unwound_calls_are_credited(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	enter('c', 300);
	leave('c', 300);
	leave('a', 100);
	expect('a', 1, 40, 30, 0);
	expect('b', 1, FLICK_NONE, FLICK_NONE, 1);
	expect('c', 1, 10, 10, 0);
}

static void call_after_longjmp_at_the_dead_calls_place(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	enter('b', 200);
	leave('b', 200);
	leave('a', 100);
	expect('a', 1, 40, 30, 0);
	expect('b', 2, 10, 10, 1);
}

/* The outer call had not ended: what it had until then has the inner ones. */
static void recursion_in_a_call_without_end(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('a', 200);
	enter('a', 300);
	leave('a', 300);
	leave('a', 200);
	enter('a', 200);
	leave('a', 200);
	expect('a', 4, 60, 60, 1);
}

/* gcc records the exits of calls an exception leaves, from the inside out. */
static void exception_with_exit_records(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	enter('c', 300);
	leave('c', 300);
	leave('b', 200);
	leave('a', 100);
	expect('a', 1, 50, 20, 0);
	expect('b', 1, 30, 20, 0);
}

static void tail_call_ends_the_caller_first(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	jump_out('b', 108);
	enter('c', 150);
	leave('c', 150);
	leave('a', 100);
	expect('a', 1, 50, 30, 0);
	expect('b', 1, 10, 10, 0);
	expect('c', 1, 10, 10, 0);
}

static void inlined_bodies_share_a_stack_pointer(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 100);
	enter('c', 100);
	leave('c', 100);
	leave('b', 100);
	enter('b', 100);
	leave('b', 100);
	leave('a', 100);
	expect('a', 1, 70, 30, 0);
	expect('b', 2, 40, 30, 0);
	expect('c', 1, 10, 10, 0);
}

static void body_inlined_into_itself(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('a', 100);
	leave('a', 100);
	leave('a', 100);
	expect('a', 2, 30, 30, 0);
}

static void deferred_pops_move_the_stack_pointer(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 116);
	leave('b', 100);
	leave('a', 116);
	expect('a', 1, 30, 20, 0);
	expect('b', 1, 10, 10, 0);
}

/* Sixteen bytes apart, the exit may be of either: neither gets a time. */
static void two_answers_are_none(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('a', 116);
	leave('a', 100);
	expect('a', 2, FLICK_NONE, FLICK_NONE, 2);
}

/* Nor does the exit that comes later: one of them has ended, and which is not known. */
static void what_may_have_ended_ends_without_a_time(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('a', 116);
	leave('a', 100);
	leave('a', 116);
	expect('a', 2, FLICK_NONE, FLICK_NONE, 2);
}

static void alloca_lowers_the_exit(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('a', 3000);
	leave('a', 6000);
	leave('a', 2100);
	expect('a', 2, 30, 30, 0);
}

static void exit_without_entry_is_unknown(void **unused)
{
	(void)unused;
	leave('b', 200);
	enter('b', 200);
	leave('b', 200);
	leave('a', 100);
	expect('a', 0, FLICK_NONE, FLICK_NONE, 1);
	expect('b', 1, 10, 10, 1);
}

static void thread_end_leaves_calls_unknown(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	leave('b', 200);
	expect('a', 1, 20, 10, 1);		/* until its last record */
	expect('b', 1, 10, 10, 0);
	assert_int_equal(cell('a', "open"), 1);
	assert_int_equal(cell('a', "avg_ns"), FLICK_NONE);
}

/* The end of a thread is seen late. It lived when it made its last record, and when it was seen
 * to live. */
static void open_calls_last_until_their_thread_was_seen(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	leave('b', 200);
	assert_int_equal(fl_run_thread_end(run, 0, 1035), 0);
	enter('a', 100);
	enter('b', 200);
	leave('b', 200);
	assert_int_equal(fl_run_thread_end(run, 0, 1055), 0);
	assert_int_equal(fl_run_rows(run, 0, &result), 0);
	assert_int_equal(cell('a', "calls"), 2);
	assert_int_equal(cell('a', "total_ns"), 25 + 20);
	assert_int_equal(cell('b', "total_ns"), 20);
}

/* A loop around setjmp: of calls that were left at one place the last one alone may be open
 * still, and what the others had called is over with them. */
static void what_was_left_before_is_not_open_at_the_end(void **unused)
{
	(void)unused;
	enter('a', 100);
	for (int i = 0; i < 3; i++) {
		enter('b', 200);
		enter('c', 300 + 50 * (uint32_t)i);
	}
	enter('d', 500);
	leave('d', 500);
	expect('a', 1, 80, 50, 1);
	expect('b', 3, 30, 10, 3);
	expect('c', 3, 20, 10, 3);
	assert_int_equal(cell('b', "sum_ns"), 30);
	assert_int_equal(cell('b', "open"), 1);
	assert_int_equal(cell('c', "sum_ns"), 20);
	assert_int_equal(cell('c', "open"), 1);
}

/* A coroutine's call that is open stays so while others begin further up. */
static void a_coroutines_call_is_open_beside_newer_ones(void **unused)
{
	const uint32_t far = 0x10000000;

	(void)unused;
	enter('a', 100);
	enter('b', far + 16384);
	enter('c', far);
	expect('b', 1, 10, 10, 1);
	expect('c', 1, 0, 0, 1);
}

/* Two coroutines far from the thread's own stack take turns. */
static void coroutines_keep_their_calls(void **unused)
{
	const uint32_t one = 0x10000000, two = 0x20000000;

	(void)unused;
	enter('a', 100);
	enter('b', one);
	enter('c', 200);
	leave('c', 200);
	enter('b', two);
	enter('d', one + 100);
	leave('d', one + 100);
	leave('b', one);
	leave('b', two);
	leave('a', 100);
	expect('a', 1, 90, 80, 0);
	expect('b', 2, 60 + 40, 90, 0);
	expect('c', 1, 10, 10, 0);
	expect('d', 1, 10, 10, 0);
}

/* Small stacks side by side: never a wrong time, at worst none. */
static void neighbouring_coroutines_are_not_confused(void **unused)
{
	const uint32_t far = 0x10000000;

	(void)unused;
	enter('a', 100);
	enter('b', far);
	enter('b', far + 16384);
	enter('b', far + 32768);
	leave('b', far);
	leave('b', far + 16384);
	leave('b', far + 32768);
	leave('a', 100);
	assert_int_equal(cell('b', "calls"), 3);
	assert_int_equal(cell('b', "min_ns"), 30);
	assert_int_equal(cell('b', "max_ns"), 30);
	assert_int_equal(cell('a', "total_ns"), 70);
}

/* The second drops the third, whose exit must not end the first. */
static void a_neighbours_exit_ends_nothing(void **unused)
{
	const uint32_t far = 0x10000000;

	(void)unused;
	enter('a', 100);
	enter('b', far);
	enter('b', far + 16384);
	enter('b', far + 32768);
	leave('b', far + 16384);
	leave('b', far + 32768);
	leave('b', far);
	assert_int_equal(cell('b', "calls"), 3);
	assert_int_equal(cell('b', "unknown"), 1);
	assert_int_equal(cell('b', "min_ns"), 20);
	assert_int_equal(cell('b', "max_ns"), 50);
}

/* Each begins 68 KiB below the one before, in which a call is open that another one ends. */
static void coroutines_below_one_another_keep_their_calls(void **unused)
{
	enum { APART = 68 << 10, N = 4 };

	(void)unused;
	enter('a', 100);
	for (uint32_t i = 0; i < N; i++) {
		enter('b', 10000000 + i * APART);
		enter('c', 10000100 + i * APART);
	}
	for (uint32_t i = 0; i < N; i++)
		leave('c', 10000100 + i * APART);
	for (uint32_t i = 0; i < N; i++) {
		enter('d', 10000100 + i * APART);
		leave('d', 10000100 + i * APART);
		leave('b', 10000000 + i * APART);
	}
	leave('a', 100);
	for (char f = 'b'; f <= 'd'; f++) {
		assert_int_equal(cell(f, "calls"), N);
		assert_int_equal(cell(f, "unknown"), 0);
	}
	assert_int_equal(cell('b', "min_ns"), 140);
	assert_int_equal(cell('d', "max_ns"), 10);
}

/* What a longjmp has left in a large frame is no other stack's: it has no time, however often,
 * and what is called there is told. */
static void calls_left_in_a_large_frame_have_no_time(void **unused)
{
	enum { FRAME = 100 << 10, TIMES = 1000 };

	(void)unused;
	enter('e', 50);
	for (int i = 0; i < TIMES; i++) {
		enter('a', 100);
		enter('b', 200);
		enter('c', FRAME);
		leave('a', 100);
	}
	enter('b', 200);
	enter('c', FRAME);
	leave('c', FRAME);
	leave('b', 200);
	expect('b', TIMES + 1, 30, 20, TIMES);
	expect('c', TIMES + 1, 10, 10, TIMES);
	assert_int_equal(cell('a', "unknown"), 0);
}

static void count_drop(void *arg, struct fl_fiber *f, uint32_t i, enum fl_drop how)
{
	(void)f;
	(void)i;
	(void)how;
	++*(uint32_t *)arg;
}

static int enter_in(struct fl_stack *s, uint32_t function, uint32_t below)
{
	return fl_stack_enter(s, &(struct flick_record){ .tsc = ++now, .sp = TOP - below },
			      &(struct flick_tag){ .function = function });
}

/* Calls that parted are gone with their library: a stack that takes their place did not, so its
 * calls are open. */
static void a_stack_that_follows_one_that_parted_did_not(void **unused)
{
	struct fl_stack s;
	struct fl_closed closed;
	uint32_t dropped = 0;

	(void)unused;
	assert_int_equal(fl_stack_init(&s, 1, count_drop, &dropped), 0);
	assert_int_equal(fl_stack_extend(&s, 3), 0);
	assert_int_equal(enter_in(&s, 0, 100), 0);
	assert_int_equal(enter_in(&s, 0, 200), 0);
	assert_int_equal(enter_in(&s, 1, 80 << 10), 0);
	assert_int_equal(fl_stack_exit(&s, &(struct flick_record){ .tsc = ++now,
			 .sp = TOP - 200 }, &(struct flick_tag){ .function = 0 }, &closed),
			 FL_MATCH_CLOSED);
	assert_int_equal(s.n_fibers, 2);
	fl_stack_forget(&s, now + 1, (unsigned char[]){ 0, 1, 0 }, 3);
	assert_int_equal(dropped, 1);
	assert_int_equal(enter_in(&s, 2, 50 << 20), 0);
	assert_int_equal(s.n_fibers, 2);
	fl_stack_settle(&s);
	assert_int_equal(dropped, 1);
	fl_stack_end(&s);
	fl_stack_free(&s);
}

/* Every call at one stack pointer may be alive; that many are not. */
static void dead_calls_at_one_place_are_swept(void **unused)
{
	struct fl_stack s;
	uint32_t dropped = 0;

	(void)unused;
	assert_int_equal(fl_stack_init(&s, 1, count_drop, &dropped), 0);
	assert_int_equal(fl_stack_extend(&s, 1), 0);
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(fl_stack_enter(&s, &(struct flick_record){ .tsc = i,
				 .sp = TOP }, &(struct flick_tag){ 0 }), 0);
	assert_true(s.fibers[0].room <= 512);
	assert_int_equal(s.fibers[0].n + dropped, 100000);
	fl_stack_end(&s);
	assert_int_equal(dropped, 100000);
	fl_stack_free(&s);
}

/* A loop around setjmp that never returns: memory stays bounded. */
static void endless_longjmp_is_swept(void **unused)
{
	(void)unused;
	enter('a', 100);
	for (int i = 0; i < 100000; i++) {
		enter('b', 200);
		enter('c', 300);
		enter('d', 300);
		leave('d', 300);
	}
	leave('a', 100);
	expect('a', 1, 4000010, 3000010, 0);
	assert_int_equal(cell('b', "calls"), 100000);
	assert_int_equal(cell('b', "unknown"), 100000);
	expect('d', 100000, 1000000, 1000000, 0);
}

static void deep_recursion_is_not_swept(void **unused)
{
	(void)unused;
	for (uint32_t i = 0; i < 10000; i++)
		enter('a', 100 + 48 * i);
	for (uint32_t i = 10000; i-- > 0;)
		leave('a', 100 + 48 * i);
	assert_int_equal(cell('a', "unknown"), 0);
	assert_int_equal(cell('a', "self_ns"), cell('a', "max_ns"));
	assert_int_equal(cell('a', "max_ns"), 199990);
}

static void clocks_that_disagree_are_not_negative(void **unused)
{
	(void)unused;
	feed_at(run, 0, ENTRY, 100, 2000);
	feed_at(run, 0, EXIT, 100, 1990);
	expect('a', 1, 0, 0, 0);
}

/* Random programs that nest properly: self times add up to the outer total. */
static void self_times_add_up(void **unused)
{
	uint32_t depth = 0, open[64];
	uint64_t self = 0;

	(void)unused;
	srand(1);
	enter('a', 100);
	for (int i = 0; i < 20000; i++) {
		if (depth < 60 && (rand() & 1)) {
			open[depth] = 1 + (uint32_t)rand() % (FUNCTIONS - 1);
			depth++;
			enter((char)('a' + open[depth - 1]), 100 + depth * 64);
		} else if (depth) {
			leave((char)('a' + open[depth - 1]), 100 + depth * 64);
			depth--;
		}
	}
	for (; depth; depth--)
		leave((char)('a' + open[depth - 1]), 100 + depth * 64);
	leave('a', 100);
	for (char f = 'a'; f < 'a' + FUNCTIONS; f++)
		self += cell(f, "self_ns");
	assert_int_equal(self, cell('a', "total_ns"));
}

static void samples_are_pairs(void **unused)
{
	(void)unused;
	fl_run_close(run);
	view.sampled = true;
	assert_int_equal(fl_run_open(&run, &use, 1, &view), 0);
	enter('a', 100);
	leave('a', 100);
	enter('b', 5000);
	leave('b', 40);
	expect('a', 1, 10, FLICK_NONE, 0);
	expect('b', 1, 10, FLICK_NONE, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nesting_splits_self_from_total),
		T(recursion_counts_every_level),
		T(mutual_recursion),
		T(recursion_left_by_jumps),
		T(longjmp_over_two_functions),
		T(longjmp_over_recursion_ends_the_outer_call),
		T(longjmp_into_the_middle_of_recursion),
		T(longjmp_over_recursion_left_by_jump),
		T(children_of_unwound_calls_are_credited),
		T(call_after_longjmp_at_the_dead_calls_place),
		T(recursion_in_a_call_without_end),
		T(exception_with_exit_records),
		T(tail_call_ends_the_caller_first),
		T(inlined_bodies_share_a_stack_pointer),
		T(body_inlined_into_itself),
		T(deferred_pops_move_the_stack_pointer),
		T(two_answers_are_none),
		T(what_may_have_ended_ends_without_a_time),
		T(alloca_lowers_the_exit),
		T(exit_without_entry_is_unknown),
		T(thread_end_leaves_calls_unknown),
		T(open_calls_last_until_their_thread_was_seen),
		T(what_was_left_before_is_not_open_at_the_end),
		T(a_coroutines_call_is_open_beside_newer_ones),
		T(coroutines_keep_their_calls),
		T(neighbouring_coroutines_are_not_confused),
		T(coroutines_below_one_another_keep_their_calls),
		T(calls_left_in_a_large_frame_have_no_time),
		T(a_stack_that_follows_one_that_parted_did_not),
		T(a_neighbours_exit_ends_nothing),
		T(dead_calls_at_one_place_are_swept),
		T(endless_longjmp_is_swept),
		T(deep_recursion_is_not_swept),
		T(clocks_that_disagree_are_not_negative),
		T(self_times_add_up),
		T(samples_are_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
