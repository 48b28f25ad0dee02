/*
 * unit/perf-mapped: what a process of a tree has mapped at the moment of a sample: fork's child
 * what its parent had, exec's image nothing of before, and a process its own until its last
 * thread has ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "perf/mapped.h"

enum { SHELL = 100, CHILD = 101, GRANDCHILD = 102, MANY = 300 };

static struct fl_mapped mapped;
static const char sh[] = "/bin/sh", cc[] = "/bin/cc", memory[] = "//anon";

static void map(int32_t pid, uint64_t lo, uint64_t hi, const char *path)
{
	const struct fl_map m = { lo, hi, 0, path };

	assert_int_equal(fl_mapped_add(&mapped, pid, &m), 0);
}

static void begin(int32_t pid, int32_t parent)
{
	assert_int_equal(fl_mapped_fork(&mapped, pid, parent), 0);
}

static const char *path_at(int32_t pid, uint64_t at)
{
	const struct fl_map *m = fl_mapped_at(fl_mapped_find(&mapped, pid), at, NULL);

	return m ? m->path : NULL;
}

static int set_up(void **state)
{
	(void)state;
	map(SHELL, 0x1000, 0x2000, memory);
	map(SHELL, 0x2000, 0x3000, sh);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fl_mapped_close(&mapped);
	memset(&mapped, 0, sizeof mapped);
	return 0;
}

static void a_child_has_what_its_parent_had(void **state)
{
	(void)state;
	begin(CHILD, SHELL);
	begin(GRANDCHILD, CHILD);
	map(SHELL, 0x3000, 0x4000, cc);
	assert_ptr_equal(path_at(GRANDCHILD, 0x2fff), sh);
	assert_null(path_at(GRANDCHILD, 0x3000));
	assert_ptr_equal(path_at(SHELL, 0x3000), cc);
	assert_int_equal(fl_mapped_find(&mapped, GRANDCHILD)->parent, CHILD);
	assert_ptr_equal(fl_mapped_find(&mapped, GRANDCHILD)->program, sh);
	assert_null(path_at(SHELL + 1000, 0x2000));
}

static void another_image_has_its_own(void **state)
{
	(void)state;
	begin(CHILD, SHELL);
	fl_mapped_exec(&mapped, CHILD);
	assert_null(path_at(CHILD, 0x2000));
	assert_int_equal(fl_mapped_find(&mapped, CHILD)->parent, 0);
	map(CHILD, 0x2000, 0x3000, cc);
	assert_ptr_equal(path_at(CHILD, 0x2000), cc);
	assert_ptr_equal(fl_mapped_find(&mapped, CHILD)->program, cc);
	assert_ptr_equal(path_at(SHELL, 0x2000), sh);
}

static void what_is_hidden_is_behind_it(void **state)
{
	const struct fl_map *m;

	(void)state;
	map(SHELL, 0x2000, 0x2800, memory);
	map(SHELL, 0x2000, 0x2800, memory);
	m = fl_mapped_at(fl_mapped_find(&mapped, SHELL), 0x2400, NULL);
	assert_ptr_equal(m->path, memory);
	m = fl_mapped_at(fl_mapped_find(&mapped, SHELL), 0x2400, m);
	assert_ptr_equal(m->path, sh);
	assert_null(fl_mapped_at(fl_mapped_find(&mapped, SHELL), 0x2400, m));
}

static void a_process_is_there_until_its_last_thread_has_ended(void **state)
{
	(void)state;
	begin(CHILD, SHELL);
	begin(CHILD, CHILD);			/* a thread */
	fl_mapped_exit(&mapped, CHILD);
	assert_ptr_equal(path_at(CHILD, 0x2000), sh);
	fl_mapped_exit(&mapped, CHILD);
	assert_null(path_at(CHILD, 0x2000));
	fl_mapped_exit(&mapped, CHILD);
	assert_null(path_at(CHILD, 0x2000));
}

/* Whose end was not told. */
static void another_process_with_its_number_has_nothing_of_it(void **state)
{
	(void)state;
	begin(CHILD, SHELL);
	begin(CHILD, GRANDCHILD);
	assert_null(path_at(CHILD, 0x2000));
	assert_int_equal(fl_mapped_find(&mapped, CHILD)->parent, GRANDCHILD);
}

