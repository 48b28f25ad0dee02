/*
 * unit/timed: which calls are timed, and which of them an exit ends.
 *
 * Each target is a child, and says what was wrong by its status.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probe/pick.h"
#include "sampling-rig.h"
#include "stop-at.h"

/* ---- which call an exit ends -------------------------------------------------------- */

static const struct fl_frames *frames(void)
{
	return fl_channel_own_slot()->ring[0].frames;
}

/* Of many samples, so that nothing is switched off. */
static void open_many(void)
{
	g->m->session[0].samples = 1000;
	open_probes();
}

static void exit_by_jump(const struct function *of, uint32_t sp)
{
	fl_table.sites[of->exit].jump = 1;
	end(of, sp);
	fl_table.sites[of->exit].jump = 0;
}

/* It stands at its frame's top: what began below it was left, but for the outermost. */
static void end_by_jump(struct rig *unused)
{
	(void)unused;
	open_many();
	begin(&one, 1000);
	begin(&one, 800);
	begin(&two, 700);
	begin(&one, 600);
	exit_by_jump(&one, 900);		/* the one at 800 */
	NEED(frames()->n == 1 && frames()->at[0].sp == 1000);
	exit_by_jump(&one, 1000);		/* none began below */
	NEED(frames()->n == 1);
	exit_by_jump(&one, 1008);
	NEED(frames()->n == 0);
}

static void an_exit_by_jump_ends_the_outermost_below(void **unused)
{
	(void)unused;
	assert_int_equal(runs(end_by_jump), 2 * 2);
}

/* It stands where its entry did; or the function has one frame, on top. */
static void end_by_call(struct rig *unused)
{
	(void)unused;
	open_many();
	begin(&one, 1000);
	begin(&one, 900);
	end(&one, 850);				/* of two: neither */
	NEED(frames()->n == 2);
	fl_frames_forget((struct fl_frames *)frames());
	begin(&one, 1000);
	begin(&two, 900);
	begin(&one, 900);
	end(&one, 950);
	NEED(frames()->n == 3);
	end(&one, 900);
	NEED(frames()->n == 2);
	end(&one, 950);				/* another stands above the only one */
	NEED(frames()->n == 2);
	end(&two, 890);
	NEED(frames()->n == 1);
	end(&two, 1000);			/* it has none */
	NEED(frames()->n == 1);
	end(&one, 990);
	NEED(frames()->n == 0);
}

static void an_exit_by_call_ends_its_own_or_the_only_one(void **unused)
{
	(void)unused;
	assert_int_equal(runs(end_by_call), 2 * 3);
}

/* On a stack of its own, above the frames. */
static void leave_by_handler(void)
{
	begin(&two, 100000);
	end(&two, 100000);
	NEED(frames()->n == 0);
}

/* It has counted, and no sample is of it. */
static void end_behind_handler(struct rig *unused)
{
	(void)unused;
	open_many();
	for (int i = 0; i < 2; i++) {		/* the second time its frame size is fixed */
		begin(&two, 1200);
		begin(&one, 1000);
		stop("frames.found", leave_by_handler);
		end(&one, 1000);
		NEED(frames()->n == 0);
		begin(&one, 1000);
		stop("frames.found", leave_by_handler);
		exit_by_jump(&one, 1008);
		NEED(frames()->n == 0);
	}
}

static void a_handler_may_end_what_is_just_found(void **unused)
{
	(void)unused;
	assert_int_equal(runs(end_behind_handler), 2 * 4);
}

/* Left by longjmp; but up to 16 bytes of arguments stand within one frame. */
static void leave_calls(struct rig *unused)
{
	(void)unused;
	open_many();
	begin(&one, 1000);
	begin(&one, 900);
	begin(&two, 916);
	NEED(frames()->n == 3);
	begin(&two, 933);
	NEED(frames()->n == 2 && frames()->at[1].sp == 933);
}

static void calls_that_were_left_are_no_callers(void **unused)
{
	(void)unused;
	assert_int_equal(runs(leave_calls), 0);
}

