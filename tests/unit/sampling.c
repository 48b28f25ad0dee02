/*
 * unit/sampling: a sample is a call of one on-period, and a function is off once K are
 * taken, or none seem to end; then it is on again, at the next epoch of its group. Where
 * epochs are of no length each is of all groups.
 *
 * Each target is a child, and says what was wrong by its status.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "filter-call.h"
#include "sampling-rig.h"
#include "probe/period.h"
#include "stop-at.h"

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

/* Those that begin after it count; it is timed, however many epochs it lasts, and exits
 * are off when it has ended. */
static void outlast_epochs(struct rig *unused)
{
	(void)unused;
	open_probes();
	begin(&one, 1000);
	for (int epoch = 0; epoch < 3; epoch++) {
		for (int i = 0; i < 5; i++)
			call(&one, 900);
		NEED(row_of(&one)->is_off && fl_probe_is_on(one.exit));
		fl_sample_turn();
		NEED(!row_of(&one)->is_off && fl_probe_is_on(one.exit));
		call(&one, 800);
	}
	NEED(frames_open() == 1);
	end(&one, 1000);
	NEED(is_off(&one) && counted(&one) == 1 + 3 * 6);
	fl_sample_turn();
	call(&one, 1000);
	NEED(is_off(&one));
}

static void a_call_that_outlasts_epochs_is_a_sample(void **unused)
{
	(void)unused;
	assert_int_equal(runs(outlast_epochs), 2 * (1 + 3 + 1));
}

/* What an entry does is a word of its glue's. */
static void direct_entry(struct rig *unused)
{
	uintptr_t go = fl_probe_routine(FL_ACT_SAMPLE, FL_ABI);

	(void)unused;
	open_probes();
	fl_table.probes[one.entry].go = &go;
	call(&one, 1000);
	NEED(is_off(&one) && go == fl_probe_routine(FL_ACT_COUNT, FL_ABI));
	fl_sample_turn();
	NEED(!is_off(&one) && go == fl_probe_routine(FL_ACT_SAMPLE, FL_ABI));
}

static void an_entry_counts_once_it_is_sampled(void **unused)
{
	(void)unused;
	assert_int_equal(runs(direct_entry), 2);
}

/* ---- windows ------------------------------------------------------------------------- */

static void none_is_there(void (*see)(uintptr_t bias))
{
	(void)see;
}

enum { COLD = 32 };			/* calls of a window that are not timed */

/* A function that is seldom is on in windows. Of some its calls are timed, and not counted,
 * but for those that find nothing in the caches; then it is what it was. A hand ticks in
 * those that count. */
static void be_seldom(struct rig *unused)
{
	const struct fl_seldom *s = &g->m->session[0].seldom;

	(void)unused;
	open_probes();
	want(&one, FL_SELDOM);
	g->m->session[0].seldom.hands[3] = two.entry + 1;
	fl_sample_turn();
	NEED(s->heeded == 0 && fl_probe_is_on(one.entry) && s->is_open);
	for (uint32_t i = 0; i < 3; i++)
		call(&one, 1000);
	fl_sample_turn();
	NEED(s->heeded == 1 && s->windows == 1 && s->open_ns <= s->passed_ns && !s->is_open);
	for (uint32_t window = 2; window < 6; window++) {
		NEED(!fl_probe_is_on(one.entry) && is_off(&one));
		call(&one, 1000);
		call(&two, 1000);
		g->m->session[0].epoch_us = window == 5 ? 0 : 10000000;
		fl_sample_turn();
		for (uint32_t i = 0; window == 5 && i < COLD; i++) {
			NEED(!is_off(&one));
			call(&one, 1000);
		}
		NEED(fl_probe_is_on(one.entry) && is_off(&one) == (window != 5));
		call(&one, 1000);
		call(&two, 1000);
		NEED(is_off(&one) && fl_probe_is_on(one.entry) == (window != 5));
		fl_sample_turn();
		NEED(s->windows + s->timings == window && s->open_ns < s->passed_ns);
	}
	NEED(s->timings == 1 && s->ticks[3] == 3 && s->torn == 0);
	NEED(counted(&one) == 3 + 3 && counted(&two) == 4 + 4);
	want(&one, FL_WANTED);
	fl_sample_turn();
	NEED(s->heeded == 2 && is_off(&one) && fl_probe_is_on(one.entry));
	call(&one, 1000);
	NEED(is_off(&one) && counted(&one) == 3 + 3 + 1);
	fl_sample_turn();
	NEED(!is_off(&one) && s->windows == 4);
}

