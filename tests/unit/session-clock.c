/*
 * What calls in windows stand for, on programs that are made of numbers: with phases that
 * windows meet by chance, and slower in windows by what counting takes there.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "session/budget/clock.h"

#define OPEN_NS 1e6

/* Two functions that are seldom, in two phases; hand 1 and 2 keep step with the one and the
 * other, hand 0 with nothing. */
static struct {
	double price_ns, window_ns;	/* that it really pays */
	double rate[2];			/* calls a nanosecond, in their phases */
	double period_ns, part;		/* of windows; of the time that is the first phase */
	double calls[2], counted[2];
	bool is_gauged;
	double scatter;			/* of the rate behind a window, in parts of it */
} program;

static struct fl_clock c;
static struct fl_called f[2];
static struct fl_price price;

static int set_up(void **unused)
{
	(void)unused;
	srand(1);
	program.price_ns = 1;
	program.window_ns = program.scatter = 0;
	program.is_gauged = false;
	program.rate[0] = program.rate[1] = 0.3;
	program.part = 1;
	program.period_ns = 1e7;
	for (int i = 0; i < 2; i++) {
		program.calls[i] = program.counted[i] = 0;
		f[i] = (struct fl_called){ 0 };
	}
	c = (struct fl_clock){ 0 };
	price = (struct fl_price){ .count_ns = 1, .unsure_ns = 0.3 };
	return 0;
}

static double chance(void)
{
	return (double)rand() / RAND_MAX;
}

/* What the program does in so much time, `calls` of them in the first phase. */
static void take_time(double ns, double part, struct fl_ticks *w, double calls[2])
{
	calls[0] = program.rate[0] * ns * part;
	calls[1] = program.rate[1] * ns * (1 - part);
	w->ticks[0] = floor(20 * chance());
	w->ticks[1] = calls[0] / 1000;
	w->ticks[2] = calls[1] / 500;
}

static void add_all(const struct fl_ticks *w, const double calls[2])
{
	for (int k = 0; k < 3; k++)
		c.all[k] += w->ticks[k];
	for (int i = 0; i < 2; i++)
		program.calls[i] += calls[i];
}

/* Behind a window the half of its calls is counted, in as much time. */
static void follow(struct fl_ticks *w, double rate)
{
	w->gauge.calls = w->counted / 2;
	w->gauge.ns = w->gauge.behind_ns = OPEN_NS;
	w->gauge.behind = rate / 2 * (OPEN_NS - program.window_ns) /
			  (1 + program.price_ns * rate / 2);
}

/* One period. A window lies in one phase. */
static void pass(void)
{
	double phase = chance() < program.part, calls[2], rate, open;
	struct fl_ticks w = { .windows = 1, .open_ns = OPEN_NS,
			      .stands_ns = program.period_ns }, outside = { 0 };

	take_time(program.period_ns - OPEN_NS, program.part, &outside, calls);
	add_all(&outside, calls);
	rate = program.rate[phase ? 0 : 1];
	open = (OPEN_NS - program.window_ns) / (1 + program.price_ns * rate);
	take_time(open, phase, &w, calls);
	add_all(&w, calls);
	c.all[FL_TIME] += program.period_ns;
	w.counted = calls[0] + calls[1];
	if (program.is_gauged)
		follow(&w, rate * (1 + program.scatter * (chance() - 0.5)));
	fl_clock_take(&c, &w, &price);
	for (int i = 0; i < 2; i++) {
		program.counted[i] += calls[i];
		if (calls[i] > 0)
			fl_clock_call(&f[i], calls[i], &w, &price);
	}
}

static void run(int periods)
{
	while (periods-- > 0)
		pass();
}

/* What is said over what is true. */
static double said(int i)
{
	return program.counted[i] * fl_clock_scale(&c, &f[i], &price).by / program.calls[i];
}

static void forget_hands(void)
{
	for (int k = 0; k < 3; k++)
		c.all[k] = 0;
}

#define near(v, is, by) assert_true(fabs((v) - (is)) <= (by))

/* ---- claims ------------------------------------------------------------------------ */

static void time_tells_if_the_price_is_right(void **unused)
{
	(void)unused;
	run(50);
	forget_hands();
	near(said(0), 1, 0.01);
	set_up(NULL);
	price.count_ns = 0.2;
	run(50);
	forget_hands();
	near(said(0), 1 - 0.8 * 0.3 / 1.3, 0.03);
}

