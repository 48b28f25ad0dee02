/*
 * Calls of windows: who made one whose caller was not seen to begin is told by
 * the place it returns to, or not at all; counts are estimates. A letter is a
 * function, which is at 0x1000 times its number; what lies elsewhere is nobody's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "analysis/callers.h"

#define FUNCTIONS 6
#define ENTRY(f) ((uint32_t)((f) - 'a') * 2)
#define EXIT(f) (ENTRY(f) + 1)
#define INLINED_F 12u			/* f's entry and exit within a */
#define INLINED_E 14u			/* e's, likewise */
#define LATER 16u			/* a site of a module that comes later */
#define TOP 0x7fff0000u
#define LIBC 0x900000ull

static struct fl_shm_site sites[LATER + 1];
static uint32_t function_of[LATER + 1];
static struct fl_view view;
static struct fl_use uses[5];
static struct fl_run *run, *other;
static struct fl_callers *callers;
static uint64_t now;
static struct fl_window window;
static uint64_t edges[16];
static unsigned char code[0x1000];
static bool has_code;

static uint64_t in(char f, uint32_t offset)
{
	return 0x1000ull * (uint64_t)(f - 'a' + 1) + offset;
}

static const char *name_of(const void *owner, uint32_t function)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f" };

	(void)owner;
	return names[function];
}

static bool symbol_at(const void *owner, uint64_t at, uint64_t *lo, uint64_t *hi)
{
	(void)owner;
	*lo = at & ~0xfffull;
	*hi = *lo + 0x1000;
	return at >= 0x1000 && at < LIBC;
}

/* a's code, when it is there. */
static const unsigned char *code_at(const void *owner, uint64_t at, size_t n)
{
	(void)owner;
	return has_code && at == in('a', 0) && n == sizeof(code) ? code : NULL;
}

static void put_site(uint32_t probe, char function, uint64_t at, enum fl_kind kind)
{
	function_of[probe] = (uint32_t)(function - 'a');
	sites[probe] = (struct fl_shm_site){
		.at = at, .function = in(function, 0), .kind = (uint8_t)kind, .wanted = 1,
		.state = FL_SITE_READY,
	};
}

static int set_up(void **unused)
{
	static const char *const specs[] = { "graph", "tree", "counts", "latency",
					     "subtrees" };
	char why[FL_USE_WHY];

	(void)unused;
	for (char f = 'a'; f < 'a' + FUNCTIONS; f++) {
		put_site(ENTRY(f), f, in(f, 4), FL_ENTRY);
		put_site(EXIT(f), f, in(f, 0xf00), FL_EXIT);
	}
	put_site(INLINED_F, 'f', in('a', 0x100), FL_ENTRY);
	put_site(INLINED_F + 1, 'f', in('a', 0x200), FL_EXIT);
	put_site(INLINED_E, 'e', in('a', 0x120), FL_ENTRY);
	put_site(INLINED_E + 1, 'e', in('a', 0x140), FL_EXIT);
	put_site(LATER, 'd', in('b', 0x20), FL_ENTRY);
	sites[LATER].module = 1;
	view = (struct fl_view){ .sites = sites, .function_of = function_of,
				 .n_sites = LATER, .n_functions = FUNCTIONS,
				 .ns_per_tick = 1.0, .name = name_of, .symbol = symbol_at,
				 .code = code_at, .windows = true };
	has_code = false;
	now = 1000;
	memset(edges, 0, sizeof(edges));
	window = (struct fl_window){ .number = 1, .weight = 20 * FL_WEIGHT_ONE,
				     .edges = edges, .n_edges = 1 };
	for (int i = 0; i < 5; i++)
		assert_int_equal(fl_use_open(&uses[i], specs[i], why), 0);
	assert_int_equal(fl_callers_open(&callers, &view), 0);
	assert_int_equal(fl_run_open(&other, uses, 5, &view), 0);
	return fl_run_open(&run, uses, 5, &view);
}

static int tear_down(void **unused)
{
	(void)unused;
	fl_run_close(run);
	fl_run_close(other);
	fl_callers_close(callers);
	for (int i = 0; i < 5; i++)
		fl_use_close(&uses[i]);
	return 0;
}

/* ---- places ---------------------------------------------------------------------- */

static uint32_t who(uint32_t place)
{
	uint32_t f = fl_callers_of(callers, place);

	return f == FLICK_NO_FUNCTION ? '-' : 'a' + f;
}

