/*
 * What `latency` and `spread` say of calls whose times are known, and which exits end
 * which calls: by tail call, by jump, in samples. Times are ticks of one nanosecond.
 */
#include "analysis-rig.h"

enum { LATENCY, SPREAD, N_USES };

static struct fl_use uses[N_USES];

static int set_up(void **unused)
{
	static const char *const specs[] = { "latency", "spread" };
	char why[FL_USE_WHY];

	(void)unused;
	lay_sites();
	now = 1000;
	view.sampled = false;
	for (int i = 0; i < N_USES; i++)
		assert_int_equal(fl_use_open(&uses[i], specs[i], why), 0);
	return fl_run_open(&run, uses, N_USES, &view);
}

static int tear_down(void **unused)
{
	(void)unused;
	fl_run_close(run);
	for (int i = 0; i < N_USES; i++)
		fl_use_close(&uses[i]);
	view.sampled = false;
	return 0;
}

/* What was said of the sites has changed since. */
static void open_again(void)
{
	fl_run_close(run);
	assert_int_equal(fl_run_open(&run, uses, N_USES, &view), 0);
}

/* Of function f; FLICK_NONE where it has no row. */
static uint64_t cell(char f, const char *name)
{
	struct flick_rows r;
	uint64_t v;

	assert_int_equal(fl_run_rows(run, LATENCY, &r), 0);
	v = cell_of(&r, f, name);
	free(r.cells);
	return v;
}

/* b seems to be left when a ends, and goes on: one call, one end that is not known. c began
 * before the recording did, and is none of its calls. */
static void who_ends_after_it_seemed_left_is_one_unknown_call(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	leave('a', 100);
	leave('b', 200);
	leave('c', 100);
	assert_int_equal(cell('b', "calls"), 1);
	assert_int_equal(cell('b', "unknown"), 1);
	assert_int_equal(cell('c', "calls"), 0);
	assert_int_equal(cell('c', "unknown"), 1);
	leave('b', 200);
	assert_int_equal(cell('b', "unknown"), 2);
}

static void call_of(char f, uint64_t ticks)
{
	enter(f, 100);
	now += ticks - 10;
	leave(f, 100);
}

static void near(uint64_t got, uint64_t want)
{
	assert_true(got >= want - want / 64 && got <= want + want / 64);
}

static void quantiles_are_those_of_the_times(void **unused)
{
	(void)unused;
	for (uint64_t i = 1; i <= 1000; i++)
		call_of('a', i * 3 % 1001 + 1000);	/* each of 1,001 to 2,000 once */
	assert_int_equal(cell('a', "calls"), 1000);
	assert_int_equal(cell('a', "min_ns"), 1001);
	near(cell('a', "p50_ns"), 1500);
	near(cell('a', "p90_ns"), 1900);
	near(cell('a', "p99_ns"), 1990);
	assert_int_equal(cell('a', "max_ns"), 2000);
	near(cell('a', "avg_ns"), 1500);
}

static void a_bucket_has_what_lies_in_it(void **unused)
{
	const uint64_t want[][3] = { { 16, 32, 2 }, { 32, 64, 1 }, { 64, 128, 3 } };
	struct flick_rows r;

	(void)unused;
	call_of('a', 16);
	call_of('a', 31);
	call_of('a', 32);
	call_of('a', 64);
	call_of('a', 100);
	call_of('a', 127);
	assert_int_equal(fl_run_rows(run, SPREAD, &r), 0);
	assert_int_equal(r.n_rows, 3);
	for (size_t i = 0; i < 3; i++)
		for (size_t c = 0; c < 3; c++)
			assert_int_equal(r.cells[i * r.n_columns + 1 + c], want[i][c]);
	free(r.cells);
}

/* 1,055 and 1,040 us are 2,211,740 and 2,180,294 ticks of 0.477 ns, which are in one bucket of
 * 1/32. */
static void a_power_of_two_is_one_of_ns(void **unused)
{
	const uint64_t want[][3] = { { 64, 128, 1 }, { 524288, 1048576, 2 },
				     { 1048576, 2097152, 3 } };
	struct flick_rows r;

	(void)unused;
	view.ns_per_tick = 0.477;
	call_of('a', 200);
	for (int i = 0; i < 3; i++)
		call_of('a', 2211740);
	for (int i = 0; i < 2; i++)
		call_of('a', 2180294);
	assert_int_equal(fl_run_rows(run, SPREAD, &r), 0);
	view.ns_per_tick = 1.0;
	assert_int_equal(r.n_rows, 3);
	for (size_t i = 0; i < 3; i++)
		for (size_t c = 0; c < 3; c++)
			assert_int_equal(r.cells[i * r.n_columns + 1 + c], want[i][c]);
	free(r.cells);
}

/* XRay has sites at tail calls. */
static void a_tail_call_ends_its_caller(void **unused)
{
	(void)unused;
	for (uint32_t p = 0; p < view.n_sites; p++)
		if (sites[p].jump)
			sites[p].kind = FL_TAIL;
	open_again();
	enter('a', 100);
	jump_out('a', 92);
	enter('b', 100);
	leave('b', 100);
	assert_int_equal(cell('a', "unknown"), 0);
	assert_int_equal(cell('a', "total_ns"), 10);
	assert_int_equal(cell('b', "total_ns"), 10);
}

