/* bytes: libflick.so's own functions on bytes and strings, at every length, alignment
 * and overlap up to a few words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 40, AROUND = 48, ALL = MOST + 2 * AROUND };

/* The compiler knows what these do, and is not to. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile move)(void *, const void *, size_t) = memmove;
static void *(*volatile set)(void *, int, size_t) = memset;
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;
static void *(*volatile find)(const void *, int, size_t) = memchr;
static size_t (*volatile length)(const char *) = strlen;
static int (*volatile compare_strings)(const char *, const char *) = strcmp;
static int (*volatile compare_starts)(const char *, const char *, size_t) = strncmp;

static unsigned char a[ALL], b[ALL];

static void fill(void)
{
	for (int i = 0; i < ALL; i++)
		a[i] = b[i] = (unsigned char)(i * 7 + 1);
}

static void are_equal(void)
{
	for (int i = 0; i < ALL; i++)
		assert_int_equal(a[i], b[i]);
}

/* From every place to every place: with what is between, nothing else. */
static void copies_and_moves(void **state)
{
	(void)state;
	for (int n = 0; n <= MOST; n++)
		for (int to = 0; to < 2 * AROUND; to++) {
			unsigned char was[ALL];
			int from = AROUND, is_apart = to + n <= from || from + n <= to;

			fill();
			for (int i = 0; i < ALL; i++)
				was[i] = a[i];
			for (int i = 0; i < n; i++)
				b[to + i] = was[from + i];
			assert_ptr_equal((is_apart ? copy : move)(a + to, a + from, n), a + to);
			are_equal();
		}
}

static void sets(void **state)
{
	(void)state;
	for (int n = 0; n <= MOST; n++)
		for (int to = 0; to < 16; to++) {
			fill();
			for (int i = 0; i < n; i++)
				b[to + i] = 0xa5;
			assert_ptr_equal(set(a + to, 0x1a5, n), a + to);
			are_equal();
		}
}

static void compares_and_finds(void **state)
{
	(void)state;
	for (int n = 1; n <= MOST; n++)
		for (int i = 0; i < n; i++) {
			fill();
			assert_int_equal(compare(a, b, n), 0);
			assert_ptr_equal(find(a, a[i], n), a + i);
			assert_null(find(a, a[n], n));
			b[i] = 0xff;
			if (n > i + 1)
				b[i + 1] = 0;
			assert_true(compare(a, b, n) < 0 && compare(b, a, n) > 0);
			assert_int_equal(compare(a, b, i), 0);
		}
}

static void reads_strings(void **state)
{
	(void)state;
	assert_int_equal(length(""), 0);
	assert_int_equal(length("four"), 4);
	assert_int_equal(compare_strings("name", "name"), 0);
	assert_true(compare_strings("name", "names") < 0);
	assert_true(compare_strings("\xff", "a") > 0);
	assert_int_equal(compare_starts("names", "name", 4), 0);
	assert_true(compare_starts("names", "name", 5) > 0);
	assert_int_equal(compare_starts("x", "y", 0), 0);
	assert_int_equal(compare_starts("x\0a", "x\0b", 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_and_moves),
		cmocka_unit_test(sets),
		cmocka_unit_test(compares_and_finds),
		cmocka_unit_test(reads_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
