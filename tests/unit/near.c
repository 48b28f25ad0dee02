// near.c - near memory is within reach, and leaves room for what grows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "patch/patch.h"

/* Nothing below, and above more than branches reach: a free place between. */
static void near_memory_may_lie_above(void **state)
{
	const uintptr_t at = 0x30000000000, reach = 1ul << 31;
	struct fl_near near;

	(void)state;
	assert_ptr_equal(mmap((void *)(at - 2 * reach), 2 * reach + 4096, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			      MAP_FIXED_NOREPLACE, -1, 0), at - 2 * reach);
	assert_int_equal(fl_near_alloc(&near, FL_NEAR_TO(at, at + 4096), 4096, 4096), 0);
	assert_true((uintptr_t)near.code > at + (1u << 28));
	assert_true((uintptr_t)near.code + near.code_bytes + near.data_bytes - at < reach);
	fl_near_free(&near);
	assert_ptr_equal(mmap((void *)(at + 4096), 2 * reach, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			      MAP_FIXED_NOREPLACE, -1, 0), at + 4096);
	assert_int_equal(fl_near_alloc(&near, FL_NEAR_TO(at, at + 4096), 4096, 4096),
			 FLE_NOREACH);
	munmap((void *)(at - 2 * reach), 4 * reach + 4096);
}

/* Nothing but [from, to) is free, as far as branches from `at` reach. */
static void leave_free(uintptr_t at, uintptr_t from, uintptr_t to)
{
	const uintptr_t reach = 1ul << 31;
	const uintptr_t ends[] = { at - 2 * reach, from, to, at + 2 * reach };

	for (int i = 0; i < 4; i += 2)
		assert_ptr_equal(mmap((void *)ends[i], ends[i + 1] - ends[i], PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				      MAP_FIXED_NOREPLACE, -1, 0), ends[i]);
}

static int alloc_in(uintptr_t at, uintptr_t from, uintptr_t to, struct fl_near *near)
{
	int err;

	leave_free(at, from, to);
	err = fl_near_alloc(near, FL_NEAR_TO(at, at + 4096), 8192, 4096);
	if (!err) {
		assert_true((uintptr_t)near->code >= from);
		assert_true((uintptr_t)near->code + 3 * FL_PAGE <= to);
		fl_near_free(near);
	}
	munmap((void *)(at - (1ul << 32)), 1ul << 33);
	return err;
}

static void near_memory_leaves_room_around(void **state)
{
	const uintptr_t at = 0x30000000000, below = at - (1ul << 30), above = at + (1ul << 20);
	struct fl_near near;

	(void)state;
	assert_int_equal(alloc_in(at, below, below + 5 * FL_PAGE, &near), 0);
	assert_int_equal(alloc_in(at, below, below + 4 * FL_PAGE, &near), FLE_NOREACH);
	assert_int_equal(alloc_in(at, above, above + (1ul << 29), &near), 0);
	/* a heap may grow there */
	assert_int_equal(alloc_in(at, above, above + (1ul << 27), &near), FLE_NOREACH);
}

static void near_memory_is_within_reach(void **state)
{
	uintptr_t at = (uintptr_t)&fl_set_commit;
	struct fl_near near;

	(void)state;
	assert_int_equal(fl_near_alloc(&near, FL_NEAR_TO(at, at + 4096), 100000, 5000), 0);
	assert_true(llabs((long long)((uintptr_t)near.code - at)) < INT32_MAX);
	assert_true(near.code_bytes >= 100000 && near.data_bytes >= 5000);
	memset(near.write, 0xc3, near.code_bytes);
	memset(near.data, 1, near.data_bytes);
	assert_int_equal(fl_near_seal(&near), 0);
	assert_int_equal(fl_text_prot((uintptr_t)near.code), PROT_READ | PROT_EXEC);
	((void (*)(void))near.code)();
	fl_near_free(&near);
	/* A module so large that nothing reaches both of its ends. */
	assert_int_equal(fl_near_alloc(&near, FL_NEAR_TO(at - FL_ARCH_REACH, at), 16, 16),
			 FLE_NOREACH);
}

/* Blocks above lie side by side, or a program that is attached to again and again has no
 * room soon. */
static void near_memory_above_leaves_no_gaps(void **state)
{
	enum { BLOCKS = 100, BYTES = 1 << 20 };
	const uintptr_t at = 0x30000000000;
	static struct fl_near near[BLOCKS];

	(void)state;
	leave_free(at, at + 4096, at + (1ul << 31));
	for (int i = 0; i < BLOCKS; i++) {
		assert_int_equal(fl_near_alloc(&near[i], FL_NEAR_TO(at, at + 4096), BYTES,
					       BYTES), 0);
		assert_true(!i || near[i - 1].code - near[i].code <= 2 * BYTES + 2 * FL_PAGE);
	}
	for (int i = 0; i < BLOCKS; i++)
		fl_near_free(&near[i]);
	munmap((void *)(at - (1ul << 32)), 1ul << 33);
}