static void code_without_inlined_bodies_is_its_functions(void **unused)
{
	uint32_t p = fl_callers_origin(callers, ENTRY('c'), in('b', 0x10));

	(void)unused;
	assert_true(fl_callers_tells(callers, p));
	assert_int_equal(who(p), 'b');
	assert_int_equal(fl_callers_origin(callers, ENTRY('c'), in('b', 0x10)), p);
	assert_int_not_equal(fl_callers_origin(callers, ENTRY('c'), in('b', 0x18)), p);
}

static void code_without_probes_is_nobodys(void **unused)
{
	uint32_t p = fl_callers_origin(callers, ENTRY('c'), LIBC + 0x10), q;

	(void)unused;
	assert_false(fl_callers_tells(callers, p));
	fl_callers_learn(callers, p, 1);
	assert_int_equal(who(p), '-');
	sites[ENTRY('b')].wanted = 0;
	view.n_sites--;				/* they are looked at anew */
	q = fl_callers_origin(callers, ENTRY('c'), in('b', 0x10));
	assert_false(fl_callers_tells(callers, q));
}

static void one_of_several_bodies_is_learnt(void **unused)
{
	uint32_t p = fl_callers_origin(callers, ENTRY('c'), in('a', 0x150));

	(void)unused;
	assert_true(fl_callers_tells(callers, p));
	assert_int_equal(who(p), '-');
	fl_callers_learn(callers, p, 'b' - 'a');	/* has no body there */
	assert_int_equal(who(p), '-');
	fl_callers_learn(callers, p, 'f' - 'a');
	fl_callers_learn(callers, p, 'f' - 'a');
	assert_int_equal(who(p), 'f');
	fl_callers_learn(callers, p, 'a' - 'a');
	assert_int_equal(who(p), '-');
	fl_callers_learn(callers, p, 'f' - 'a');
	assert_int_equal(who(p), '-');
}

/* Wherever the function around it returns to. */
static void an_inlined_body_is_its_own_place(void **unused)
{
	uint32_t p = fl_callers_origin(callers, INLINED_E, LIBC);

	(void)unused;
	assert_int_equal(fl_callers_origin(callers, INLINED_E, in('b', 0x10)), p);
	assert_true(fl_callers_tells(callers, p));
	fl_callers_learn(callers, p, 'f' - 'a');
	assert_int_equal(who(p), 'f');
}

static void a_module_in_anothers_place_spoils_it(void **unused)
{
	uint32_t p = fl_callers_origin(callers, ENTRY('c'), in('b', 0x21));

	(void)unused;
	assert_int_equal(who(p), 'b');
	view.n_sites++;
	assert_int_equal(fl_callers_origin(callers, ENTRY('c'), in('b', 0x21)), p);
	assert_int_equal(who(p), '-');
}

/* nop everywhere, calls at sites, and a way around f: je over it. */
static void write_code(void)
{
	static const uint32_t calls[] = { 4, 0x100, 0x120, 0x140, 0x200, 0xf00 };

	memset(code, 0x90, sizeof(code));
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		memset(code + calls[i], 0, 5);
		code[calls[i]] = 0xe8;
	}
	/* je 0x205 */
	memcpy(code + 0x80, (char[]){ 0x0f, (char)0x84, 0x7f, 0x01, 0, 0 }, 6);
	code[0xf05] = 0xc3;
	has_code = true;
}

static void nesting_is_read_from_code(void **unused)
{
	(void)unused;
	write_code();
	assert_int_equal(who(fl_callers_origin(callers, ENTRY('c'), in('a', 0x20))), 'a');
	assert_int_equal(who(fl_callers_origin(callers, ENTRY('c'), in('a', 0x110))), 'f');
	assert_int_equal(who(fl_callers_origin(callers, ENTRY('c'), in('a', 0x130))), 'e');
	assert_int_equal(who(fl_callers_origin(callers, ENTRY('c'), in('a', 0x150))), 'f');
	assert_int_equal(who(fl_callers_origin(callers, ENTRY('c'), in('a', 0x300))), 'a');
	assert_int_equal(who(fl_callers_origin(callers, INLINED_E, LIBC)), 'f');
	assert_int_equal(who(fl_callers_origin(callers, INLINED_F, LIBC)), 'a');
}

/* From inside f a jump that leaves it without its exit: both may be meant. */
static void paths_that_disagree_tell_nothing(void **unused)
{
	(void)unused;
	write_code();
	/* je 0x205 */
	memcpy(code + 0x160, (char[]){ 0x0f, (char)0x84, (char)0x9f, 0, 0, 0 }, 6);
	assert_int_equal(who(fl_callers_origin(callers, ENTRY('c'), in('a', 0x150))), '-');
	assert_int_equal(who(fl_callers_origin(callers, ENTRY('c'), in('a', 0x300))), 'a');
}

