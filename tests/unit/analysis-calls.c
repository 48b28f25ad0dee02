/*
 * Who called whom, told by synthetic streams: graph, tree and subtrees at once.
 * A letter is a function; stack pointers are written as bytes below the top. A
 * call whose caller is not certain counts as unsure, wherever it is shown.
 */
#include "analysis-rig.h"

enum { GRAPH, TREE, SUBTREES, LATENCY, N_USES };
static const char *const specs[] = { "graph", "tree", "subtrees", "latency" };

static const char *name_of(const void *owner, uint32_t function)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };

	(void)owner;
	return names[function];
}

static struct fl_use uses[N_USES];
static struct fl_run *other;
static struct flick_rows results[N_USES];

static int set_up(void **unused)
{
	char why[FL_USE_WHY];

	(void)unused;
	lay_sites();
	view.name = name_of;
	for (int i = 0; i < N_USES; i++)
		assert_int_equal(fl_use_open(&uses[i], specs[i], why), 0);
	now = 1000;
	view.framed = 0;
	assert_int_equal(fl_run_open(&other, uses, N_USES, &view), 0);
	return fl_run_open(&run, uses, N_USES, &view);
}

static int tear_down(void **unused)
{
	(void)unused;
	for (int i = 0; i < N_USES; i++) {
		free(results[i].cells);
		results[i] = (struct flick_rows){ 0 };
	}
	fl_run_close(run);
	fl_run_close(other);
	for (int i = 0; i < N_USES; i++)
		fl_use_close(&uses[i]);
	return 0;
}

/* ---- asking ----------------------------------------------------------------------- */

static const struct flick_rows *result(int which)
{
	if (!results[which].cells) {
		assert_int_equal(fl_run_thread_end(run, 0, 0), 0);
		assert_int_equal(fl_run_rows(run, (size_t)which, &results[which]), 0);
	}
	return &results[which];
}

static uint64_t letter(char f)
{
	return f == '-' ? FLICK_NONE : (uint64_t)(f - 'a');
}

/* Of the edge "ab"; '-' is no known caller. 0 when there is none. */
static uint64_t edge(const char *pair, const char *what)
{
	const struct flick_rows *r = result(GRAPH);

	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[column(r, "caller")] == letter(pair[0]) &&
		    row[column(r, "function")] == letter(pair[1]))
			return row[column(r, what)];
	}
	return 0;
}

static const uint64_t *find_node(const struct flick_rows *r, uint64_t parent, char f)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[column(r, "parent")] == parent &&
		    row[column(r, "function")] == letter(f))
			return row;
	}
	return NULL;
}

/* Of the context "abc": c, called by b, called by a, called by nobody. */
static uint64_t context(const char *path, const char *what)
{
	const struct flick_rows *r = result(TREE);
	const uint64_t *row = NULL;
	uint64_t parent = FLICK_NONE;

	for (; *path; path++) {
		row = find_node(r, parent, *path);
		if (!row)
			return 0;
		parent = row[column(r, "id")];
	}
	return row[column(r, what)];
}

/* How often `f` called this set; NULL: not known. */
static uint64_t subtree(char f, const char *set)
{
	const struct flick_rows *r = result(SUBTREES);

	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;
		uint64_t text = row[column(r, "callees")];

		if (row[column(r, "function")] != letter(f))
			continue;
		if (set ? text != FLICK_NONE && !strcmp((char *)(uintptr_t)text, set) :
		    text == FLICK_NONE)
			return row[column(r, "calls")];
	}
	return 0;
}

static uint64_t sum(int which, const char *what)
{
	const struct flick_rows *r = result(which);
	uint64_t n = 0;

	for (size_t i = 0; i < r->n_rows; i++)
		n += r->cells[i * r->n_columns + column(r, what)];
	return n;
}

/* ---- claims ------------------------------------------------------------------------ */

