/*
 * What `--budget` makes of counts: of those in windows and of others, of what counting took
 * there, and of the time in which nobody counted. The target is numbers in its region.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "session/budget/state.h"
#include "session/functions.h"
#include "session/readers.h"

enum { HOT, COLD, OTHER, N, SITES = 64 };	/* functions; nobody wants OTHER */
#define MANY 20000000ull		/* too many to count in a look */
#define ABOUT 1	/* more: calls are an estimate */

static struct fl_session_options o;
static struct fl_session s;
static struct fl_seldom *seldom;
static uint64_t looked_ns;

/* The clock of all that is tested (--wrap): what else has the CPU takes no time of it, so looks
 * are as far apart as they are meant to be. */
uint64_t __wrap_fl_os_monotonic_ns(void);
uint64_t __wrap_fl_os_monotonic_ns(void)
{
	static uint64_t ns = 1000000000000;

	return ns += 1000;
}

/* Of each function an entry and an exit. */
static uint32_t entry(uint32_t f)
{
	return 2 * f;
}

static void bring(uint32_t functions)
{
	for (uint32_t i = 0; i < 2 * functions; i++) {
		s.sites[i].function = 4096 * (i / 2 + 1);
		s.sites[i].at = s.sites[i].function + i % 2;
		s.sites[i].kind = i % 2 ? FL_EXIT : FL_ENTRY;
		s.sites[i].wanted = i / 2 == OTHER ? 0 : FL_WANTED;
	}
	s.shm->n_sites = s.chosen.n = 2 * functions;
	assert_int_equal(fl_functions_extend(&s.functions), 0);
	s.view.sites = s.functions.sites;
	s.view.function_of = s.functions.function_of;
	s.view.n_sites = s.functions.n_sites;
	s.view.n_functions = s.functions.n;
}

static int set_up(void **state)
{
	struct fl_shm_options region = { .n_slots = 1, .max_sites = SITES, .samples = 10,
					 .action = FL_ACT_SAMPLE };
	char why[FL_USE_WHY];

	(void)state;
	o = (struct fl_session_options){ .action = FL_ACT_SAMPLE, .budget = 0.02,
					 .samples = 10, .epoch_ms = 10, .n_analyses = 1 };
	s = (struct fl_session){ .o = &o, .pid = getpid(), .start.begun = true };
	if (fl_shm_create(&region, &s.shm, &s.fd) || fl_functions_open(&s.functions, s.shm) ||
	    fl_use_open(&o.analyses[0], "latency", why))
		return -1;
	s.shared = &s.shm->session[0];
	s.view = (struct fl_view){ .ns_per_tick = 1, .sampled = true };
	s.view.live = s.sites = fl_shm_sites(s.shm);
	seldom = &s.shared->seldom;
	bring(N);
	looked_ns = s.go.wall_ns = fl_os_monotonic_ns();
	return fl_readers_open(&s) || fl_budget_open(&s);
}

static int tear_down(void **state)
{
	(void)state;
	fl_budget_close(s.budget);
	fl_readers_close(s.readers);
	fl_functions_close(&s.functions);
	fl_use_close(&o.analyses[0]);
	fl_shm_destroy(s.shm, s.fd);
	return 0;
}

static void count(uint32_t function, uint64_t n, uint32_t heeded)
{
	fl_budget_count(s.budget, 0, entry(function), n, heeded);
}

/* One look, as soon as that can be. */
static void look(void)
{
	enum { APART_NS = 5000000 };

	while (fl_os_monotonic_ns() - looked_ns < APART_NS)
		;
	looked_ns = s.go.wall_ns = fl_os_monotonic_ns();
	fl_budget_turn(&s);
}

static void windows(uint64_t n, uint64_t open_ns, uint64_t passed_ns)
{
	seldom->windows += n;
	seldom->open_ns += open_ns;
	seldom->passed_ns += passed_ns;
	seldom->ran_ns += passed_ns;
	seldom->ran_open_ns += open_ns;
}

/* So many windows, each at a look of its own: of a tenth of the time, and of a twentieth of
 * what COLD is called. */
static void look(void);
static void count_in_windows(int n, uint32_t wish)
{
	while (n-- > 0) {
		count(HOT, 100000, wish);
		count(COLD, 500, wish);
		seldom->ticks[0] += 25;
		windows(1, 1000000, 10000000);
		look();
	}
}