static void where_a_site_was_refused_code_is_not_read(void **unused)
{
	(void)unused;
	write_code();
	sites[INLINED_E + 1].refusal = FLE_NOSPACE;
	sites[INLINED_E + 1].wanted = 0;
	assert_int_equal(who(fl_callers_origin(callers, ENTRY('c'), in('a', 0x130))), '-');
}

/* ---- places in very large programs --------------------------------------------------- */

static uint64_t steps;

void fl_point_hit(const char *name);
void fl_point_hit(const char *name)
{
	steps += !strcmp(name, "callers.step");
}

static bool large_symbol_at(const void *owner, uint64_t at, uint64_t *lo, uint64_t *hi)
{
	(void)owner;
	*lo = at & ~0xfffull;
	*hi = *lo + 0x1000;
	return true;
}

/* N functions, every other one wanted. */
static void open_large(uint32_t n, struct fl_shm_site *s, uint32_t *functions)
{
	for (uint32_t i = 0; i < n; i++) {
		/* A module's sites by address; what is met late is anywhere. */
		uint64_t place = i < n / 2 ? i : n / 2 + i * 7919ull % (n - n / 2);

		functions[i] = i;
		s[i] = (struct fl_shm_site){
			.at = (place + 1) << 12, .function = (place + 1) << 12,
			.kind = FL_ENTRY, .wanted = i % 2 == 0, .state = FL_SITE_READY,
		};
	}
	view.sites = s;
	view.function_of = functions;
	view.n_functions = n;
	view.n_sites = n / 2;
	view.symbol = large_symbol_at;
	steps = 0;
}

/* Half the sites are there at first, the others come one by one; a call follows each. */
static uint64_t steps_of(uint32_t n)
{
	struct fl_shm_site *s = calloc(n, sizeof(*s));
	uint32_t *functions = calloc(n, sizeof(*functions));

	assert_true(s && functions);
	open_large(n, s, functions);
	for (uint32_t i = 0; i < n; i++) {
		view.n_sites = i < n / 2 ? n / 2 : i + 1;
		assert_true(fl_callers_origin(callers, 0, s[i].at + 0x20));
	}
	for (uint32_t i = 0; i < n; i += 2)
		assert_int_equal(fl_callers_of(callers, fl_callers_origin(
			callers, 0, s[i].at + 0x20)), i);
	free(s);
	free(functions);
	return steps;
}

static void as_many_steps_as_calls_and_sites(void **unused)
{
	enum { N = 20000, A_SITE = 200 };

	(void)unused;
	steps = steps_of(N);
	assert_in_range(steps, N, (uint64_t)N * A_SITE);
}

/* What comes late is found among what was there. */
static void sites_that_come_one_by_one_are_found(void **unused)
{
	(void)unused;
	for (uint32_t n = ENTRY('c') + 1; n < LATER; n++) {
		view.n_sites = n;
		fl_callers_origin(callers, ENTRY('c'), in('a', 0x30 + n));
	}
	view.n_sites = LATER;
	assert_int_equal(who(fl_callers_origin(callers, ENTRY('c'), in('b', 0x30))), 'b');
	assert_int_equal(who(fl_callers_origin(callers, ENTRY('c'), in('f', 0x30))), 'f');
}

/* ---- calls ----------------------------------------------------------------------------- */

static void put_to(struct fl_run *to, uint32_t thread, uint32_t probe, uint32_t below_top,
		   uint64_t ret)
{
	struct flick_record r[2] = { { now += 10, probe, TOP - below_top },
				     { ret, fl_typed(FLICK_TYPE_CALLER, probe),
				       TOP - below_top } };
	struct fl_batch b = { .thread = thread, .records = r, .n = ret ? 2 : 1,
			      .window = &window };

	assert_int_equal(fl_run_feed(to, &b), 0);
}

static void enter(char f, uint32_t sp, uint64_t ret)
{
	put_to(run, 0, ENTRY(f), sp, ret);
}

static void leave(char f, uint32_t sp)
{
	put_to(run, 0, EXIT(f), sp, 0);
}

static void call(char f, uint32_t sp, uint64_t ret)
{
	enter(f, sp, ret);
	leave(f, sp);
}

/* It ends five ticks behind its last record. */
static void next_window(void)
{
	edges[window.n_edges++] = now + 5;
	edges[window.n_edges++] = now + 6;
	window.number++;
	window.fresh = false;
}

static struct flick_rows rows_of(struct fl_run *of, size_t use)
{
	struct flick_rows r;