static void nesting_is_who_called_whom(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	enter('c', 300);
	leave('c', 300);
	leave('b', 200);
	enter('c', 200);
	leave('c', 200);
	enter('c', 200);
	leave('c', 200);
	leave('a', 100);
	assert_int_equal(edge("-a", "calls"), 1);
	assert_int_equal(edge("ab", "calls"), 1);
	assert_int_equal(edge("bc", "calls"), 1);
	assert_int_equal(edge("ac", "calls"), 2);
	assert_int_equal(edge("ac", "total_ns"), 20);
	assert_int_equal(edge("-a", "total_ns"), 90);
	assert_int_equal(edge("-a", "self_ns"), 40);
	assert_int_equal(result(GRAPH)->n_rows, 4);
	assert_int_equal(context("abc", "calls"), 1);
	assert_int_equal(context("ac", "calls"), 2);
	assert_int_equal(context("ab", "total_ns"), 30);
	assert_int_equal(context("ab", "self_ns"), 20);
	assert_int_equal(result(TREE)->n_rows, 4);
	assert_int_equal(subtree('a', "b; c"), 1);
	assert_int_equal(subtree('b', "c"), 1);
	assert_int_equal(subtree('c', ""), 3);
	assert_int_equal(sum(GRAPH, "unsure") + sum(TREE, "unsure"), 0);
}

static const char *backwards(const void *owner, uint32_t function)
{
	return name_of(owner, FUNCTIONS - 1 - function);
}

/* So that two recordings, which number functions differently, are compared. */
static void a_set_is_written_in_the_order_of_names(void **unused)
{
	(void)unused;
	view.name = backwards;
	enter('a', 100);
	for (char f = 'b'; f <= 'd'; f++) {
		enter(f, 200);
		leave(f, 200);
	}
	leave('a', 100);
	assert_int_equal(subtree('a', "e; f; g"), 1);
}

static void recursion_has_a_row_a_level(void **unused)
{
	(void)unused;
	for (uint32_t i = 1; i <= 4; i++)
		enter('a', i * 100);
	for (uint32_t i = 4; i >= 1; i--)
		leave('a', i * 100);
	assert_int_equal(edge("-a", "calls"), 1);
	assert_int_equal(edge("aa", "calls"), 3);
	assert_int_equal(edge("aa", "sum_ns"), 10 + 30 + 50);
	assert_int_equal(edge("aa", "total_ns"), 0);
	assert_int_equal(edge("-a", "total_ns"), edge("-a", "sum_ns"));
	assert_int_equal(context("aaaa", "calls"), 1);
	assert_int_equal(context("aaaa", "self_ns"), 10);
	assert_int_equal(context("a", "total_ns"), 70);
	assert_int_equal(context("aaaaa", "calls"), 0);
	assert_int_equal(subtree('a', "a"), 3);
	assert_int_equal(subtree('a', ""), 1);
}

/* The exit comes before the jump: who called a tail caller calls its callee. */
static void tail_calls_are_the_callers(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	jump_out('b', 192);
	enter('c', 200);
	leave('c', 200);
	leave('a', 100);
	assert_int_equal(edge("ac", "calls"), 1);
	assert_int_equal(edge("bc", "calls"), 0);
	assert_int_equal(subtree('a', "b; c"), 1);
	assert_int_equal(sum(GRAPH, "unsure"), 0);
}

/* b is left by longjmp to a, which calls c above where b began: b is dead. */
static void a_call_that_proves_another_dead_is_the_outer_ones(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 300);
	enter('c', 200);
	leave('c', 200);
	leave('a', 100);
	assert_int_equal(edge("ac", "calls"), 1);
	assert_int_equal(edge("bc", "calls"), 0);
	assert_int_equal(edge("ab", "calls"), 1);
	assert_int_equal(edge("ab", "unknown"), 1);
	assert_int_equal(sum(GRAPH, "unsure"), 0);
	assert_int_equal(context("ac", "calls"), 1);
	assert_int_equal(sum(TREE, "unsure"), 0);
	assert_int_equal(subtree('a', NULL), 1);	/* b may have called what a seems to */
	assert_int_equal(subtree('b', NULL), 1);
}

