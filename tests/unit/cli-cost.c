/*
 * Paper 2, section 4: given what was measured, the verdicts of (5) to (10).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/cost.h"

/* Numbers that binary fractions hold: sums are exact. `gain` is E_s - E_c. */
static const struct {
	const char *what;
	struct fl_cost c;
	enum fl_dominant dominant;
	double e_s, e_c, gain;
	bool pays;
} cases[] = {
	{ "(7) a call tree: P is more than A_q",
	  { 8, 1, 0.5, 4, 2, 1, 4 }, FL_APPLICATION, 13, 9.5, 3.5, true },
	{ "(7) method counting: P is less than A_q",
	  { 8, 1, 0.5, 0.25, 2, 1, 4 }, FL_APPLICATION, 9.25, 9.5, -0.25, false },
	{ "(7) at its boundary: P is A_q, nothing is lost",
	  { 8, 1, 0.5, 0.5, 2, 1, 4 }, FL_APPLICATION, 9.5, 9.5, 0, true },
	{ "(5) at its boundary: the application dominates",
	  { 8, 1, 0.5, 7.5, 2, 1, 4 }, FL_APPLICATION, 16.5, 9.5, 7, true },
	{ "(10) a cache simulator: P is of no account",
	  { 8, 1, 0.5, 90, 2, 1, 4 }, FL_ANALYSIS, 99, 92, 7, true },
	{ "(10) the same, with twice the analysis: the same gain",
	  { 8, 1, 0.5, 180, 2, 1, 4 }, FL_ANALYSIS, 189, 182, 7, true },
	{ "(10) communication costs more than the application",
	  { 1, 0.5, 0.25, 4, 2, 1, 4 }, FL_ANALYSIS, 5.5, 6, -0.5, false },
	{ "(10) at its boundary",
	  { 1, 0.5, 0.25, 4, 1.5, 1, 4 }, FL_ANALYSIS, 5.5, 5.5, 0, true },
	{ "no events: nothing to gain or to lose",
	  { 8, 0, 0, 0, 0, 1, 4 }, FL_APPLICATION, 8, 8, 0, true },
	{ "four threads share P inline, and one reader has it all",
	  { 8, 0, 0, 16, 0, 4, 8 }, FL_ANALYSIS, 12, 16, -4, false },
	{ "one CPU: all of it in turn",
	  { 8, 1, 0.5, 4, 2, 1, 1 }, FL_CPUS, 13, 15.5, -2.5, false },
	{ "two CPUs, and the application has both",
	  { 8, 1, 1, 4, 2, 2, 2 }, FL_CPUS, 11, 13, -2, false },
};

static void verdicts_are_those_of_the_paper(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fl_model m = fl_cost_model(&cases[i].c);

		print_message("# %s\n", cases[i].what);
		assert_int_equal(m.dominant, cases[i].dominant);
		assert_true(m.e_s == cases[i].e_s);
		assert_true(m.e_c == cases[i].e_c);
		assert_true(m.gain == cases[i].gain);
		assert_int_equal(m.pays, cases[i].pays);
		assert_true(m.most == cases[i].c.a + cases[i].c.a_i - cases[i].c.p_c);
	}
}

/* (4), (6), (8) and (9) for whatever is put in. */
static void equations_hold_for_all(void **state)
{
	static const double some[] = { 0, 0.25, 1, 2, 16 };
	enum { N = ARRAY_LEN(some) };

	(void)state;
	for (size_t i = 0; i < N * N * N * N * 3; i++) {
		struct fl_cost c = { .a = 4, .a_i = some[i % N], .a_q = some[i / N % N],
				     .p = some[i / N / N % N],
				     .p_c = some[i / N / N / N % N],
				     .threads = 1, .cpus = (unsigned)(i / N / N / N / N) + 1 };
		struct fl_model m = fl_cost_model(&c);

		assert_true(m.e_c >= m.e_c_a && m.e_c >= m.e_c_p);
		assert_true(m.gain <= m.most);
		if (c.cpus > 1)
			assert_true(m.gain == (m.e_c_a >= m.e_c_p ? c.p - c.a_q :
					       c.a + c.a_i - c.p_c));
		else
			assert_true(m.gain == -c.a_q - c.p_c);
	}
}

static void a_verdict_is_beyond_the_noise(void **state)
{
	(void)state;
	assert_int_equal(fl_cost_judge(3, 2, 0.5, 2), FL_CONCURRENT);
	assert_int_equal(fl_cost_judge(2, 3, 0.5, 2), FL_INLINE);
	assert_int_equal(fl_cost_judge(3, 2, 1, 2), FL_NEITHER);
	assert_int_equal(fl_cost_judge(2, 3, 1, 2), FL_NEITHER);
	assert_int_equal(fl_cost_judge(2, 2, 0, 2), FL_NEITHER);
	assert_int_equal(fl_cost_judge(3, 2, 0.5, 1), FL_INLINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts_are_those_of_the_paper),
		cmocka_unit_test(equations_hold_for_all),
		cmocka_unit_test(a_verdict_is_beyond_the_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