	assert_int_equal(fl_run_end(of), 0);
	assert_int_equal(fl_run_rows(of, use, &r), 0);
	return r;
}

static uint64_t letter(char f)
{
	return f == '-' ? FLICK_NONE : (uint64_t)(f - 'a');
}

/* Of the edge "ab"; '-' is no known caller. 0: there is none. Columns of graph. */
enum { CALLS = 2, TOTAL, SELF, AVG, UNKNOWN, UNSURE, SAMPLED = 14 };

static uint64_t edge_of(struct fl_run *of, const char *pair, int column)
{
	struct flick_rows r = rows_of(of, 0);
	uint64_t value = 0;

	assert_int_equal(r.n_columns, SAMPLED + 1);
	for (size_t i = 0; i < r.n_rows; i++) {
		const uint64_t *row = r.cells + i * r.n_columns;

		if (row[0] == letter(pair[0]) && row[1] == letter(pair[1]))
			value = row[column];
	}
	free(r.cells);
	return value;
}

static uint64_t edge(const char *pair, int column)
{
	return edge_of(run, pair, column);
}

static void a_call_from_before_the_window_has_its_caller(void **unused)
{
	(void)unused;
	for (int i = 0; i < 3; i++)
		call('c', 64, in('b', 0x10));
	assert_int_equal(edge("bc", SAMPLED), 3);
	assert_int_equal(edge("bc", CALLS), 60);
	assert_int_equal(edge("bc", TOTAL), 20 * 30);
	assert_int_equal(edge("bc", UNSURE), 0);
	assert_int_equal(edge("-c", CALLS), 0);
}

static void a_call_from_nowhere_known_is_unsure(void **unused)
{
	(void)unused;
	call('c', 64, LIBC);
	call('d', 64, 0);
	assert_int_equal(edge("-c", UNSURE), 20);
	assert_int_equal(edge("-d", UNSURE), 20);
}

static void a_callback_has_the_nearest_call_that_is_open(void **unused)
{
	(void)unused;
	enter('b', 32, LIBC);
	call('c', 64, LIBC);
	leave('b', 32);
	assert_int_equal(edge("bc", SAMPLED), 1);
	assert_int_equal(edge("bc", UNSURE), 0);
}

static void one_observation_names_all_calls_from_there(void **unused)
{
	(void)unused;
	call('c', 64, in('a', 0x150));
	next_window();
	put_to(run, 0, INLINED_F, 48, LIBC);
	call('c', 64, in('a', 0x150));
	put_to(run, 0, INLINED_F + 1, 48, 0);
	next_window();
	call('c', 64, in('a', 0x150));
	assert_int_equal(edge("fc", SAMPLED), 3);
	assert_int_equal(edge("-c", SAMPLED), 0);
}

static void an_exit_names_the_calls_before_it(void **unused)
{
	(void)unused;
	call('c', 64, in('a', 0x150));
	call('d', 64, in('a', 0x158));
	put_to(run, 0, INLINED_F + 1, 48, 0);
	call('b', 64, in('a', 0x160));
	put_to(run, 0, EXIT('a'), 48, 0);
	assert_int_equal(edge("fc", SAMPLED), 1);
	assert_int_equal(edge("fd", SAMPLED), 1);
	assert_int_equal(edge("ab", SAMPLED), 1);
}

/* d was left by longjmp: the exit may be of a call further out. */
static void an_exit_over_open_calls_names_none(void **unused)
{
	(void)unused;
	call('c', 64, in('a', 0x150));
	enter('d', 64, in('a', 0x158));
	put_to(run, 0, INLINED_F + 1, 48, 0);
	assert_int_equal(edge("fc", SAMPLED), 0);
	assert_int_equal(edge("-c", UNSURE), 20);
}

/* Two calls may be what ended: of what was called before, nothing is learnt. */
static void an_exit_of_two_calls_names_none(void **unused)
{
	(void)unused;
	fl_run_close(run);
	sites[INLINED_F + 1].jump = 1;
	assert_int_equal(fl_run_open(&run, uses, 5, &view), 0);
	call('d', 400, in('a', 0x150));
	put_to(run, 0, INLINED_F, 400, 0);
	put_to(run, 0, INLINED_F, 448, 0);
	put_to(run, 0, INLINED_F + 1, 48, 0);
	assert_int_equal(edge("fd", SAMPLED), 0);
}

static uint64_t unknown_of(char f)
{
	struct flick_rows r;
	uint64_t n = FLICK_NONE;

	assert_int_equal(fl_run_rows(run, 0, &r), 0);
	for (size_t i = 0; i < r.n_rows; i++)
		if (r.cells[i * r.n_columns + 1] == (uint64_t)(f - 'a'))
			n = r.cells[i * r.n_columns + UNKNOWN];
	free(r.cells);
	return n;
}

