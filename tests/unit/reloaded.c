/*
 * unit/reloaded: what is loaded again is timed or counted as its function is by then, whatever
 * came meanwhile.
 *
 * Each target is a child, and says what was wrong by its status.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sampling-rig.h"

/* Its turn comes while it is gone. Off it comes back with its exits off, and on it is timed, by
 * its glue, too, which did then what it did when it went. */
static void go_for_an_epoch(struct rig *unused)
{
	uintptr_t go_to = fl_probe_routine(FL_ACT_SAMPLE, FL_ABI);

	(void)unused;
	open_probes();
	fl_table.probes[one.entry].go = &go_to;
	for (int epoch = 0; epoch < 3; epoch++) {
		call(&one, 1000);
		go(&one);
		come_back(&one);
		NEED(is_off(&one) && go_to == fl_probe_routine(FL_ACT_COUNT, FL_ABI));
		go(&one);
		fl_sample_turn();
		come_back(&one);
		NEED(!is_off(&one) && fl_probe_is_on(one.exit));
		NEED(go_to == fl_probe_routine(FL_ACT_SAMPLE, FL_ABI));
	}
}

static void what_is_gone_when_its_turn_comes_is_timed_when_it_is_back(void **unused)
{
	(void)unused;
	assert_int_equal(runs(go_for_an_epoch), 3 * 2);
}

/* One has a call open that is timed, of the other none is ever timed. */
static void come_back_in_between(struct rig *unused)
{
	uintptr_t go_to = fl_probe_routine(FL_ACT_SAMPLE, FL_ABI);

	(void)unused;
	open_probes();
	fl_table.probes[one.entry].go = &go_to;
	begin(&one, 1000);
	call(&one, 900);
	come_back(&one);
	NEED(row_of(&one)->is_off && fl_probe_is_on(one.exit));
	NEED(go_to == fl_probe_routine(FL_ACT_AFTER, FL_ABI));
	end(&one, 1000);
	NEED(is_off(&one));
	fl_table.functions[fl_table.probes[two.entry].function].has_no_end = 1;
	fl_table.probes[two.entry].go = &go_to;
	come_back(&two);
	NEED(go_to == fl_probe_routine(FL_ACT_COUNT, FL_ABI));
}

static void what_comes_back_does_as_its_function(void **unused)
{
	(void)unused;
	assert_int_equal(runs(come_back_in_between), 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_is_gone_when_its_turn_comes_is_timed_when_it_is_back),
		TEST(what_comes_back_does_as_its_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