/* The target does what was wished for. */
static void heed(uint32_t wish)
{
	seldom->passed_then_ns = seldom->passed_ns;
	seldom->open_then_ns = seldom->open_ns;
	seldom->heeded = wish;
	fl_budget_turn(&s);
}

/* HOT is wished for in windows, and the target does so. */
static void make_seldom(void)
{
	look();					/* the first begins */
	count(HOT, MANY, 0);
	count(COLD, 10, 0);
	look();
	assert_int_equal(seldom->wish, 1);
	heed(1);
}

static struct flick_rows rows;

/* Of a function, when all is over; 0 without a row. */
static uint64_t at_last(uint32_t function, const char *column)
{
	int c;

	if (!rows.cells) {
		assert_int_equal(fl_budget_end(&s), 0);
		assert_int_equal(fl_run_end(s.run), 0);
		assert_int_equal(fl_run_rows(s.run, 0, &rows), 0);
	}
	c = fl_sheet_column(&rows, column);
	for (size_t r = 0; r < rows.n_rows; r++)
		if (rows.cells[r * rows.n_columns] == s.functions.function_of[entry(function)])
			return rows.cells[r * rows.n_columns + (size_t)c];
	return 0;
}

static int forget_rows(void **state)
{
	free(rows.cells);
	rows = (struct flick_rows){ 0 };
	return tear_down(state);
}

#define between(v, lo, hi) assert_in_range(v, lo, hi)

/* ---- claims ------------------------------------------------------------------------- */

static void who_called_is_one_thread_or_several(void **unused)
{
	enum { ONE = 3, ANOTHER = 7 };
	const struct flick_record timed = { .probe = entry(COLD) };
	uint32_t *of = calloc(s.functions.n + 1, sizeof(*of));
	uint32_t cold = s.functions.function_of[entry(COLD)];
	uint32_t hot = s.functions.function_of[entry(HOT)];

	(void)unused;
	assert_non_null(of);
	look();
	fl_budget_count(s.budget, ONE, entry(COLD), 5, 0);
	fl_budget_feed(s.budget, ONE, &timed, 1);
	fl_budget_threads(s.budget, of);
	assert_int_equal(of[cold], ONE + 1);
	assert_int_equal(of[hot], 0);
	fl_budget_feed(s.budget, ANOTHER, &timed, 1);
	fl_budget_count(s.budget, ONE, entry(COLD), 5, 0);
	fl_budget_threads(s.budget, of);
	assert_int_equal(of[cold], FL_SEVERAL);
	free(of);
}

static void what_is_counted_always_is_as_it_is(void **unused)
{
	(void)unused;
	look();
	for (int i = 0; i < 3; i++) {
		count(COLD, 5, 0);
		fl_budget_count(s.budget, 0, entry(COLD) + 1, 7, 0);	/* an exit */
		fl_budget_count(s.budget, 0, UINT32_MAX, 9, 0);
		look();
	}
	count(COLD, 2, 0);
	assert_int_equal(seldom->wish, 0);
	assert_int_equal(seldom->window_us, 100);	/* of what the target may cut */
	assert_int_equal(at_last(COLD, "calls"), 17);
	assert_int_equal(at_last(COLD, "counted"), 17);
	assert_int_equal(at_last(HOT, "calls"), 0);
}

static void what_costs_too_much_is_wished_for_in_windows(void **unused)
{
	(void)unused;
	make_seldom();
	count(OTHER, MANY, 1);
	look();
	assert_int_equal(seldom->wish, 1);
	assert_int_equal(s.sites[entry(HOT)].wanted, FL_SELDOM);
	assert_int_equal(s.sites[entry(HOT) + 1].wanted, FL_WANTED);
	assert_int_equal(s.sites[entry(COLD)].wanted, FL_WANTED);
	assert_int_equal(s.sites[entry(OTHER)].wanted, 0);
	assert_true(seldom->window_us >= 20 && seldom->period_us >= 10000);
	assert_true(seldom->epoch_us >= 10000);
}

/* The last one that there is room for, and of both some before anybody knew of it. */
static void what_is_counted_before_it_is_known_is_not_forgotten(void **unused)
{
	enum { LAST = SITES / 2 - 1 };

	(void)unused;
	look();
	count(N, 5, 0);
	count(LAST, 7, 0);
	look();
	bring(N + 1);
	count(N, 6, 0);
	look();
	bring(LAST + 1);
	look();
	count(LAST, 3, 0);
	assert_int_equal(at_last(N, "calls"), 11);
	assert_int_equal(at_last(LAST, "calls"), 10);
}