/* In a window that a thread came to, so that nobody knows the caller. */
static void jump_from(bool framed)
{
	fl_run_close(run);
	sites[EXIT('b')].jump = 1;
	view.framed = framed;			/* of provider 0, which all sites have */
	assert_int_equal(fl_run_open(&run, uses, 5, &view), 0);
	window.weight = FL_WEIGHT_ONE;
}

/* An exit by jump stands as far above its entry each time: then it is no other call's. */
static void an_exit_by_jump_is_known_by_how_far_it_stands(void **unused)
{
	(void)unused;
	jump_from(false);
	for (int i = 0; i < 50; i++) {
		enter('b', 100, LIBC);
		leave('b', 60);
	}
	assert_int_equal(unknown_of('b'), 4);	/* these taught it */
	enter('b', 200, LIBC);			/* left by longjmp into one further out, */
	leave('b', 48);				/* which was not seen to begin */
	assert_int_equal(unknown_of('b'), 5);
}

/* A call may be kept, because its exit may have been another one's. Then the next call that
 * comes to the same place ends it: else both could be meant, and that of every later one. */
static void an_exit_by_jump_is_learnt_however_near_it_stands(void **unused)
{
	static const uint32_t above[] = { 8, 16, 24 };

	(void)unused;
	for (size_t k = 0; k < ARRAY_LEN(above); k++) {
		jump_from(false);
		for (int i = 0; i < 50; i++) {
			enter('b', 100, LIBC);
			call('c', 140, in('b', 0x10));
			leave('b', 100 - above[k]);
		}
		assert_int_equal(unknown_of('b'), 4);
		assert_int_equal(unknown_of('c'), 0);
		/* none is told to lie in another one */
		assert_int_not_equal(edge("-b", TOTAL), FLICK_NONE);
	}
}

/* The window begins in a call of b. The end of its call of c may be another one's, and the call
 * is kept; it has ended where b does, and called no other b. */
static void what_a_call_has_called_ends_with_it(void **unused)
{
	(void)unused;
	sites[EXIT('c')].jump = 1;
	jump_from(false);
	enter('c', 116, in('b', 0x10));
	leave('c', 100);
	leave('b', 84);
	for (int i = 0; i < 50; i++) {
		enter('b', 100, LIBC);
		enter('c', 116, in('b', 0x10));
		leave('c', 100);
		leave('b', 84);
	}
	assert_int_equal(unknown_of('b'), 4);
	assert_in_range(unknown_of('c'), 1, 4);
}

/* The end of b may have been another one's, and c, which ends then, lay in b. */
static void what_lies_further_out_stays(void **unused)
{
	(void)unused;
	jump_from(false);
	enter('b', 100, LIBC);
	leave('b', 84);
	leave('c', 150);
	call('d', 130, LIBC);
	assert_int_equal(edge("bd", SAMPLED), 1);
}

static void an_exit_by_jump_that_varies_is_unknown(void **unused)
{
	(void)unused;
	jump_from(false);
	for (int i = 0; i < 50; i++) {
		enter('b', 100 + 16 * (uint32_t)(i % 3), LIBC);
		leave('b', 60);
	}
	assert_in_range(unknown_of('b'), 30, 50);
}

/* A function's first instruction, and its last. */
static void frames_of_sleds_are_known_at_once(void **unused)
{
	(void)unused;
	jump_from(true);
	enter('b', 100, LIBC);
	leave('b', 92);
	assert_int_equal(unknown_of('b'), 0);
	enter('b', 200, LIBC);
	leave('b', 48);				/* another one's */
	next_window();
	call('c', 64, LIBC);
	assert_int_equal(unknown_of('b'), 1);
}

static void nothing_is_paired_across_windows(void **unused)
{
	(void)unused;
	enter('b', 32, LIBC);
	enter('c', 64, in('b', 0x10));
	next_window();
	leave('c', 64);
	call('d', 64, LIBC);
	leave('b', 32);
	assert_int_equal(edge("bc", SAMPLED), 1);
	assert_int_equal(edge("bc", UNKNOWN), 20);
	assert_int_equal(edge("bc", TOTAL), FLICK_NONE);
	assert_int_equal(edge("bd", SAMPLED), 0);
	assert_int_equal(edge("-d", UNSURE), 20);
}