/* c began below b, which a then leaves behind: called by b before that, or by
 * a after it. Nobody knows. */
/* a calls b, which switches to a stack inside the frame of a's caller: c there stands
 * above both, which live on. Its time is in theirs, so it is no certain root. */
static void what_a_coroutine_in_a_frame_calls_has_no_known_caller(void **unused)
{
	(void)unused;
	enter('a', 1000);
	enter('b', 1040);
	enter('c', 500);
	enter('d', 540);
	leave('d', 540);
	leave('c', 500);
	leave('b', 1040);
	leave('a', 1000);
	assert_int_equal(edge("-c", "calls"), 1);
	assert_int_equal(edge("-c", "unsure"), 1);
	assert_int_equal(edge("-c", "total_ns"), 30);
	assert_int_equal(edge("cd", "unsure"), 0);
	assert_int_equal(edge("ab", "total_ns"), 50);
	assert_int_equal(edge("ab", "self_ns"), 20);	/* less c's time */
	assert_int_equal(edge("-a", "self_ns"), 20);
}

/* Each call has 7 ticks between its clock readings for its own probes, and takes 16 of
 * whoever is around it. */
static void times_are_without_probes(void **unused)
{
	(void)unused;
	fl_run_close(run);
	view.overhead[0] = (struct fl_overhead){ .inside = 7, .pair = 16 };
	assert_int_equal(fl_run_open(&run, uses, N_USES, &view), 0);
	enter('a', 100);
	now += 50;
	enter('b', 200);
	now += 20;
	enter('c', 300);
	leave('c', 300);
	leave('b', 200);
	leave('a', 100);
	view.overhead[0] = (struct fl_overhead){ 0 };
	assert_int_equal(edge("bc", "total_ns"), 10 - 7);
	assert_int_equal(edge("ab", "total_ns"), 50 - 7 - 16);
	assert_int_equal(edge("ab", "self_ns"), 50 - 7 - 16 - 3);
	assert_int_equal(edge("-a", "total_ns"), 120 - 7 - 2 * 16);
	assert_int_equal(edge("-a", "self_ns"), 120 - 7 - 2 * 16 - 27);
}

/* A handler on a stack of its own, within b: its probes are no time of a and b. */
static void times_are_without_probes_on_other_stacks(void **unused)
{
	(void)unused;
	fl_run_close(run);
	view.overhead[0] = (struct fl_overhead){ .inside = 7, .pair = 16 };
	assert_int_equal(fl_run_open(&run, uses, N_USES, &view), 0);
	enter('a', 100);
	enter('b', 200);
	enter('c', 64 << 20);
	leave('d', 64 << 20);			/* not seen to begin: the end of a probe, too */
	now += 80;
	leave('c', 64 << 20);
	leave('b', 200);
	leave('a', 100);
	view.overhead[0] = (struct fl_overhead){ 0 };
	assert_int_equal(edge("-c", "total_ns"), 100 - 7 - 9);
	assert_int_equal(edge("ab", "total_ns"), 120 - 7 - 16 - 9);
	assert_int_equal(edge("-a", "total_ns"), 140 - 7 - 2 * 16 - 9);
}

/* Calls of pads and sleds cost what theirs do; less than none is none. */
static void what_probes_take_is_of_their_kind(void **unused)
{
	(void)unused;
	fl_run_close(run);
	view.framed = 1;			/* provider 0, of all sites here */
	view.overhead[0] = (struct fl_overhead){ .inside = 1, .pair = 2 };
	view.overhead[1] = (struct fl_overhead){ .inside = 7, .pair = 16 };
	assert_int_equal(fl_run_open(&run, uses, N_USES, &view), 0);
	view.framed = 0;
	enter('a', 100);
	for (int i = 0; i < 5; i++) {
		enter('b', 200);
		leave('b', 200);
	}
	leave('a', 100);
	view.overhead[0] = view.overhead[1] = (struct fl_overhead){ 0 };
	assert_int_equal(edge("ab", "total_ns"), 5 * (10 - 7));
	assert_int_equal(edge("-a", "total_ns"), 110 - 7 - 5 * 16);
	assert_int_equal(edge("-a", "self_ns"), 110 - 7 - 5 * 16 - 5 * 3);
}