/* The outer call of itself stands just where the inner one's frame ends. */
static void an_exit_by_jump_ends_what_began_below(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('a', 148);
	jump_out('a', 100);
	assert_int_equal(cell('a', "max_ns"), 10);
	leave('a', 100);
	assert_int_equal(cell('a', "unknown"), 0);
	assert_int_equal(cell('a', "max_ns"), 30);
	assert_int_equal(cell('a', "min_ns"), 10);
}

/* Its other half was lost. */
static void anothers_exit_ends_no_sample(void **unused)
{
	(void)unused;
	view.sampled = true;
	open_again();
	enter('a', 100);
	leave('b', 100);
	enter('a', 100);
	leave('a', 100);
	assert_int_equal(cell('a', "calls"), 1);
	assert_int_equal(cell('b', "calls"), FLICK_NONE);
}

static void sample_with(char f, uint64_t begin, uint64_t end, uint32_t inside)
{
	uint32_t probe = (uint32_t)(f - 'a') * PROBES;

	feed_at(run, 0, probe + ENTRY, TOP - inside, begin);
	feed_at(run, 0, probe + EXIT, 100, end);
}

static void sample(char f, uint64_t begin, uint64_t end)
{
	sample_with(f, begin, end, 0);
}

/* Of each 2 ticks lie in its time; and its entry says what other probes took there. */
static void what_probes_in_a_sample_took_is_taken_out(void **unused)
{
	(void)unused;
	view.sampled = true;
	view.overhead[0] = view.overhead[1] = (struct fl_overhead){ .inside = 2, .pair = 5 };
	open_again();
	sample_with('c', 1020, 1030, 0);
	sample_with('b', 1010, 1040, 7);
	sample_with('b', 1050, 1070, 30);
	assert_int_equal(cell('c', "avg_ns"), 10 - 2);
	assert_int_equal(cell('b', "max_ns"), 30 - 2 - 7);
	assert_int_equal(cell('b', "raw_avg_ns"), (30 + 20) / 2);
	assert_int_equal(cell('b', "min_ns"), 0);
	view.overhead[0] = view.overhead[1] = (struct fl_overhead){ 0 };
	open_again();			/* as measured */
	sample_with('b', 1010, 1040, 7);
	assert_int_equal(cell('b', "max_ns"), 30);
}

/* A call in it that takes less than its probes gives the whole less than its parts. */
static void self_times_of_a_recursion_are_within_its_total(void **unused)
{
	const uint64_t at[] = { 1000, 1010, 1030, 1035, 1036, 1040 };
	const uint32_t sp[] = { 100, 90, 90, 90, 90, 100 };

	(void)unused;
	view.overhead[0] = view.overhead[1] = (struct fl_overhead){ .inside = 7, .pair = 16 };
	open_again();
	for (size_t i = 0; i < ARRAY_LEN(at); i++)
		feed_at(run, 0, i == 0 || i == 1 || i == 3 ? ENTRY : EXIT, sp[i], at[i]);
	assert_int_equal(cell('a', "calls"), 3);
	assert_int_equal(cell('a', "max_ns"), 20 - 7);
	assert_int_equal(cell('a', "total_ns"), 40 - 7 - 2 * 16);
	assert_int_equal(cell('a', "self_ns"), 40 - 7 - 2 * 16);
	view.overhead[0] = view.overhead[1] = (struct fl_overhead){ 0 };
	open_again();
}

/* As long as it was timed. */
static void a_call_that_was_given_up_counts_with_its_time(void **unused)
{
	(void)unused;
	view.sampled = true;
	open_again();
	sample('a', 1000, 1010);
	feed_at(run, 0, ENTRY, TOP, 2000);
	feed_at(run, 0, fl_typed(FLICK_TYPE_GIVEN_UP, ENTRY), TOP - 1, 2100);
	assert_int_equal(cell('a', "sampled"), 2);
	assert_int_equal(cell('a', "given_up"), 1);
	assert_int_equal(cell('a', "max_ns"), 100);
	assert_int_equal(cell('a', "open"), 0);
	assert_int_equal(cell('a', "unknown"), 0);
}

/* Nine of 10 ticks and one of 1,000: of 1,000 such calls the average is 109, and by chance
 * it may well be 100 off. */
static void few_long_samples_make_an_average_unsure(void **unused)
{
	(void)unused;
	view.sampled = true;
	open_again();
	for (uint64_t i = 0; i < 9; i++)
		sample('a', 1000 + 10 * i, 1010 + 10 * i);
	sample('b', 1000, 1010);
	sample('a', 2000, 3000);
	assert_int_equal(cell('a', "avg_ns"), 109);
	assert_int_equal(cell('a', "avg_error_ns"), 0);	/* these were all */
	assert_int_equal(fl_run_count(run, 0, ENTRY, 1000), 0);
	assert_int_equal(fl_run_count(run, 0, PROBES + ENTRY, 1000), 0);
	assert_int_equal(cell('a', "avg_error_ns"), 99);
	assert_int_equal(cell('b', "avg_error_ns"), FLICK_NONE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(quantiles_are_those_of_the_times),
		T(a_bucket_has_what_lies_in_it),
		T(a_power_of_two_is_one_of_ns),
		T(a_tail_call_ends_its_caller),
		T(who_ends_after_it_seemed_left_is_one_unknown_call),
		T(an_exit_by_jump_ends_what_began_below),
		T(anothers_exit_ends_no_sample),
		T(what_probes_in_a_sample_took_is_taken_out),
		T(self_times_of_a_recursion_are_within_its_total),
		T(a_call_that_was_given_up_counts_with_its_time),
		T(few_long_samples_make_an_average_unsure),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