/* Of a function that came later, too: it is told in the next wish. */
static void what_comes_later_is_wished_for_as_well(void **unused)
{
	(void)unused;
	make_seldom();
	bring(N + 1);
	look();
	assert_int_equal(seldom->wish, 2);
	assert_int_equal(s.sites[entry(HOT)].wanted, FL_SELDOM);
	count(COLD, MANY, 1);
	look();
	assert_int_equal(seldom->wish, 2);	/* until that is heeded */
}

static void windows_stand_for_the_time_between_them(void **unused)
{
	(void)unused;
	make_seldom();
	count(HOT, 300, 0);			/* of a process that is behind */
	count(HOT, 500, 1);
	count(COLD, 4, 1);
	windows(100, 10000000, 1000000000);
	assert_int_equal(at_last(HOT, "counted"), MANY + 800);
	between(at_last(HOT, "calls"), MANY + 300 + 50000, MANY + 300 + 50010);
	assert_int_equal(at_last(COLD, "calls"), 14);
}

/* Counts before the target has heeded the wish are of no windows, whoever they are of. */
static void before_a_wish_is_heeded_counts_are_calls(void **unused)
{
	(void)unused;
	look();
	count(HOT, MANY, 0);
	look();
	count(HOT, 1000, 0);
	windows(100, 10000000, 1000000000);
	look();
	count(HOT, 1000, 0);
	assert_int_equal(seldom->wish, 1);
	assert_int_equal(at_last(HOT, "calls"), MANY + 2000 + ABOUT);
	assert_int_equal(at_last(HOT, "calls_error"), ABOUT);
}

/* One each two nanoseconds holds a program up for nearly half of a window. */
static void what_counting_took_is_taken_out(void **unused)
{
	(void)unused;
	make_seldom();
	count(HOT, 5000000, 1);
	windows(100, 10000000, 1000000000);
	between(at_last(HOT, "calls") - MANY, 904000000, 906000000);
}

/* The program has had at least the time of as many short calls. */
static void calls_take_time_as_well_as_counts(void **unused)
{
	(void)unused;
	s.prices.call_ps = 1500;
	make_seldom();
	count(HOT, 5000000, 1);
	windows(100, 10000000, 1000000000);
	between(at_last(HOT, "calls") - MANY, 664000000, 667000000);
}

/* One in ten. */
static void what_counting_took_depends_on_how_many_there_are(void **unused)
{
	(void)unused;
	make_seldom();
	count(HOT, 1000000, 1);
	count(COLD, 1000000, 1);
	windows(100, 10000000, 1000000000);
	between(at_last(HOT, "calls") - MANY, 109700000, 109900000);
}

/* What the target cut by itself: no wish has to be heeded. */
static void cut_hot(void)
{
	look();
	count(HOT, 1000, 0);
	s.sites[entry(HOT)].wanted = FL_SELDOM;
	seldom->has_cut = 1;
	fl_budget_turn(&s);
	assert_true(seldom->wish == 0 && !seldom->has_cut);
	count(HOT, 500, 0);
	windows(100, 10000000, 1000000000);
}

static void wait_until(uint64_t ns)
{
	while (fl_os_monotonic_ns() < ns)
		;
}

/* The reader hears of it so long after `from`. */
static void cut_until(uint32_t function, uint64_t from, uint64_t ns)
{
	s.sites[entry(function)].wanted = FL_SELDOM;
	seldom->has_cut = 1;
	wait_until(from + ns);
	fl_budget_turn(&s);
}

/* HOT is cut before any look but the first, which begins, and has had MANY calls until then, or
 * until the reader comes: so many in a ms, in the mean by ratio, are returned. */
static double cut_at_once(void)
{
	uint64_t from;

	look();
	from = looked_ns;
	count(HOT, MANY, 0);
	wait_until(from + 10000000);
	seldom->cut_ns = fl_os_monotonic_ns();
	cut_until(HOT, from, 40000000);
	return MANY * 1e6 / sqrt((double)(seldom->cut_ns - from) *
				 (double)(fl_os_monotonic_ns() - from));
}

static void what_was_cut_goes_on_where_no_window_comes(void **unused)
{
	double rate = cut_at_once();

	(void)unused;
	windows(0, 0, 100000000);
	between(at_last(HOT, "calls") - MANY, 100 * rate * 0.9, 100 * rate * 1.01);
	between(at_last(HOT, "calls_error"), 100 * rate * 0.9, 100 * rate * 1.01);
}

