/*
 * What is decided of a budget, on programs that are made of numbers: what it costs, who
 * is counted in windows, and that nothing goes back and forth.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "session/budget/afford.h"

enum { MOST = 3000, LOOKS = 1500, FEW_LOOKS = 300 };
#define LOOK_S 0.1
#define LATE_US 60.0

/* A program that calls each function at a rate, and what flick really costs in it. */
static struct {
	uint32_t n;
	double rate[MOST];
	double cpus, noise, factor, count_ns, turn_ns;
	uint32_t shared_cpus;
	bool measured;
} program;

static struct fl_afford a;
static struct fl_afford_function f[MOST];
static uint32_t order[MOST];

/* Of the looks that are judged: */
static double cost, most_cost;		/* the average; of one look */
static uint32_t changes;

static int set_up(void **unused)
{
	(void)unused;
	srand(1);
	program.n = 0;
	program.cpus = 1;
	program.shared_cpus = 0;
	program.turn_ns = 25000;
	program.noise = 0;
	program.factor = 1;
	program.count_ns = 2;
	program.measured = true;
	a = (struct fl_afford){ .count_ns = 2, .sample_ns = 150, .switch_ns = 500,
				.samples = 10, .groups = 1, .least_epoch_us = 10000 };
	fl_afford_pay(&a, 0, 0.02);
	fl_afford_open(&a);
	for (uint32_t i = 0; i < MOST; i++)
		f[i] = (struct fl_afford_function){ 0 };
	return 0;
}

static void functions(uint32_t n, double rate)
{
	for (uint32_t i = 0; i < n; i++)
		program.rate[program.n++] = rate;
}

/* What the target does until the next look, at what was decided. */
static struct fl_afford_look run(void)
{
	struct fl_afford_look l = { .seconds = LOOK_S, .cpus = program.cpus,
				    .measured = program.measured,
				    .count_ns = program.count_ns,
				    .shared_cpus = program.shared_cpus };
	double windows = LOOK_S * 1e6 / a.period_us, epochs = LOOK_S * 1e6 / a.epoch_us;
	double open_us = a.window_us ? windows * (a.window_us + LATE_US) : 0;

	for (uint32_t i = 0; i < program.n; i++) {
		double dice = (double)rand() / RAND_MAX * 2 - 1;
		double calls = program.rate[i] * LOOK_S * (1 + program.noise * dice);
		double timed = fmin(calls, 10 * epochs);

		f[i].calls = calls;		/* as they are estimated */
		l.counted += f[i].seldom ? calls * open_us / (LOOK_S * 1e6) : calls;
		l.timed += timed;
		l.switched += timed / 10 * 2 + (f[i].seldom ? 2 * windows : 0);
	}
	l.windows = a.window_us ? windows : 0;
	l.open_us = open_us;
	l.watch_ns = l.windows * 2 * program.turn_ns;
	l.own_ns = program.factor * (l.timed * a.sample_ns + l.switched * a.switch_ns);
	return l;
}

/* So many looks; the first two fifths are not judged. */
static void settle_in(int looks)
{
	int settled = looks * 2 / 5;
	double lost = fl_afford_lost(program.cpus, program.shared_cpus);

	cost = most_cost = 0;
	changes = 0;
	for (int i = 0; i < looks; i++) {
		struct fl_afford_look l = run();
		double counts = l.counted * program.count_ns;
		double share = (l.own_ns + counts + l.watch_ns * lost) /
			       (LOOK_S * 1e9 * program.cpus);
		uint32_t n = fl_afford_look(&a, &l, f, program.n, order);

		if (i < settled)
			continue;
		changes += n;
		cost += share / (looks - settled);
		most_cost = fmax(most_cost, share);
	}
}

static void settle(void)
{
	settle_in(LOOKS);
}

static uint32_t seldom(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < program.n; i++)
		n += f[i].seldom;
	return n;
}

/* ---- claims ------------------------------------------------------------------------ */