static void what_is_seldom_counts_in_windows(void **unused)
{
	(void)unused;
	assert_int_equal(runs(be_seldom), 2 * (1 + 1 + 2));
}

static struct fl_seldom *be_gauged(void)
{
	struct fl_seldom *s = &g->m->session[0].seldom;

	open_probes();
	want(&one, FL_SELDOM);
	want(&two, FL_SELDOM);
	g->m->session[0].epoch_us = 10000000;
	s->gauge_probe = one.entry + 1;
	return s;
}

/* Two functions are seldom. Behind a window one of them is counted alone, and for the reader
 * the window is open until then. */
static void count_behind(struct rig *unused)
{
	struct fl_seldom *s = be_gauged();

	(void)unused;
	for (uint64_t window = 1; window < 4; window++) {
		fl_sample_turn();
		NEED(s->is_open && fl_probe_is_on(one.entry) && fl_probe_is_on(two.entry));
		for (int i = 0; i < 2; i++)
			call(&one, 1000);
		fl_sample_turn();
		NEED(s->is_open && s->windows == window - 1);
		NEED(fl_probe_is_on(one.entry) && !fl_probe_is_on(two.entry));
		for (int i = 0; i < 3; i++)
			call(&one, 1000);
		fl_sample_turn();
		NEED(!s->is_open && s->windows == window && s->gauge.windows == window);
		NEED(!fl_probe_is_on(one.entry) && !fl_probe_is_on(two.entry));
		/* of the first one's calls one is timed, and another finds it off */
		NEED(s->gauge.behind == 3 * window && s->gauge.extra == 3 * window);
		NEED(s->gauge.ns <= s->ran_open_ns && s->gauge.behind_ns > 0);
	}
	NEED(counted(&one) == s->gauge.calls + s->gauge.behind);
	NEED(s->gauge.calls > 2 * 2 && s->passed_ns > s->open_ns + s->gauge.behind_ns);
	fl_sample_turn();
	s->n_taken++;			/* a thread ends; others count more meanwhile */
	fl_sample_turn();
	call(&one, 1000);
	fl_os_sleep_us(2000);
	fl_sample_turn();
	NEED(s->windows == 4 && s->gauge.windows == 3 && s->gauge.extra == 3 * 3 &&
	     s->gauge.torn_behind_ns > 0 && s->torn == 1);
	s->gauge_probe = one.exit + 1;
	fl_sample_turn();
	fl_sample_turn();
	NEED(!s->is_open && !fl_probe_is_on(one.entry) && s->windows == 5);
}

/* It is seldom no more, or the program ends, while it is. */
static void end_behind(struct rig *unused)
{
	struct fl_seldom *s = be_gauged();

	(void)unused;
	fl_sample_turn();
	fl_sample_turn();
	NEED(fl_probe_is_on(one.entry) && !fl_probe_is_on(two.entry));
	fl_table.functions[fl_table.probes[one.entry].function].is_seldom = false;
	fl_sample_turn();
	NEED(fl_probe_is_on(one.entry) && s->gauge.windows == 1);
	fl_table.functions[fl_table.probes[one.entry].function].is_seldom = true;
	fl_sample_turn();
	fl_sample_turn();
	NEED(s->is_open && s->windows == 1);
	fl_sample_end();
	NEED(s->windows == 2 && s->gauge.windows == 2 && !s->is_open);
}

