/*
 * Which functions patterns ask for, and which patterns asked for nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "select/select.h"

static const struct fl_candidate parse_int = {
	.path = "/usr/lib/libfoo.so.1", .home = "/usr/lib/libfoo.so.1",
	.function = 0x1000, .site = 0x1010,
	.names = { "ns::parse(int)", "_ZN2ns5parseEi", "ns::parse" },
};
static const struct fl_candidate main_function = {
	.path = "/bin/app", .home = "/bin/app", .names = { "main" },
	.function = 0x2000, .site = 0x2004,
};

/* Patterns as on a command line: "+a" is -P a, "-a" is -U a. */
static struct fl_selection *selection(enum fl_match_by by, const char *const *words)
{
	struct fl_selection *s = fl_selection_new();

	fl_selection_match_by(s, by);
	for (; *words; words++)
		assert_int_equal(fl_selection_add(s, **words == '+', *words + 1), 0);
	assert_int_equal(fl_selection_ready(s), 0);
	return s;
}

static void expect(enum fl_match_by by, const char *const *words, bool parse, bool app)
{
	struct fl_selection *s = selection(by, words);

	assert_int_equal(fl_selection_wants(s, &parse_int), parse);
	assert_int_equal(fl_selection_wants(s, &main_function), app);
	fl_selection_free(s);
}

#define GLOBS(...) FL_BY_GLOB, (const char *const[]){ __VA_ARGS__, NULL }
#define REGEX(...) FL_BY_REGEX, (const char *const[]){ __VA_ARGS__, NULL }

static void without_patterns_all_is_on(void **unused)
{
	(void)unused;
	expect(GLOBS(NULL), true, true);
}

static void first_on_then_only_what_matches(void **unused)
{
	(void)unused;
	expect(GLOBS("+main"), false, true);
	expect(GLOBS("-main"), true, false);
	expect(GLOBS("+*", "-main"), true, false);
	expect(GLOBS("-main", "+*"), true, true);
}

static void every_name_of_a_function_matches(void **unused)
{
	(void)unused;
	expect(GLOBS("+ns::parse"), true, false);
	expect(GLOBS("+ns::parse(int)"), true, false);
	expect(GLOBS("+_ZN2ns5parse*"), true, false);
}

/* It is wanted as one of either; by its offset as one of the library, where it is. */
static void what_is_inlined_from_a_library_is_of_both(void **unused)
{
	static const struct fl_candidate inlined = {
		.path = "/bin/app", .home = "/usr/lib/libfoo.so.1", .names = { "f" },
		.function = 0x3000, .site = 0x1000,
	};
	static const struct {
		const char *pattern;
		bool wants;
	} cases[] = {
		{ "+app!f", true }, { "+libfoo*!f", true }, { "+bar!f", false },
		{ "+libfoo.so.1!0x3000", true }, { "+app!0x3000", false },
		{ "+app!0x1000", true }, { "+libfoo.so.1!0x1000", false },
		{ "-app!*", false }, { "-libfoo*!*", false },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fl_selection *s = selection(GLOBS(cases[i].pattern));

		assert_int_equal(fl_selection_wants(s, &inlined), cases[i].wants);
		fl_selection_free(s);
	}
}

static void modules_and_offsets(void **unused)
{
	(void)unused;
	expect(GLOBS("+libfoo*!*"), true, false);
	expect(GLOBS("+app!*parse*"), false, false);
	expect(GLOBS("+libfoo.so.1!0x1000"), true, false);
	expect(GLOBS("+libfoo.so.1!0x1010"), true, false);
	expect(GLOBS("+libfoo.so.1!0x1011"), false, false);
}

static void regular_expressions(void **unused)
{
	(void)unused;
	expect(REGEX("+^ns::"), true, false);
	expect(REGEX("+^(main|nothing)$"), false, true);
	expect(REGEX("+app!a"), false, true);
	expect(REGEX("+libfoo*!a"), true, false);
}

