/*
 * unit/session-ways: whom all ways to a function lead through, against what taking each
 * function out of the graph says, in graphs that are drawn at random; and who has called it for
 * certain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "session/samples/ways.h"

enum { MOST = 12, NONE = UINT32_MAX, ROUNDS = 8000 };

static struct fl_ways ways;
static uint32_t n;
static bool calls[MOST][MOST], begins[MOST];
static uint64_t number = 0x9e3779b97f4a7c15ull;

static uint32_t draw(uint32_t below)
{
	number = fl_random_next(number);
	return (uint32_t)(number >> 33) % below;
}

static void reach(uint32_t without, bool reached[MOST]);

/* Where no way leads to, ways begin that are not known. */
static void let_others_begin(void)
{
	bool reached[MOST];

	reach(NONE, reached);
	for (uint32_t f = 0; f < n; f++)
		begins[f] |= !reached[f];
}

static void let_graph(void)
{
	n = 2 + draw(MOST - 1);
	memset(calls, 0, sizeof calls);
	memset(begins, 0, sizeof begins);
	assert_int_equal(fl_ways_open(&ways, n), 0);
	for (uint32_t i = draw(3 * n); i--;) {
		uint32_t caller = draw(n), callee = draw(n);

		calls[caller][callee] = true;
		assert_int_equal(fl_ways_note(&ways, callee, caller), 0);
	}
	for (uint32_t i = 1 + draw(2); i--;) {
		uint32_t first = draw(n);

		begins[first] = true;
		assert_int_equal(fl_ways_begin(&ways, first), 0);
	}
	assert_int_equal(fl_ways_find(&ways), 0);
	let_others_begin();
}

/* Who can be come to when nobody goes through `without`. */
static void reach(uint32_t without, bool reached[MOST])
{
	bool more = true;

	for (uint32_t f = 0; f < n; f++)
		reached[f] = begins[f] && f != without;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < n * n; i++) {
			uint32_t f = i / n, to = i % n;

			if (!reached[f] || !calls[f][to] || reached[to] || to == without)
				continue;
			reached[to] = more = true;
		}
	}
}

/* Those that are in all ways to `f` lie in a row; the nearest has all others in its own. */
static void find_all_through(uint32_t f, bool through[MOST])
{
	bool reached[MOST];

	for (uint32_t x = 0; x < n; x++) {
		reach(x, reached);
		through[x] = x != f && !reached[f];
	}
}

static uint32_t nearest(uint32_t f)
{
	bool through[MOST], above[MOST];

	find_all_through(f, through);
	for (uint32_t x = 0; x < n; x++) {
		bool is_nearest = through[x];

		find_all_through(x, above);
		for (uint32_t y = 0; y < n; y++)
			is_nearest &= !through[y] || y == x || above[y];
		if (is_nearest)
			return x;
	}
	return NONE;
}

static bool is_call(uint32_t f)
{
	uint32_t from = nearest(f);
	bool without[MOST];

	reach(f, without);
	for (uint32_t x = 0; x < n; x++)
		if (calls[x][f] && x != from && x != f && without[x])
			return false;
	return !begins[f] && from != NONE && calls[from][f];
}

static void it_is_who_cannot_be_gone_around(void **state)
{
	uint32_t found = 0, certain = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		let_graph();
		for (uint32_t f = 0; f < n; f++) {
			uint32_t through = nearest(f);

			assert_int_equal(fl_ways_through(&ways, f), through);
			found += through != NONE;
			if (through == NONE)
				continue;
			assert_int_equal(fl_ways_is_call(&ways, f), is_call(f));
			certain += is_call(f);
		}
		fl_ways_close(&ways);
	}
	assert_true(found > ROUNDS && certain > ROUNDS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_who_cannot_be_gone_around),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
