/*
 * paths.c - numbers of paths, over random graphs: a walk's sum is the number of the path it
 * took, and the number tells the path.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "copy/paths.h"

enum { BLOCKS = 3000, EDGES = 3 * BLOCKS, STARTS = 3, FEW = 12, MANY_WAYS = 50000 };

static struct fl_path_edge edges[1 << 16];
static struct fl_path_start starts[(1 << 16) + BLOCKS];
static uint32_t memory[1 << 16];
static struct fl_paths paths;
static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = fl_random_next(seed);
	return (uint32_t)((seed >> 16) % n);
}

static void begin(uint32_t n_blocks, uint32_t n_given)
{
	paths = (struct fl_paths){
		.n_blocks = n_blocks, .n_given = n_given, .edges = edges, .starts = starts,
	};
	for (uint32_t i = 0; i < n_given; i++)
		starts[i] = (struct fl_path_start){ .block = i ? below(n_blocks) : 0 };
}

static void draw(uint32_t from, uint32_t to)
{
	edges[paths.n_edges++] = (struct fl_path_edge){ .from = from, .to = to };
}

static int number(void)
{
	memset(memory, 0xa5, sizeof memory);
	assert_true(fl_paths_memory(paths.n_blocks) <= sizeof memory);
	return fl_paths_number(&paths, memory);
}

/* Circles into their middle, several edges of two blocks, blocks that nobody comes to. */
static void draw_any(uint32_t n_blocks)
{
	begin(n_blocks, 1 + below(STARTS));
	for (uint32_t b = 0; b < n_blocks; b++)
		for (uint32_t k = 1 + below(3); k--;)
			draw(b, below(5) ? below(n_blocks) : FL_PATH_NONE);
}

/* Branches ahead and back by a little, as compilers make them. */
static void draw_code(uint32_t n_blocks)
{
	begin(n_blocks, 1);
	for (uint32_t b = 0; b < n_blocks; b++) {
		uint32_t near = b + 2 + below(6);

		draw(b, b + 1 < n_blocks ? b + 1 : FL_PATH_NONE);
		if (!below(8))
			near = b - below(b < 20 ? b + 1 : 20);
		if (below(4))
			draw(b, near < n_blocks ? near : FL_PATH_NONE);
	}
}

static void expect_path(uint32_t told, uint32_t start, const uint32_t *gone, uint32_t n)
{
	static uint32_t found[BLOCKS];
	uint32_t from = FL_PATH_NONE;

	assert_true(told < paths.n);
	assert_int_equal(fl_paths_find(&paths, told, &from, found), n);
	assert_int_equal(from, start);
	assert_memory_equal(found, gone, n * sizeof *gone);
}

/* ---- all paths of small graphs ----------------------------------------------------- */

static uint32_t gone[BLOCKS], n_seen;
static unsigned char seen[MANY_WAYS];

static void go_all_ways(uint32_t start, uint32_t block, uint32_t sum, uint32_t n)
{
	assert_true(n < paths.n_blocks);
	for (uint32_t e = 0; e < paths.n_edges; e++) {
		if (edges[e].from != block)
			continue;
		gone[n] = e;
		if (!fl_path_ends(&edges[e])) {
			go_all_ways(start, edges[e].to, sum + edges[e].add, n + 1);
			continue;
		}
		expect_path(sum + edges[e].add, start, gone, n + 1);
		assert_int_equal(seen[sum + edges[e].add]++, 0);
		n_seen++;
	}
}

static bool leads_to(uint32_t from, uint32_t to)
{
	bool is_met[FEW] = { false };

	is_met[from] = true;
	for (uint32_t turn = 0; turn < paths.n_blocks; turn++)
		for (uint32_t e = 0; e < paths.n_edges; e++)
			if (is_met[edges[e].from] && edges[e].to != FL_PATH_NONE)
				is_met[edges[e].to] = true;
	return is_met[to];
}

static void each_path_has_one_number_and_none_is_left(void **unused)
{
	uint32_t n_graphs = 0;

	(void)unused;
	seed = 1;
	while (n_graphs < 3000) {
		draw_any(1 + below(FEW));
		assert_int_equal(number(), 0);
		if (paths.n > MANY_WAYS)
			continue;
		n_graphs++;
		n_seen = 0;
		memset(seen, 0, paths.n);
		for (uint32_t i = 0; i < paths.n_starts; i++)
			go_all_ways(i, starts[i].block, starts[i].set, 0);
		assert_int_equal(n_seen, paths.n);
	}
}