static void no_time_is_less_than_none(void **unused)
{
	(void)unused;
	fl_run_close(run);
	view.overhead[0] = (struct fl_overhead){ .inside = 17, .pair = 30 };
	assert_int_equal(fl_run_open(&run, uses, N_USES, &view), 0);
	enter('a', 100);
	now += 15;
	enter('b', 200);
	now += 20;
	leave('b', 200);
	leave('a', 100);
	view.overhead[0] = (struct fl_overhead){ 0 };
	assert_int_equal(edge("ab", "total_ns"), 30 - 17);
	assert_int_equal(edge("-a", "total_ns"), 65 - 17 - 30);
	assert_int_equal(edge("-a", "self_ns"), 65 - 17 - 30 - 13);
}

static void nor_are_those_of_more_probes_than_calls(void **unused)
{
	(void)unused;
	fl_run_close(run);
	view.overhead[0] = (struct fl_overhead){ .inside = 17, .pair = 80000 };
	assert_int_equal(fl_run_open(&run, uses, N_USES, &view), 0);
	enter('a', 100);
	enter('b', 200);
	now += 10000;
	leave('b', 200);
	leave('a', 100);
	view.overhead[0] = (struct fl_overhead){ 0 };
	assert_int_equal(edge("ab", "total_ns"), 10010 - 17);
	assert_int_equal(edge("-a", "calls"), 1);
	assert_int_equal(edge("-a", "total_ns"), 0);
	assert_int_equal(edge("-a", "self_ns"), 0);
}

/* Behind the first record of its chunk the thread waited for 1,000 ticks. */
static void waits_for_a_ring_are_no_time_of_calls(void **unused)
{
	struct flick_record r = { 0, ('b' - 'a') * PROBES + ENTRY, TOP - 200 };
	struct fl_batch b = { .records = &r, .n = 1, .paused = 1000 };

	(void)unused;
	enter('a', 100);
	r.tsc = now += 10;
	assert_int_equal(fl_run_feed(run, &b), 0);
	now += 1000;
	leave('b', 200);
	leave('a', 100);
	assert_int_equal(edge("ab", "total_ns"), 10);
	assert_int_equal(edge("-a", "total_ns"), 30);
	assert_int_equal(edge("-a", "self_ns"), 20);
}

static void what_an_unwound_call_made_has_no_known_caller(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	enter('c', 300);
	enter('d', 400);
	leave('d', 400);
	leave('c', 300);
	leave('a', 100);
	assert_int_equal(edge("bc", "calls"), 0);
	assert_int_equal(edge("ac", "calls"), 0);
	assert_int_equal(edge("-c", "calls"), 1);
	assert_int_equal(edge("-c", "unsure"), 1);
	assert_int_equal(edge("cd", "calls"), 1);	/* this is certain */
	assert_int_equal(edge("cd", "unsure"), 0);
	assert_int_equal(context("abc", "calls"), 0);
	assert_int_equal(context("c", "unsure"), 1);
	assert_int_equal(context("cd", "unsure"), 1);
	assert_int_equal(context("ab", "unknown"), 1);
	assert_int_equal(context("ab", "total_ns"), FLICK_NONE);
	assert_int_equal(subtree('c', "d"), 1);
	assert_int_equal(subtree('b', NULL), 1);
	assert_int_equal(subtree('a', NULL), 1);
}

/* A loop around setjmp: the same site at the same place is a new call of the
 * loop's, not of the one that was left. */
