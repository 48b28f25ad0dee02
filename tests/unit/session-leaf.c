/*
 * unit/session-leaf: a function that calls nothing is told from one that calls, that jumps to
 * another one, and that calls or jumps through a pointer; of what is no function's begin, and
 * of a file that is not there, nobody says it. What stands where in a file, both ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <link.h>
#include <unistd.h>

#include "session/samples/leaf.h"
#include "obj/obj.h"
#include "report/report.h"

#define OUT __attribute__((noinline, used))

static volatile int sink;
static struct fl_symbols *symbols;
static char own_path[4096];
static uintptr_t bias;

OUT static int alone(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		if (i & sink)
			sum += i;
	return sum;
}

OUT static int calls(int n)
{
	return alone(n) + 1;
}

OUT static void jumps(int n)
{
	sink = n;
	alone(n);
}

static int (*volatile pointer)(int) = alone;

OUT static int calls_by_pointer(int n)
{
	return pointer(n) + 1;
}

OUT static int jumps_by_pointer(int n)
{
	return pointer(n);
}

static bool is_leaf(uintptr_t function)
{
	return fl_leaf_is(symbols, own_path, function - bias);
}

static void who_calls_nothing_is_a_leaf(void **state)
{
	(void)state;
	assert_true(is_leaf((uintptr_t)alone));
	assert_false(is_leaf((uintptr_t)calls));
	assert_false(is_leaf((uintptr_t)jumps));
	assert_false(is_leaf((uintptr_t)calls_by_pointer));
	assert_false(is_leaf((uintptr_t)jumps_by_pointer));
	assert_false(is_leaf((uintptr_t)alone + 4));
	assert_false(fl_leaf_is(symbols, "/nowhere", (uintptr_t)alone - bias));
}

static void a_place_is_an_address_and_back(void **state)
{
	uint64_t at = (uintptr_t)alone - bias, offset, left, back;
	struct fl_headers headers;
	unsigned char code[16];
	int fd = fl_headers_open(&headers, own_path);

	(void)state;
	assert_true(fd >= 0);
	assert_true(fl_headers_offset(&headers, at, &offset, &left));
	assert_true(left >= sizeof(code));
	assert_true(fl_headers_read(fd, code, offset, sizeof(code)));
	assert_memory_equal(code, (const void *)(uintptr_t)alone, sizeof(code));
	assert_true(fl_headers_address(headers.ph, headers.eh.e_phnum, offset, &back));
	assert_int_equal(back, at);
	assert_false(fl_headers_offset(&headers, UINT64_MAX / 2, &offset, &left));
	assert_false(fl_headers_address(headers.ph, headers.eh.e_phnum, UINT64_MAX / 2, &back));
	assert_false(fl_headers_read(fd, code, UINT64_MAX / 4, sizeof(code)));
	close(fd);
	assert_int_equal(fl_headers_open(&headers, "/proc/self/maps"), -1);
}

static int find_bias(struct dl_phdr_info *i, size_t n, void *to)
{
	(void)n;
	*(uintptr_t *)to = i->dlpi_addr;
	return 1;			/* the first one is the program */
}

static int set_up(void **state)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof own_path - 1);

	(void)state;
	dl_iterate_phdr(find_bias, &bias);
	return n < 0 || fl_symbols_open(&symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_calls_nothing_is_a_leaf),
		cmocka_unit_test(a_place_is_an_address_and_back),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
