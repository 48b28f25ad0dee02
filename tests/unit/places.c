/*
 * unit/places.c - what was noted of a call is found again, while more is noted, and
 * where no more can be.
 *
 * timeout: 20
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "os/os.h"
#include "probe/late.h"
#include "stop-at.h"

enum { MANY = 100000 };

/* As far apart as calls are. */
static uint64_t key(int i)
{
	return 0x555555554000ull + (uint64_t)i * 17;
}

static int open_places(void **unused)
{
	(void)unused;
	fl_places_open();
	return 0;
}

static void note_all(int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(fl_place_note(key(i), i), 0);
}

static int n_wrong(int n)
{
	int wrong = 0;

	for (int i = 0; i < n; i++)
		wrong += fl_place_find(key(i)) != i;
	return wrong;
}

static void what_was_noted_last_is_found(void **unused)
{
	(void)unused;
	assert_int_equal(fl_place_find(key(0)), -ENOENT);
	note_all(MANY);
	assert_int_equal(n_wrong(MANY), 0);
	assert_int_equal(fl_place_find(key(MANY)), -ENOENT);
	assert_int_equal(fl_place_note(key(7), FLE_NOPROBE), 0);
	assert_int_equal(fl_place_find(key(7)), FLE_NOPROBE);
}

static int n_taken(void)
{
	int n = 0;

	while (n < MANY && fl_place_note(key(n), n) == 0)
		n++;
	return n;
}

/* A key whose meaning is still to come keeps its place when no other gets one. */
static void what_is_unknown_can_be_noted(void **unused)
{
	int n;

	(void)unused;
	fl_os_fault_open("mmap:1+");
	assert_int_equal(fl_place_note(key(MANY), -ENOENT), 0);
	assert_int_equal(fl_place_find(key(MANY)), -ENOENT);
	n = n_taken();
	assert_int_equal(fl_place_find(key(n)), FLE_FULL);
	assert_int_equal(fl_place_find(key(MANY)), -ENOENT);
	assert_int_equal(fl_place_note(key(MANY), 7), 0);
	assert_int_equal(fl_place_find(key(MANY)), 7);
}

/* More are noted of one key than there are cells. */
static void to_note_again_takes_no_room(void **unused)
{
	(void)unused;
	fl_os_fault_open("mmap:1+");
	for (int i = 0; i < 5000; i++)
		assert_int_equal(fl_place_note(key(3), i), 0);
	assert_int_equal(fl_place_find(key(3)), 4999);
	assert_int_equal(fl_place_find(key(4)), -ENOENT);
}

static int seen_wrong = -1;

static void look(void)
{
	seen_wrong = n_wrong(512);
}

/* The next map is there, and nobody knows it yet. */
static void who_looks_while_it_grows_finds_all(void **unused)
{
	(void)unused;
	stop("places.grown", look);
	note_all(513);
	assert_int_equal(seen_wrong, 0);
	assert_int_equal(n_wrong(513), 0);
}

/* In the middle of the first that is put into the next map. */
static void who_looks_while_the_next_is_filled_finds_all(void **unused)
{
	(void)unused;
	note_all(512);
	seen_wrong = -1;
	stop("places.put", look);
	assert_int_equal(fl_place_note(key(512), 512), 0);
	assert_int_equal(seen_wrong, 0);
}

static int seen;

static void look_for_it(void)
{
	seen = fl_place_find(key(0));
}

static void what_is_being_noted_is_not_known_yet(void **unused)
{
	(void)unused;
	stop("places.put", look_for_it);
	assert_int_equal(fl_place_note(key(0), 5), 0);
	assert_int_equal(seen, -ENOENT);
	stop("places.put", look_for_it);
	assert_int_equal(fl_place_note(key(0), 6), 0);
	assert_int_equal(seen, 6);
}

/* Nobody need ask again about what will never be noted. */
static void without_memory_the_rest_is_full(void **unused)
{
	int n;

	(void)unused;
	fl_os_fault_open("mmap:1+");
	n = n_taken();
	assert_true(n > 1000 && n < 4096);
	assert_int_equal(n_wrong(n), 0);
	assert_int_equal(fl_place_find(key(n)), FLE_FULL);
	assert_int_equal(fl_place_find(key(n + 1)), FLE_FULL);
	assert_int_equal(fl_place_note(key(1), 5), 0);
	assert_int_equal(fl_place_find(key(1)), 5);
	fl_places_open();
	assert_int_equal(fl_place_find(key(1)), -ENOENT);
	assert_int_equal(fl_place_find(key(n)), -ENOENT);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, open_places)
	const struct CMUnitTest tests[] = {
		TEST(what_was_noted_last_is_found),
		TEST(who_looks_while_it_grows_finds_all),
		TEST(who_looks_while_the_next_is_filled_finds_all),
		TEST(what_is_being_noted_is_not_known_yet),
		TEST(to_note_again_takes_no_room),
		TEST(what_is_unknown_can_be_noted),
		TEST(without_memory_the_rest_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