/* Of periods that are over nothing is matched: when there is no room, they go. */
static void fill_frames(struct rig *unused)
{
	uint32_t sp = 100000;

	(void)unused;
	open_probes();
	g->m->session[0].samples = 100000;
	for (uint32_t i = 0; i < FL_FRAMES; i++)
		begin(i < FL_FRAMES / 2 ? &one : &two, sp -= 32);
	fl_table.functions[fl_table.probes[two.entry].function].period += 1ull << 32;
	NEED(frames()->n == FL_FRAMES);
	begin(&one, sp -= 32);
	NEED(frames()->n == FL_FRAMES / 2 + 1);
	while (frames()->n < FL_FRAMES)
		begin(&one, sp -= 32);
	begin(&one, sp -= 32);			/* all are of this one: it is not timed */
	NEED(frames()->n == FL_FRAMES && frames()->at[0].sp == 100000 - 32);
	NEED(frames()->at[FL_FRAMES - 1].sp != sp);
	for (uint32_t i = 0; frames()->n == FL_FRAMES && i < 10000; i++)
		begin(&one, sp -= 32);
	NEED(frames()->n == 0 || frames()->n == 1);	/* they do not end: begin anew */
}

static void frames_of_older_periods_make_room(void **unused)
{
	(void)unused;
	assert_int_equal(runs(fill_frames), 0);
}

/* In parts of a tick, each more than all clocks in it can say. */
static void tell_prices(void)
{
	g->m->session[0].probes_take = (struct fl_probes_take){
		.timed = { 1000000 * FL_TICK_PARTS }, .looked = { 100000 * FL_TICK_PARTS },
		.counted = { 10000 * FL_TICK_PARTS },
	};
}

/* Its entry says it: of the next one, which switches its function off, and is no sample, as
 * of one that is; of five that are met at the profiling functions their looks, at both
 * ends; and of all six, whose exits are on, their counts. */
static void call_in_a_timed_one(struct rig *unused)
{
	const struct flick_record *end_of_ring;

	(void)unused;
	g->m->session[0].samples = 1;
	open_probes();
	tell_prices();
	begin(&one, 1000);
	for (int i = 0; i < 6; i++)
		call(&one, 900);
	end(&one, 1000);
	end_of_ring = (const void *)fl_channel_own_slot()->ring[0].ptr;
	NEED(end_of_ring[-2].sp / 10000 == 100 + (5 * 2 + 1) * 10 + 6);
	fl_sample_turn();
	begin(&one, 1000);
	call(&two, 900);			/* it is timed */
	end(&one, 1000);
	end_of_ring = (const void *)fl_channel_own_slot()->ring[0].ptr;
	NEED(end_of_ring[-4].sp == 0 && end_of_ring[-2].sp / 10000 == 100);
}

static void what_probes_in_a_call_took_is_told_with_it(void **unused)
{
	(void)unused;
	assert_int_equal(runs(call_in_a_timed_one), 2 * 3);
}

/* ---- which calls are timed -------------------------------------------------------------- */

/* By longjmp, say. Of those beyond K none is timed. */
static void never_end(struct rig *unused)
{
	(void)unused;
	g->m->session[0].samples = 3;
	open_probes();
	for (uint32_t n = 0; n < 1000; n++) {
		NEED((bool)row_of(&one)->is_off == (n > 3));
		begin(&one, 100000 - n * 100);
	}
	NEED(frames()->n == 3 && counted(&one) == 1000);
	call(&two, 1000);
	NEED(!row_of(&two)->is_off);
	begin(&two, 1000000);			/* whoever comes further up finds them left */
	NEED(is_off(&one) && frames()->n == 1);
	fl_sample_turn();
	NEED(!is_off(&one));
}

static void calls_that_never_end_do_not_keep_a_function_on(void **unused)
{
	(void)unused;
	assert_int_equal(runs(never_end), 2);
}

/* Of a timed call's function others begin and end in it, in its machine frame (bodies
 * inlined into themselves) and below, and do not end it. */
static void call_within(struct rig *unused)
{
	(void)unused;
	open_probes();
	begin(&one, 1000);
	begin(&one, 1000);
	begin(&one, 900);
	begin(&one, 900);
	end(&one, 900);
	end(&one, 900);
	end(&one, 1000);
	NEED(frames()->n == 1);
	begin(&one, 900);
	end(&one, 880);				/* with an array of variable length */
	begin(&one, 800);
	exit_by_jump(&one, 900);
	NEED(frames()->n == 1);
	end(&one, 984);				/* arguments stand */
	NEED(frames()->n == 0 && is_off(&one));
}

static void untimed_calls_end_no_timed_one(void **unused)
{
	(void)unused;
	assert_int_equal(runs(call_within), 2);
}

