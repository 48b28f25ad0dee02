/*
 * unit/goal.c - what a probe may become, and what becomes of its text and dispatch word:
 * every state with every bit, set and cleared, frozen and not.
 *
 * Each target is a child, and says what was wrong by its status.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "goal-rig.h"
#include "probe/second.h"

static struct rig *g;

static int set_up(void **unused)
{
	(void)unused;
	g = rig_open(4, 8, FL_ACT_SAMPLE);
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	rig_close(g);
	return 0;
}

static void runs(void (*target)(struct rig *))
{
	assert_int_equal(rig_drain(g, rig_fork(g, target)), 0);
}

/* ---- the table ------------------------------------------------------------------------ */

/* From a row to a column, and what the reader is told and a wish is answered. */
static const struct expected {
	const char *may;		/* others found armed calling muted yielded refused
					 * gone ended */
	enum fl_site_state told;
	int answer;
} expected[] = {
	[FL_PROBE_OTHERS] =	{ ".x....xx.", FL_SITE_OTHERS, FLE_REFUSED },
	[FL_PROBE_FOUND] =	{ "..xxx.xx.", FL_SITE_FOUND, FLE_REFUSED },
	[FL_PROBE_ARMED] =	{ ".....x.xx", FL_SITE_READY, 0 },
	[FL_PROBE_CALLING] =	{ ".......xx", FL_SITE_READY, 0 },
	[FL_PROBE_MUTED] =	{ ".x....xx.", FL_SITE_READY, FLE_REFUSED },
	[FL_PROBE_YIELDED] =	{ "..x...xxx", FL_SITE_READY, 0 },
	[FL_PROBE_REFUSED] =	{ "......xx.", FL_SITE_REFUSED, FLE_REFUSED },
	[FL_PROBE_GONE] =	{ ".x....x..", FL_SITE_GONE, FLE_GONE },
	[FL_PROBE_ENDED] =	{ ".......x.", FL_SITE_READY, FLE_REFUSED },
};
_Static_assert(ARRAY_LEN(expected) == FL_N_PROBE_STATES, "a row each");

static void a_state_becomes_what_the_table_says(void **unused)
{
	(void)unused;
	for (int from = 0; from < FL_N_PROBE_STATES; from++) {
		for (int to = 0; to < FL_N_PROBE_STATES; to++)
			assert_int_equal(fl_goal_may(from, to), expected[from].may[to] == 'x');
		assert_int_equal(fl_goal_told(from), expected[from].told);
		assert_int_equal(fl_goal_answer(from), expected[from].answer);
	}
}

/* ---- every state with every bit ------------------------------------------------------- */

static uint8_t text;
static uintptr_t word;

static void body(void)
{
}

static void open_probe(enum fl_kind kind)
{
	bool is_new;
	int id;

	g->m->n_sites = 0;
	NEED(!fl_patch_open(NULL) && !fl_probes_open(g->m));
	id = fl_probe_virtual((uintptr_t)body, kind, FL_FORM_NONE, &is_new);
	NEED(id == 0);
}

/* From OTHERS on, by moves that there are. Probe 0 was found when it was opened. */
static void bring_to(enum fl_probe_state state)
{
	static const enum fl_probe_state ways[FL_N_PROBE_STATES][2] = {
		[FL_PROBE_ARMED] = { FL_PROBE_ARMED },
		[FL_PROBE_YIELDED] = { FL_PROBE_ARMED, FL_PROBE_YIELDED },
		[FL_PROBE_ENDED] = { FL_PROBE_ARMED, FL_PROBE_ENDED },
		[FL_PROBE_CALLING] = { FL_PROBE_CALLING },
		[FL_PROBE_MUTED] = { FL_PROBE_MUTED },
		[FL_PROBE_REFUSED] = { FL_PROBE_REFUSED },
		[FL_PROBE_GONE] = { FL_PROBE_GONE },
	};

	for (int i = 0; i < 2 && ways[state][i]; i++) {
		if (ways[state][i] == FL_PROBE_ARMED)
			rig_arm(0, &text);
		else if (ways[state][i] == FL_PROBE_CALLING)
			fl_goal_begin(0, FL_PROBE_CALLING);
		else
			fl_goal_move(0, ways[state][i]);
	}
	NEED(fl_table.probes[0].state == state);
}

/* Said twice: here, and in goal.c. */
static bool is_on_by(enum fl_probe_state state, bool wants, unsigned holds)
{
	return !expected[state].answer && wants && !holds;
}

static bool is_text_on(enum fl_kind kind, bool serves, bool wants, unsigned holds)
{
	if (wants && !holds)
		return true;
	if (!serves || holds >= FL_HOLD_READER)
		return false;
	return kind == FL_ENTRY || !wants;
}

static void set_holds(unsigned holds)
{
	static const enum fl_hold of_one[] = {
		FL_HOLD_SAMPLED, FL_HOLD_SELDOM, FL_HOLD_WINDOW
	};

	for (size_t i = 0; i < ARRAY_LEN(of_one); i++)
		(holds & of_one[i] ? rig_hold : rig_let)(0, of_one[i]);
}