static void what_costs_little_is_counted_always(void **unused)
{
	(void)unused;
	functions(10, 10000);
	settle();
	assert_int_equal(seldom(), 0);
	assert_int_equal(a.window_us, 0);
	assert_int_equal(a.epoch_us, 10000);
	assert_true(cost <= 0.02);
}

static void a_hundred_million_calls_a_second_are_afforded(void **unused)
{
	double duty;

	(void)unused;
	functions(1, 1e8);
	functions(5, 1000);
	settle();
	assert_int_equal(seldom(), 1);
	assert_true(f[0].seldom);
	assert_true(cost <= 0.02 && cost >= 0.002);
	assert_int_equal(changes, 0);
	/* 35 of 100 parts of the budget, of a fifth of the time, late or not. */
	duty = (a.window_us + LATE_US) / a.period_us;
	assert_true(duty > 0.033 && duty < 0.037);
}

/* Of so many CPUs that are busy; that are shared, and 1. */
static void what_nobody_else_would_have_is_not_lost(void **unused)
{
	(void)unused;
	assert_true(fl_afford_lost(1, 0) == 1);		/* not known */
	assert_true(fl_afford_lost(8, 1) == 0);
	assert_true(fl_afford_lost(1, 2) == 1);
	assert_true(fl_afford_lost(0.25, 2) == 0.25);	/* it sleeps, and is not held up */
	assert_true(fl_afford_lost(1, 3) == 0);
	assert_true(fl_afford_lost(1.5, 3) == 0.5);
	assert_true(fl_afford_lost(2, 3) == 1);
	assert_true(fl_afford_lost(9, 9) == 1);		/* more than there are */
}

/* As many and as short as BESIDE of the other CPU allows, or as counts do. */
static void windows_beside_the_program_are_many(void **unused)
{
	static const struct { double rate, turn_ns; uint32_t shared, us; } cases[] = {
		{ 1e8, 25000, 2, 13100 }, { 1e8, 25000, 1, 4570 }, { 1e8, 25000, 3, 4570 },
		{ 7e6, 25000, 2, 8330 }, { 7e6, 25000, 1, 1000 }, { 7e6, 1e5, 1, 4000 },
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		set_up(NULL);
		program.shared_cpus = cases[i].shared;
		program.turn_ns = cases[i].turn_ns;
		functions(1, cases[i].rate);
		settle();
		assert_in_range(a.period_us, cases[i].us * 0.98, cases[i].us * 1.05);
		assert_true(cost <= 0.02 && cost >= 0.002);
	}
}

/* A look is a tenth of a second, of 10 million calls: 20 ms. */
static void a_run_that_ends_soon_is_counted_whole(void **unused)
{
	struct fl_afford_look l;

	(void)unused;
	functions(1, 1e8);
	a.stake_ns = 100e6;
	fl_afford_open(&a);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(seldom(), i / 3);
		l = run();
		fl_afford_look(&a, &l, f, program.n, order);
	}
}

/* What was granted is used up before the stake is, by counts alone, and nobody is seldom
 * until then. */
static void who_is_granted_counts_is_counted(void **unused)
{
	struct fl_afford_look l;

	(void)unused;
	functions(1, 1e8);
	a.stake_ns = 10e6;
	a.granted_ns = 50e6;
	fl_afford_open(&a);
	for (int i = 0; i < 4; i++) {
		double before = a.granted_ns, left = a.left_ns;

		assert_int_equal(seldom(), i / 3);
		l = run();
		fl_afford_look(&a, &l, f, program.n, order);
		if (i < 2)
			assert_true(a.granted_ns < before && a.granted_ns > 0 &&
				    a.left_ns > left - 1e6);
	}
	assert_true(a.granted_ns <= 0);
}

/* Also behind the stake: a grant pays for all that is counted. */
static void who_is_granted_enough_is_never_seldom(void **unused)
{
	(void)unused;
	functions(1, 1e8);
	a.granted_ns = 1e15;
	settle_in(10);
	assert_false(a.is_free);
	assert_int_equal(seldom(), 0);
	a.granted_ns = 0;
	settle_in(10);
	assert_int_equal(seldom(), 1);
}