static void a_gauge_is_counted_alone_behind_windows(void **unused)
{
	(void)unused;
	runs(count_behind);
}

static void a_gauge_ends_with_its_program_and_its_wish(void **unused)
{
	(void)unused;
	runs(end_behind);
}

/* Blocks of calls are asked for, after the first: who has had as many as are left goes
 * off at once, but for windows, and who has had none does not. Turns come late: time outside
 * of windows begins with the cut. */
static void spend_credit(struct rig *unused)
{
	struct fl_seldom *s = &g->m->session[0].seldom;
	uint64_t begun = now(), late = 2000000, cut;

	(void)unused;
	fl_clocks_read(&g->m->tsc0, &g->m->mono0_ns);
	open_probes();
	g->m->session[0].samples = UINT32_MAX / 32;
	for (uint32_t i = 0; i < 9 * FL_COUNT_BLOCK; i++)
		call(&two, 1000);
	NEED(fl_probe_is_on(two.entry) && s->credit == 0);
	s->credit = 4;
	s->round = 1;
	for (uint32_t i = 0; i < 9 * FL_COUNT_BLOCK; i++)
		call(&one, 1000);
	NEED(counted(&one) == 3 * FL_COUNT_BLOCK && s->credit == 2 && s->has_cut);
	NEED(!fl_probe_is_on(one.entry) && is_off(&one) && row_of(&one)->is_seldom);
	NEED(fl_table.rows[one.entry].wanted == FL_SELDOM);
	for (uint32_t i = 0; i < FL_COUNT_BLOCK; i++)
		call(&two, 1000);
	NEED(fl_probe_is_on(two.entry) && s->credit == 1);
	s->round = 2;
	for (uint32_t i = 0; i < FL_COUNT_BLOCK; i++)
		call(&two, 1000);
	NEED(fl_probe_is_on(two.entry) && s->credit == 0);
	for (cut = now(); now() - cut < late;);
	fl_sample_turn();
	NEED(fl_probe_is_on(one.entry) && !s->windows && s->cut_ns > begun && s->cut_ns < cut);
	fl_sample_turn();
	NEED(!fl_probe_is_on(one.entry) && fl_probe_is_on(two.entry) && s->windows == 1);
	NEED(s->gap_ns >= late && s->passed_ns - s->open_ns == s->gap_ns);
}