static void to_begin_a_window_takes_time_too(void **unused)
{
	(void)unused;
	price.window_ns = program.window_ns = 100000;
	run(50);
	forget_hands();
	near(said(0), 1, 0.01);
}

static void a_hand_tells_whatever_the_price_is(void **unused)
{
	(void)unused;
	program.price_ns = 3;
	program.window_ns = 50000;
	run(50);
	near(said(0), 1, 0.001);
	assert_true(fl_clock_scale(&c, &f[0], &price).off < 0.05);
}

/* Windows meet each phase more or less often than there is of it. */
static void each_function_has_the_hand_that_it_keeps_step_with(void **unused)
{
	(void)unused;
	program.part = 0.3;
	program.rate[1] = 0.1;
	program.price_ns = 1.6;
	run(40);
	near(said(0), 1, 0.001);
	near(said(1), 1, 0.001);
	c.all[2] = 0;				/* that of the second one is none */
	assert_true(fabs(said(1) - 1) > 0.001 && fabs(said(1) - 1) < 0.5);
	assert_true(fl_clock_scale(&c, &f[1], &price).off > 0.05);
	near(said(0), 1, 0.001);
}

static void a_few_windows_tell_of_no_hand(void **unused)
{
	(void)unused;
	program.price_ns = 3;
	run(4);
	assert_true(said(0) < 0.9);
	run(4);
	near(said(0), 1, 0.001);
}

/* Of ten windows two meet a phase: time is off by chance, its hand is not. */
static void a_few_windows_tell_of_a_hand_where_time_scatters(void **unused)
{
	(void)unused;
	program.part = 0.2;
	run(10);
	near(said(0), 1, 0.1);
	forget_hands();
	assert_true(fabs(said(0) - 1) > 0.2);
}

/* At first there are three times as many. */
static void windows_that_stand_for_more_count_more(void **unused)
{
	(void)unused;
	price.count_ns = program.price_ns = 0;
	program.period_ns = 4e6;
	run(30);
	program.rate[0] = 0.1;
	program.period_ns = 12e6;
	run(10);
	forget_hands();
	near(said(0), 1, 0.01);
}

/* In such a window the program comes less far, so it would count less. */
static void windows_where_calls_are_dense_count_as_much(void **unused)
{
	(void)unused;
	program.rate[0] = 1;
	program.rate[1] = 0.05;
	program.part = 0.5;
	run(3000);
	forget_hands();
	near(said(0), 1, 0.05);
	near(said(1), 1, 0.05);
}

static void what_begins_later_has_the_windows_since(void **unused)
{
	struct fl_clock begin, since;

	(void)unused;
	run(30);
	begin = c;
	program.rate[0] = 0.1;
	program.price_ns = 3;
	f[1] = (struct fl_called){ 0 };
	program.calls[0] = program.counted[0] = 0;
	f[0] = f[1];
	run(30);
	since = fl_clock_since(&c, &begin);
	near(program.counted[0] * fl_clock_scale(&since, &f[0], &price).by, program.calls[0],
	     program.calls[0] / 1000);
	assert_true(since.windows == 30);
}

static void who_keeps_step_with_time_tells_the_price(void **unused)
{
	static const double prices[] = { 0, 0.5, 2 };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(prices); i++) {
		set_up(NULL);
		program.price_ns = prices[i];
		run(100);
		fl_clock_price(&c, &price);
		near(price.count_ns, prices[i], 0.1);
		assert_true(price.unsure_ns < 0.1);
	}
}

/* In windows that meet phases by chance nobody does; and where there is no hand. */
static void what_does_not_leaves_it_as_it_was(void **unused)
{
	struct fl_price first = price;

	(void)unused;
	run(20);
	forget_hands();
	fl_clock_price(&c, &price);
	assert_true(price.count_ns == first.count_ns && price.unsure_ns == first.unsure_ns);
	set_up(NULL);
	program.part = 0.2;
	program.rate[1] = 0.05;
	run(40);
	c.all[0] = c.all[2] = 0;
	fl_clock_price(&c, &price);
	near(price.count_ns, 1, 0.3);
	assert_true(price.unsure_ns > 0.25);
}

