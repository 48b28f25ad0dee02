/*
 * unit/perf-chains: each chain is kept once, with how often it was met; what differs in one
 * place, in its order, in its length or in how it ends is another one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "perf/chains.h"

static struct fl_chains chains;
static const char *const files[] = { "a", "b" };

static struct fl_pc place(unsigned file, uint64_t at)
{
	return (struct fl_pc){ .path = files[file], .at = at, .pid = 1 };
}

static void add_end(uint32_t periods, uint32_t n, const uint64_t *at, enum fl_chain_end end)
{
	struct fl_pc pcs[8];

	for (uint32_t i = 0; i < n; i++)
		pcs[i] = place(at[i] & 1, at[i] >> 1);
	fl_chains_add(&chains, pcs, &(struct fl_chain){
		.n = n, .end = end, .samples = 1, .periods = periods });
}

static void add(uint32_t periods, uint32_t n, const uint64_t *at)
{
	add_end(periods, n, at, FL_CHAIN_WHOLE);
}

/* Of the chain of these places; 0: there is none. */
static uint64_t periods_of(uint32_t n, const uint64_t *at)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < chains.n; i++) {
		const uint32_t *steps = &chains.steps[chains.of[i].first];
		uint32_t same = 0;

		while (chains.of[i].n == n && same < n &&
		       chains.places[steps[same]].at == at[same] >> 1 &&
		       chains.places[steps[same]].path == files[at[same] & 1])
			same++;
		sum += same == n ? chains.of[i].periods : 0;
	}
	return sum;
}

static void what_is_the_same_is_there_once(void **state)
{
	static const uint64_t one[] = { 10, 20, 30 }, prefix[] = { 10, 20 },
			      turned[] = { 30, 20, 10 }, other_file[] = { 11, 20, 30 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		add(1, 3, one);
		add(10, 2, prefix);
		add(100, 3, turned);
		add(1000, 3, other_file);
		add(5, 0, one);
	}
	assert_int_equal(chains.n, 4);
	assert_int_equal(chains.n_places, 4);
	assert_int_equal(periods_of(3, one), 3);
	assert_int_equal(periods_of(2, prefix), 30);
	assert_int_equal(periods_of(3, turned), 300);
	assert_int_equal(periods_of(3, other_file), 3000);
	fl_chains_forget(&chains);
	assert_int_equal(chains.n, 0);
}

static void the_same_that_ends_in_another_way_is_another(void **state)
{
	static const uint64_t at[] = { 10, 20, 30 };

	(void)state;
	add_end(1, 3, at, FL_CHAIN_WHOLE);
	add_end(10, 3, at, FL_CHAIN_CUT);
	add_end(100, 3, at, FL_CHAIN_LOST);
	add_end(3, 3, at, FL_CHAIN_CUT);
	assert_int_equal(chains.n, 3);
	assert_int_equal(chains.of[1].periods, 13);
	assert_int_equal(chains.of[1].samples, 2);
	assert_int_equal(chains.of[1].end, FL_CHAIN_CUT);
	fl_chains_forget(&chains);
}

static void many_are_told_apart(void **state)
{
	enum { MANY = 3000 };

	(void)state;
	for (int round = 0; round < 2; round++)
		for (uint64_t i = 0; i < MANY; i++)
			add((uint32_t)i, 3, (uint64_t[]){ i % 7, i % 300, i });
	assert_int_equal(chains.n, MANY);
	for (uint64_t i = 1; i < MANY; i++)
		assert_int_equal(periods_of(3, (uint64_t[]){ i % 7, i % 300, i }), 2 * i);
	fl_chains_forget(&chains);
}

/* Two of three places, of which the first is the same, have one hash. */
static void chains_of_one_hash_are_told_apart(void **state)
{
	enum { MANY = 6000 };
	uint32_t first = fl_hash_of(fl_hash_of(0, 0), 1), hash[MANY + 1], a, c, last = 0;

	(void)state;
	for (uint64_t i = 0; i < MANY; i++) {	/* numbered from 1 on */
		add(1, 1, (uint64_t[]){ 2 * i });
		hash[i + 1] = fl_hash_of(first, i + 1);
	}
	for (a = 1; a < MANY && !last; a++)
		for (c = a + 1; c <= MANY && !last; c++)
			last = (hash[a] ^ hash[c] ^ 1) <= MANY ? hash[a] ^ hash[c] ^ 1 : 0;
	assert_int_not_equal(last, 0);
	a = 2 * (a - 2);			/* a and c went one too far */
	c = 2 * (c - 2);
	last = 2 * (last - 1);
	add(10, 3, (uint64_t[]){ 0, a, 0 });
	add(100, 3, (uint64_t[]){ 0, c, last });
	assert_int_equal(periods_of(3, (uint64_t[]){ 0, a, 0 }), 10);
	assert_int_equal(periods_of(3, (uint64_t[]){ 0, c, last }), 100);
	fl_chains_forget(&chains);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_the_same_is_there_once),
		cmocka_unit_test(the_same_that_ends_in_another_way_is_another),
		cmocka_unit_test(many_are_told_apart),
		cmocka_unit_test(chains_of_one_hash_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