static void wrong_patterns_are_refused(void **unused)
{
	static const char *const wrong[] = { [FL_BY_GLOB] = "", [FL_BY_REGEX] = "a(b" };

	(void)unused;
	for (int by = FL_BY_GLOB; by <= FL_BY_REGEX; by++) {
		struct fl_selection *s = fl_selection_new();

		fl_selection_match_by(s, (enum fl_match_by)by);
		assert_int_equal(fl_selection_add(s, 1, "main"), 0);
		assert_int_equal(fl_selection_add(s, 1, wrong[by]), 0);
		assert_int_equal(fl_selection_ready(s), FLE_PATTERN);
		fl_selection_free(s);
	}
}

static void how_they_match_may_be_said_last(void **unused)
{
	struct fl_selection *s = fl_selection_new();

	(void)unused;
	assert_int_equal(fl_selection_add(s, 1, "^(ma|no)in$"), 0);
	fl_selection_match_by(s, FL_BY_REGEX);
	assert_int_equal(fl_selection_ready(s), 0);
	assert_true(fl_selection_wants(s, &main_function));
	assert_false(fl_selection_wants(s, &parse_int));
	fl_selection_free(s);
}

static void idle_patterns_are_named(void **unused)
{
	struct fl_selection *s = selection(GLOBS("+main", "+nothing", "-no.so!x"));
	size_t at = 0, module_len;

	(void)unused;
	fl_selection_wants(s, &main_function);
	assert_string_equal(fl_selection_idle(s, &at, &module_len), "nothing");
	assert_int_equal(module_len, 0);
	assert_string_equal(fl_selection_idle(s, &at, &module_len), "no.so!x");
	assert_int_equal(module_len, 5);
	assert_null(fl_selection_idle(s, &at, &module_len));
	fl_selection_free(s);
}

/* To make a name of a mangled one takes long: it is not asked for where no pattern could
 * match. */
static void names_are_made_where_a_pattern_may_match(void **unused)
{
	static const char *const words[] = { "+parse", NULL };
	static const char *const parts[] = { "+par*", NULL };
	static const char *const nested[] = { "+a::parse", NULL };
	static const char *const sites[] = { "+app!0x10", NULL };
	const char *const *const all[] = { words, parts, nested, sites };
	static const bool may[][2] = { { true, false }, { true, true }, { true, true } };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct fl_selection *s = selection(FL_BY_GLOB, all[i]);
		bool takes = i < ARRAY_LEN(may) && may[i][0];
		bool takes_other = i < ARRAY_LEN(may) && may[i][1];

		assert_int_equal(fl_selection_may_take(s, "_Z5parsei"), takes);
		assert_int_equal(fl_selection_may_take(s, "_Z4scani"), takes_other);
		assert_int_equal(fl_selection_names_sites(s), all[i] == sites);
		fl_selection_free(s);
	}
}

static void near_names_are_found(void **unused)
{
	const char *const names[] = { "compress_block", "main", NULL, "decompress" };

	(void)unused;
	assert_string_equal(fl_nearest("mian", names, 4), "main");
	assert_string_equal(fl_nearest("compres_block", names, 4), "compress_block");
	assert_null(fl_nearest("xyz", names, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_patterns_all_is_on),
		cmocka_unit_test(first_on_then_only_what_matches),
		cmocka_unit_test(every_name_of_a_function_matches),
		cmocka_unit_test(modules_and_offsets),
		cmocka_unit_test(what_is_inlined_from_a_library_is_of_both),
		cmocka_unit_test(regular_expressions),
		cmocka_unit_test(wrong_patterns_are_refused),
		cmocka_unit_test(how_they_match_may_be_said_last),
		cmocka_unit_test(idle_patterns_are_named),
		cmocka_unit_test(names_are_made_where_a_pattern_may_match),
		cmocka_unit_test(near_names_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
