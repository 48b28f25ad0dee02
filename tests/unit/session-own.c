/*
 * What is flick's own, as the target tells where its glue is: however much there is, as
 * soon as it is told, and not before it is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/samples/own.h"

enum { MANY = 5000, SIZE = 0x100 };

static struct fl_region shm;
static struct fl_glue_range rows[MANY];
static struct fl_session s = { .shm = &shm, .glue = rows, .max_glue = MANY };
static struct fl_own own;

/* Not in order, some side by side. */
static uint64_t place_of(uint32_t row)
{
	return 0x10000 + (row ^ 1) / 2 * 0x1000 + (row & 1) * SIZE;
}

static void tell(uint32_t n)
{
	for (; shm.n_glue < n; shm.n_glue++)
		rows[shm.n_glue] = (struct fl_glue_range){
			.lo = place_of(shm.n_glue), .hi = place_of(shm.n_glue) + SIZE };
}

static bool has(uint64_t at)
{
	return fl_own_has(&own, &s, &(struct fl_pc){ .path = "", .address = at });
}

static int set_up(void **unused)
{
	(void)unused;
	shm.n_glue = 0;
	fl_own_close(&own);
	own = (struct fl_own){ 0 };
	strcpy(s.launch.library, "/lib/libflick.so");
	return 0;
}

static void all_glue_is_own(void **unused)
{
	(void)unused;
	tell(MANY);
	assert_int_equal(fl_own_look(&own, &s), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_true(has(place_of(i)));
		assert_true(has(place_of(i) + SIZE - 1));
	}
	assert_false(has(0xffff));
	assert_false(has(0x10000 + 2 * SIZE));
	assert_false(has(place_of(MANY - 1) + 0x1000 + SIZE));
}

static void what_is_told_later_is_found(void **unused)
{
	(void)unused;
	assert_int_equal(fl_own_look(&own, &s), 0);
	assert_false(has(place_of(0)));
	for (uint32_t n = 1; n < 100; n++) {
		tell(n);
		assert_false(has(place_of(n - 1)));
		assert_int_equal(fl_own_look(&own, &s), 0);
		assert_true(has(place_of(n - 1)));
		assert_true(has(place_of(0)));
	}
}

static void a_row_that_is_not_written_is_nobodys(void **unused)
{
	(void)unused;
	tell(3);
	rows[1].lo = 0;
	rows[2].hi = 0;
	assert_int_equal(fl_own_look(&own, &s), 0);
	assert_true(has(place_of(0)));
	assert_false(has(place_of(1)));
	assert_false(has(place_of(2)));
	assert_false(has(1));
}

/* The target may say that it told more than there is room for. */
static void what_is_claimed_and_cannot_be_is_not_read(void **unused)
{
	(void)unused;
	tell(MANY);
	shm.n_glue = UINT32_MAX;
	assert_int_equal(fl_own_look(&own, &s), 0);
	assert_true(has(place_of(MANY - 1)));
}

static void the_library_is_own_and_other_files_are_not(void **unused)
{
	(void)unused;
	tell(1);
	assert_int_equal(fl_own_look(&own, &s), 0);
	assert_true(fl_own_has(&own, &s, &(struct fl_pc){ .path = "/lib/libflick.so" }));
	assert_false(fl_own_has(&own, &s, &(struct fl_pc){ .path = "/lib/libc.so",
							   .address = place_of(0) }));
	assert_true(fl_own_has(&own, &s, &(struct fl_pc){ .path = "//anon",
							  .address = place_of(0) }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_glue_is_own, set_up),
		cmocka_unit_test_setup(what_is_told_later_is_found, set_up),
		cmocka_unit_test_setup(a_row_that_is_not_written_is_nobodys, set_up),
		cmocka_unit_test_setup(what_is_claimed_and_cannot_be_is_not_read, set_up),
		cmocka_unit_test_setup(the_library_is_own_and_other_files_are_not, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