static void what_is_in_no_circle_is_not_cut(void **unused)
{
	uint32_t n_cut = 0;

	(void)unused;
	seed = 2;
	for (uint32_t k = 0; k < 2000; k++) {
		draw_any(1 + below(FEW));
		assert_int_equal(number(), 0);
		for (uint32_t e = 0; e < paths.n_edges; e++) {
			if (!edges[e].cut)
				continue;
			assert_int_equal(edges[e].cut, FL_PATH_CUT_BACK);
			assert_true(leads_to(edges[e].to, edges[e].from));
			n_cut++;
		}
	}
	assert_true(n_cut > 1000);
}

/* ---- walks ------------------------------------------------------------------------- */

/* As a program does it, n times in and out. Returns how many paths it went. */
static uint32_t walk(uint32_t n)
{
	uint32_t told = 0, n_gone = 0, start = 0, block, sum;

	for (uint32_t call = 0; call < n; call++) {
		start = below(paths.n_given);
		block = starts[start].block;
		sum = starts[start].set;
		for (uint32_t steps = 0; block != FL_PATH_NONE && steps < 5000; steps++) {
			uint32_t first = paths.first[block];
			uint32_t e = first + below(paths.first[block + 1] - first);

			assert_int_equal(edges[e].from, block);
			gone[n_gone++] = e;
			sum += edges[e].add;
			block = edges[e].to;
			if (!fl_path_ends(&edges[e]))
				continue;
			expect_path(sum, start, gone, n_gone);
			told++;
			n_gone = 0;
			if (block == FL_PATH_NONE)
				break;
			start = paths.begins[block];
			assert_int_equal(starts[start].block, block);
			sum = starts[start].set;
		}
		n_gone = 0;
	}
	return told;
}

static void a_walks_sum_is_its_paths_number(void **unused)
{
	(void)unused;
	seed = 3;
	for (uint32_t k = 0; k < 300; k++) {
		draw_any(1 + below(60));
		assert_int_equal(number(), 0);
		assert_true(walk(20) > 0);
		draw_code(1 + below(60));
		assert_int_equal(number(), 0);
		assert_true(walk(20) > 0);
	}
}

/* 0 does not lead to 1. */
static void who_comes_from_nowhere_is_on_a_path(void **unused)
{
	(void)unused;
	begin(3, 1);
	draw(0, FL_PATH_NONE);
	draw(1, 2);
	draw(2, FL_PATH_NONE);
	assert_int_equal(number(), 0);
	assert_int_equal(paths.n, 2);
	assert_int_equal(paths.n_starts, 2);
	assert_int_equal(starts[paths.begins[1]].block, 1);
}

static void too_many_paths_are_cut_into_more(void **unused)
{
	uint32_t n_long = 0;

	(void)unused;
	seed = 4;
	for (uint32_t k = 0; k < 20; k++) {
		draw_code(BLOCKS);
		assert_int_equal(number(), 0);
		assert_true(paths.n <= FL_PATHS_MAX);
		for (uint32_t e = 0; e < paths.n_edges; e++)
			n_long += edges[e].cut == FL_PATH_CUT_LONG;
		assert_true(walk(20) > 20);
	}
	assert_true(n_long > 20);
}

/* Of 2^sides paths. */
static uint32_t cut_of_ladder(uint32_t sides, uint32_t n_given)
{
	uint32_t n = 0;

	seed = 8;
	begin(2 * sides + 1, n_given);
	for (uint32_t b = 0; b < 2 * sides; b += 2) {
		draw(b, b + 1);
		draw(b, b + 2);
		draw(b + 1, b + 2);
	}
	draw(2 * sides, FL_PATH_NONE);
	assert_int_equal(number(), 0);
	for (uint32_t e = 0; e < paths.n_edges; e++)
		n += edges[e].cut == FL_PATH_CUT_LONG;
	return n;
}

static void where_a_few_cuts_do_each_path_has_a_cell(void **unused)
{
	(void)unused;
	assert_int_equal(cut_of_ladder(17, 1), 0);
	assert_int_equal(paths.n, FL_PATHS_OWN);
	assert_in_range(cut_of_ladder(25, 1), 1, 4);
	assert_true(paths.n <= FL_PATHS_OWN);
	assert_int_equal(cut_of_ladder(25, 16), 0);	/* begun anywhere */
	assert_true(paths.n > FL_PATHS_OWN);
	seed = 4;
	draw_code(BLOCKS);			/* many would be cut */
	assert_int_equal(number(), 0);
	assert_true(paths.n > FL_PATHS_OWN);
}