static unsigned all_holds(void)
{
	return fl_table.switches[0].holds;
}

static void set_bits(bool wants, unsigned holds)
{
	int err = expected[fl_table.probes[0].state].answer;

	NEED(fl_probe_switch(0, wants ? FL_ON : FL_OFF) == err);
	set_holds(holds);
}

static void is_as(enum fl_probe_state state, enum fl_kind kind, bool wants, unsigned holds)
{
	const struct fl_switch *s = &fl_table.switches[0];
	bool is_on = is_on_by(state, wants, holds);

	NEED(fl_probe_is_on(0) == is_on);
	NEED((state == FL_PROBE_ARMED) == (s->armed != 0));
	NEED(fl_table.sites[0].state == expected[state].told);
	if (state != FL_PROBE_ARMED)
		return;
	NEED(text == (is_text_on(kind, s->serves, wants, holds) ? ON_BYTE : OFF_BYTE));
	if (s->serves && holds < FL_HOLD_READER)
		NEED((word == fl_probe_routine_idle()) == !is_on);
}

static void none_is_there(void (*see)(uintptr_t bias))
{
	(void)see;
}

/* Text stays as it is while modules are being unloaded, and is made so behind it. */
static void set_bits_frozen(enum fl_probe_state state, bool wants, unsigned holds)
{
	uint8_t was = text;

	fl_probes_freeze();
	set_bits(wants, holds);
	NEED(text == was);
	NEED(fl_probe_is_on(0) == is_on_by(state, wants, holds));
	fl_probes_thaw(none_is_there);
}

static void walk_bits(enum fl_probe_state state, enum fl_kind kind, bool serves)
{
	const unsigned all = 2 * FL_HOLD_WINDOW;

	open_probe(kind);
	fl_table.probes[0].go = &word;
	fl_table.probes[0].asks = serves;
	bring_to(state);
	NEED(state != FL_PROBE_ARMED || fl_table.switches[0].serves == serves);
	for (unsigned from = 0; from < 2 * all; from++) {
		for (unsigned to = 0; to < 2 * all; to++) {
			set_bits(from >= all, from % all);
			is_as(state, kind, from >= all, from % all);
			if (to % 2)
				set_bits(to >= all, to % all);
			else
				set_bits_frozen(state, to >= all, to % all);
			is_as(state, kind, to >= all, to % all);
		}
	}
}

static void walk(struct rig *unused)
{
	(void)unused;
	for (int state = 1; state < FL_N_PROBE_STATES; state++) {
		for (int kind = FL_ENTRY; kind <= FL_EXIT; kind++) {
			walk_bits(state, kind, false);
			walk_bits(state, kind, true);
		}
	}
}

static void text_and_word_follow_every_bit(void **unused)
{
	(void)unused;
	runs(walk);
}

/* Who holds all off holds off those that are wanted, and those that serve others. */
static void hold_all(struct rig *unused)
{
	(void)unused;
	for (unsigned who = FL_HOLD_READER; who <= FL_HOLD_CHILD; who *= 2) {
		for (int serves = 0; serves < 2; serves++) {
			open_probe(FL_ENTRY);
			fl_table.probes[0].go = &word;
			fl_table.probes[0].asks = serves;
			bring_to(FL_PROBE_ARMED);
			word = 1;
			fl_goal_hold_all(who);
			NEED(text == ON_BYTE && !fl_probe_is_on(0));
			fl_goal_make_off(0);
			NEED(word == 1);		/* a child copies no page for it */
			is_as(FL_PROBE_ARMED, FL_ENTRY, true, who);
			set_bits(true, 0);
			is_as(FL_PROBE_ARMED, FL_ENTRY, true, who);
		}
	}
}

static void who_holds_all_off_has_the_last_word(void **unused)
{
	(void)unused;
	runs(hold_all);
}

/* ---- two sessions ------------------------------------------------------------------------ */

static void is_as_both_say(enum fl_kind kind, bool wants, unsigned holds, bool second)
{
	const struct fl_probe *p = &fl_table.probes[0];
	bool serves = fl_table.switches[0].serves, first = wants && !holds;
	uintptr_t both = fl_glue_routine(p, FL_ACT_BOTH);
	uintptr_t own = fl_glue_routine(p, FL_ACT_AFTER);

	NEED(fl_probe_is_on(0) == first && fl_goal_is_second_on(0) == second);
	NEED(first || fl_second_before(0, 0, 0) == second);
	NEED(text == (second || is_text_on(kind, serves, wants, holds) ? ON_BYTE : OFF_BYTE));
	if (serves && !first && !second)
		NEED(word == fl_probe_routine_idle());
	else
		NEED(word == (second || !first ? both : own));
}

/* Text follows the second one's wishes at the thaw. */
static void set_second(unsigned holds, bool second, bool is_frozen)
{
	uint8_t was = text;

	if (is_frozen)
		fl_probes_freeze();
	set_holds(holds);
	NEED(!fl_probe_switch(0, second ? FL_ON : FL_OFF));
	NEED(!is_frozen || text == was);
	if (is_frozen)
		fl_probes_thaw(none_is_there);
}