static void repeated_longjmp_is_no_recursion(void **unused)
{
	(void)unused;
	enter('a', 100);
	for (int i = 0; i < 1000; i++) {
		enter('b', 200);
		enter('c', 300);
	}
	enter('b', 200);
	leave('b', 200);
	leave('a', 100);
	assert_int_equal(edge("bb", "calls"), 0);
	assert_int_equal(edge("cb", "calls"), 0);
	assert_int_equal(edge("ab", "calls") + edge("-b", "calls"), 1001);
	assert_int_equal(edge("-b", "calls"), edge("-b", "unsure"));
	assert_true(edge("ab", "calls") >= 900);
	assert_int_equal(edge("-c", "calls"), 1000);
	assert_int_equal(edge("-c", "unsure"), 1000);
	assert_int_equal(sum(TREE, "calls"), 2002);
}

/* b and c both began at their first instruction, at one place: b is over. Were
 * they inlined, c might be in b. */
static void entries_at_one_place_are_told_by_their_sites(void **unused)
{
	(void)unused;
	fl_run_close(run);
	view.framed = 1;			/* provider 0, of all sites here */
	assert_int_equal(fl_run_open(&run, uses, N_USES, &view), 0);
	enter('a', 100);
	enter('b', 200);
	enter('c', 200);
	leave('c', 200);
	leave('a', 100);
	assert_int_equal(edge("ac", "calls"), 1);
	assert_int_equal(edge("-c", "calls"), 0);
	assert_int_equal(sum(GRAPH, "unsure"), 0);
}

static void entries_at_one_place_may_be_inlined(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	enter('c', 200);
	leave('c', 200);
	leave('a', 100);
	assert_int_equal(edge("ac", "calls"), 0);
	assert_int_equal(edge("-c", "unsure"), 1);
}

/* exit() in the middle: callers are presumed, and that is said. */
static void calls_open_at_the_end_keep_their_place(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	enter('c', 300);
	leave('c', 300);
	enter('d', 300);
	assert_int_equal(edge("bc", "calls"), 1);
	assert_int_equal(edge("bc", "unsure"), 1);
	assert_int_equal(edge("bc", "total_ns"), 10);
	assert_int_equal(edge("bd", "unknown"), 1);
	assert_int_equal(edge("-a", "unsure"), 0);
	assert_int_equal(context("abc", "unsure"), 1);
	assert_int_equal(context("a", "total_ns"), 40);	/* until its last record */
	assert_int_equal(context("a", "open"), 1);
	assert_int_equal(context("a", "avg_ns"), FLICK_NONE);
	assert_int_equal(context("a", "unsure"), 0);
}

/* Late attach: what seems to have no caller had the one that now ends. */
static void strays_cast_doubt_on_what_had_no_caller(void **unused)
{
	(void)unused;
	enter('b', 200);
	enter('c', 300);
	leave('c', 300);
	leave('b', 200);
	leave('a', 100);
	enter('d', 100);
	leave('d', 100);
	assert_int_equal(edge("-b", "unsure"), 1);
	assert_int_equal(edge("bc", "unsure"), 0);
	assert_int_equal(edge("-d", "unsure"), 0);
	assert_int_equal(context("b", "unsure"), 1);
	assert_int_equal(context("bc", "unsure"), 1);
	assert_int_equal(context("d", "unsure"), 0);
}

/* An exception with exit records, from the inside out, is like returning. */
static void exceptions_with_exits_are_certain(void **unused)
{
	(void)unused;
	enter('a', 100);
	enter('b', 200);
	enter('c', 300);
	leave('c', 300);
	leave('b', 200);
	enter('d', 200);
	leave('d', 200);
	leave('a', 100);
	assert_int_equal(edge("ad", "calls"), 1);
	assert_int_equal(sum(GRAPH, "unsure"), 0);
}