static void who_has_had_half_of_what_there_was_goes_off(void **unused)
{
	(void)unused;
	runs(spend_credit);
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
	frames = fl_channel_own_slot()->ring[0].frames;
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
static void go_and_come_back(struct rig *unused)
{
	(void)unused;
	open_probes();
	want(&one, FL_SELDOM);
	fl_sample_turn();
	fl_sample_turn();
	come_back(&one);
	NEED(!fl_probe_is_on(one.entry) && is_off(&one));
	go(&one);
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

/* In one, what comes back has new glue, by which its calls would be timed: none is, as
 * its exits may be those of calls that nobody saw begin. */
static void come_back_in_a_window(struct rig *unused)
{
	uintptr_t go = fl_probe_routine(FL_ACT_SAMPLE, FL_ABI);

	(void)unused;
	open_probes();
	g->m->session[0].epoch_us = 10000000;
	want(&one, FL_SELDOM);
	for (int i = 0; i < 5; i++)
		fl_sample_turn();
	NEED(fl_probe_is_on(one.entry) && is_off(&one));
	fl_table.probes[one.entry].go = &go;
	come_back(&one);
	NEED(is_off(&one) && go == fl_probe_routine(FL_ACT_COUNT, FL_ABI));
	go = fl_probe_routine(FL_ACT_SAMPLE, FL_ABI);	/* a thread had loaded it before */
	fl_table.probes[one.entry].reached = FL_REACHED_BY_GLUE;	/* as with a site */
	call(&one, 1000);
	NEED(is_off(&one) && go == fl_probe_routine(FL_ACT_COUNT, FL_ABI));
}

static void what_comes_back_in_a_window_is_counted(void **unused)
{
	(void)unused;
	runs(come_back_in_a_window);
}

static void what_is_seldom_and_comes_back_waits_for_a_window(void **unused)
{
	(void)unused;
	runs(go_and_come_back);
}

/* Of a window of 20 ms, in which the program sleeps: who shares its one CPU takes it for
 * short, as the program ran for less. */
static void sleep_in_a_window(struct rig *unused)
{
	const struct fl_seldom *s = &g->m->session[0].seldom;
	enum { MS = 1000000 };

	(void)unused;
	open_probes();
	want(&one, FL_SELDOM);
	fl_sample_turn();
	fl_os_sleep_us(20000);
	fl_sample_turn();
	NEED(s->windows == 1 && s->open_ns > 20 * MS && s->passed_ns >= s->open_ns);
	if (s->has_one_cpu)
		NEED(s->ran_open_ns < 10 * MS && s->ran_ns < 10 * MS);
	else
		NEED(s->ran_open_ns > 20 * MS && s->ran_ns >= s->ran_open_ns);
}

static void sleep_on(struct rig *r)
{
	cpu_set_t one_cpu;

	CPU_ZERO(&one_cpu);
	CPU_SET(sched_getcpu(), &one_cpu);
	NEED(!sched_setaffinity(0, sizeof(one_cpu), &one_cpu));
	sleep_in_a_window(r);
}

static void sleep_on_one_cpu(struct rig *r)
{
	const struct fl_seldom *s = &g->m->session[0].seldom;

	sleep_on(r);
	NEED(s->has_one_cpu && s->shared_cpus == 2);
}

/* Who opens windows elsewhere does not hold the program up, and its CPU time lags there. */
static void sleep_beside(struct rig *r)
{
	const struct fl_seldom *s = &g->m->session[0].seldom;

	memset(g->m->reader_cpus, 0xff, sizeof(g->m->reader_cpus));
	sleep_on(r);
	NEED(!s->has_one_cpu && s->shared_cpus == 1 && s->ran_open_ns > 20000000);
}

/* No clock of a process is to be had any more, as when it has ended. */
static void stop_clocks(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x80000000, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	NEED(!install_filter(code, ARRAY_LEN(code)));
	NEED(!fl_os_program_ns());
}

/* The program ends in a window, which is closed before anybody knows. */
static void end_in_a_window(struct rig *unused)
{
	const struct fl_seldom *s = &g->m->session[0].seldom;
	cpu_set_t one_cpu;

	(void)unused;
	CPU_ZERO(&one_cpu);
	CPU_SET(sched_getcpu(), &one_cpu);
	NEED(!sched_setaffinity(0, sizeof(one_cpu), &one_cpu));
	open_probes();
	want(&one, FL_SELDOM);
	fl_sample_turn();
	NEED(s->has_one_cpu && s->is_open);
	stop_clocks();
	fl_sample_turn();
	fl_sample_end();
	NEED(s->windows == 1 && s->ran_ns < 1000000000);
	NEED(s->ran_open_ns <= s->ran_ns);
}

static void a_program_that_has_ended_runs_for_no_time(void **unused)
{
	(void)unused;
	runs(end_in_a_window);
}

static void windows_are_of_time_that_passes(void **unused)
{
	(void)unused;
	runs(sleep_in_a_window);
}

static void windows_that_are_opened_elsewhere_are_of_time_that_passes(void **unused)
{
	(void)unused;
	runs(sleep_beside);
}

static void windows_on_one_cpu_are_of_time_in_which_the_program_ran(void **unused)
{
	(void)unused;
	runs(sleep_on_one_cpu);
}

/* It is open until it can be closed; a child of fork begins without one. */
static void hold_a_window_open(struct rig *unused)
{
	const struct fl_seldom *s = &g->m->session[0].seldom;

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

/* Its parent's turn has not come yet. */
static void heed_as_a_child(struct rig *unused)
{
	(void)unused;
	open_probes();
	g->m->session[0].seldom.window_us = 0;
	want(&one, FL_SELDOM);
	NEED(fl_probe_is_on(one.entry));
	fl_sample_in_child();
	NEED(!fl_probe_is_on(one.entry) && row_of(&one)->is_seldom);
	NEED(fl_probe_is_on(two.entry));
	NEED(fl_shm_processes(g->m)[0].heeded == g->m->session[0].seldom.wish);
}

/* As often in a window as windows are of a period, and the rest of it is as long as any: else
 * images that end before their first turn have too many or too few windows. */
static void begin_at_moments(struct rig *unused)
{
	enum { PERIOD_US = 10000000, WINDOW_US = PERIOD_US / 4, TIMES = 400 };
	struct fl_seldom *s = &g->m->session[0].seldom;
	uint32_t open = 0, short_rest = 0, wrong = 0;

	(void)unused;
	open_probes();
	s->period_us = PERIOD_US;
	s->window_us = WINDOW_US;
	want(&one, FL_SELDOM);
	for (int i = 0; i < TIMES; i++) {
		uint64_t us;
		bool is_open;

		fl_sample_in_child();
		is_open = fl_probe_is_on(one.entry);
		us = fl_sample_turn();		/* of a window, how long it lasts yet */
		open += is_open;
		short_rest += is_open && us < WINDOW_US / 2;
		wrong += is_open != fl_probe_is_on(one.entry) ||
			 us > (is_open ? WINDOW_US : PERIOD_US - WINDOW_US) + 1;
	}
	NEED(open > TIMES / 8 && open < TIMES * 3 / 8);
	NEED(short_rest > open / 4 && short_rest < open * 3 / 4);
	NEED(!wrong);
}

static void an_image_begins_at_any_moment(void **unused)
{
	(void)unused;
	runs(begin_at_moments);
}

static void a_child_begins_with_what_is_wished(void **unused)
{
	(void)unused;
	runs(heed_as_a_child);
}

static void a_window_is_open_until_it_can_be_closed(void **unused)
{
	(void)unused;
	runs(hold_a_window_open);
}

/* Calls of other functions come through the entry of one that is seldom. */
static void share_an_entry(struct rig *unused)
{
	static uint8_t text;
	uintptr_t go = 0;

	(void)unused;
	open_probes();
	fl_table.probes[one.entry].go = &go;
	fl_table.probes[one.entry].asks = 1;
	fl_goal_move(one.entry, FL_PROBE_GONE);
	fl_goal_move(one.entry, FL_PROBE_FOUND);
	rig_arm(one.entry, &text);
	want(&one, FL_SELDOM);
	fl_sample_turn();
	fl_sample_turn();
	NEED(!fl_probe_is_on(one.entry) && go == fl_probe_routine_idle() && text == ON_BYTE);
	begin(&one, 1000);			/* who had loaded where to go */
	NEED(go == fl_probe_routine_idle());
	g->m->session[0].epoch_us = 10000000;
	fl_sample_turn();
	NEED(fl_probe_is_on(one.entry) && go == fl_probe_routine(FL_ACT_COUNT, FL_ASK));
}

static void an_entry_of_several_stays_on_for_the_others(void **unused)
{
	(void)unused;
	runs(share_an_entry);
}

/* ---- what is off ---------------------------------------------------------------------- */

/* Whoever has calls of other functions come through stays on for them. */
static void share_an_exit(struct rig *unused)
{
	(void)unused;
	open_probes();
	fl_table.probes[one.exit].is_shared = 1;
	call(&one, 1000);
	NEED(row_of(&one)->is_off && fl_probe_is_on(one.exit));
	call(&two, 1000);
	NEED(is_off(&two));
}

static void an_exit_of_several_stays_on_for_the_others(void **unused)
{
	(void)unused;
	assert_int_equal(runs(share_an_exit), 2 * 2);
}

/* One of its sites was found and armed since: it is switched off, too, and all of it
 * comes on again together, however often. */
static void find_since(struct rig *unused)
{
	(void)unused;
	open_probes();
	fl_table.probes[one.entry].reached = FL_REACHED_BY_GLUE;	/* as with a site */
	for (int epoch = 0; epoch < 3; epoch++) {
		call(&one, 1000);
		call(&two, 1000);
		for (int i = 0; i < 3; i++) {
			let_exit(&one);
			begin(&one, 1000);
			NEED(is_off(&one));
		}
		fl_sample_turn();
		NEED(!is_off(&one) && !is_off(&two));
	}
}

static void what_is_found_while_its_function_is_off_is_off(void **unused)
{
	(void)unused;
	assert_int_equal(runs(find_since), 3 * 2 * 2);
}

/* A timed call inside of another one is time of it. A turn may be late by epochs, and then
 * has both timed. */
static void time_in_turns(struct rig *unused)
{
	enum { TRIES = 100 };
	uint32_t apart = 0;

	(void)unused;
	open_probes();
	g->m->session[0].epoch_us = 2000;
	for (uint32_t i = 0; i < TRIES && apart < 3; i++) {
		while (!is_off(&one) || !is_off(&two)) {
			call(&one, 1000);
			call(&two, 1000);
		}
		while (is_off(&one) && is_off(&two))
			fl_sample_turn();
		apart += is_off(&one) || is_off(&two);
	}
	NEED(apart == 3);
}

static void functions_side_by_side_are_timed_in_turns(void **unused)
{
	(void)unused;
	runs(time_in_turns);
}

/* What is to be counted anew in each epoch. */
static void sample_twice_an_epoch(struct rig *unused)
{
	(void)unused;
	g->m->session[0].samples = 2;
	open_probes();
	for (int epoch = 0; epoch < 3; epoch++) {
		call(&one, 1000);
		NEED(!is_off(&one));
		begin(&two, 1000);
		NEED(!is_off(&two));
		call(&one, 1000);
		call(&two, 900);
		call(&two, 900);
		NEED(!is_off(&two));
		end(&two, 1000);
		NEED(is_off(&one) && is_off(&two));
		fl_sample_turn();
		NEED(!is_off(&one) && !is_off(&two));
	}
}

static void samples_and_entries_are_those_of_an_epoch(void **unused)
{
	(void)unused;
	assert_int_equal(runs(sample_twice_an_epoch), 2 * (2 + 2) * 3);
}

/* Bytes of code: two for each probe that is switched. */
static void say_what_was_switched(struct rig *unused)
{
	uint64_t before;

	(void)unused;
	open_probes();
	call(&one, 1000);
	before = g->m->session[0].toggles;
	fl_sample_turn();
	NEED(g->m->session[0].toggles == before + 2);
}

static void what_was_switched_is_told(void **unused)
{
	(void)unused;
	assert_int_equal(runs(say_what_was_switched), 2);
}

/* ---- windows: when ---------------------------------------------------------------------- */

/* What passed since the wish was heeded, and what of it was in windows. */
static void time_windows(struct rig *unused)
{
	enum { OPEN_NS = 2000000, SHUT_NS = 3000000 };
	const struct fl_seldom *s = &g->m->session[0].seldom;
	uint64_t begun, shut;

	(void)unused;
	open_probes();
	want(&one, FL_SELDOM);
	begun = now();
	fl_sample_turn();
	fl_os_sleep_us(OPEN_NS / 1000);
	fl_sample_turn();
	shut = now();
	NEED(s->windows == 1 && s->heeded == 1);
	NEED(s->passed_ns >= OPEN_NS && s->passed_ns <= shut - begun);
	NEED(s->passed_then_ns == s->passed_ns && s->open_then_ns == s->open_ns);
	NEED(s->closed_ns >= begun + OPEN_NS && s->closed_ns <= shut);
	fl_os_sleep_us(SHUT_NS / 1000);
	fl_sample_turn();
	fl_sample_turn();
	NEED(s->windows == 2 && s->closed_ns > shut);
	NEED(s->passed_ns >= OPEN_NS + SHUT_NS && s->passed_then_ns < s->passed_ns);
	NEED(s->open_ns < s->passed_ns - SHUT_NS / 2);
}

static void what_passes_is_counted_from_the_wish_on(void **unused)
{
	(void)unused;
	runs(time_windows);
}

/* Another process of the process tree is ahead. */
static void be_behind(struct rig *unused)
{
	struct fl_seldom *s = &g->m->session[0].seldom;

	(void)unused;
	open_probes();
	want(&one, FL_SELDOM);
	fl_sample_turn();
	s->heeded = 5;
	s->closed_ns = 7;
	fl_sample_turn();
	NEED(s->windows == 1 && s->heeded == 5 && s->closed_ns == 7);
	NEED(fl_shm_processes(g->m)[0].heeded == 1);
	fl_shm_processes(g->m)[0].heeded = 0;
	fl_sample_in_child();
	NEED(fl_shm_processes(g->m)[0].heeded == 1);
}

static void who_is_behind_takes_nothing_back(void **unused)
{
	(void)unused;
	runs(be_behind);
}

/* From half to one and a half of what is asked for, so that nothing is in step, also where the
 * next one was drawn when they were rare; and a window is as long as asked for. */
static void vary_periods(struct rig *unused)
{
	enum { PERIOD_US = 2000, RARE_US = 10000000, ROUNDS = 40 };
	struct fl_seldom *s = &g->m->session[0].seldom;
	uint32_t shorter = 0, longer = 0;

	(void)unused;
	open_probes();
	s->period_us = s->epoch_us = g->m->session[0].epoch_us = RARE_US;
	s->window_us = 77;
	want(&one, FL_SELDOM);
	NEED(fl_sample_turn() == 77 && fl_sample_turn() > PERIOD_US * 2);
	s->period_us = PERIOD_US;
	NEED(fl_sample_turn() <= PERIOD_US * 3 / 2 + 1);
	fl_os_sleep_us(PERIOD_US * 2);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t us = fl_sample_turn(), from = now();

		NEED(us == 77 && fl_probe_is_on(one.entry));
		us = fl_sample_turn();
		NEED(!fl_probe_is_on(one.entry) && us <= PERIOD_US * 3 / 2 + 1);
		shorter += us < PERIOD_US * 9 / 10;
		longer += us > PERIOD_US * 11 / 10;
		fl_sample_turn();
		NEED(!fl_probe_is_on(one.entry) || now() - from >= PERIOD_US * 500);
		if (fl_probe_is_on(one.entry))
			fl_sample_turn();
		while (now() - from < PERIOD_US * 2000)
			;
	}
	NEED(shorter > 2 && longer > 2);
}

static void windows_are_in_step_with_nothing(void **unused)
{
	(void)unused;
	runs(vary_periods);
}

/* The reader may want epochs to be longer than they were asked for. */
static void be_sampled_seldom(struct rig *unused)
{
	(void)unused;
	open_probes();
	call(&one, 1000);
	g->m->session[0].seldom.epoch_us = 10000000;
	fl_sample_turn();
	NEED(is_off(&one));
	g->m->session[0].seldom.epoch_us = 0;
	fl_sample_turn();
	NEED(!is_off(&one));
}

static void epochs_are_as_long_as_can_be_afforded(void **unused)
{
	(void)unused;
	assert_int_equal(runs(be_sampled_seldom), 2);
}

/* Its parent was in the middle of switching it off. */
static void be_cut(struct rig *unused)
{
	(void)unused;
	open_probes();
	call(&one, 1000);
	let_exit(&one);
	fl_sample_in_child();
	NEED(is_off(&one));
	fl_sample_turn();
	NEED(!is_off(&one));
}

static void a_child_goes_on_with_what_is_off(void **unused)
{
	(void)unused;
	assert_int_equal(runs(be_cut), 2);
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

/* ---- calls that last --------------------------------------------------------------- */

static uint32_t add_to_body(enum fl_kind kind, enum fl_form form)
{
	bool is_new;
	int id = fl_probe_virtual((uintptr_t)add_to_body, kind, form, &is_new);

	NEED(id >= 0 && is_new);
	fl_table.rows[id].wanted = 1;
	return (uint32_t)id;
}

/* Turns see it open for longer than a call may be. */
static void let_it_last(void)
{
	fl_sample_turn();
	usleep(FL_LASTS_US + FL_LASTS_US / 10);
	fl_sample_turn();
}

/* Its look-ups go off, and it is left where no exit is. A newer call at its place shows that;
 * then calls are timed again, and looked up. */
static void leave_by_the_original(struct rig *unused)
{
	struct function body;

	(void)unused;
	NEED(!fl_patch_open(NULL) && !fl_probes_open(g->m));
	body.entry = add_to_body(FL_ENTRY, FL_FORM_BODY);
	body.exit = add_to_body(FL_EXIT, FL_FORM_BODY_SWITCH);
	fl_probes_commit(0, FL_RUNNING);
	fl_sample_turn();			/* the first does nothing */
	NEED(fl_probe_is_on(body.exit));
	begin(&body, 1000);
	let_it_last();
	NEED(frames_open() == 1 && row_of(&body)->let_go);
	NEED(!fl_probe_is_on(body.exit));
	come_back(&body);
	NEED(!fl_probe_is_on(body.exit));
	begin(&body, 1000);
	NEED(frames_open() == 0);
	fl_sample_turn();
	NEED(fl_probe_is_on(body.exit));
	call(&body, 1000);
	NEED(frames_open() == 0);
}

static void a_call_that_lasts_goes_on_in_the_original(void **unused)
{
	(void)unused;
	assert_int_equal(runs(leave_by_the_original), 2 * 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_function_is_sampled_once_an_epoch),
		TEST(an_entry_counts_once_it_is_sampled),
		TEST(what_is_seldom_counts_in_windows),
		TEST(a_gauge_is_counted_alone_behind_windows),
		TEST(a_gauge_ends_with_its_program_and_its_wish),
		TEST(who_has_had_half_of_what_there_was_goes_off),
		TEST(switching_is_no_time_of_the_calls_around),
		TEST(what_is_seldom_and_comes_back_waits_for_a_window),
		TEST(windows_are_of_time_that_passes),
		TEST(windows_that_are_opened_elsewhere_are_of_time_that_passes),
		TEST(windows_on_one_cpu_are_of_time_in_which_the_program_ran),
		TEST(a_program_that_has_ended_runs_for_no_time),
		TEST(what_comes_back_in_a_window_is_counted),
		TEST(a_child_begins_with_what_is_wished),
		TEST(an_image_begins_at_any_moment),
		TEST(a_window_is_open_until_it_can_be_closed),
		TEST(an_entry_of_several_stays_on_for_the_others),
		TEST(a_call_that_outlasts_epochs_is_a_sample),
		TEST(a_call_that_began_between_periods_is_no_sample),
		TEST(an_exit_of_several_stays_on_for_the_others),
		TEST(what_is_found_while_its_function_is_off_is_off),
		TEST(functions_side_by_side_are_timed_in_turns),
		TEST(samples_and_entries_are_those_of_an_epoch),
		TEST(what_was_switched_is_told),
		TEST(what_passes_is_counted_from_the_wish_on),
		TEST(who_is_behind_takes_nothing_back),
		TEST(windows_are_in_step_with_nothing),
		TEST(epochs_are_as_long_as_can_be_afforded),
		TEST(a_child_goes_on_with_what_is_off),
		TEST(a_call_that_lasts_goes_on_in_the_original),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
