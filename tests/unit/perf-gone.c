/*
 * unit/perf-gone: samples whose callers are gone stand for what others of the same program did
 * in the same function; where there is none they are the function's alone; and what begins in
 * flick's own code is nobody's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "perf/chains.h"

enum { FLICK, MEMCPY, PARSE, MAIN, PLACES };

static struct fl_chains chains;
static const uint32_t leaf[PLACES] = { 0, 1, 2, 3 };
static const char one[] = "one", other[] = "other";

/* Of these places, the innermost first; PLACES ends them. */
static void add(const char *program, uint32_t periods, bool is_gone, const int *of)
{
	struct fl_pc places[PLACES];
	struct fl_chain chain = { .program = program, .periods = periods, .is_gone = is_gone };

	for (; of[chain.n] < PLACES; chain.n++)
		places[chain.n] = (struct fl_pc){ .path = "", .at = (uint64_t)of[chain.n] };
	fl_chains_add(&chains, places, &chain);
}

#define CHAIN(...) (const int[]){ __VA_ARGS__, PLACES }

static int set_up(void **state)
{
	(void)state;
	for (int i = 0; i < PLACES; i++)	/* a place's index is its number */
		add(one, 0, false, CHAIN(i));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fl_chains_forget(&chains);
	return 0;
}

static void who_is_gone_is_as_others_of_the_program(void **state)
{
	double *share;

	(void)state;
	add(one, 30, false, CHAIN(MEMCPY, PARSE, MAIN));
	add(one, 10, false, CHAIN(MEMCPY, MAIN));
	add(one, 20, true, CHAIN(MEMCPY));
	add(one, 7, false, CHAIN(PARSE, MAIN));
	add(other, 50, false, CHAIN(MEMCPY, MAIN));
	share = fl_gone_share(&chains, leaf);
	assert_true(share[PLACES] == 45 && share[PLACES + 1] == 15 && share[PLACES + 2] == 0);
	assert_true(share[PLACES + 3] == 7 && share[PLACES + 4] == 50);
	free(share);
}

static void who_is_like_nobody_is_alone(void **state)
{
	double *share;

	(void)state;
	add(one, 30, false, CHAIN(MEMCPY, PARSE, MAIN));
	add(other, 20, true, CHAIN(MEMCPY, PARSE));
	share = fl_gone_share(&chains, leaf);
	assert_true(share[PLACES] == 30 && share[PLACES + 1] == 20);
	free(share);
}

static void what_begins_in_flicks_code_is_nobodys(void **state)
{
	double *share;

	(void)state;
	add(one, 30, false, CHAIN(FLICK, PARSE, MAIN));
	add(one, 20, true, CHAIN(FLICK));
	share = fl_gone_share(&chains, leaf);
	assert_true(share[PLACES] == 0 && share[PLACES + 1] == 0);
	free(share);
}

static void the_same_places_are_told_apart_by_what_is_known(void **state)
{
	(void)state;
	add(one, 1, false, CHAIN(MEMCPY, MAIN));
	add(one, 2, true, CHAIN(MEMCPY, MAIN));
	add(other, 4, false, CHAIN(MEMCPY, MAIN));
	add(one, 8, false, CHAIN(MEMCPY, MAIN));
	assert_int_equal(chains.n, PLACES + 3);
	assert_int_equal(chains.of[PLACES].periods, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
		TEST(who_is_gone_is_as_others_of_the_program),
		TEST(who_is_like_nobody_is_alone),
		TEST(what_begins_in_flicks_code_is_nobodys),
		TEST(the_same_places_are_told_apart_by_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
