/*
 * unit/session-contexts: chains of places become a tree of functions, the outermost its roots,
 * with each function's self time and no more; what was inlined stands in who has it; where the
 * stack was cut who called is taken from other samples as long as these agree, and from none
 * where nothing tells; and what is in no chain stands below nobody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/samples/contexts.h"

enum { MOST = 64 };

static struct fl_session session;
static struct fl_profile profile;
static struct fl_chains chains;
static struct fl_chain chain[MOST];
static uint32_t steps[MOST], first[MOST + 1], n_stands;
static struct fl_stand stands[MOST];
static uint64_t self[26], taken[26];

/* A function is a letter; a place is its number in `names`, and stands in these functions, the
 * innermost first. */
static void let_places(const char *const *names)
{
	uint32_t place = 0;

	for (; names[place]; place++) {
		first[place] = n_stands;
		for (const char *f = names[place]; *f; f++, n_stands++)
			stands[n_stands] = (struct fl_stand){ place, n_stands,
							      (uint32_t)(*f - 'a') };
	}
	first[place] = n_stands;
}

/* Of places, the innermost first. */
static void let_chain(const char *places, enum fl_chain_end end, uint64_t periods)
{
	chain[chains.n++] = (struct fl_chain){
		.first = chains.n_steps, .n = (uint32_t)strlen(places), .end = end,
		.samples = 1, .periods = periods };
	for (; *places; places++)
		steps[chains.n_steps++] = (uint32_t)(*places - '0');
}

static int set_up(void **state)
{
	(void)state;
	memset(&session, 0, sizeof(session));
	memset(self, 0, sizeof(self));
	memset(taken, 0, sizeof(taken));
	n_stands = 0;
	session.functions.n = ARRAY_LEN(self);
	chains = (struct fl_chains){ .steps = steps, .of = chain };
	profile = (struct fl_profile){ .s = &session,
		.self = { self, ARRAY_LEN(self) }, .taken = { taken, ARRAY_LEN(taken) } };
	return 0;
}

static void make(void)
{
	struct fl_stood stood = { &chains, stands, first };

	session.has_stacks = true;
	assert_int_equal(fl_contexts_gather(&profile, &stood), 0);
}

static int tear_down(void **state)
{
	(void)state;
	free(session.sampled[FL_R_STACKS].cells);
	free(profile.told.of);
	free(profile.lacking.of);
	return 0;
}

static uint64_t cell(size_t row, const char *column)
{
	const struct flick_rows *r = &session.sampled[FL_R_STACKS];

	return r->cells[row * r->n_columns + (size_t)fl_sheet_column(r, column)];
}

/* Periods in the context of functions from a root on, `.` for none that is known: of its own,
 * or of all below it; -1: there is no such context. */
static int64_t periods_in(const char *way, const char *column)
{
	uint64_t above = FLICK_NONE;
	size_t i = 0;

	for (; *way; way++, above = i) {
		uint64_t f = *way == '.' ? FLICK_NONE : (uint64_t)(*way - 'a');

		for (i = 0; i < session.sampled[FL_R_STACKS].n_rows; i++)
			if (cell(i, "parent") == above && cell(i, "function") == f)
				break;
		if (i == session.sampled[FL_R_STACKS].n_rows)
			return -1;
	}
	assert_int_equal(cell(i, "id"), i);
	return (int64_t)(cell(i, column) / fl_sampler_period_ns());
}

static int64_t in_itself(const char *way)
{
	return periods_in(way, "self_ns");
}

static int64_t in_all(const char *way)
{
	return periods_in(way, "total_ns");
}

/* Periods that stood in calls of a function, by the tree; of these, below no known caller. */
static uint64_t told_of(char function)
{
	return fl_profile_of(&profile.told, (uint64_t)(function - 'a'));
}

static uint64_t lacking_of(char function)
{
	return fl_profile_of(&profile.lacking, (uint64_t)(function - 'a'));
}

static void let_chain_of(const char *program, const char *places, enum fl_chain_end end,
			 uint64_t periods)
{
	let_chain(places, end, periods);
	chain[chains.n - 1].program = program;
}

static void callers_stand_above_whom_they_called(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "b", "c", NULL });
	let_chain("210", FL_CHAIN_WHOLE, 5);
	let_chain("20", FL_CHAIN_WHOLE, 2);
	let_chain("0", FL_CHAIN_WHOLE, 1);
	self[2] = 7;
	self[0] = 1;
	taken[2] = 2;
	taken[0] = 1;
	make();
	assert_int_equal(session.sampled[FL_R_STACKS].n_rows, 4);
	assert_int_equal(in_itself("abc"), 5);
	assert_int_equal(in_itself("ac"), 2);
	assert_int_equal(in_all("ab"), 5);
	assert_int_equal(in_itself("ab"), 0);
	assert_int_equal(in_all("a"), 8);
	assert_int_equal(in_itself("a"), 1);
	assert_int_equal(cell(0, "samples"), 3);
	assert_int_equal(cell(0, "self_samples"), 1);
	assert_int_equal(session.stack_ends.unknown, 0);
}

