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

static int32_t parent_is(const void *arg, int32_t pid)
{
	return pid == fl_os_pid() ? 0 : *(const int32_t *)arg;
}

/* Of whom the parents are known, what others have there is nothing. */
static void a_body_is_ones_own_or_ones_parents(void **state)
{
	struct fl_body_row *rows = fl_shm_bodies(rig->m);
	int32_t parent = OTHER + 1;

	(void)state;
	bodies.parent = parent_is;
	bodies.arg = &parent;
	fl_channel_tell_body(fl_os_pid(), 1, 0x1000, 8);
	fl_channel_tell_body(fl_os_pid(), 2, 0x2000, 8);
	rows[1].pid = OTHER;
	assert_null(fl_originals_body(&bodies, OTHER, 0x1000));	/* its parent is its own */
	parent = fl_os_pid();
	assert_int_equal(fl_originals_body(&bodies, OTHER, 0x1000)->function, 1);
	assert_int_equal(fl_originals_body(&bodies, OTHER, 0x2000)->function, 2);
	assert_null(fl_originals_body(&bodies, fl_os_pid(), 0x2000));
}

static void of_many_processes_at_one_place_each_has_its_own(void **state)
{
	struct fl_body_row *rows = fl_shm_bodies(rig->m);

	(void)state;
	for (int32_t i = 0; i < ROWS; i++) {
		fl_channel_tell_body(fl_os_pid(), (uintptr_t)i + 1, 0x1000, 8);
		rows[i].pid = OTHER + i;
	}
	for (int32_t i = 0; i < ROWS; i++)
		assert_int_equal(fl_originals_at(&bodies, OTHER + i, 0x1000), i + 1);
}

/* As of a process that has become another program. */
static void what_was_told_last_is_there(void **state)
{
	(void)state;
	fl_channel_tell_body(fl_os_pid(), 1, 0x2000, 8);
	fl_channel_tell_body(fl_os_pid(), 2, 0x1000, 0x20);
	fl_channel_tell_body(fl_os_pid(), 3, 0x1000, 0x10);
	fl_channel_tell_body(fl_os_pid(), 4, 0x1ff8, 0x10);
	assert_int_equal(original(0x1000), 3);
	assert_int_equal(original(0x1010), 2);
	assert_int_equal(original(0x1ff8), 4);
}

static void a_block_is_its_processs_or_its_parents(void **state)
{
	int32_t parent = fl_os_pid();
	struct fl_glue_range r;

	(void)state;
	bodies.parent = parent_is;
	bodies.arg = &parent;
	for (uint32_t i = 0; i < 3; i++)
		fl_channel_tell_glue((struct fl_glue_range){ .lo = 0x1000, .hi = 0x2000,
							     .table_bytes = i });
	fl_shm_glue(rig->m)[2].pid = OTHER;
	assert_int_equal(fl_originals_block(&bodies, OTHER, 0x1fff, &r), 3);
	assert_int_equal(r.table_bytes, 2);
	assert_int_equal(fl_originals_block(&bodies, OTHER + 1, 0x1000, &r), 2);
	assert_int_equal(r.table_bytes, 1);	/* the other one has no bodies */
	assert_int_equal(fl_originals_block(&bodies, OTHER, 0x2000, &r), 0);
	parent = 0;
	assert_int_equal(fl_originals_block(&bodies, OTHER + 1, 0x1000, &r), 0);
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
		TEST(a_body_is_ones_own_or_ones_parents),
		TEST(of_many_processes_at_one_place_each_has_its_own),
		TEST(what_was_told_last_is_there),
		TEST(a_block_is_its_processs_or_its_parents),
		TEST(a_row_that_is_not_written_is_nobodys_until_it_is),
		TEST(what_there_is_no_room_for_is_said),
		TEST(who_looks_is_not_kept_busy),
		TEST(what_a_target_scribbles_is_only_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