/* Sweeping takes callers away from below calls that live on. */
static void sums_survive_sweeping(void **unused)
{
	(void)unused;
	enter('a', 100);
	for (int i = 0; i < 5000; i++) {
		enter('b', 200 + (uint32_t)(i % 7) * 16);
		enter('c', 400);
		enter('d', 500);
		leave('d', 500);
	}
	leave('a', 100);
	for (int which = GRAPH; which <= LATENCY; which++)
		assert_int_equal(sum(which, "calls"), 15001);
	assert_int_equal(sum(GRAPH, "unknown"), 10000);
	assert_int_equal(sum(TREE, "unknown"), 10000);
	assert_int_equal(edge("ad", "calls") + edge("bd", "calls") + edge("dd", "calls"), 0);
}

static void deep_recursion_needs_no_deep_stack(void **unused)
{
	enum { DEEP = 300000 };

	(void)unused;
	for (uint32_t i = 0; i < DEEP; i++)
		enter('a', 100 + i * 16);
	for (uint32_t i = DEEP; i-- > 0;)
		leave('a', 100 + i * 16);
	for (int twice = 0; twice < 2; twice++) {
		enter('a', 100);
		enter('a', 116);
		leave('a', 116);
		leave('a', 100);
	}
	assert_int_equal(result(TREE)->n_rows, DEEP);
	assert_int_equal(context("aa", "calls"), 3);
	assert_int_equal(edge("aa", "calls"), DEEP + 1);
}

static uint32_t next_random(uint32_t *seed)
{
	return *seed = *seed * 1664525 + 1013904223;
}

/* A random walk up and down, to run, to other, or to both by thread. */
static void walk(struct fl_run *to, uint32_t thread)
{
	uint32_t seed = thread + 1, depth = 0;
	char open[64];

	for (int i = 0; i < 4000; i++) {
		if (depth && (depth == 60 || (next_random(&seed) >> 16) % 2)) {
			depth--;
			feed_at(to, thread, (uint32_t)open[depth] * PROBES + EXIT,
				depth * 64, now += 10);
		} else {
			open[depth] = (char)((next_random(&seed) >> 16) % FUNCTIONS);
			feed_at(to, thread, (uint32_t)open[depth] * PROBES,
				depth * 64, now += 10);
			depth++;
		}
	}
}

static int compare_rows(const void *x, const void *y)
{
	return memcmp(x, y, 7 * sizeof(uint64_t));
}

/* Two threads seen by two readers make what they make seen by one. */
static void merged_runs_are_one_run(void **unused)
{
	struct fl_run *both;
	struct flick_rows one, two;

	(void)unused;
	assert_int_equal(fl_run_open(&both, uses, N_USES, &view), 0);
	walk(both, 0);
	walk(both, 1);
	now = 1000;
	walk(run, 0);
	walk(other, 1);
	fl_run_thread_end(run, 0, 0);
	fl_run_thread_end(both, 0, 0);
	fl_run_thread_end(both, 1, 0);
	assert_int_equal(fl_run_merge(run, other), 0);
	for (size_t i = 0; i < N_USES; i++) {
		assert_int_equal(fl_run_rows(both, i, &one), 0);
		assert_int_equal(fl_run_rows(run, i, &two), 0);
		assert_true(one.n_rows > 0);
		assert_int_equal(one.n_rows, two.n_rows);
		if (i == GRAPH) {
			qsort(one.cells, one.n_rows, 7 * sizeof(uint64_t), compare_rows);
			qsort(two.cells, two.n_rows, 7 * sizeof(uint64_t), compare_rows);
		}
		if (i == GRAPH || i == LATENCY)
			assert_memory_equal(one.cells, two.cells,
					    one.n_rows * one.n_columns * 8);
		free(one.cells);
		free(two.cells);
	}
	fl_run_close(both);
}

static int nothing_open(void **state, const struct flick_view *v, const char *arg)
{
	(void)v;
	(void)arg;
	*state = NULL;
	return 0;
}

static void nothing_close(void *state)
{
	(void)state;
}