/* Until the first window, which sees no call, it may have ended at any moment. */
static void what_was_cut_goes_on_for_half_of_the_time_to_a_window(void **unused)
{
	double rate = cut_at_once();

	(void)unused;
	seldom->gap_ns = 90000000;
	windows(10, 10000000, 200000000);
	between(at_last(HOT, "calls") - MANY, 45 * rate * 0.9, 45 * rate * 1.01);
	between(at_last(HOT, "calls_error"), 26 * rate * 0.9, 26 * rate * 1.02);
}

/* COLD is cut later than HOT was, before another look: it was called until now. */
static void what_is_cut_later_was_called_until_later(void **unused)
{
	uint64_t from, passed;

	(void)unused;
	look();
	from = looked_ns;
	s.go.wall_ns -= 1000000000;		/* no look is due for a tenth of a second */
	s.budget->begun_ns = s.go.wall_ns;
	seldom->cut_ns = fl_os_monotonic_ns() + 1000000;
	cut_until(HOT, from, 5000000);
	count(COLD, MANY, 0);
	cut_until(COLD, from, 50000000);
	passed = fl_os_monotonic_ns() - from;
	windows(0, 0, 100000000);
	between(at_last(COLD, "calls") - MANY, MANY * 99000000 / passed,
		MANY * 105000000 / passed);
}

static void what_the_target_cut_is_of_windows_from_then_on(void **unused)
{
	(void)unused;
	cut_hot();
	assert_int_equal(at_last(HOT, "counted"), 1500);
	between(at_last(HOT, "calls"), 1000 + 50000, 1000 + 50010);
}

static void what_was_cut_stays_so_whatever_is_wished(void **unused)
{
	(void)unused;
	cut_hot();
	count(COLD, MANY, 0);
	look();
	assert_int_equal(seldom->wish, 1);
	assert_int_equal(s.sites[entry(HOT)].wanted, FL_SELDOM);
	assert_int_equal(s.sites[entry(COLD)].wanted, FL_SELDOM);
}

/* In a tenth of a second, no more counts than six tenths of the budget pay for; at first
 * as many as take 20 ms. */
static void credit_is_a_part_of_the_budget(void **unused)
{
	const uint64_t most = 1627;		/* blocks of 1,024, of 0.72 ns, are 1.2 ms */
	enum { TENTH_NS = 100000000 };
	uint64_t before, passed;

	(void)unused;
	assert_int_equal(seldom->credit, 13563);
	look();
	assert_int_equal(seldom->credit, 13563);
	seldom->credit = 0;
	for (int i = 0; i < 40; i++)
		look();
	between(seldom->credit, most / 2, most);
	assert_true(seldom->round > 20);
	seldom->credit = 0;
	before = looked_ns;
	look();
	passed = fl_os_monotonic_ns() - before;
	between(seldom->credit, 1, passed < TENTH_NS ? most * passed / TENTH_NS + 1 : most);
}

/* The target may say anything. */
static void no_number_is_too_large(void **unused)
{
	(void)unused;
	make_seldom();
	count(HOT, UINT64_MAX / 2, 1);
	windows(100, 1, UINT64_MAX / 2);
	assert_int_equal(at_last(HOT, "calls"), 1000000000000000000ull);
}

/* Windows of few looks are put together; what they say is not lost, nor said twice. */
static void few_windows_are_put_together(void **unused)
{
	(void)unused;
	make_seldom();
	for (int i = 0; i < 10; i++) {
		count(HOT, 100, 1);
		windows(10, 1000000, 100000000);
		look();
	}
	assert_int_equal(at_last(HOT, "counted"), MANY + 1000);
	between(at_last(HOT, "calls") - MANY, 100000, 115000);
}

/* Who is counted always tells by how much windows were slower. */
static void a_hand_of_the_programs_clock_tells(void **unused)
{
	(void)unused;
	make_seldom();
	assert_int_equal(seldom->hands[0], entry(COLD) + 1);
	assert_int_equal(seldom->hands[1], 0);
	count_in_windows(10, 1);
	between(at_last(HOT, "calls"), MANY + 20000000, MANY + 20000010);
	assert_int_equal(at_last(COLD, "calls"), 10 + 5000);
}

/* Three functions, of which a call comes each 10 ns but for what counts hold up, 2 ns each: of
 * a window of a millisecond all take 375 us, the gauge behind it a sixth of that time. */
