/*
 * unit/perf-originals: an address in a second body is taken for its function's, of the process
 * that told of it or of its child; whatever a target writes there, nothing else is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "channel-rig.h"
#include "channel/slot.h"
#include "perf/originals.h"
#include "os/os.h"

enum { ROWS = 40, BLOCKS = 5, OTHER = 1000000 };

static struct rig *rig;
static struct fl_originals *bodies;

static int set_up(void **state)
{
	(void)state;
	rig = rig_open(2, ROWS, FL_ACT_TIME);
	rig->m->n_body_blocks = BLOCKS;
	rig->m->body_rows = ROWS / BLOCKS;
	fl_region = rig->m;
	fl_first = (struct fl_channel){ .region = rig->m };
	return fl_originals_open(&bodies, rig->m);
}

static int tear_down(void **state)
{
	(void)state;
	fl_originals_close(bodies);
	rig_close(rig);
	return 0;
}

static uint64_t original(uint64_t at)
{
	return fl_originals_at(bodies, fl_os_pid(), at);
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
	(void)state;
	fl_channel_tell_body(fl_os_pid(), 1, 0x1000, 8);
	fl_channel_tell_body(OTHER, 2, 0x1000, 8);
	fl_channel_tell_body(OTHER, 3, 0x2000, 8);
	assert_int_equal(original(0x1000), 1);
	assert_int_equal(fl_originals_at(bodies, OTHER, 0x1000), 2);
	assert_int_equal(fl_originals_at(bodies, OTHER + 1, 0x2000), 3);
}

static int32_t parent_is(const void *arg, int32_t pid)
{
	return pid == fl_os_pid() ? 0 : *(const int32_t *)arg;
}

/* Of whom the parents are known, what others have there is nothing. */
static void a_body_is_ones_own_or_ones_parents(void **state)
{
	int32_t parent = OTHER + 1;

	(void)state;
	bodies->parent = parent_is;
	bodies->arg = &parent;
	fl_channel_tell_body(fl_os_pid(), 1, 0x1000, 8);
	fl_channel_tell_body(OTHER, 2, 0x2000, 8);
	assert_null(fl_originals_body(bodies, OTHER, 0x1000));	/* its parent is its own */
	parent = fl_os_pid();
	assert_int_equal(fl_originals_body(bodies, OTHER, 0x1000)->function, 1);
	assert_int_equal(fl_originals_body(bodies, OTHER, 0x2000)->function, 2);
	assert_null(fl_originals_body(bodies, fl_os_pid(), 0x2000));
}

static void of_many_processes_at_one_place_each_has_its_own(void **state)
{
	(void)state;
	for (int32_t i = 0; i < BLOCKS; i++)
		fl_channel_tell_body(OTHER + i, (uintptr_t)i + 1, 0x1000, 8);
	for (int32_t i = 0; i < BLOCKS; i++)
		assert_int_equal(fl_originals_at(bodies, OTHER + i, 0x1000), i + 1);
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
	bodies->parent = parent_is;
	bodies->arg = &parent;
	for (uint32_t i = 0; i < 3; i++)
		fl_channel_tell_glue((struct fl_glue_range){ .lo = 0x1000, .hi = 0x2000,
							     .table_bytes = i });
	fl_shm_glue(rig->m)[2].pid = OTHER;
	assert_int_equal(fl_originals_block(bodies, OTHER, 0x1fff, &r), 3);
	assert_int_equal(r.table_bytes, 2);
	assert_int_equal(fl_originals_block(bodies, OTHER + 1, 0x1000, &r), 2);
	assert_int_equal(r.table_bytes, 1);	/* the other one has no bodies */
	assert_int_equal(fl_originals_block(bodies, OTHER, 0x2000, &r), 0);
	parent = 0;
	assert_int_equal(fl_originals_block(bodies, OTHER + 1, 0x1000, &r), 0);
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
	bodies->credit = 0;
	fl_channel_tell_body(fl_os_pid(), 1, 0x2000, 8);
	assert_int_equal(original(0x2000), 1);
	bodies->credit = 0;
	bodies->n_rows = fl_shm_body_blocks(rig->m)->n = UINT32_MAX;
	assert_int_equal(original(0x1000), 0x1000);
}

static void what_a_target_scribbles_is_only_an_address(void **state)
{
	struct fl_body_row *rows = fl_shm_bodies(rig->m);
	struct fl_body_block *blocks = fl_shm_body_blocks(rig->m);

	(void)state;
	for (uint32_t i = 0; i < ROWS; i++)
		rows[i] = (struct fl_body_row){ .lo = UINT64_MAX - i, .bytes = UINT32_MAX,
						.function = i,
						.pid = (int32_t)(i * 0x9e3779b9) };
	for (uint32_t k = 0; k < 100; k++) {
		for (uint32_t i = 0; i < BLOCKS; i++)
			blocks[i] = (struct fl_body_block){
				.owner = (k + i) * 0x9e3779b97f4a7c15, .n = UINT32_MAX - k };
		rig->m->body_claims++;
		assert_true(original(UINT64_MAX) < ROWS);
		assert_int_equal(original(0x1000), 0x1000);
		assert_true(bodies->n_held <= ROWS);
	}
}

/* ---- blocks are used again --------------------------------------------------------------- */

static bool has_heirs;

static bool say_heirs(const void *arg, int32_t pid)
{
	(void)arg;
	(void)pid;
	return has_heirs;
}

/* Whatever the last one took. */
static void turn(uint64_t settled)
{
	bodies->swept_ns = 0;
	fl_originals_turn(bodies, settled);
}