/* A timed call was left by longjmp; another begins where it did. */
static void leave_and_begin_again(struct rig *unused)
{
	(void)unused;
	open_probes();
	begin(&one, 1000);
	call(&one, 1000);
	begin(&one, 1000);
	exit_by_jump(&one, 1008);
	end(&one, 1100);			/* one further out, that nobody saw begin */
	NEED(frames()->n == 1 && !is_off(&one));
	begin(&one, 1100);
	NEED(frames()->n == 0 && is_off(&one));
}

static void a_call_that_was_left_is_not_ended_by_the_next(void **unused)
{
	(void)unused;
	assert_int_equal(runs(leave_and_begin_again), 0);
}

/* A thread ends inside; another gets its frames, and stands where it stood. */
static void end_in_a_call(struct rig *unused)
{
	struct fl_frames *of;

	(void)unused;
	open_probes();
	begin(&one, 1000);
	of = fl_channel_own_slot()->ring[0].frames;
	fl_channel_on_frames(of);
	NEED(of->n == 0);
	call(&one, 1000);
	NEED(of->n == 0);
	fl_sample_turn();
	call(&one, 1000);
	NEED(is_off(&one));
}

static void a_call_that_its_thread_ends_in_is_no_sample(void **unused)
{
	(void)unused;
	assert_int_equal(runs(end_in_a_call), 2);
}

/* One that was found since, or whose thread had loaded where to go, goes where the others
 * do: exits are on while a timed call is open. */
static void find_while_open(struct rig *unused)
{
	uintptr_t go = fl_probe_routine(FL_ACT_SAMPLE, FL_ABI);

	(void)unused;
	open_probes();
	begin(&one, 1000);
	fl_table.probes[one.entry].go = &go;
	fl_table.probes[one.entry].reached = FL_REACHED_BY_GLUE;	/* as with a site */
	call(&one, 900);
	NEED(go == fl_probe_routine(FL_ACT_AFTER, FL_ABI) && fl_probe_is_on(one.exit));
	end(&one, 1000);
	NEED(go == fl_probe_routine(FL_ACT_COUNT, FL_ABI) && is_off(&one));
}

static void an_entry_counts_and_looks_while_a_call_is_open(void **unused)
{
	(void)unused;
	assert_int_equal(runs(find_while_open), 2);
}

/* Fork's child has another slot, and its exits are off, or of calls of its own. */
static void fork_in_a_call(struct rig *unused)
{
	(void)unused;
	open_probes();
	begin(&one, 1000);
	begin(&two, 900);
	fl_sample_turn();
	begin(&two, 800);
	fl_sample_in_child();
	NEED(row_of(&one)->period << 32 == 0 && row_of(&two)->period << 32 == 0);
	NEED(is_off(&two) && !is_off(&one));
	end(&two, 800);
	end(&two, 900);
	end(&one, 1000);
	NEED(frames()->n == 0);
}

static void a_call_that_was_forked_in_is_its_parents(void **unused)
{
	(void)unused;
	assert_int_equal(runs(fork_in_a_call), 0);
}

/* Exits are on while a call is open: others of its function pay for that as for counts,
 * and where there is no credit the call is given up, and told as having lasted until then. */
static void outlast_credit(struct rig *unused)
{
	struct fl_seldom *s = &g->m->session[0].seldom;
	const struct flick_record *told;
	uint64_t gave_up;

	(void)unused;
	open_probes();
	s->credit = 2 * 9;
	s->round = 1;
	begin(&one, 1000);
	for (uint32_t i = 0; i < 2 * FL_COUNT_BLOCK; i++)
		call(&one, 900);
	NEED(s->credit < 2 * 9 && frames()->n == 1 && fl_probe_is_on(one.exit));
	s->credit = 0;
	for (uint32_t i = 0; i < 2 * FL_COUNT_BLOCK; i++)
		exit_by_jump(&one, 900);
	NEED(is_off(&one) && fl_probe_is_on(one.entry));
	gave_up = row_of(&one)->gave_up;
	let_exit(&one);
	end(&one, 1000);
	NEED(frames()->n == 0 && gave_up > 0);
	told = (const struct flick_record *)fl_channel_own_slot()->ring[0].ptr - 2;
	NEED(told[0].probe == one.entry && told[0].tsc < gave_up && told[1].tsc == gave_up);
	NEED(told[1].probe == fl_typed(FLICK_TYPE_GIVEN_UP, one.entry));
}