static void count_with_a_gauge(int n)
{
	enum { CALLS = 62500, BEHIND = 83333, MS = 1000000 };
	struct fl_gauge *g = &seldom->gauge;

	while (n-- > 0) {
		count(HOT, CALLS, 1);
		count(N, CALLS, 1);
		count(N + 1, CALLS, 1);
		if (seldom->gauge_probe) {
			count((seldom->gauge_probe - 1) / 2, BEHIND, 1);
			g->windows++;
			g->calls += CALLS;
			g->behind += BEHIND;
			g->extra += BEHIND;
			g->ns += MS;
			g->behind_ns += MS;
		}
		windows(1, MS, 10 * MS);
		look();
	}
}

static void a_gauge_tells_what_counts_hold_up(void **unused)
{
	static const uint32_t all[] = { HOT, N, N + 1 };
	uint64_t calls, before = 5 * MANY;

	(void)unused;
	bring(N + 2);
	look();
	for (int i = 0; i < 3; i++)
		count(all[i], 5 * MANY, 0);
	look();
	assert_int_equal(seldom->gauge_probe, 0);
	heed(1);
	count_with_a_gauge(40);
	assert_true(seldom->gauge_probe != 0);
	for (int i = 0; i < 3; i++) {
		calls = at_last(all[i], "calls") - before;
		between(calls, 40 * 925000, 40 * 965000);	/* 945833 */
		assert_int_equal(at_last(all[i], "counted"), before + 40 * 62500);
	}
}

/* Two functions are counted in windows from here on; of each so many calls are known. */
static uint64_t be_two_in_windows(void)
{
	uint64_t known = 5 * MANY;

	bring(N + 2);
	look();
	count(HOT, known, 0);
	count(N, known, 0);
	look();
	heed(1);
	return known;
}

/* A look comes while it is counted alone, when it knows of a window that came before. */
static void of_a_gauge_that_a_look_has_seen_only_windows_count(void **unused)
{
	enum { CALLS = 62500, BEHIND = 1000000, MS = 1000000, TIMES = 40 };
	uint64_t known = be_two_in_windows();

	(void)unused;
	for (int i = 0; i < TIMES; i++) {
		uint32_t gauge = seldom->gauge_probe;

		count(HOT, CALLS, 1);
		count(N, CALLS, 1);
		seldom->is_open = 1;
		if (gauge)
			count((gauge - 1) / 2, BEHIND, 1);
		look();
		seldom->is_open = 0;
		seldom->gauge.extra += gauge ? BEHIND : 0;
		windows(1, MS, 10 * MS);
		fl_budget_turn(&s);
	}
	assert_true(seldom->gauge.extra > 0);
	assert_int_equal(at_last(HOT, "counted"), known + TIMES * CALLS);
	assert_int_equal(at_last(N, "counted"), known + TIMES * CALLS);
}

/* Threads end all the time: what the gauge counted behind windows is a part of all, by time. */
static void of_a_gauge_whose_threads_end_as_much_counts_as_was_windows(void **unused)
{
	enum { CALLS = 60000, MS = 1000000, TIMES = 40 };
	uint64_t known = be_two_in_windows();

	(void)unused;
	for (int i = 0; i < TIMES; i++) {
		uint32_t gauge = seldom->gauge_probe;

		count(HOT, CALLS, 1);
		count(N, CALLS, 1);
		if (gauge) {
			count((gauge - 1) / 2, 2 * CALLS, 1);
			seldom->gauge.torn_ns += MS;
			seldom->gauge.torn_behind_ns += 2 * MS;
		}
		windows(1, MS, 10 * MS);
		look();
	}
	assert_true(seldom->gauge.torn_ns > 0);
	between(at_last(HOT, "counted"), known + TIMES * CALLS, known + TIMES * CALLS + TIMES);
	between(at_last(N, "counted"), known + TIMES * CALLS, known + TIMES * CALLS + TIMES);
}

/* It was not called when the chunk began. */
static void a_hand_may_come_later(void **unused)
{
	(void)unused;
	look();
	count(HOT, MANY, 0);
	look();
	heed(1);
	assert_int_equal(seldom->hands[0], 0);
	count(COLD, 500, 1);
	look();
	look();
	assert_int_equal(seldom->hands[0], entry(COLD) + 1);
	count_in_windows(10, 1);
	between(at_last(HOT, "calls"), MANY + 20000000, MANY + 20000010);
}