static void a_pair_may_come_in_two_batches(void **unused)
{
	struct flick_record r = { in('b', 0x10), fl_typed(FLICK_TYPE_CALLER, 0), TOP - 64 };
	struct fl_batch b = { .records = &r, .n = 1, .window = &window };

	(void)unused;
	enter('c', 64, 0);
	assert_int_equal(fl_run_feed(run, &b), 0);
	leave('c', 64);
	assert_int_equal(edge("bc", SAMPLED), 1);
}

static void a_thread_that_began_in_the_window_has_no_caller(void **unused)
{
	(void)unused;
	window.fresh = true;
	window.weight = FL_WEIGHT_ONE;
	enter('b', 32, LIBC);
	leave('b', 32);
	assert_int_equal(edge("-b", CALLS), 1);
	assert_int_equal(edge("-b", UNSURE), 0);
}

static void windows_weigh_what_they_stand_for(void **unused)
{
	(void)unused;
	call('c', 64, in('b', 0x10));
	next_window();
	window.weight = 3 * FL_WEIGHT_ONE;
	call('c', 64, in('b', 0x10));
	assert_int_equal(edge("bc", CALLS), 20 + 3);
	assert_int_equal(edge("bc", SAMPLED), 2);
}

/* Of 120 calls of c two were seen, one by each caller, the second in a window that
 * stands for a third of what the first does. Entries of the inlined copy count, too. */
static void what_was_counted_is_shared_out(void **unused)
{
	struct flick_rows r;

	(void)unused;
	window.weight = 3 * FL_WEIGHT_ONE;
	call('c', 64, in('b', 0x10));
	next_window();
	window.weight = FL_WEIGHT_ONE;
	call('c', 64, in('d', 0x10));
	assert_int_equal(fl_run_count(run, 0, ENTRY('c'), 100), 0);
	assert_int_equal(fl_run_count(run, 1, ENTRY('c'), 20), 0);
	assert_int_equal(fl_run_count(run, 0, EXIT('c'), 7), 0);
	assert_int_equal(fl_run_count(run, 0, INLINED_F, 5), 0);
	assert_int_equal(edge("bc", CALLS), 90);
	assert_int_equal(edge("dc", CALLS), 30);
	r = rows_of(run, 2);
	assert_int_equal(r.n_rows, 2);
	assert_int_equal(r.cells[1], 120);
	assert_int_equal(r.cells[2], 2);
	assert_int_equal(r.cells[4], 5);	/* of f, which no window met */
	assert_int_equal(r.cells[5], 0);
	free(r.cells);
}

/* Of each half one call was seen, and two were counted. */
static void counts_of_two_runs_add_up(void **unused)
{
	(void)unused;
	call('c', 64, in('b', 0x10));
	assert_int_equal(fl_run_count(run, 0, ENTRY('c'), 2), 0);
	assert_int_equal(fl_run_count(other, 0, ENTRY('c'), 2), 0);
	assert_int_equal(fl_run_merge(run, other), 0);
	assert_int_equal(edge("bc", CALLS), 4);
}

static void counts_and_latencies_are_estimates(void **unused)
{
	struct flick_rows r;

	(void)unused;
	call('c', 64, in('b', 0x10));
	enter('c', 64, in('b', 0x10));
	next_window();
	leave('c', 64);				/* its begin was not seen: no call */
	r = rows_of(run, 2);
	assert_int_equal(r.n_rows, 1);
	assert_int_equal(r.cells[1], 40);
	assert_int_equal(r.cells[2], 2);
	free(r.cells);
	r = rows_of(run, 3);
	assert_int_equal(r.n_rows, 1);
	assert_int_equal(r.cells[1], 40);	/* calls */
	assert_int_equal(r.cells[2], 400);	/* total_ns: calls * avg_ns */
	assert_int_equal(r.cells[3], 400);	/* self_ns */
	assert_int_equal(r.cells[5], 10);	/* avg_ns: of a call, no estimate */
	assert_int_equal(r.cells[15], 20);	/* unknown */
	assert_int_equal(r.cells[16], 0);	/* open */
	assert_int_equal(r.cells[17], 2);	/* sampled */
	free(r.cells);
	r = rows_of(run, 4);
	assert_int_equal(r.n_rows, 2);
	assert_int_equal(r.cells[0] + r.cells[4], 40);
	free(r.cells);
}

/* A third of the calls do not end in their window: what they had of it stands for as much
 * of calls that began before. */