/* Of a gap with `pages`: each block has three, and free pages around it. */
static int alloc_two(size_t pages)
{
	const uintptr_t at = 0x30000000000, from = at - (1ul << 30);
	struct fl_near near[2];
	int err;

	leave_free(at, from, from + pages * FL_PAGE);
	assert_int_equal(fl_near_alloc(&near[0], FL_NEAR_TO(at, at + 4096), 8192, 4096), 0);
	err = fl_near_alloc(&near[1], FL_NEAR_TO(at, at + 4096), 8192, 4096);
	if (!err) {
		assert_ptr_equal(near[1].code, near[0].code - 4 * FL_PAGE);
		fl_near_free(&near[1]);
	}
	fl_near_free(&near[0]);
	munmap((void *)(at - (1ul << 32)), 1ul << 33);
	return err;
}

static void near_memory_goes_on_below_the_last(void **state)
{
	(void)state;
	assert_int_equal(alloc_two(9), 0);
	assert_int_equal(alloc_two(8), FLE_NOREACH);
}

/* Where no descriptor is left the kernel cannot be asked what is mapped. */
static void only_the_first_block_looks_for_a_gap(void **state)
{
	uintptr_t at = (uintptr_t)&fl_set_commit, far = at + (1ul << 40);
	struct fl_near near[2];
	struct rlimit was;

	(void)state;
	assert_int_equal(fl_near_alloc(&near[0], FL_NEAR_TO(at, at + 1), 1, 1), 0);
	getrlimit(RLIMIT_NOFILE, &was);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, was.rlim_max });
	assert_int_equal(fl_near_alloc(&near[1], FL_NEAR_TO(at, at + 1), 1, 1), 0);
	fl_near_free(&near[1]);			/* there may be room above the last now */
	assert_int_equal(fl_near_alloc(&near[1], FL_NEAR_TO(at, at + 1), 1, 1), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &was);
	assert_int_equal(fl_near_alloc(&near[1], FL_NEAR_TO(at, at + 1), 1, 1), 0);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, was.rlim_max });
	/* the last is below, and out of reach */
	assert_int_equal(fl_near_alloc(&near[1], FL_NEAR_TO(far, far + 1), 1, 1), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &was);
	fl_near_free(&near[0]);
}

/* ---- beside a stack --------------------------------------------------------------- */

enum { STACK_GROWS = 1 << 27 };		/* at most, as most systems have it or less */

struct around {
	uintptr_t from, stack;		/* the end of the mapping before; 0: not met yet */
	uintptr_t lo, hi;		/* is filled */
};

static int find_stack(void *arg, const struct fl_mapping *m)
{
	struct around *a = arg;

	a->stack = strcmp(m->path, "[stack]") ? 0 : m->lo;
	return a->stack != 0;
}

static int fill_gap(void *arg, const struct fl_mapping *m)
{
	struct around *a = arg;
	uintptr_t from = a->from > a->lo ? a->from : a->lo, to = m->lo < a->hi ? m->lo : a->hi;

	a->from = m->hi;
	if (from >= to)
		return m->lo >= a->hi;
	return mmap((void *)from, to - from, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != (void *)from;
}

/* The main stack is above, and all is taken below. Exit status 0: it may grow. */
static int run_below_the_stack(void)
{
	struct around a = { 0 };
	struct fl_near near;
	uintptr_t at;

	fl_os_mappings(find_stack, &a);
	at = fl_round_down(a.stack, FL_PAGE) - (3ul << 29);
	if (!a.stack || mmap((void *)at, FL_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
			     MAP_FIXED_NOREPLACE, -1, 0) != (void *)at)
		return 77;
	a.lo = at - (1ul << 31);
	a.hi = at;
	fl_os_mappings(fill_gap, &a);
	return fl_near_alloc(&near, FL_NEAR_TO(at, at + FL_PAGE), FL_PAGE, FL_PAGE) ||
	       (uintptr_t)near.code < at ||
	       (uintptr_t)near.code + 2 * FL_PAGE + STACK_GROWS > a.stack;
}

static void near_memory_leaves_room_for_the_stack(void **state)
{
	const struct rlimit much = { .rlim_cur = 3ul << 30, .rlim_max = RLIM_INFINITY };
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {				/* the gap below a stack is as its limit is */
		if (setrlimit(RLIMIT_STACK, &much))
			_exit(77);
		execl("/proc/self/exe", "near", "below-the-stack", (char *)NULL);
		_exit(126);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(near_memory_is_within_reach),
		cmocka_unit_test(near_memory_may_lie_above),
		cmocka_unit_test(near_memory_leaves_room_around),
		cmocka_unit_test(near_memory_above_leaves_no_gaps),
		cmocka_unit_test(near_memory_goes_on_below_the_last),
		cmocka_unit_test(only_the_first_block_looks_for_a_gap),
		cmocka_unit_test(near_memory_leaves_room_for_the_stack),
	};

	if (argc > 1 && !strcmp(argv[1], "below-the-stack"))
		return run_below_the_stack();
	if (fl_patch_open(NULL))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
