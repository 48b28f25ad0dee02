/*
 * unit/sampling: a sample is a call of one on-period, and a function is off once K are
 * taken, or none seem to end; then it is on again, at the next epoch.
 *
 * Each target is a child, and says what was wrong by its status.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "patch/patch.h"
#include "probe/table.h"
#include "probe-rig.h"
#include "stop-at.h"

static int runs(void (*target)(struct rig *))
{
	int status = rig_drain(g, rig_fork(g, target));

	assert_int_equal(status, 0);
	return (int)g->delivered;
}

/* Two functions, whose probes have no site: data alone says whether they are on. */
static void f(void)
{
}

static void h(void)
{
}

struct function {
	uint32_t entry, exit;
};
static struct function one, two;

static uint32_t add(void (*at)(void), enum fl_kind kind)
{
	bool is_new;
	int id = fl_probe_virtual((uintptr_t)at, kind, FL_FORM_NONE, &is_new);

	NEED(id >= 0 && is_new);
	fl_table.rows[id].wanted = 1;
	return (uint32_t)id;
}

static void open_probes(void)
{
	NEED(!fl_patch_open(NULL) && !fl_probes_open(g->m));
	fl_sample_turn();			/* the first does nothing */
	one = (struct function){ add(f, FL_ENTRY), add(f, FL_EXIT) };
	two = (struct function){ add(h, FL_ENTRY), add(h, FL_EXIT) };
	fl_probes_commit(0, FL_RUNNING);
	NEED(fl_probe_is_on(one.entry) && fl_probe_is_on(two.exit));
}

static void begin(const struct function *of, uint32_t sp)
{
	fl_probe_hit(of->entry, sp);
}

static void end(const struct function *of, uint32_t sp)
{
	fl_probe_hit(of->exit, sp);
}

static void call(const struct function *of, uint32_t sp)
{
	begin(of, sp);
	end(of, sp);
}

static const struct fl_function *row_of(const struct function *of)
{
	return &fl_table.functions[fl_table.probes[of->entry].function];
}

/* Of a function that is off the entries count. */
static bool is_off(const struct function *of)
{
	return row_of(of)->is_off && !fl_probe_is_on(of->exit);
}

static uint64_t counted(const struct function *of)
{
	const uint64_t *counters = (void *)((char *)fl_channel_own_slot() +
					    FL_SLOT_HEADER_BYTES);

	return counters[of->entry];
}

/* ---- claims ------------------------------------------------------------------------ */

static void call_in_two_epochs(struct rig *unused)
{
	(void)unused;
	open_probes();
	for (int epoch = 0; epoch < 3; epoch++) {
		for (uint32_t i = 0; i < 5; i++) {
			call(&one, 1000);
			call(&two, 1000);
			NEED(is_off(&one) && is_off(&two));
		}
		fl_sample_turn();
		NEED(!is_off(&one) && !is_off(&two));
	}
	NEED(counted(&one) == 15 && counted(&two) == 15);
}

static void each_function_is_sampled_once_an_epoch(void **unused)
{
	(void)unused;
	assert_int_equal(runs(call_in_two_epochs), 2 * 2 * 3);
}

/* A call of the same function ends in between, and with it the period. */
static void outlast_a_period(struct rig *unused)
{
	(void)unused;
	open_probes();
	begin(&one, 1000);
	call(&one, 900);
	NEED(is_off(&one));
	fl_sample_turn();
	end(&one, 1000);
	NEED(!is_off(&one));			/* that was none of this period's */
}

static void a_call_that_outlasts_its_period_is_no_sample(void **unused)
{
	(void)unused;
	assert_int_equal(runs(outlast_a_period), 2);
}

/* What an entry does is a word of its glue's. */
static void direct_entry(struct rig *unused)
{
	uintptr_t go = fl_arch_routine(FL_ACT_SAMPLE, FL_ABI);

	(void)unused;
	open_probes();
	fl_table.probes[one.entry].go = &go;
	call(&one, 1000);
	NEED(is_off(&one) && go == fl_arch_routine(FL_ACT_COUNT, FL_ABI));
	fl_sample_turn();
	NEED(!is_off(&one) && go == fl_arch_routine(FL_ACT_SAMPLE, FL_ABI));
}

static void an_entry_counts_once_it_is_sampled(void **unused)
{
	(void)unused;
	assert_int_equal(runs(direct_entry), 2);
}