/* `c` is in a library that both have; `e` is cut above it, and `f` was seen in the other one
 * alone. */
static void who_called_in_another_program_tells_nothing(void **state)
{
	static const char make_it[] = "/bin/make", cc[] = "/bin/cc";

	(void)state;
	let_places((const char *const[]){ "a", "b", "c", "d", "e", "f", NULL });
	let_chain_of(make_it, "20", FL_CHAIN_WHOLE, 1);
	let_chain_of(cc, "21", FL_CHAIN_WHOLE, 1);
	let_chain_of(make_it, "32", FL_CHAIN_CUT, 2);
	let_chain_of(cc, "42", FL_CHAIN_CUT, 4);
	let_chain_of(make_it, "50", FL_CHAIN_WHOLE, 1);
	let_chain_of(cc, "45", FL_CHAIN_CUT, 3);
	self[2] = 2;
	self[3] = 2;
	self[4] = 7;
	self[5] = 1;
	make();
	assert_int_equal(in_itself("acd"), 2);
	assert_int_equal(in_itself("bce"), 4);
	assert_int_equal(in_itself("afe"), -1);
	assert_int_equal(in_itself(".fe"), 3);
	assert_int_equal(session.stack_ends.unknown, 1);
	assert_int_equal(session.stack_ends.completed, 2);
}

/* A compiler's probes tell the function that others were put into as one of these, too. */
static void what_was_inlined_is_called_by_who_has_it(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "dcbb", "ee", NULL });
	let_chain("210", FL_CHAIN_WHOLE, 3);
	self[4] = 3;
	make();
	assert_int_equal(in_itself("abcde"), 3);
	assert_int_equal(session.sampled[FL_R_STACKS].n_rows, 5);
}

static void who_calls_itself_stands_below_itself(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "b", "b", NULL });
	let_chain("2110", FL_CHAIN_WHOLE, 3);
	self[1] = 3;
	make();
	assert_int_equal(in_itself("abbb"), 3);
	assert_int_equal(told_of('b'), 3);
	assert_int_equal(profile.n_lacking, 0);
}

/* Nobody knows how often it did; what is not there is not made up. */
static void a_cut_chain_goes_on_as_others_agree(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "b", "c", "d", "b", NULL });
	let_chain("3", FL_CHAIN_CUT, 1);
	let_chain("32", FL_CHAIN_CUT, 10);
	let_chain("2114", FL_CHAIN_CUT, 100);
	let_chain("10", FL_CHAIN_WHOLE, 1000);
	self[3] = 11;
	self[2] = 100;
	self[1] = 1000;
	make();
	assert_int_equal(in_itself("abcd"), 11);
	assert_int_equal(in_itself("abbbc"), 100);
	assert_int_equal(in_itself("ab"), 1000);
	assert_int_equal(session.stack_ends.completed, 3);
	assert_int_equal(session.stack_ends.unknown, 0);
}

static void a_cut_chain_ends_where_others_do_not_agree(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "b", "c", "d", "e", NULL });
	let_chain("2", FL_CHAIN_CUT, 1);
	let_chain("320", FL_CHAIN_WHOLE, 10);
	let_chain("321", FL_CHAIN_CUT, 100);
	let_chain("43", FL_CHAIN_CUT, 1000);
	let_chain("4", FL_CHAIN_CUT, 10000);
	self[2] = 1;
	self[3] = 110;
	self[4] = 11000;
	make();
	assert_int_equal(in_itself(".c"), 1);
	assert_int_equal(in_itself("acd"), 10);
	assert_int_equal(in_itself(".bcd"), 100);
	assert_int_equal(in_itself(".cde"), 11000);
	assert_int_equal(session.stack_ends.completed, 0);
	assert_int_equal(session.stack_ends.unknown, 4);
}

/* Who is called by nobody, too, may have been that. */
static void a_cut_chain_may_have_begun_there(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "b", NULL });
	let_chain("1", FL_CHAIN_CUT, 1);
	let_chain("10", FL_CHAIN_WHOLE, 10);
	let_chain("1", FL_CHAIN_WHOLE, 100);
	self[1] = 111;
	make();
	assert_int_equal(in_itself(".b"), 1);
	assert_int_equal(in_itself("ab"), 10);
	assert_int_equal(in_itself("b"), 100);
}