/* From then on time tells: more than ten times of what windows saw. */
static void a_hand_that_is_seldom_tells_nothing(void **unused)
{
	(void)unused;
	make_seldom();
	count_in_windows(10, 1);
	count(COLD, MANY, 1);
	look();
	assert_int_equal(seldom->wish, 2);
	heed(2);
	count_in_windows(5, 2);
	between(at_last(HOT, "calls"), MANY + 15 * 1084000, MANY + 15 * 1095000);
}

/* A thread has ended, and its counters are another's: nobody knows how far hands moved. */
static void a_clock_that_was_torn_tells_nothing(void **unused)
{
	(void)unused;
	make_seldom();
	count_in_windows(5, 1);
	seldom->torn = 1;
	count_in_windows(5, 1);
	between(at_last(HOT, "calls"), MANY + 10 * 1084000, MANY + 10 * 1095000);
}

/* A hand that has become seldom and keeps step with itself: of it is not told either. */
static void a_hand_that_was_torn_since_tells_nothing(void **unused)
{
	const uint64_t before = 10 + 10 * 500 + MANY;

	(void)unused;
	make_seldom();
	count_in_windows(10, 1);
	count(COLD, MANY, 1);
	look();
	heed(2);
	for (int i = 1; i <= 20; i++) {			/* time is no good hand of it */
		count(COLD, 100 * (uint64_t)(i % 5), 2);
		seldom->ticks[0] += 100 * (uint64_t)(i % 5);
		windows(1, 1000000, 10000000);
		look();
	}
	seldom->torn = 1;
	between(at_last(COLD, "calls"), before + 4000, before + 4000 * 13);
}

/* While one is open its counts and its time do not go together. */
static void a_window_is_looked_at_when_it_is_closed(void **unused)
{
	(void)unused;
	make_seldom();
	for (int i = 0; i < 10; i++) {
		seldom->is_open = 1;
		count(HOT, 100000, 1);
		look();
		seldom->is_open = 0;
		count_in_windows(1, 1);
	}
	between(at_last(HOT, "calls"), MANY + 40000000, MANY + 40000010);
}

/* Off since its last window, when its process ended: as often as before. */
static void what_no_window_saw_is_added(void **unused)
{
	uint64_t rate = MANY * 200;		/* a look of five milliseconds, or longer */

	(void)unused;
	make_seldom();
	seldom->closed_ns = 1000000000;
	s.target.gone_ns = 1100000000;
	between(at_last(HOT, "calls") - MANY, rate / 10 / 20, rate / 9);
	assert_int_equal(at_last(COLD, "calls"), 10);
}

/* The process has said how long it ran, and that it ended before a window came. */
static void what_ran_without_a_window_is_added(void **unused)
{
	uint64_t rate = MANY * 200;

	(void)unused;
	make_seldom();
	windows(0, 0, 100000000);
	between(at_last(HOT, "calls") - MANY, rate / 10 / 20, rate / 9);
	between(at_last(HOT, "calls_error"), rate / 10 / 20, rate / 9);
	assert_int_equal(at_last(COLD, "calls"), 10);
}

/* As what was cut: by the rate of a look of five milliseconds, or longer. */
static void what_is_wished_for_goes_on_for_half_of_the_time_to_a_window(void **unused)
{
	uint64_t rate = MANY * 200;

	(void)unused;
	make_seldom();
	seldom->gap_ns = 80000000;
	windows(10, 10000000, 200000000);
	between(at_last(HOT, "calls") - MANY, rate / 25 / 20, rate / 24);
	between(at_last(HOT, "calls_error"), rate / 44 / 20, rate / 43);
}

/* Of a program that has a fifth of a CPU, so many calls of HOT in a tenth of a second, by the
 * rate that looks have told. */
static double run_without_a_window(uint32_t has_one_cpu, uint64_t ran_ns)
{
	uint32_t called;

	make_seldom();
	windows(0, 0, ran_ns);
	s.budget->afford.cpus = 0.2;
	seldom->has_one_cpu = has_one_cpu;
	called = s.budget->called[s.functions.function_of[entry(HOT)]];
	return s.budget->functions[called - 1].rate / 10;
}

/* Time is CPU time where the program has one CPU, else what passes. */
static void what_ran_is_what_passed_but_on_one_cpu(void **unused)
{
	double calls = run_without_a_window(0, 100000000);

	(void)unused;
	between(at_last(HOT, "calls") - MANY, calls * 0.99, calls * 1.01);
}