/* Whoever else is counted holds it up in a window, and not behind it. */
static void a_gauge_tells_the_price(void **unused)
{
	static const double prices[] = { 0, 0.4, 1.5 };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(prices); i++) {
		set_up(NULL);
		program.is_gauged = true;
		program.scatter = 0.3;
		program.price_ns = prices[i];
		program.window_ns = price.window_ns = 200000;
		run(100);
		forget_hands();
		fl_clock_price(&c, &price);
		near(price.count_ns, prices[i], 0.12);
		assert_true(price.unsure_ns < 0.12);
		near(said(0), 1, 0.03);		/* what was weighed by another one, too */
	}
}

/* What varies more than what it is to tell: of a hundred programs a price that is right stays
 * about what it was, and the more it does not the less it is said to be sure. */
static void a_gauge_that_scatters_tells_little(void **unused)
{
	double off = 0, unsure = 0;

	(void)unused;
	for (int i = 0; i < 100; i++) {
		set_up(NULL);
		srand((unsigned)i);
		program.is_gauged = true;
		program.scatter = 2;
		run(10);
		forget_hands();
		fl_clock_price(&c, &price);
		off += fabs(price.count_ns - 1) / 100;
		unsure += price.unsure_ns / 100;
	}
	assert_true(off < 0.2 && unsure > 0.2 && unsure < 0.4);
}

/* Few windows, or a function that is all that is counted, are none. */
static void few_windows_and_one_function_are_no_gauge(void **unused)
{
	struct fl_price first = price;

	(void)unused;
	program.is_gauged = true;
	run(4);
	forget_hands();
	fl_clock_price(&c, &price);
	assert_true(price.count_ns == first.count_ns);
	set_up(NULL);
	for (int i = 0; i < 100; i++) {
		struct fl_ticks w = { .windows = 1, .open_ns = OPEN_NS, .counted = 100,
				      .stands_ns = program.period_ns,
				      .gauge = { 100, OPEN_NS, 150, OPEN_NS } };

		fl_clock_take(&c, &w, &price);
	}
	fl_clock_price(&c, &price);
	assert_true(price.count_ns == first.count_ns);
}

/* The target writes what it likes. */
static void any_numbers_are_survived(void **unused)
{
	(void)unused;
	for (int i = 0; i < 20000; i++) {
		struct fl_ticks w = { .windows = rand() % 3, .open_ns = pow(10, rand() % 20),
				      .counted = pow(10, rand() % 20) };
		struct fl_scale s;

		if (i % 50 == 0)
			set_up(NULL);
		for (uint32_t k = 0; k < FL_HANDS; k++) {
			w.ticks[k] = rand() % 2 ? pow(10, rand() % 20) : 0;
			c.all[k] += rand() % 2 ? pow(10, rand() % 20) : 0;
		}
		c.all[FL_TIME] += w.open_ns * (rand() % 3);
		w.gauge.calls = pow(10, rand() % 20);
		w.gauge.ns = rand() % 2 ? pow(10, rand() % 20) : 0;
		w.gauge.behind = rand() % 2 ? pow(10, rand() % 20) : 0;
		w.gauge.behind_ns = pow(10, rand() % 20);
		fl_clock_take(&c, &w, &price);
		fl_clock_call(&f[0], rand() % 2 ? w.counted : 0, &w, &price);
		fl_clock_price(&c, &price);
		s = fl_clock_scale(&c, &f[0], &price);
		assert_true(s.by >= 1 && s.off >= 0 && s.off <= 1);
		assert_true(price.count_ns >= 0 && price.count_ns <= 8);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, set_up)
	const struct CMUnitTest tests[] = {
		TEST(time_tells_if_the_price_is_right),
		TEST(to_begin_a_window_takes_time_too),
		TEST(a_hand_tells_whatever_the_price_is),
		TEST(each_function_has_the_hand_that_it_keeps_step_with),
		TEST(a_few_windows_tell_of_no_hand),
		TEST(a_few_windows_tell_of_a_hand_where_time_scatters),
		TEST(windows_that_stand_for_more_count_more),
		TEST(windows_where_calls_are_dense_count_as_much),
		TEST(what_begins_later_has_the_windows_since),
		TEST(who_keeps_step_with_time_tells_the_price),
		TEST(what_does_not_leaves_it_as_it_was),
		TEST(a_gauge_tells_the_price),
		TEST(a_gauge_that_scatters_tells_little),
		TEST(few_windows_and_one_function_are_no_gauge),
		TEST(any_numbers_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