static void more_paths_than_can_be_told_are_refused(void **unused)
{
	enum { SIDES = 1 << 16 };

	(void)unused;
	begin(1, SIDES);
	for (uint32_t e = 0; e < SIDES; e++)
		draw(0, FL_PATH_NONE);
	assert_int_equal(number(), -E2BIG);
	paths.n_edges = SIDES / 2;
	assert_int_equal(number(), 0);
	assert_int_equal(paths.n, FL_PATHS_MAX);
}

static void no_number_beyond_the_last_is_a_path(void **unused)
{
	uint32_t start, found[FEW];

	(void)unused;
	seed = 5;
	draw_any(FEW);
	assert_int_equal(number(), 0);
	assert_true(fl_paths_find(&paths, paths.n - 1, &start, found) > 0);
	assert_int_equal(fl_paths_find(&paths, paths.n, &start, found), 0);
	assert_int_equal(fl_paths_find(&paths, UINT32_MAX, &start, found), 0);
}

/* ---- where something is added ------------------------------------------------------ */

static bool merge(uint32_t *tree, uint32_t a, uint32_t b)
{
	uint32_t of_a = tree[a], of_b = tree[b];

	for (uint32_t i = 0; i < paths.n_blocks; i++)
		if (tree[i] == of_b)
			tree[i] = of_a;
	return of_a != of_b;
}

/* As many as it takes to hold together what inner edges hold together. */
static void a_tree_of_edges_adds_nothing(void **unused)
{
	(void)unused;
	seed = 6;
	for (uint32_t k = 0; k < 300; k++) {
		uint32_t tree[BLOCKS], n_besides = 0, n_adds = 0;

		draw_code(1 + below(200));
		assert_int_equal(number(), 0);
		for (uint32_t b = 0; b < paths.n_blocks; b++)
			tree[b] = b;
		for (uint32_t e = 0; e < paths.n_edges; e++) {
			if (fl_path_ends(&edges[e]))
				continue;
			n_adds += edges[e].add != 0;
			n_besides += !merge(tree, edges[e].from, edges[e].to);
		}
		assert_true(n_adds <= n_besides);
	}
}

/* 2 -> 4 -> 3 is a loop that is left from 2 and from 3. */
static void what_is_in_a_loop_adds_less(void **unused)
{
	static const uint32_t drawn[][2] = {
		{ 0, 2 }, { 1, FL_PATH_NONE }, { 2, 1 }, { 2, 4 }, { 3, 1 }, { 3, 2 },
		{ 4, 3 }, { 4, 2 },
	};

	(void)unused;
	begin(5, 1);
	for (uint32_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
		draw(drawn[i][0], drawn[i][1]);
	assert_int_equal(number(), 0);
	assert_int_equal(edges[3].add, 0);
	assert_int_equal(edges[6].add, 0);
	assert_int_not_equal(edges[2].add | edges[4].add, 0);
	seed = 7;
	assert_true(walk(100) >= 100);
}

/* 1 -> 3 jumps to who knows where; 4 is what stands there, and leads back by 2, as does what 1
 * does not know. */
static void from_jump_to_jump_an_interpreter_has_one_path(void **unused)
{
	static const uint32_t drawn[][2] = {
		{ 0, 1 }, { 1, 3 }, { 1, 2 }, { 2, 1 }, { 3, FL_PATH_NONE }, { 4, 2 },
	};

	(void)unused;
	begin(5, 5);
	for (uint32_t i = 0; i < 5; i++)
		starts[i].block = i;
	for (uint32_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
		draw(drawn[i][0], drawn[i][1]);
	assert_int_equal(number(), 0);
	assert_int_equal(edges[3].cut, FL_PATH_CUT_BACK);
	edges[4].jumps = true;
	assert_int_equal(number(), 0);
	assert_int_equal(edges[3].cut, FL_PATH_GOES_ON);
	assert_int_equal(edges[2].cut, FL_PATH_CUT_BACK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_path_has_one_number_and_none_is_left),
		cmocka_unit_test(what_is_in_no_circle_is_not_cut),
		cmocka_unit_test(a_walks_sum_is_its_paths_number),
		cmocka_unit_test(who_comes_from_nowhere_is_on_a_path),
		cmocka_unit_test(too_many_paths_are_cut_into_more),
		cmocka_unit_test(where_a_few_cuts_do_each_path_has_a_cell),
		cmocka_unit_test(more_paths_than_can_be_told_are_refused),
		cmocka_unit_test(no_number_beyond_the_last_is_a_path),
		cmocka_unit_test(a_tree_of_edges_adds_nothing),
		cmocka_unit_test(what_is_in_a_loop_adds_less),
		cmocka_unit_test(from_jump_to_jump_an_interpreter_has_one_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