static uint64_t owner_of(uint32_t block)
{
	return fl_shm_body_blocks(rig->m)[block].owner;
}

/* Rows of all blocks but one are a child's, which has ended and whose parent has not waited. */
static pid_t leave_rows_of_a_child(void)
{
	pid_t pid = fork();
	siginfo_t ended;

	if (!pid) {
		for (uintptr_t i = 0; i < ROWS - ROWS / BLOCKS; i++)
			fl_channel_tell_body(fl_os_pid(), i + 1, 0x1000 + i * 0x10, 8);
		_exit(0);
	}
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	return pid;
}

static void who_has_ended_leaves_room(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		pid_t pid = leave_rows_of_a_child();

		turn(0);
		assert_int_equal(fl_originals_at(bodies, pid, 0x1008 - 1), 1);
		assert_int_equal(owner_of(0), fl_body_owner(pid, 0));
		turn(UINT64_MAX);
		assert_int_equal(fl_originals_at(bodies, pid, 0x1000), 0x1000);
		assert_int_equal(owner_of(0), 0);
		assert_int_equal(bodies->n_held + bodies->n_used + bodies->n_ended, 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	assert_int_equal(rig->m->left_out, 0);
}

/* Their samples are in bodies of the parent's. */
static void as_long_as_a_child_of_its_lives_its_rows_are_kept(void **state)
{
	pid_t pid = leave_rows_of_a_child();

	(void)state;
	has_heirs = true;
	bodies->has_heirs = say_heirs;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	turn(UINT64_MAX);
	turn(UINT64_MAX);
	assert_int_equal(owner_of(0), fl_body_owner(pid, 0));
	has_heirs = false;
	turn(UINT64_MAX);
	assert_int_equal(owner_of(0), 0);
}

static void claim_all_of(int32_t pid, uint32_t image)
{
	for (uintptr_t i = 0; i < ROWS; i++)
		fl_body_put(&fl_first, image, &(struct fl_body_row){
			0x1000 + i * 0x10, i + 1, 8, pid });
}

static void rows_of_who_lives_stay(void **state)
{
	(void)state;
	claim_all_of(fl_os_pid(), 7);
	turn(UINT64_MAX);
	assert_int_equal(original(0x1000), 1);
	assert_int_equal(owner_of(BLOCKS - 1), fl_body_owner(fl_os_pid(), 7));
	assert_int_equal(rig->m->left_out, 0);
	claim_all_of(fl_os_pid(), 8);
	assert_int_equal(rig->m->left_out, FL_LEFT_BODIES);
}

/* The one before has ended, though the process has not. */
static void an_exec_leaves_room(void **state)
{
	(void)state;
	claim_all_of(fl_os_pid(), 7);
	fl_shm_processes(rig->m)[1] = (struct fl_process){ .pid = fl_os_pid(), .image = 8 };
	rig->m->n_processes = 2;
	turn(UINT64_MAX);
	assert_int_equal(owner_of(0), 0);
	claim_all_of(fl_os_pid(), 8);
	assert_int_equal(original(0x1000), 1);
	turn(UINT64_MAX);
	assert_int_equal(owner_of(0), fl_body_owner(fl_os_pid(), 8));
}

static void who_asks_for_the_dead_is_not_kept_busy(void **state)
{
	(void)state;
	claim_all_of(OTHER, 1);
	bodies->swept_ns = fl_os_monotonic_ns();
	bodies->sweep_took_ns = 1000000000;
	fl_originals_turn(bodies, UINT64_MAX);
	assert_int_equal(owner_of(0), fl_body_owner(OTHER, 1));
	turn(UINT64_MAX);
	assert_int_equal(owner_of(0), 0);
}

/* They are not what was there before, and not told when they are not written. */
static void rows_that_are_used_again_are_empty_at_first(void **state)
{
	pid_t pid = leave_rows_of_a_child();

	(void)state;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	turn(UINT64_MAX);
	for (uint32_t i = 0; i < ROWS; i++)
		assert_int_equal(fl_shm_bodies(rig->m)[i].lo, 0);
	claim_all_of(OTHER, 1);
	fl_shm_bodies(rig->m)[0].lo = 0;
	assert_int_equal(fl_originals_at(bodies, OTHER, 0x1000), 0x1000);
	fl_shm_bodies(rig->m)[0].lo = 0x1000;
	assert_int_equal(fl_originals_at(bodies, OTHER, 0x1000), 1);
}

/* Wherever it is killed. */
static void a_block_without_rows_is_given_back(void **state)
{
	(void)state;
	fl_shm_body_blocks(rig->m)[0].owner = fl_body_owner(OTHER, 1);
	claim_all_of(fl_os_pid(), 1);
	assert_int_equal(rig->m->left_out, FL_LEFT_BODIES);
	turn(UINT64_MAX);
	assert_int_equal(owner_of(0), 0);
	assert_int_equal(owner_of(1), fl_body_owner(fl_os_pid(), 1));
	fl_body_put(&fl_first, 1, &(struct fl_body_row){ 0x9000, 99, 8, fl_os_pid() });
	assert_int_equal(original(0x9000), 99);		/* who has found none looks again */
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
		TEST(who_has_ended_leaves_room),
		TEST(as_long_as_a_child_of_its_lives_its_rows_are_kept),
		TEST(rows_of_who_lives_stay),
		TEST(an_exec_leaves_room),
		TEST(who_asks_for_the_dead_is_not_kept_busy),
		TEST(rows_that_are_used_again_are_empty_at_first),
		TEST(a_block_without_rows_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