static void walk_both(enum fl_kind kind, bool serves, bool wants)
{
	const unsigned all = 2 * FL_HOLD_WINDOW;

	open_probe(kind);
	fl_table.probes[0].go = &word;
	fl_table.probes[0].asks = serves;
	bring_to(FL_PROBE_ARMED);
	fl_goal_of(0)->wants = wants ? FL_SESSION : 0;
	fl_table.second = fl_table.had_second = true;
	fl_switching.is_short = false;
	fl_goal_direct(0, FL_ACT_AFTER);
	for (unsigned from = 0; from < 2 * all; from++) {
		for (unsigned to = 0; to < 2 * all; to++) {
			set_second(from % all, from >= all, false);
			is_as_both_say(kind, wants, from % all, from >= all);
			set_second(to % all, to >= all, to % 2 == 0);
			is_as_both_say(kind, wants, to % all, to >= all);
		}
	}
}

static void walk_sessions(struct rig *unused)
{
	const uint8_t on[1] = { FL_ON };

	(void)unused;
	for (int which = 0; which < 8; which++)
		walk_both(which & 1 ? FL_EXIT : FL_ENTRY, which & 2, which & 4);
	NEED(fl_probe_action(0, FL_ACT_CALL) == 0 && fl_goal_of(0)->action == FL_ACT_AFTER);
	NEED(fl_probes_switch_set(on, 1) == 1);
	is_as_both_say(FL_EXIT, true, all_holds(), true);
	set_holds(0);
	NEED(fl_probe_is_on(0));
	fl_probes_end_first();
	NEED(!fl_probe_is_on(0));
	is_as_both_say(FL_EXIT, true, all_holds(), true);
	fl_second_close();
	is_as_both_say(FL_EXIT, true, all_holds(), false);
	NEED(!fl_probe_is_on(0));
}

static void two_sessions_share_text_and_word(void **unused)
{
	(void)unused;
	runs(walk_sessions);
}

/* ---- what is armed at a moment --------------------------------------------------------- */

/* It is held off by whoever holds its kind at that moment. */
static void arm_between_windows(struct rig *unused)
{
	(void)unused;
	for (int kind = FL_ENTRY; kind <= FL_EXIT; kind++) {
		open_probe(kind);
		fl_table.between = true;
		fl_table.rows[0].wanted = FL_WANTED;
		fl_goal_begin(0, FL_PROBE_CALLING);
		NEED(fl_probe_is_on(0) == (kind == FL_ENTRY));
		NEED(fl_goal_holds(0) == (kind == FL_ENTRY ? 0 : FL_HOLD_WINDOW));
		rig_let(0, FL_HOLD_WINDOW);
		NEED(fl_probe_is_on(0));
	}
}

static void what_is_armed_between_windows_waits_for_one(void **unused)
{
	(void)unused;
	runs(arm_between_windows);
}

/* What was wished while the program wrote is made so; what was refused is off. */
static void come_back(struct rig *unused)
{
	(void)unused;
	open_probe(FL_ENTRY);
	bring_to(FL_PROBE_YIELDED);
	text = OFF_BYTE;
	NEED(!fl_probe_switch(0, FL_OFF) && !fl_probe_switch(0, FL_ON) && text == OFF_BYTE);
	fl_goal_resume(0);
	is_as(FL_PROBE_ARMED, FL_ENTRY, true, 0);
	fl_goal_move(0, FL_PROBE_YIELDED);
	NEED(fl_probe_is_on(0));
	fl_table_refuse(0, FLE_OVERWRITTEN, 0);
	NEED(!fl_probe_is_on(0) && fl_probe_switch(0, FL_ON) == FLE_REFUSED);
}

static void what_comes_back_is_as_was_wished_meanwhile(void **unused)
{
	(void)unused;
	runs(come_back);
}

/* The array of the other generation is there, and says nothing until it is in force. */
static void be_of_a_generation(struct rig *unused)
{
	(void)unused;
	open_probe(FL_ENTRY);
	bring_to(FL_PROBE_ARMED);
	NEED(fl_goal_is_wanted(0));
	fl_table.in_force = fl_table.goals[1];
	NEED(!fl_goal_is_wanted(0) && !fl_probe_is_on(0) && text == ON_BYTE);
	rig_let(0, FL_HOLD_SAMPLED);
	NEED(text == OFF_BYTE);
	fl_table.in_force = fl_table.goals[0];
	rig_let(0, FL_HOLD_SAMPLED);
	NEED(text == ON_BYTE && fl_probe_is_on(0));
}

static void one_generation_is_in_force(void **unused)
{
	(void)unused;
	runs(be_of_a_generation);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_state_becomes_what_the_table_says),
		TEST(text_and_word_follow_every_bit),
		TEST(who_holds_all_off_has_the_last_word),
		TEST(two_sessions_share_text_and_word),
		TEST(what_is_armed_between_windows_waits_for_one),
		TEST(what_comes_back_is_as_was_wished_meanwhile),
		TEST(one_generation_is_in_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