static void what_ran_on_one_cpu_is_cpu_time(void **unused)
{
	double calls = run_without_a_window(1, 20000000);

	(void)unused;
	between(at_last(HOT, "calls") - MANY, calls * 0.99, calls * 1.01);
}

/* It was heeded a tenth of a second before the reader saw it, at the end or before. */
static void heed_early(void)
{
	look();
	count(HOT, MANY, 0);
	look();
	windows(1, 0, 100000000);
	seldom->heeded = 1;
}

static void what_was_off_unseen_is_added(void **unused)
{
	(void)unused;
	heed_early();
	fl_budget_turn(&s);
	between(at_last(HOT, "calls") - MANY, MANY, MANY * 21);
}

static void what_was_off_unseen_at_the_end_is_added(void **unused)
{
	(void)unused;
	heed_early();
	between(at_last(HOT, "calls") - MANY, MANY, MANY * 21);
}

static void of_a_process_tree_nobody_knows_how_long_it_was_off(void **unused)
{
	(void)unused;
	o.follow = true;
	make_seldom();
	seldom->closed_ns = 1000000000;
	s.target.gone_ns = 1100000000;
	assert_int_equal(at_last(HOT, "calls"), MANY + ABOUT);
}

/* Another becomes seldom: the first one's windows go on, and its last ones count. */
static void a_second_wish_keeps_what_the_first_one_saw(void **unused)
{
	(void)unused;
	make_seldom();
	count(HOT, 500, 1);
	windows(100, 10000000, 1000000000);
	count(COLD, MANY, 1);
	look();
	assert_int_equal(seldom->wish, 2);
	assert_int_equal(s.sites[entry(COLD)].wanted, FL_SELDOM);
	count(COLD, 1000, 1);
	heed(2);
	count(COLD, 70, 1);			/* heeded too little for the second */
	count(COLD, 50, 2);
	count(HOT, 500, 1);			/* enough for the first */
	windows(100, 10000000, 1000000000);
	between(at_last(HOT, "calls") - MANY, 100000, 100100);
	between(at_last(COLD, "calls") - MANY - 1080, 5000, 5010);
}

/* Looks of five milliseconds, in each of them a short window. */
static void what_is_rare_again_is_counted_always(void **unused)
{
	(void)unused;
	make_seldom();
	for (int i = 0; i < 300 && seldom->wish == 1; i++) {
		windows(1, 20000, 5000000);
		look();
	}
	assert_int_equal(seldom->wish, 2);
	assert_int_equal(s.sites[entry(HOT)].wanted, FL_WANTED);
	assert_int_equal(seldom->window_us, 100);	/* of what the target may cut */
	count(HOT, 3, 1);			/* between the wish and that it is heeded */
	heed(2);
	count(HOT, 20, 2);
	windows(1, 20000, 5000000);
	look();
	count(HOT, MANY, 2);			/* and too much, once more */
	look();
	assert_int_equal(seldom->wish, 3);
	heed(3);
	count(HOT, 7000, 2);			/* of a process that is behind */
	windows(100, 10000000, 1000000000);
	assert_int_equal(at_last(HOT, "calls"), 2 * MANY + 7023 + ABOUT);
}

/* What windows of several looks saw is shown to each of these once. */
static void what_is_seldom_enough_is_counted_always(void **unused)
{
	(void)unused;
	make_seldom();
	for (int i = 0; i < 300 && seldom->wish == 1; i++) {
		count(HOT, 25, 1);		/* 1,250,000 a second, or less */
		windows(1, 20000, 5000000);
		look();
	}
	assert_int_equal(seldom->wish, 2);
	assert_int_equal(s.sites[entry(HOT)].wanted, FL_WANTED);
}

static void work(uint64_t ns)
{
	uint64_t until = fl_instant_now().cpu_ns + ns;

	while (fl_instant_now().cpu_ns < until)
		;
}

/* It is this process that switches, as the target says. */
static void what_switching_takes_is_measured(void **unused)
{
	uint32_t before;

	(void)unused;
	make_seldom();
	before = seldom->period_us;
	s.shm->watcher_pid = getpid();
	for (int i = 0; i < 30; i++) {
		count(HOT, 1000, 1);
		windows(1, 20000, 5000000);
		work(3000000);
		look();
	}
	assert_in_range(before, 1000, 200000);
	assert_in_range(seldom->period_us, 140000, 1000000);
}

