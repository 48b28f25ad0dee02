/*
 * cmocka.h - as much of cmocka as tests need that run on an emulated CPU.
 *
 * Debian has no cmocka for a cross compiler. Tests in tests/unit that know no CPU are
 * built with this in its place, so they are the same on every CPU. Says TAP; the first
 * failure ends the program.
 */
#ifndef FL_CROSS_CMOCKA_H
#define FL_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*run)(void **state);
	int (*setup)(void **state), (*teardown)(void **state);
};

#define cmocka_unit_test(f) { #f, f, NULL, NULL }
#define cmocka_unit_test_setup(f, up) { #f, f, up, NULL }
#define cmocka_unit_test_setup_teardown(f, up, down) { #f, f, up, down }

static unsigned int cmocka_number;
__attribute__((unused)) static jmp_buf cmocka_skipped;

__attribute__((noreturn, unused))
static void cmocka_fail(const char *file, int line, const char *what)
{
	printf("# %s:%d: %s\nnot ok %u\n", file, line, what, cmocka_number);
	fflush(stdout);
	_Exit(1);
}

#define cmocka_must(x, what) ((x) ? (void)0 : cmocka_fail(__FILE__, __LINE__, what))
#define fail_msg(...) (printf("# " __VA_ARGS__), putchar('\n'), \
		       cmocka_fail(__FILE__, __LINE__, "told above"))
#define fail() cmocka_fail(__FILE__, __LINE__, "fail()")
#define skip() longjmp(cmocka_skipped, 1)
#define assert_true(x) cmocka_must(x, #x)
#define assert_false(x) cmocka_must(!(x), "not: " #x)
#define assert_null(p) cmocka_must(!(p), #p " is NULL")
#define assert_non_null(p) cmocka_must(p, #p " is not NULL")
#define assert_ptr_equal(a, b) cmocka_must((const void *)(a) == (const void *)(b), #a " == " #b)
#define assert_ptr_not_equal(a, b) \
	cmocka_must((const void *)(a) != (const void *)(b), #a " != " #b)
#define assert_string_equal(a, b) cmocka_must(!strcmp(a, b), #a " == " #b)
#define assert_memory_equal(a, b, n) cmocka_must(!memcmp(a, b, n), #a " == " #b)
#define assert_in_range(v, lo, hi) \
	cmocka_must((uintmax_t)(v) - (uintmax_t)(lo) <= (uintmax_t)(hi) - (uintmax_t)(lo), \
		    #v " lies in " #lo ".." #hi)
#define assert_int_equal(a, b) cmocka_int((uintmax_t)(a), (uintmax_t)(b), __FILE__, __LINE__)
#define assert_int_not_equal(a, b) \
	cmocka_must((uintmax_t)(a) != (uintmax_t)(b), #a " != " #b)
#define print_message(...) ((void)printf("# " __VA_ARGS__))
#define print_error print_message

__attribute__((unused))
static void cmocka_int(uintmax_t a, uintmax_t b, const char *file, int line)
{
	if (a == b)
		return;
	printf("# %#jx != %#jx\n", a, b);
	cmocka_fail(file, line, "assert_int_equal");
}

static int cmocka_run(const struct CMUnitTest *tests, size_t n, int (*setup)(void **),
		      int (*teardown)(void **))
{
	static size_t i;		/* outlives longjmp() */
	static void *all;

	printf("1..%zu\n", n);
	fflush(stdout);
	if (setup && setup(&all))
		cmocka_fail(__FILE__, __LINE__, "setup");
	for (i = 0; i < n; i++) {
		static void *state;

		state = NULL;
		cmocka_number++;
		if (tests[i].setup && tests[i].setup(&state))
			cmocka_fail(__FILE__, __LINE__, tests[i].name);
		if (setjmp(cmocka_skipped)) {
			printf("ok %u # SKIP %s\n", cmocka_number, tests[i].name);
			continue;
		}
		tests[i].run(&state);
		if (tests[i].teardown && tests[i].teardown(&state))
			cmocka_fail(__FILE__, __LINE__, tests[i].name);
		printf("ok %u - %s\n", cmocka_number, tests[i].name);
		fflush(stdout);
	}
	return teardown ? teardown(&all) : 0;
}

#define cmocka_run_group_tests(tests, setup, teardown) \
	cmocka_run_group_tests_name(NULL, tests, setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
	((void)(name), cmocka_run(tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown))

#endif