static void calls_that_a_window_cut_off_have_twice_their_time(void **unused)
{
	struct flick_rows r;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		call('c', 64, in('b', 0x10));
		call('c', 64, in('b', 0x10));
		enter('c', 64, in('b', 0x10));
		next_window();
	}
	call('d', 64, in('b', 0x20));		/* when the last one ended is known by then */
	assert_int_equal(edge("bc", CALLS), 180);
	assert_int_equal(edge("bc", UNKNOWN), 60);
	assert_int_equal(edge("bc", TOTAL), 180 * 10);
	assert_int_equal(edge("bc", SELF), 180 * 10);
	r = rows_of(run, 3);
	assert_int_equal(r.cells[1], 180);
	assert_int_equal(r.cells[2], 180 * 10);
	assert_int_equal(r.cells[15], 60);
	free(r.cells);
}

static void calls_that_are_mostly_cut_off_have_no_time(void **unused)
{
	struct flick_rows r;

	(void)unused;
	call('c', 64, in('b', 0x10));
	for (int i = 0; i < 2; i++) {
		enter('c', 64, in('b', 0x10));
		next_window();
	}
	call('d', 64, in('b', 0x20));
	assert_int_equal(edge("bc", TOTAL), FLICK_NONE);
	assert_int_equal(edge("bc", SELF), FLICK_NONE);
	assert_int_equal(edge("bd", TOTAL), 20 * 10);
	r = rows_of(run, 3);
	assert_int_equal(r.cells[2], FLICK_NONE);	/* total_ns */
	assert_int_equal(r.cells[5], FLICK_NONE);	/* avg_ns */
	free(r.cells);
}

/* No call of it began before. */
static void what_began_with_its_thread_has_what_it_had(void **unused)
{
	(void)unused;
	window.fresh = true;
	call('c', 64, in('b', 0x10));
	enter('c', 64, in('b', 0x10));
	next_window();
	call('d', 64, in('b', 0x20));
	assert_int_equal(edge("bc", CALLS), 40);
	assert_int_equal(edge("bc", TOTAL), 20 * (10 + 5));
}

static void what_calls_itself_has_no_total(void **unused)
{
	(void)unused;
	enter('c', 64, in('b', 0x10));
	call('c', 96, in('c', 0x10));
	leave('c', 64);
	call('d', 64, in('b', 0x20));
	assert_int_equal(edge("bc", TOTAL), FLICK_NONE);
	assert_int_equal(edge("cc", TOTAL), FLICK_NONE);
	assert_int_equal(edge("cc", SELF), 20 * 10);
	assert_int_equal(edge("bd", TOTAL), 20 * 10);
}

static void what_no_window_met_has_calls_and_no_times(void **unused)
{
	struct flick_rows r;

	(void)unused;
	call('c', 64, in('b', 0x10));
	assert_int_equal(fl_run_count(run, 0, ENTRY('f'), 7), 0);
	r = rows_of(run, 3);
	assert_int_equal(r.n_rows, 2);
	assert_int_equal(r.cells[18], 'f' - 'a');
	assert_int_equal(r.cells[19], 7);
	for (int c = 20; c <= 33; c++)
		assert_int_equal(r.cells[c], FLICK_NONE);	/* times, unknown */
	assert_int_equal(r.cells[34], 0);	/* open */
	assert_int_equal(r.cells[35], 0);	/* sampled */
	free(r.cells);
}

/* ---- trees ----------------------------------------------------------------------- */

/* The row of "-bc": c below b below the row without a function. */
static const uint64_t *context(const struct flick_rows *r, const char *path)
{
	const uint64_t *found = NULL;
	uint64_t parent = FLICK_NONE;

	for (; *path; path++) {
		found = NULL;
		for (size_t i = 0; i < r->n_rows; i++) {
			const uint64_t *row = r->cells + i * r->n_columns;

			if (row[1] == parent && row[2] == letter(*path))
				found = row;
		}
		if (!found)
			return NULL;
		parent = found[0];
	}
	return found;
}

static void a_context_is_cut_off_where_the_window_began(void **unused)
{
	struct flick_rows r;

	(void)unused;
	enter('c', 64, in('b', 0x10));
	call('d', 96, in('c', 0x10));
	leave('c', 64);
	call('c', 64, in('b', 0x30));		/* another place of the same caller */
	call('e', 64, LIBC);
	r = rows_of(run, 1);
	assert_int_equal(context(&r, "-bc")[3], 40);
	assert_int_equal(context(&r, "-bcd")[3], 20);
	assert_int_equal(context(&r, "-bcd")[13], 1);
	assert_int_equal(context(&r, "-b")[3], 0);
	assert_int_equal(context(&r, "-e")[3], 20);
	assert_null(context(&r, "c"));
	assert_null(context(&r, "e"));
	free(r.cells);
}

/* From there each tick up to the next record, but for ten, is one without a CPU. */
static uint64_t no_cpu_from;