static void a_long_call_is_given_up_where_there_is_no_credit(void **unused)
{
	(void)unused;
	assert_int_equal(runs(outlast_credit), 2);
}

/* What is called more often than it may be timed is timed a call in so many, and then not
 * for the rest of an epoch; what is called as often goes on. */
static void call_at_a_rate(struct rig *unused)
{
	enum { EPOCH_US = 3000, EPOCHS = 12, MOST = FL_GROUPS };
	uint32_t until = 0;

	(void)unused;
	g->m->session[0].samples = 1;
	g->m->session[0].epoch_us = EPOCH_US;
	open_probes();
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		for (until = 0; !row_of(&one)->is_off && until < 10000; until++)
			call(&one, 1000);
		NEED(until >= 1 && until < 10000);
		while (row_of(&one)->is_off) {	/* until an epoch of its group */
			fl_os_sleep_us(EPOCH_US);
			fl_sample_turn();
		}
	}
	NEED(row_of(&one)->gap == 32 && until >= MOST * 8 && until <= MOST * 64);
	for (int i = 0; i < 400; i++) {
		call(&one, 1000);
		fl_os_sleep_us(EPOCH_US / 4);
		fl_sample_turn();
	}
	NEED(row_of(&one)->gap < 8);
}

static void calls_of_a_function_are_timed_at_intervals(void **unused)
{
	(void)unused;
	runs(call_at_a_rate);
}

/* A cycle of all groups, which took `*most` ticks or less, and not much less. */
static uint64_t pass_a_cycle(uint64_t *most)
{
	uint64_t before, least;

	do {
		before = fl_arch_ticks();
		fl_pick_note_cycle();
		least = fl_arch_ticks();
		fl_os_sleep_us(2000);
		least = fl_arch_ticks() - least;
		fl_pick_note_cycle();
		*most = fl_arch_ticks() - before;
	} while (*most > least + least / 8);
	return least;
}

/* A round of calls that were `pace` ticks apart is over, as far as its function can tell. */
static bool end_round(struct fl_function *f, uint64_t pace)
{
	const uint64_t gap = f->gap + !f->gap;

	return fl_pick_goes_on(f, f->since + pace * gap * fl_pick_most());
}

/* The function of one probe, of which a hundred calls are timed in a cycle; the cycle's epochs
 * have passed. */
static struct fl_function *open_function(uint64_t *epoch)
{
	uint64_t most;

	g->m->session[0].samples = 100;
	open_probes();
	*epoch = pass_a_cycle(&most) / FL_GROUPS;
	return &fl_table.functions[fl_table.probes[one.entry].function];
}

/* The first round is of K calls, the next ones are of more. */
static void stand_for_a_cycle(struct rig *unused)
{
	struct fl_function *f;
	uint64_t most, epoch, pace;

	(void)unused;
	g->m->session[0].samples = 100;
	open_probes();
	f = &fl_table.functions[fl_table.probes[one.entry].function];
	NEED(fl_pick_most() == 100 && !end_round(f, 2000));
	epoch = pass_a_cycle(&most) / FL_GROUPS;
	NEED(fl_pick_most() == 400);
	pace = epoch / 4000;
	f->pace = f->pace / 2001 * pace;	/* 2000 and 1, if it was told */
	fl_pick_begin(f);
	NEED(f->gap == 2 && f->stands >= 39 && f->stands <= 46);
	NEED(!end_round(f, pace));
	fl_pick_begin(f);
	NEED(f->gap == 4 && f->stands >= 39 && f->stands <= 46);
}

static void a_timed_call_stands_for_its_part_of_a_cycle(void **unused)
{
	(void)unused;
	runs(stand_for_a_cycle);
}

/* At twice the gap it is longer than an epoch: others follow it at once. */
static void stand_for_itself(struct rig *unused)
{
	struct fl_function *f;
	uint64_t epoch;

	(void)unused;
	f = open_function(&epoch);
	NEED(!end_round(f, epoch / 500));
	fl_pick_begin(f);
	NEED(f->gap == 2 && f->stands == 2);
	NEED(end_round(f, epoch / 500) && f->stands == 2);
}

static void a_round_that_goes_on_stands_for_its_own_calls(void **unused)
{
	(void)unused;
	runs(stand_for_itself);
}