/* ---- windows ------------------------------------------------------------------------- */

static void want(const struct function *of, enum fl_wanted wanted)
{
	fl_table.rows[of->entry].wanted = wanted;
	g->m->seldom.wish++;
}

static void none_is_there(void (*see)(uintptr_t bias))
{
	(void)see;
}

enum { COLD = 32 };			/* calls of a window that are not timed */

/* A function that is seldom is on in windows; in the first one of an epoch its calls
 * are timed, too, but for those that find nothing in the caches; then it is what it was. */
static void be_seldom(struct rig *unused)
{
	const struct fl_seldom *s = &g->m->seldom;

	(void)unused;
	open_probes();
	want(&one, FL_SELDOM);
	fl_sample_turn();
	NEED(s->heeded == 0 && fl_probe_is_on(one.entry));
	for (uint32_t i = 0; i < 3; i++)
		call(&one, 1000);
	fl_sample_turn();
	NEED(s->heeded == 1 && s->windows == 1 && s->open_ns <= s->passed_ns);
	for (uint32_t window = 2; window < 6; window++) {
		NEED(!fl_probe_is_on(one.entry) && is_off(&one));
		call(&one, 1000);
		call(&two, 1000);
		g->m->epoch_us = window == 5 ? 0 : 10000000;
		fl_sample_turn();
		for (uint32_t i = 0; window == 5 && i < COLD; i++) {
			NEED(!is_off(&one));
			call(&one, 1000);
		}
		NEED(fl_probe_is_on(one.entry) && is_off(&one) == (window != 5));
		call(&one, 1000);
		NEED(is_off(&one) && fl_probe_is_on(one.entry));
		fl_sample_turn();
		NEED(s->windows == window && s->open_ns < s->passed_ns);
	}
	NEED(counted(&one) == 3 + 4 + COLD && counted(&two) == 4);
	want(&one, FL_WANTED);
	fl_sample_turn();
	NEED(s->heeded == 2 && is_off(&one) && fl_probe_is_on(one.entry));
	call(&one, 1000);
	NEED(is_off(&one) && counted(&one) == 3 + 4 + COLD + 1);
	fl_sample_turn();
	NEED(!is_off(&one) && s->windows == 5);
}

static void what_is_seldom_counts_in_windows(void **unused)
{
	(void)unused;
	assert_int_equal(runs(be_seldom), 2 * (1 + 1 + 1));
}

enum { LINGERED = 5000000 };		/* ticks */

static void linger(void)
{
	uint64_t from = fl_arch_ticks();

	while (fl_arch_ticks() - from < LINGERED)
		;
}

/* A call begins as much later as another, within it, took to be switched off. */
static void switch_within(struct rig *unused)
{
	const struct fl_frames *frames;
	uint64_t begun;

	(void)unused;
	open_probes();
	begin(&one, 1000);
	frames = fl_channel_own_slot()->frames;
	begun = frames->at[0].tsc;
	stop("probe.switching", linger);
	call(&two, 900);
	NEED(is_off(&two) && frames->n == 1);
	NEED(frames->at[0].tsc - begun >= LINGERED);
	begun = frames->at[0].tsc;
	call(&two, 900);
	NEED(frames->at[0].tsc == begun);
	end(&one, 1000);
}

static void switching_is_no_time_of_the_calls_around(void **unused)
{
	(void)unused;
	assert_int_equal(runs(switch_within), 2 * 2);
}

/* A library that was unloaded is back, also if wishes were heeded while it was gone:
 * its functions wait for a window. In one, they are on. */
static void come_back(const struct function *of)
{
	fl_table.sites[of->entry].state = fl_table.sites[of->exit].state = FL_SITE_FOUND;
	fl_probes_commit(0, FL_RUNNING);
}

static void go_and_come_back(struct rig *unused)
{
	(void)unused;
	open_probes();
	want(&one, FL_SELDOM);
	fl_sample_turn();
	fl_sample_turn();
	come_back(&one);
	NEED(!fl_probe_is_on(one.entry) && is_off(&one));
	fl_table.sites[one.entry].state = fl_table.sites[one.exit].state = FL_SITE_GONE;
	want(&two, FL_WANTED);
	fl_sample_turn();
	NEED(!row_of(&one)->is_seldom);
	come_back(&one);
	NEED(!fl_probe_is_on(one.entry) && is_off(&one) && row_of(&one)->is_seldom);
	fl_sample_turn();
	NEED(fl_probe_is_on(one.entry));
	come_back(&one);
	NEED(fl_probe_is_on(one.entry));
	fl_sample_turn();
	NEED(!fl_probe_is_on(one.entry) && fl_probe_is_on(two.entry));
}