/* Of 2.5 us that a function's timed calls take in an epoch switches are one. */
static void epochs_pay_for_switches(void **unused)
{
	double us;

	functions(1000, 1e4);
	settle_in(60);
	us = a.epoch_us;
	set_up(unused);
	a.switch_ns = 0;
	functions(1000, 1e4);
	settle_in(60);
	assert_true(us > 1.4 * a.epoch_us);
}

/* A look comes late, and twice the stake is gone: windows begin at once. */
static void what_was_spent_on_top_is_no_debt(void **unused)
{
	struct fl_afford_look l;
	uint32_t period_us;

	(void)unused;
	functions(1, 1e8);
	a.stake_ns = 10e6;
	fl_afford_open(&a);
	l = run();
	assert_true(l.counted * program.count_ns > 2 * a.stake_ns - 1);
	fl_afford_look(&a, &l, f, program.n, order);
	period_us = a.period_us;
	assert_int_equal(seldom(), 1);
	l = run();
	fl_afford_look(&a, &l, f, program.n, order);
	assert_in_range(period_us, 1000, 2 * a.period_us);
}

/* As what is left of the budget allows, and no less. */
static void the_rarest_are_counted_always(void **unused)
{
	double rate = 0;

	(void)unused;
	for (uint32_t i = 0; i < 100; i++)
		functions(1, 1e3 * pow(1.1, i));
	settle();
	for (uint32_t i = 1; i < program.n; i++)
		assert_true(!f[i - 1].seldom || f[i].seldom);
	for (uint32_t i = 0; i < program.n; i++)
		rate += f[i].seldom ? 0 : program.rate[i];
	assert_true(rate * 2e-9 >= 0.002 && rate * 2e-9 <= 0.01);
	assert_true(cost <= 0.02);
}

static void many_functions_are_timed_less_often(void **unused)
{
	(void)unused;
	functions(2000, 3000);
	settle_in(FEW_LOOKS);
	assert_true(a.epoch_us > 100000 && a.epoch_us <= 1000000);
	assert_true(cost <= 0.02);
}

/* Windows are not of another length than they are said to be, and costs not as
 * calibrated. */
static void what_is_measured_beats_the_model(void **unused)
{
	static const double factors[] = { 0.3, 1, 4 };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(factors); i++) {
		set_up(NULL);
		program.factor = factors[i];
		functions(3, 3e7);
		functions(40, 50000);
		settle();
		assert_true(cost <= 0.022);
		assert_true(cost >= 0.002);
		assert_int_equal(changes, 0);
	}
}

/* Six nanoseconds in place of two. */
static void what_a_count_costs_is_told(void **unused)
{
	(void)unused;
	program.count_ns = 6;
	functions(3, 3e7);
	functions(10, 100000);
	settle();
	assert_true(cost <= 0.022 && cost >= 0.002);
}

static void rates_that_vary_move_nobody_back_and_forth(void **unused)
{
	(void)unused;
	program.noise = 0.3;
	for (uint32_t i = 0; i < 60; i++)
		functions(1, 1e5 * pow(1.15, i % 30));
	settle();
	assert_true(changes <= 2);
	assert_true(cost <= 0.022);
}

/* One look later windows are there; and when it is rare again it is counted always. */
static void a_change_is_followed(void **unused)
{
	struct fl_afford_look l;

	(void)unused;
	functions(1, 1000);
	settle();
	assert_int_equal(seldom(), 0);
	program.rate[0] = 5e7;
	l = run();
	assert_int_equal(fl_afford_look(&a, &l, f, program.n, order), 1);
	assert_true(f[0].seldom && a.window_us);
	program.rate[0] = 1000;
	settle();
	assert_int_equal(seldom(), 0);
	assert_int_equal(a.window_us, 0);
}

