/*
 * unit/cli-originals: an address in a second body is taken for its function's, of the process
 * that told of it or of its child; whatever a target writes there, nothing else is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "channel-rig.h"
#include "channel/slot.h"
#include "cli/originals.h"
#include "os/os.h"

enum { ROWS = 40, OTHER = 1000000 };

static struct rig *rig;
static struct fl_originals bodies;

static int set_up(void **state)
{
	(void)state;
	rig = rig_open(2, ROWS, FL_ACT_TIME);
	rig->m->max_sites = ROWS;
	fl_region = rig->m;
	fl_originals_open(&bodies, rig->m);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fl_originals_close(&bodies);
	rig_close(rig);
	return 0;
}

static uint64_t original(uint64_t at)
{
	return fl_originals_at(&bodies, fl_os_pid(), at);
}

static void every_byte_of_a_body_is_its_functions(void **state)
{
	(void)state;
	for (uintptr_t i = ROWS; i-- > 0;)	/* in no order */
		fl_channel_tell_body(fl_os_pid(), 0x1000 + i, 0x100000 + i * 0x20, 0x10);
	for (uintptr_t i = 0; i < ROWS; i++) {
		uintptr_t lo = 0x100000 + i * 0x20;

		assert_int_equal(original(lo), 0x1000 + i);
		assert_int_equal(original(lo + 0xf), 0x1000 + i);
		assert_int_equal(original(lo + 0x10), lo + 0x10);
		assert_int_equal(original(lo - 1), lo - 1);
	}
}

static void what_is_told_later_is_found(void **state)
{
	(void)state;
	for (uintptr_t i = 1; i < ROWS; i++) {
		assert_int_equal(original(i * 0x100), i * 0x100);
		fl_channel_tell_body(fl_os_pid(), i, i * 0x100, 8);
		assert_int_equal(original(i * 0x100 + 7), i);
		assert_int_equal(original(0x100), 1);
	}
}

static void a_child_has_its_parents_and_two_processes_their_own(void **state)
{
	struct fl_body_row *rows = fl_shm_bodies(rig->m);

	(void)state;
	fl_channel_tell_body(fl_os_pid(), 1, 0x1000, 8);
	fl_channel_tell_body(fl_os_pid(), 2, 0x1000, 8);
	rows[1].pid = OTHER;
	fl_channel_tell_body(fl_os_pid(), 3, 0x2000, 8);
	rows[2].pid = OTHER;
	assert_int_equal(original(0x1000), 1);
	assert_int_equal(fl_originals_at(&bodies, OTHER, 0x1000), 2);
	assert_int_equal(fl_originals_at(&bodies, OTHER + 1, 0x2000), 3);
}

/* As it is when a process was killed between the two, or is just at it. */
static void a_row_that_is_not_written_is_nobodys_until_it_is(void **state)
{
	struct fl_body_row *rows = fl_shm_bodies(rig->m);

	(void)state;
	fl_channel_tell_body(fl_os_pid(), 1, 0x1000, 8);
	rows[0].lo = 0;
	assert_int_equal(original(0x1000), 0x1000);
	assert_int_equal(original(0), 0);
	rows[0].lo = 0x1000;
	assert_int_equal(original(0x1000), 1);
}

static void what_there_is_no_room_for_is_said(void **state)
{
	(void)state;
	for (uintptr_t i = 1; i <= ROWS + 3; i++)
		fl_channel_tell_body(fl_os_pid(), i, i * 0x100, 8);
	assert_int_equal(rig->m->left_out, FL_LEFT_BODIES);
	assert_int_equal(original(ROWS * 0x100), ROWS);
	assert_int_equal(original((ROWS + 1) * 0x100), (ROWS + 1) * 0x100);
}

/* A few are looked at for each sample in none of them; all, not so often. */
static void who_looks_is_not_kept_busy(void **state)
{
	(void)state;
	bodies.credit = 0;
	fl_channel_tell_body(fl_os_pid(), 1, 0x2000, 8);
	assert_int_equal(original(0x2000), 1);
	bodies.credit = 0;
	bodies.most = rig->m->n_bodies = UINT32_MAX;
	assert_int_equal(original(0x1000), 0x1000);
}

static void what_a_target_scribbles_is_only_an_address(void **state)
{
	struct fl_body_row *rows = fl_shm_bodies(rig->m);

	(void)state;
	rig->m->n_bodies = UINT32_MAX;
	for (uint32_t i = 0; i < ROWS; i++)
		rows[i] = (struct fl_body_row){ .lo = UINT64_MAX - i, .bytes = UINT32_MAX,
						.function = i,
						.pid = (int32_t)(i * 0x9e3779b9) };
	assert_true(original(UINT64_MAX) < ROWS);
	assert_int_equal(original(0x1000), 0x1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
		TEST(every_byte_of_a_body_is_its_functions),
		TEST(what_is_told_later_is_found),
		TEST(a_child_has_its_parents_and_two_processes_their_own),
		TEST(a_row_that_is_not_written_is_nobodys_until_it_is),
		TEST(what_there_is_no_room_for_is_said),
		TEST(who_looks_is_not_kept_busy),
		TEST(what_a_target_scribbles_is_only_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