static uint64_t no_cpu(const void *owner, uint32_t thread, uint64_t begin, uint64_t end)
{
	(void)owner;
	assert_int_equal(thread, 0);
	return begin <= no_cpu_from && no_cpu_from < end ? end - begin - 10 : 0;
}

/* In c as in d, which it calls; and in one that the window cuts off. */
static void who_is_preempted_has_no_longer_calls(void **unused)
{
	(void)unused;
	view.preempted = no_cpu;
	enter('c', 64, in('b', 0x10));
	no_cpu_from = now;
	now += 100000;
	call('d', 96, in('c', 0x10));
	leave('c', 64);
	next_window();
	enter('d', 64, in('b', 0x20));
	no_cpu_from = now;
	now += 100000;
	leave('d', 64);
	window.fresh = true;
	enter('d', 64, in('b', 0x20));
	no_cpu_from = now;
	now += 100000;
	next_window();
	call('e', 64, in('b', 0x30));
	view.preempted = NULL;
	assert_int_equal(edge("bc", TOTAL), 20 * 30);
	assert_int_equal(edge("bc", SELF), 20 * 20);
	assert_int_equal(edge("cd", TOTAL), 20 * 10);
	assert_int_equal(edge("bd", AVG), 15);
}

/* ---- several runs ---------------------------------------------------------------- */

/* Places have other numbers in another run, and one run learnt what both need. */
static void merged_runs_share_what_they_learnt(void **unused)
{
	struct flick_rows r;

	(void)unused;
	call('d', 64, in('b', 0x40));
	call('c', 64, in('a', 0x150));
	put_to(other, 1, ENTRY('c'), 64, in('a', 0x150));
	put_to(other, 1, EXIT('c'), 64, 0);
	put_to(other, 1, INLINED_F + 1, 48, 0);
	put_to(other, 1, ENTRY('c'), 64, in('b', 0x10));
	put_to(other, 1, EXIT('c'), 64, 0);
	assert_int_equal(fl_run_merge(run, other), 0);
	assert_int_equal(edge("fc", SAMPLED), 2);
	assert_int_equal(edge("bc", SAMPLED), 1);
	assert_int_equal(edge("bd", SAMPLED), 1);
	r = rows_of(run, 1);
	assert_int_equal(context(&r, "-fc")[13], 2);
	assert_int_equal(context(&r, "-bd")[13], 1);
	free(r.cells);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(code_without_inlined_bodies_is_its_functions),
		TEST(code_without_probes_is_nobodys),
		TEST(one_of_several_bodies_is_learnt),
		TEST(an_inlined_body_is_its_own_place),
		TEST(a_module_in_anothers_place_spoils_it),
		TEST(nesting_is_read_from_code),
		TEST(paths_that_disagree_tell_nothing),
		TEST(where_a_site_was_refused_code_is_not_read),
		TEST(as_many_steps_as_calls_and_sites),
		TEST(sites_that_come_one_by_one_are_found),
		TEST(a_call_from_before_the_window_has_its_caller),
		TEST(a_call_from_nowhere_known_is_unsure),
		TEST(a_callback_has_the_nearest_call_that_is_open),
		TEST(one_observation_names_all_calls_from_there),
		TEST(an_exit_names_the_calls_before_it),
		TEST(an_exit_over_open_calls_names_none),
		TEST(an_exit_of_two_calls_names_none),
		TEST(an_exit_by_jump_is_known_by_how_far_it_stands),
		TEST(an_exit_by_jump_is_learnt_however_near_it_stands),
		TEST(what_a_call_has_called_ends_with_it),
		TEST(what_lies_further_out_stays),
		TEST(an_exit_by_jump_that_varies_is_unknown),
		TEST(frames_of_sleds_are_known_at_once),
		TEST(nothing_is_paired_across_windows),
		TEST(a_pair_may_come_in_two_batches),
		TEST(a_thread_that_began_in_the_window_has_no_caller),
		TEST(windows_weigh_what_they_stand_for),
		TEST(what_was_counted_is_shared_out),
		TEST(counts_of_two_runs_add_up),
		TEST(counts_and_latencies_are_estimates),
		TEST(calls_that_a_window_cut_off_have_twice_their_time),
		TEST(calls_that_are_mostly_cut_off_have_no_time),
		TEST(what_began_with_its_thread_has_what_it_had),
		TEST(what_calls_itself_has_no_total),
		TEST(what_no_window_met_has_calls_and_no_times),
		TEST(a_context_is_cut_off_where_the_window_began),
		TEST(who_is_preempted_has_no_longer_calls),
		TEST(merged_runs_share_what_they_learnt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