/* Of eight CPUs a budget is eight times as much; of a program that mostly waits less. */
static void a_budget_is_of_cpu_time(void **unused)
{
	static const double cpus[] = { 0.1, 1, 8 };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(cpus); i++) {
		set_up(NULL);
		program.cpus = cpus[i];
		functions(1, cpus[i] * 1e7);
		functions(1, cpus[i] * 1e6);
		settle();
		assert_true(f[0].seldom && !f[1].seldom);
		assert_true(cost <= 0.022);
	}
}

static void without_samples_the_model_decides(void **unused)
{
	(void)unused;
	program.measured = false;
	functions(1, 1e8);
	settle();
	assert_true(f[0].seldom && cost <= 0.02);
	assert_true(a.factor == 1);
}

static void a_budget_is_kept_whatever_it_is(void **unused)
{
	static const double budgets[] = { 0.001, 0.01, 0.1, 0.5 };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
		set_up(NULL);
		fl_afford_pay(&a, 0, budgets[i]);
		functions(2, 4e7);
		functions(30, 2e4);
		settle();
		assert_true(cost <= budgets[i] * 1.1);
	}
}

/* What one's own functions cost makes nobody else's seldom, and is paid from his own. */
static void who_has_a_budget_pays_for_his_own(void **unused)
{
	(void)unused;
	functions(2, 4e7);			/* the recording's, far too many */
	functions(4, 1e5);
	functions(4, 2.5e6);			/* as much as all the budget's counts */
	settle();
	assert_true(!f[2].seldom && f[6].seldom && f[9].seldom);
	for (uint32_t i = 6; i < 10; i++)
		f[i].payer = 3;
	fl_afford_pay(&a, 3, 0.2);
	settle();
	assert_true(f[0].seldom && !f[2].seldom && !f[6].seldom && !f[9].seldom);
	assert_true(cost <= 0.22 * 1.1);
	fl_afford_pay(&a, 3, 0.001);		/* less than these take */
	settle();
	assert_true(!f[2].seldom && f[9].seldom && cost <= 0.021 * 1.1);
	fl_afford_pay(&a, 3, 0);		/* nobody pays any more */
	for (uint32_t i = 6; i < 10; i++)
		f[i].payer = 0;
	settle();
	assert_true(!f[2].seldom && f[9].seldom && cost <= 0.02 * 1.1);
}

/* Nothing that a target can say makes it divide by nothing, or wish for what is none. */
static void any_numbers_are_survived(void **unused)
{
	(void)unused;
	functions(8, 0);
	for (int i = 0; i < 20000; i++) {
		struct fl_afford_look l = { .seconds = i % 7 ? pow(10, rand() % 9 - 6) : 0,
			.cpus = rand() % 3 * pow(10, rand() % 6 - 3), .measured = rand() % 2,
			.own_ns = pow(10, rand() % 12), .counted = pow(10, rand() % 18),
			.timed = rand(), .switched = rand(), .windows = rand() % 3,
			.open_us = pow(10, rand() % 8) };

		for (uint32_t k = 0; k < program.n; k++)
			f[k].calls = rand() % 2 ? 0 : pow(10, rand() % 19);
		fl_afford_look(&a, &l, f, program.n, order);
		assert_true(a.epoch_us >= 10000 && a.epoch_us <= 1000000);
		assert_true(a.period_us >= 4000 && a.period_us <= 1000000);
		assert_true(a.window_us <= a.period_us);
		assert_true(a.factor >= 0.2 && a.factor <= 10);
		assert_true(!seldom() == !a.window_us);
	}
}

/* Of late: a program's phases differ. */
static void measured_costs_are_forgotten(void **unused)
{
	(void)unused;
	functions(300, 3e5);
	program.factor = 4;
	settle();
	assert_true(a.factor > 3);
	program.factor = 1;
	settle();
	assert_true(a.factor < 1.3);
}