/* Of that nobody knows how many threads there are. */
static void who_ran_before_is_there_for_good(void **state)
{
	(void)state;
	assert_int_equal(fl_mapped_look(&mapped, SHELL), 0);
	for (int i = 0; i < 3; i++)
		fl_mapped_exit(&mapped, SHELL);
	assert_ptr_equal(path_at(SHELL, 0x2000), sh);
}

static uint32_t runs_of(const char *path)
{
	for (uint32_t i = 0; i < mapped.n_programs; i++)
		if (!strcmp(mapped.programs[i].path, path))
			return mapped.programs[i].runs;
	return 0;
}

/* A shell of three children: one executes cc, one that and then sh, one neither. */
static void a_run_is_of_what_was_executed(void **state)
{
	(void)state;
	for (int32_t pid = CHILD; pid < CHILD + 3; pid++)
		begin(pid, SHELL);
	for (int32_t pid = CHILD; pid < CHILD + 2; pid++) {
		fl_mapped_exec(&mapped, pid);
		map(pid, 0x1000, 0x2000, memory);
		map(pid, 0x2000, 0x3000, cc);
		map(pid, 0x4000, 0x5000, sh);		/* a library */
	}
	fl_mapped_exec(&mapped, CHILD + 1);
	map(CHILD + 1, 0x2000, 0x3000, sh);
	assert_int_equal(runs_of(sh), 2);
	assert_int_equal(runs_of(cc), 2);
	assert_int_equal(mapped.n_programs, 2);
}

static void many_come_and_go(void **state)
{
	(void)state;
	for (int32_t i = 0; i < MANY; i++) {
		begin(CHILD + i, i % 3 ? CHILD + i - 1 : SHELL);
		map(CHILD + i, 0x10000, 0x20000, i % 2 ? cc : sh);
		if (i % 3 == 2)
			fl_mapped_exit(&mapped, CHILD + i);
	}
	assert_int_equal(mapped.n, 1 + MANY);
	for (int32_t i = 0; i < MANY; i++)
		assert_ptr_equal(path_at(CHILD + i, 0x10000), i % 3 == 2 ? NULL :
				 i % 2 ? cc : sh);
}

/* As long as somebody is there whose image was forked of it, by whomever in between. */
static void a_parent_has_heirs_as_long_as_one_of_them_is_there(void **state)
{
	(void)state;
	begin(CHILD, SHELL);
	begin(GRANDCHILD, CHILD);
	assert_true(fl_mapped_has_heirs(&mapped, SHELL));
	fl_mapped_exit(&mapped, CHILD);
	assert_true(fl_mapped_has_heirs(&mapped, SHELL));
	assert_true(fl_mapped_has_heirs(&mapped, CHILD));
	fl_mapped_exit(&mapped, GRANDCHILD);
	assert_false(fl_mapped_has_heirs(&mapped, CHILD));
	assert_false(fl_mapped_has_heirs(&mapped, SHELL));
}

static void who_becomes_another_program_is_no_heir(void **state)
{
	(void)state;
	begin(CHILD, SHELL);
	begin(GRANDCHILD, SHELL);
	fl_mapped_exec(&mapped, CHILD);
	assert_true(fl_mapped_has_heirs(&mapped, SHELL));
	fl_mapped_exec(&mapped, GRANDCHILD);
	assert_false(fl_mapped_has_heirs(&mapped, SHELL));
	fl_mapped_exit(&mapped, CHILD);		/* that is no one's any more */
	begin(CHILD, SHELL);
	fl_mapped_exit(&mapped, GRANDCHILD);
	assert_true(fl_mapped_has_heirs(&mapped, SHELL));
}

static void a_number_that_is_used_again_is_one_heir(void **state)
{
	(void)state;
	begin(CHILD, SHELL);
	begin(CHILD, SHELL);		/* that it has ended was not told */
	fl_mapped_exit(&mapped, CHILD);
	assert_false(fl_mapped_has_heirs(&mapped, SHELL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
		TEST(a_child_has_what_its_parent_had),
		TEST(another_image_has_its_own),
		TEST(what_is_hidden_is_behind_it),
		TEST(a_process_is_there_until_its_last_thread_has_ended),
		TEST(another_process_with_its_number_has_nothing_of_it),
		TEST(who_ran_before_is_there_for_good),
		TEST(a_run_is_of_what_was_executed),
		TEST(many_come_and_go),
		TEST(a_parent_has_heirs_as_long_as_one_of_them_is_there),
		TEST(who_becomes_another_program_is_no_heir),
		TEST(a_number_that_is_used_again_is_one_heir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
