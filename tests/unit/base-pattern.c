/*
 * unit/base-pattern - a pattern takes the functions its user means, and a
 * wrong one (FLE_PATTERN) is refused and leaves the result untouched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

struct glob_case {
	const char *glob, *text;
	bool takes;
};

static const struct glob_case globs[] = {
	{ "", "", true },		{ "", "a", false },
	{ "a", "", false },		{ "abc", "abc", true },
	{ "abc", "abcd", false },	{ "abcd", "abc", false },
	{ "*", "", true },		{ "*", "anything", true },
	{ "**", "x", true },		{ "a*", "a", true },
	{ "a*c", "abbbc", true },	{ "a*c", "abbb", false },
	{ "*b*", "abc", true },		{ "*aab", "aaaab", true },
	{ "a*b*c", "aXbXbXc", true },	{ "a*b*c", "aXcXb", false },
	{ "?", "", false },		{ "?", "x", true },
	{ "a?c", "abc", true },		{ "a?c", "ac", false },
	{ "[abc]", "b", true },		{ "[abc]", "d", false },
	{ "[a-f]x", "cx", true },	{ "[a-f]x", "gx", false },
	{ "[a-c0-9_]", "_", true },	{ "[a-c0-9_]", "7", true },
	{ "[!a-c]", "d", true },	{ "[!a-c]", "a", false },
	{ "[^a]", "a", false },		{ "[!a]", "", false },
	{ "[]]", "]", true },		{ "[!]]", "]", false },
	{ "[a-]", "-", true },		{ "[-a]", "-", true },
	{ "*[0-9]", "fn12", true },	{ "*[0-9]", "fn12x", false },
	{ "[z-a]", "m", false },	{ "std::*", "std::sort", true },
	{ "a::operator[]", "a::operator[]", true }, { "operator[]", "operator]", false },
	{ "operator new[][a-c]", "operator new[]b", true },
	{ "operator delete[]*[)]", "operator delete[](int)", true },
	{ "operator[a]", "operatora", true }, { "[]]operator[]", "]operator[]", true },
};

static void a_glob_takes_what_it_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(globs); i++)
		if (fl_glob(globs[i].glob, strlen(globs[i].glob),
			    globs[i].text) != globs[i].takes)
			fail_msg("'%s' on '%s' must be %d", globs[i].glob,
				 globs[i].text, globs[i].takes);
}

static void a_glob_ends_where_its_length_says(void **state)
{
	(void)state;
	assert_true(fl_glob("libfoo!bar", 6, "libfoo"));
	assert_false(fl_glob("[abc]", 4, "b"));
	assert_true(fl_glob("[abc]", 4, "[abc"));
}

/* Exponential matching would not end within the test's time. */
static void many_stars_are_no_trap(void **state)
{
	char text[4001];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_false(fl_glob("*a*a*a*a*a*a*a*a*b", 18, text));
}

static void a_function_alone_takes_every_module(void **state)
{
	struct fl_pattern p;

	(void)state;
	assert_int_equal(fl_pattern_parse(&p, "parse_*"), 0);
	assert_null(p.module);
	assert_true(fl_pattern_takes(&p, "/usr/lib/libx.so", "parse_a", 0));
	assert_true(fl_pattern_takes(&p, "prog", "parse_", 64));
	assert_false(fl_pattern_takes(&p, "prog", "reparse_a", 0));
}

static void a_module_is_matched_by_its_base_name(void **state)
{
	struct fl_pattern p;

	(void)state;
	assert_int_equal(fl_pattern_parse(&p, "libfoo*!f"), 0);
	assert_true(fl_pattern_takes(&p, "/opt/a/libfoo.so.1", "f", 0));
	assert_true(fl_pattern_takes(&p, "libfoo", "f", 0));
	assert_false(fl_pattern_takes(&p, "/libfoo/other", "f", 0));
	assert_false(fl_pattern_takes(&p, "/opt/a/libfoo.so.1", "g", 0));
}

static void an_offset_takes_one_place(void **state)
{
	struct fl_pattern p;

	(void)state;
	assert_int_equal(fl_pattern_parse(&p, "prog!0x1aF0"), 0);
	assert_null(p.function);
	assert_true(p.offset == 0x1af0);
	assert_true(fl_pattern_takes(&p, "/bin/prog", "any", 0x1af0));
	assert_false(fl_pattern_takes(&p, "/bin/prog", "any", 0x1af1));
	assert_false(fl_pattern_takes(&p, "/bin/grep", "any", 0x1af0));
	assert_int_equal(fl_pattern_parse(&p, "p!0xffffffffffffffff"), 0);
	assert_true(p.offset == UINT64_MAX);
}

static void a_negated_set_is_no_module(void **state)
{
	struct fl_pattern p;

	(void)state;
	assert_int_equal(fl_pattern_parse(&p, "[!_]*"), 0);
	assert_null(p.module);
	assert_false(fl_pattern_takes(&p, "prog", "_start", 0));
	assert_int_equal(fl_pattern_parse(&p, "[!l]*!main"), 0);
	assert_true(fl_pattern_takes(&p, "/bin/prog", "main", 0));
	assert_false(fl_pattern_takes(&p, "/lib/libc.so", "main", 0));
}

static void brackets_of_an_operator_open_no_set(void **state)
{
	struct fl_pattern p;

	(void)state;
	assert_int_equal(fl_pattern_parse(&p, "a::operator[]"), 0);
	assert_true(fl_pattern_takes(&p, "prog", "a::operator[]", 0));
	assert_int_equal(fl_pattern_parse(&p, "prog!operator new[]"), 0);
	assert_true(fl_pattern_takes(&p, "/bin/prog", "operator new[]", 0));
}

static void a_wrong_pattern_is_refused(void **state)
{
	static const char *const wrong[] = {
		"", "!", "!f", "mod!", "[", "f[", "f[a", "f[!]", "mod[!f",
		"mod![a", "mod[a!f", "0x10", "mod!0x", "mod!0xg", "mod!0x1 ",
		"mod!0x10000000000000000", "mod!0x1!f",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct fl_pattern p = { .module_len = 4711, .offset = 1 };

		if (fl_pattern_parse(&p, wrong[i]) != FLE_PATTERN)
			fail_msg("'%s' must be refused", wrong[i]);
		assert_int_equal(p.module_len, 4711);
		assert_true(p.offset == 1);
	}
}

static void a_base_name_is_behind_the_last_slash(void **state)
{
	(void)state;
	assert_string_equal(fl_base_name("/a/b/c.so"), "c.so");
	assert_string_equal(fl_base_name("c.so"), "c.so");
	assert_string_equal(fl_base_name("/a/"), "");
	assert_string_equal(fl_base_name(""), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_glob_takes_what_it_says),
		cmocka_unit_test(a_glob_ends_where_its_length_says),
		cmocka_unit_test(many_stars_are_no_trap),
		cmocka_unit_test(a_function_alone_takes_every_module),
		cmocka_unit_test(a_module_is_matched_by_its_base_name),
		cmocka_unit_test(an_offset_takes_one_place),
		cmocka_unit_test(a_negated_set_is_no_module),
		cmocka_unit_test(brackets_of_an_operator_open_no_set),
		cmocka_unit_test(a_wrong_pattern_is_refused),
		cmocka_unit_test(a_base_name_is_behind_the_last_slash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