static void what_is_seldom_and_comes_back_waits_for_a_window(void **unused)
{
	(void)unused;
	runs(go_and_come_back);
}

/* It is open until it can be closed; a child of fork begins without one. */
static void hold_a_window_open(struct rig *unused)
{
	const struct fl_seldom *s = &g->m->seldom;

	(void)unused;
	open_probes();
	want(&one, FL_SELDOM);
	fl_sample_turn();
	fl_probes_freeze();
	fl_sample_turn();
	NEED(s->windows == 0 && fl_probe_is_on(one.entry));
	fl_probes_thaw(none_is_there);
	fl_sample_turn();
	NEED(s->windows == 1 && !fl_probe_is_on(one.entry));
	fl_sample_turn();
	NEED(fl_probe_is_on(one.entry) && fl_probe_is_on(two.entry));
	fl_sample_in_child();
	NEED(!fl_probe_is_on(one.entry) && fl_probe_is_on(two.entry));
	fl_sample_turn();
	NEED(fl_probe_is_on(one.entry));
}

static void a_window_is_open_until_it_can_be_closed(void **unused)
{
	(void)unused;
	runs(hold_a_window_open);
}

/* Calls of other functions come through the entry of one that is seldom. */
static void share_an_entry(struct rig *unused)
{
	uintptr_t go = 0;

	(void)unused;
	open_probes();
	fl_table.probes[one.entry].go = &go;
	fl_table.probes[one.entry].asks = 1;
	want(&one, FL_SELDOM);
	fl_sample_turn();
	fl_sample_turn();
	NEED(fl_probe_is_on(one.entry) && go == fl_arch_routine_idle());
	g->m->epoch_us = 10000000;
	fl_sample_turn();
	NEED(fl_probe_is_on(one.entry) && go == fl_arch_routine(FL_ACT_COUNT, FL_ASK));
}

static void an_entry_of_several_stays_on_for_the_others(void **unused)
{
	(void)unused;
	runs(share_an_entry);
}

/* ---- calls that begin or end where nobody looks ------------------------------------------ */

static void begin_late(void)
{
	begin(&one, 800);
}

/* Another call begins while the function is being switched off: what happens until it
 * is on again goes unseen, so a later exit may be another call's. */
static void begin_between_periods(struct rig *unused)
{
	(void)unused;
	open_probes();
	stop("probe.switching", begin_late);
	call(&one, 1000);
	NEED(!stop_at && is_off(&one));
	fl_sample_turn();
	end(&one, 800);
	NEED(!is_off(&one));
}

static void a_call_that_began_between_periods_is_no_sample(void **unused)
{
	(void)unused;
	assert_int_equal(runs(begin_between_periods), 2);
}

/* By longjmp, say. */
static void never_end(struct rig *unused)
{
	uint32_t n = 0;

	(void)unused;
	g->m->samples = 3;
	open_probes();
	for (; !is_off(&one) && n < 1000; n++)
		begin(&one, 100000 - n * 100);
	NEED(n >= 3 && n <= 3 * 16);
	call(&two, 1000);
	NEED(!is_off(&two));
	fl_sample_turn();
	NEED(!is_off(&one));
}

static void calls_that_never_end_do_not_keep_a_function_on(void **unused)
{
	(void)unused;
	assert_int_equal(runs(never_end), 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_function_is_sampled_once_an_epoch),
		TEST(an_entry_counts_once_it_is_sampled),
		TEST(what_is_seldom_counts_in_windows),
		TEST(switching_is_no_time_of_the_calls_around),
		TEST(what_is_seldom_and_comes_back_waits_for_a_window),
		TEST(a_window_is_open_until_it_can_be_closed),
		TEST(an_entry_of_several_stays_on_for_the_others),
		TEST(a_call_that_outlasts_its_period_is_no_sample),
		TEST(a_call_that_began_between_periods_is_no_sample),
		TEST(calls_that_never_end_do_not_keep_a_function_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