static void what_cannot_merge_says_so(void **unused)
{
	static const struct flick_analysis alone = { .open = nothing_open,
						     .close = nothing_close };
	struct fl_use lone = { .analysis = &alone };
	struct fl_run *x, *y;

	(void)unused;
	assert_int_equal(fl_run_open(&x, &lone, 1, &view), 0);
	assert_int_equal(fl_run_open(&y, &lone, 1, &view), 0);
	assert_int_equal(fl_run_merge(x, y), FLE_OPTION);
	fl_run_close(x);
	fl_run_close(y);
}

/* A third party's, which looks at how many functions it is told there are. */
struct witness {
	const struct flick_view *view;
};

static int witness_open(void **state, const struct flick_view *v, const char *arg)
{
	struct witness *w = calloc(1, sizeof(*w));

	(void)arg;
	w->view = v;
	*state = w;
	return 0;
}

static int witness_merge(void *into, void *from)
{
	const struct witness *w = into, *added = from;

	return w->view->n_functions == FUNCTIONS &&
	       added->view->n_functions == FUNCTIONS ? 0 : -ERANGE;
}

/* Makes cells, gives them back, and fails. */
static int witness_rows(void *state, struct flick_rows *r)
{
	(void)state;
	r->cells = calloc(1, 8);
	r->n_rows = 1;
	free(r->cells);
	return -EIO;
}

static const struct flick_analysis witness = { .open = witness_open, .merge = witness_merge,
					       .rows = witness_rows, .close = free };

/* Functions came when only one of two readers was fed any more. */
static void merging_knows_all_functions(void **unused)
{
	struct fl_use use = { .analysis = &witness };
	struct flick_rows r;
	struct fl_run *x, *y;

	(void)unused;
	view.n_functions = 2;
	view.n_sites = 2 * PROBES;
	assert_int_equal(fl_run_open(&x, &use, 1, &view), 0);
	assert_int_equal(fl_run_open(&y, &use, 1, &view), 0);
	view.n_functions = FUNCTIONS;
	view.n_sites = FUNCTIONS * PROBES;
	feed_at(y, 0, ENTRY, 100, now);
	assert_int_equal(fl_run_merge(x, y), 0);
	assert_int_equal(fl_run_rows(x, 0, &r), -EIO);	/* not what merge may say */
	fl_run_close(x);
	fl_run_close(y);
}

static void rows_that_failed_leave_no_cells(void **unused)
{
	struct fl_use use = { .analysis = &witness };
	struct flick_rows r;
	struct fl_run *x;

	(void)unused;
	assert_int_equal(fl_run_open(&x, &use, 1, &view), 0);
	assert_int_equal(fl_run_rows(x, 0, &r), -EIO);
	assert_null(r.cells);
	assert_int_equal(r.n_rows, 0);
	fl_run_close(x);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nesting_is_who_called_whom),
		T(a_set_is_written_in_the_order_of_names),
		T(recursion_has_a_row_a_level),
		T(tail_calls_are_the_callers),
		T(a_call_that_proves_another_dead_is_the_outer_ones),
		T(what_a_coroutine_in_a_frame_calls_has_no_known_caller),
		T(times_are_without_probes),
		T(times_are_without_probes_on_other_stacks),
		T(waits_for_a_ring_are_no_time_of_calls),
		T(what_probes_take_is_of_their_kind),
		T(no_time_is_less_than_none),
		T(nor_are_those_of_more_probes_than_calls),
		T(what_an_unwound_call_made_has_no_known_caller),
		T(repeated_longjmp_is_no_recursion),
		T(entries_at_one_place_are_told_by_their_sites),
		T(entries_at_one_place_may_be_inlined),
		T(calls_open_at_the_end_keep_their_place),
		T(strays_cast_doubt_on_what_had_no_caller),
		T(exceptions_with_exits_are_certain),
		T(sums_survive_sweeping),
		T(deep_recursion_needs_no_deep_stack),
		T(merged_runs_are_one_run),
		T(what_cannot_merge_says_so),
		T(merging_knows_all_functions),
		T(rows_that_failed_leave_no_cells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