static void look_at(uint32_t n, double seconds, double calls, double own_ns)
{
	struct fl_afford_look l = { .seconds = seconds, .cpus = 1, .own_ns = own_ns,
				    .measured = true, .counted = calls };

	for (uint32_t i = 0; i < n; i++)
		f[i].calls = calls;
	fl_afford_look(&a, &l, f, n, order);
}

/* A sample is four milliseconds, perhaps. */
static void a_sample_is_no_measurement(void **unused)
{
	(void)unused;
	look_at(1, LOOK_S, 1000, 4e6);
	assert_true(a.factor > 1 && a.factor < 1.5);
}

/* What windows tell scatters. What falls may rise again. */
static void a_rate_is_followed_at_once_or_in_time(void **unused)
{
	(void)unused;
	f[0].rate = f[1].rate = 1000;
	f[0].seldom = true;
	look_at(2, LOOK_S, 10000, 0);
	assert_true(f[0].rate > 20000 && f[0].rate < 50000);
	assert_true(f[1].rate == 100000);
	look_at(2, LOOK_S, 0, 0);
	assert_true(f[1].rate > 80000 && f[1].rate < 100000);
}

static void a_look_of_no_time_says_nothing(void **unused)
{
	(void)unused;
	f[0].rate = 1000;
	look_at(1, 0, 10000, 1e9);
	assert_true(f[0].rate == 1000 && f[0].looks == 0 && a.factor == 1);
}

/* However soon it is rare again, and however long it was on the other side. */
static void who_changes_sides_stays_there_for_a_while(void **unused)
{
	(void)unused;
	for (int i = 0; i < 40; i++)
		look_at(1, LOOK_S, 1000, 0);
	look_at(1, LOOK_S, 400000, 0);
	assert_true(f[0].seldom);
	for (int i = 0; i < 18; i++)
		look_at(1, LOOK_S, 0, 0);
	assert_true(f[0].seldom);
	for (int i = 0; i < 5; i++)
		look_at(1, LOOK_S, 0, 0);
	assert_false(f[0].seldom);
}

static void who_is_hardly_called_is_hardly_timed(void **unused)
{
	(void)unused;
	functions(2000, 0.1);
	settle_in(FEW_LOOKS);
	assert_int_equal(a.epoch_us, 10000);
}

/* No window is short enough, so they are rare. */
static void ten_billion_calls_a_second_are_afforded(void **unused)
{
	(void)unused;
	functions(1, 1e10);
	settle();
	assert_true(f[0].seldom && cost <= 0.022);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, set_up)
	const struct CMUnitTest tests[] = {
		TEST(what_costs_little_is_counted_always),
		TEST(a_hundred_million_calls_a_second_are_afforded),
		TEST(what_was_spent_on_top_is_no_debt),
		TEST(the_rarest_are_counted_always),
		TEST(many_functions_are_timed_less_often),
		TEST(what_is_measured_beats_the_model),
		TEST(what_a_count_costs_is_told),
		TEST(rates_that_vary_move_nobody_back_and_forth),
		TEST(a_change_is_followed),
		TEST(a_budget_is_of_cpu_time),
		TEST(without_samples_the_model_decides),
		TEST(a_budget_is_kept_whatever_it_is),
		TEST(any_numbers_are_survived),
		TEST(measured_costs_are_forgotten),
		TEST(a_sample_is_no_measurement),
		TEST(a_rate_is_followed_at_once_or_in_time),
		TEST(a_look_of_no_time_says_nothing),
		TEST(who_changes_sides_stays_there_for_a_while),
		TEST(a_run_that_ends_soon_is_counted_whole),
		TEST(who_is_hardly_called_is_hardly_timed),
		TEST(ten_billion_calls_a_second_are_afforded),
		TEST(what_nobody_else_would_have_is_not_lost),
		TEST(windows_beside_the_program_are_many),
		TEST(who_has_a_budget_pays_for_his_own),
		TEST(who_is_granted_counts_is_counted),
		TEST(who_is_granted_enough_is_never_seldom),
		TEST(epochs_pay_for_switches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
