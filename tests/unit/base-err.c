/*
 * unit/base-err - every error has its own value and a sentence for a user.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static const struct {
	const char *name;
	int value;
	const char *text;
} errors[] = {
#define FLICK_ERR(name, value, text) { #name, value, text },
#include "../../include/flick/errors.def"
#undef FLICK_ERR
};

static void every_code_has_its_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		assert_string_equal(fl_err_text(errors[i].value),
				    errors[i].text);
		assert_true(strlen(errors[i].text) > 5);
	}
}

static void codes_lie_outside_errno(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		assert_true(errors[i].value < -4095);
}

static void other_numbers_have_none(void **state)
{
	(void)state;
	assert_null(fl_err_text(0));
	assert_null(fl_err_text(1));
	assert_null(fl_err_text(-ENOENT));
	assert_null(fl_err_text(-5000));
	assert_null(fl_err_text(-6000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_has_its_sentence),
		cmocka_unit_test(codes_lie_outside_errno),
		cmocka_unit_test(other_numbers_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