/* A round of calls 100 times as often as the rounds before or behind it. */
static void stand_in_phases(struct rig *unused)
{
	enum { OFTEN = 4000, SELDOM = 40 };	/* calls an epoch */
	struct fl_function *f;
	uint64_t most, epoch, often, seldom;

	(void)unused;
	f = open_function(&epoch);
	often = epoch / OFTEN;
	seldom = epoch / SELDOM;
	for (int i = 0; i < 2; i++) {
		NEED(!end_round(f, often));
		fl_pick_begin(f);
	}
	NEED(f->gap == 4 && f->stands >= 39 && f->stands <= 46);
	NEED(fl_pick_stands(f, 10, f->since + often * 40) == f->stands);
	NEED(fl_pick_stands(f, 10, f->since + often * 150) == f->stands);
	NEED(fl_pick_stands(f, 10, f->since + seldom * 40) == 4);
	most = fl_pick_stands(f, 10, f->since + often * 200);
	NEED(most >= 7 && most <= 10);
	NEED(fl_pick_stands(f, 10, f->since - 1) == f->stands);

	NEED(end_round(f, epoch / 500) && f->stands == 4);
	for (int i = 0; i < 3; i++) {
		f->gap = 4;
		NEED(!end_round(f, often));
		fl_pick_begin(f);
		most = f->stands + 4;	/* the second stands for what the first did not */
		NEED(i == 1 ? most >= 2 * 39 && most <= 2 * 46 : most >= 43 && most <= 50);
	}
}

/* Rounds that are now in a burst, now beside one. */
static void stand_in_bursts(struct rig *unused)
{
	struct fl_function *f;
	uint64_t epoch;

	(void)unused;
	f = open_function(&epoch);
	for (int i = 0; i < 6; i++) {
		f->gap = 1;
		NEED(!end_round(f, epoch / (i % 2 ? 40000 : 1000)));
		fl_pick_begin(f);
		NEED(fl_pick_stands(f, 10, f->since + epoch) == f->stands);
		NEED(f->stands <= 480);
	}
}

static void calls_in_bursts_stand_for_what_the_last_round_says(void **unused)
{
	(void)unused;
	runs(stand_in_bursts);
}

static void where_a_phase_begins_calls_stand_for_its_own(void **unused)
{
	(void)unused;
	runs(stand_in_phases);
}

/* Else it would begin behind what the epoch began in, which is likely to be long. */
static void begin_later(struct rig *unused)
{
	enum { ROUNDS = 20, MOST = 400 };
	uint64_t epoch, since;
	struct fl_function *f;
	uint32_t drawn = 0;

	(void)unused;
	f = open_function(&epoch);
	for (int i = 0; i < ROUNDS; i++) {
		NEED(!end_round(f, epoch / 100000));
		fl_pick_begin(f);
		NEED(f->ahead < MOST * f->gap / 2);
		drawn += f->ahead > MOST / 2;
	}
	NEED(drawn > 0);
	since = f->since;
	f->ahead = 3;
	f->gap = f->wait = 0;
	for (int i = 0; i < 3; i++)
		call(&one, 1000);
	NEED(f->begun == 0 && f->since > since);
	call(&one, 1000);
	NEED(f->begun == 1);
}

static void a_round_begins_some_calls_behind_its_epoch(void **unused)
{
	(void)unused;
	runs(begin_later);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_exit_by_jump_ends_the_outermost_below),
		TEST(an_exit_by_call_ends_its_own_or_the_only_one),
		TEST(a_handler_may_end_what_is_just_found),
		TEST(calls_that_were_left_are_no_callers),
		TEST(frames_of_older_periods_make_room),
		TEST(what_probes_in_a_call_took_is_told_with_it),
		TEST(calls_that_never_end_do_not_keep_a_function_on),
		TEST(untimed_calls_end_no_timed_one),
		TEST(a_call_that_was_left_is_not_ended_by_the_next),
		TEST(a_call_that_its_thread_ends_in_is_no_sample),
		TEST(an_entry_counts_and_looks_while_a_call_is_open),
		TEST(a_call_that_was_forked_in_is_its_parents),
		TEST(a_long_call_is_given_up_where_there_is_no_credit),
		TEST(calls_of_a_function_are_timed_at_intervals),
		TEST(a_timed_call_stands_for_its_part_of_a_cycle),
		TEST(a_round_that_goes_on_stands_for_its_own_calls),
		TEST(where_a_phase_begins_calls_stand_for_its_own),
		TEST(calls_in_bursts_stand_for_what_the_last_round_says),
		TEST(a_round_begins_some_calls_behind_its_epoch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