/* No window tells that it is called less. */
static void what_is_not_seen_is_called_as_before(void **unused)
{
	(void)unused;
	make_seldom();
	for (int i = 0; i < 150; i++)
		look();
	assert_int_equal(seldom->wish, 1);
	assert_int_equal(s.sites[entry(HOT)].wanted, FL_SELDOM);
}

/* It is called as often at each look. */
static void looks_do_not_add_up(void **unused)
{
	(void)unused;
	look();
	for (int i = 0; i < 40; i++) {
		count(COLD, 1000, 0);		/* 200,000 a second: what a budget allows */
		look();
	}
	assert_int_equal(seldom->wish, 0);
}

/* What passed before the reader saw that another is seldom was seen of the first. */
static void who_was_seldom_was_seen(void **unused)
{
	(void)unused;
	make_seldom();
	count(COLD, MANY, 1);
	look();
	assert_int_equal(seldom->wish, 2);
	windows(1, 0, 10000000000);		/* far longer than a look takes */
	seldom->heeded = 2;
	fl_budget_turn(&s);
	assert_int_equal(at_last(HOT, "calls"), MANY + ABOUT);
	assert_true(at_last(COLD, "calls") > 2 * MANY);
}

static void what_is_a_budget_is_said(void **unused)
{
	static const char *const bad[] = { "", "x", "0", "0.05", "100.1", "5%%", "2x", "nan" };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(fl_budget_take(&o, NULL, bad[i]), -1);
	assert_int_equal(fl_budget_take(&o, NULL, "5%"), 0);
	assert_true(o.budget == 0.05);
	assert_int_equal(fl_budget_take(&o, NULL, "0.1"), 0);
	assert_int_equal(fl_budget_take(&o, NULL, "100"), 0);
	assert_true(o.budget == 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, forget_rows)
	const struct CMUnitTest tests[] = {
		TEST(who_called_is_one_thread_or_several),
		TEST(what_is_counted_always_is_as_it_is),
		TEST(what_costs_too_much_is_wished_for_in_windows),
		TEST(what_is_counted_before_it_is_known_is_not_forgotten),
		TEST(what_comes_later_is_wished_for_as_well),
		TEST(windows_stand_for_the_time_between_them),
		TEST(before_a_wish_is_heeded_counts_are_calls),
		TEST(what_counting_took_is_taken_out),
		TEST(calls_take_time_as_well_as_counts),
		TEST(what_counting_took_depends_on_how_many_there_are),
		TEST(what_the_target_cut_is_of_windows_from_then_on),
		TEST(what_was_cut_stays_so_whatever_is_wished),
		TEST(what_was_cut_goes_on_where_no_window_comes),
		TEST(what_is_cut_later_was_called_until_later),
		TEST(what_was_cut_goes_on_for_half_of_the_time_to_a_window),
		TEST(credit_is_a_part_of_the_budget),
		TEST(no_number_is_too_large),
		TEST(few_windows_are_put_together),
		TEST(a_hand_of_the_programs_clock_tells),
		TEST(a_gauge_tells_what_counts_hold_up),
		TEST(of_a_gauge_that_a_look_has_seen_only_windows_count),
		TEST(of_a_gauge_whose_threads_end_as_much_counts_as_was_windows),
		TEST(a_hand_may_come_later),
		TEST(a_hand_that_is_seldom_tells_nothing),
		TEST(a_clock_that_was_torn_tells_nothing),
		TEST(a_hand_that_was_torn_since_tells_nothing),
		TEST(a_window_is_looked_at_when_it_is_closed),
		TEST(what_ran_without_a_window_is_added),
		TEST(what_is_wished_for_goes_on_for_half_of_the_time_to_a_window),
		TEST(what_ran_is_what_passed_but_on_one_cpu),
		TEST(what_ran_on_one_cpu_is_cpu_time),
		TEST(what_was_off_unseen_is_added),
		TEST(what_was_off_unseen_at_the_end_is_added),
		TEST(what_is_rare_again_is_counted_always),
		TEST(what_is_seldom_enough_is_counted_always),
		TEST(what_switching_takes_is_measured),
		TEST(what_is_not_seen_is_called_as_before),
		TEST(looks_do_not_add_up),
		TEST(what_no_window_saw_is_added),
		TEST(of_a_process_tree_nobody_knows_how_long_it_was_off),
		TEST(a_second_wish_keeps_what_the_first_one_saw),
		TEST(who_was_seldom_was_seen),
		TEST(what_is_a_budget_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