/* What calls from code that nobody knows is not whom others tell. */
static void a_lost_chain_goes_on_nowhere(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "b", NULL });
	let_chain("1", FL_CHAIN_LOST, 1);
	let_chain("10", FL_CHAIN_WHOLE, 10);
	self[1] = 11;
	make();
	assert_int_equal(in_itself(".b"), 1);
	assert_int_equal(in_itself("ab"), 10);
}

/* b and c call one another, so b was called first, and by a. */
static void a_cut_chain_comes_into_a_circle_where_it_can(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "b", "c", "d", NULL });
	let_chain("32", FL_CHAIN_CUT, 1);
	let_chain("1210", FL_CHAIN_WHOLE, 10);
	let_chain("321", FL_CHAIN_CUT, 100);
	self[3] = 101;
	self[1] = 10;
	make();
	assert_int_equal(in_itself("abcd"), 101);
	assert_int_equal(in_itself("abcb"), 10);
	assert_int_equal(session.stack_ends.completed, 2);
	assert_int_equal(session.stack_ends.unknown, 0);
}

static void a_cut_chain_goes_on_where_all_ways_meet(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "b", "c", "d", "e", "f", NULL });
	let_chain("3210", FL_CHAIN_WHOLE, 1);
	let_chain("3410", FL_CHAIN_WHOLE, 10);
	let_chain("53", FL_CHAIN_CUT, 100);
	self[3] = 11;
	self[5] = 100;
	make();
	assert_int_equal(in_itself("ab.df"), 100);
	assert_int_equal(in_all("ab"), 111);
	assert_int_equal(told_of('b'), 111);
	assert_int_equal(told_of('c'), 1);
	assert_int_equal(lacking_of('b'), 100);
	assert_int_equal(lacking_of('c'), 0);
	assert_int_equal(profile.n_lacking, 100);
	assert_int_equal(session.stack_ends.completed, 0);
	assert_int_equal(session.stack_ends.unknown, 1);
}

/* Who called e nobody knows, so d may be come to without a. */
static void all_ways_are_those_that_are_not_known_too(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "b", "c", "d", "e", "f", NULL });
	let_chain("320", FL_CHAIN_WHOLE, 1);
	let_chain("310", FL_CHAIN_WHOLE, 10);
	let_chain("34", FL_CHAIN_CUT, 100);
	let_chain("53", FL_CHAIN_CUT, 1000);
	self[3] = 111;
	self[5] = 1000;
	make();
	assert_int_equal(in_itself(".df"), 1000);
	assert_int_equal(in_itself(".ed"), 100);
	assert_int_equal(session.stack_ends.unknown, 2);
}

static void who_call_one_another_alone_lead_nowhere(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "b", NULL });
	let_chain("010", FL_CHAIN_CUT, 1);
	let_chain("101", FL_CHAIN_CUT, 10);
	self[0] = 1;
	self[1] = 10;
	make();
	assert_int_equal(in_itself(".aba"), 1);
	assert_int_equal(in_itself(".bab"), 10);
	assert_int_equal(session.sampled[FL_R_STACKS].n_rows, 7);
}

static void self_times_are_no_more_and_no_less(void **state)
{
	(void)state;
	let_places((const char *const[]){ "a", "b", "", NULL });
	let_chain("10", FL_CHAIN_WHOLE, 3);
	let_chain("20", FL_CHAIN_WHOLE, 7);	/* it stood in code of flick's */
	self[1] = 5;
	self[0] = 9;
	taken[1] = 4;
	taken[0] = 2;
	make();
	assert_int_equal(in_itself("ab"), 3);
	assert_int_equal(in_itself(".b"), 2);
	assert_int_equal(in_itself(".a"), 9);
	assert_int_equal(in_all("a"), 3);
	assert_int_equal(session.stack_ends.unknown, 5);
}

int main(void)
{
#define ONE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ONE(callers_stand_above_whom_they_called),
		ONE(who_called_in_another_program_tells_nothing),
		ONE(what_was_inlined_is_called_by_who_has_it),
		ONE(who_calls_itself_stands_below_itself),
		ONE(a_cut_chain_goes_on_as_others_agree),
		ONE(a_cut_chain_ends_where_others_do_not_agree),
		ONE(a_cut_chain_may_have_begun_there),
		ONE(a_lost_chain_goes_on_nowhere),
		ONE(a_cut_chain_comes_into_a_circle_where_it_can),
		ONE(a_cut_chain_goes_on_where_all_ways_meet),
		ONE(all_ways_are_those_that_are_not_known_too),
		ONE(who_call_one_another_alone_lead_nowhere),
		ONE(self_times_are_no_more_and_no_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
