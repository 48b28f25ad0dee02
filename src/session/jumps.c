/*
 * jumps.c - how much longer a call takes because the function's entry leads to a second body.
 *
 * That jump stays while probes are off. No sample stands in flick's code for it: a call is
 * one taken branch longer. So a jump's price is measured here, in a child of flick's, and the
 * recording says how many calls took one. A core jumps faster among few functions than among
 * as many as it can hardly remember; programs do both, so the mean is taken.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "os/os.h"
#include "patch/patch.h"
#include "session/cost.h"
#include "session/results.h"

enum {
	FEW = 64,
	MANY = 512,
	APART = 272,			/* each in lines of its own, in all sets of a cache */
	CALLS = 20 * MANY,
	ROUNDS = 30
};

struct jumps {
	struct fl_near near;
	void (*volatile plain[MANY])(void);
	void (*volatile led[MANY])(void);
};

/* A function that returns, and an entry that leads there. */
static bool make_entry(struct jumps *j, uint32_t i)
{
	const uint32_t ret = FL_ARCH_RET;
	size_t to = i * APART, from = (MANY + i) * APART;
	uintptr_t at = (uintptr_t)j->near.code;

	memcpy(j->near.write + to, &ret, FL_ARCH_RET_BYTES);
	j->plain[i] = (void (*)(void))(at + to);
	j->led[i] = (void (*)(void))(at + from);
	return fl_arch_put_branch(j->near.write + from, FL_BRANCH_JUMP, at + from, at + to);
}

static bool make_entries(struct jumps *j)
{
	uintptr_t here = (uintptr_t)make_entry;
	bool is_made = !fl_near_alloc(&j->near, FL_NEAR_TO(here, here + 1), 2 * MANY * APART,
				      0);

	for (uint32_t i = 0; is_made && i < MANY; i++)
		is_made = make_entry(j, i);
	return is_made && !fl_near_seal(&j->near);
}

/* Each call stands at a place of its own, so that a core foresees all of them. */
#define CALL_4(i) call[i](); call[(i) + 1](); call[(i) + 2](); call[(i) + 3]();
#define CALL_16(i) CALL_4(i) CALL_4((i) + 4) CALL_4((i) + 8) CALL_4((i) + 12)
#define CALL_64(i) CALL_16(i) CALL_16((i) + 16) CALL_16((i) + 32) CALL_16((i) + 48)

__attribute__((noinline)) static uint64_t time_calls(void (*const volatile *call)(void),
						     uint32_t functions)
{
	uint64_t from = fl_arch_ticks();

	for (uint32_t n = 0; n < CALLS; n += functions) {
		CALL_64(0)
		if (functions == FEW)
			continue;
		CALL_64(64) CALL_64(128) CALL_64(192) CALL_64(256)
		CALL_64(320) CALL_64(384) CALL_64(448)
	}
	return fl_arch_ticks() - from;
}

/* What a jump takes among so many functions, in FL_TICK_PARTS, at the best of the rounds: what
 * others do on the machine only adds. */
static uint64_t measure_among(const struct jumps *j, uint32_t functions)
{
	uint64_t plain = UINT64_MAX, led = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = time_calls(j->plain, functions);
		uint64_t b = time_calls(j->led, functions);

		plain = a < plain ? a : plain;
		led = b < led ? b : led;
	}
	return led > plain ? (led - plain) * FL_TICK_PARTS / CALLS : 0;
}

uint32_t fl_jumps_measure(void)
{
	static struct jumps j;

	_Static_assert(FEW == 64 && MANY == 512, "as time_calls() has them");
	return make_entries(&j) ?
		(uint32_t)(measure_among(&j, FEW) + measure_among(&j, MANY)) / 2 : 0;
}

/* A function as a program's shortest loop would call it. */
__attribute__((noinline)) static void do_nothing(void)
{
	__asm__ volatile("");
}

uint32_t fl_jumps_measure_call(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t from = fl_os_monotonic_ns(), ns;

		for (uint32_t n = 0; n < CALLS; n++)
			do_nothing();
		ns = fl_os_monotonic_ns() - from;
		least = ns < least ? ns : least;
	}
	return (uint32_t)(least * 1000 / CALLS);
}

/* ---- of a recording ------------------------------------------------------------------ */

static bool *find_led(const struct fl_session *s)
{
	bool *is = calloc(s->functions.n + 1, sizeof(*is));

	for (uint32_t i = 0; is && i < s->chosen.n; i++)
		if (s->chosen.marks[i] && fl_is_function(&s->functions.sites[i]) &&
		    !load_relaxed(&s->sites[i].refusal))
			is[s->functions.function_of[i]] = true;
	return is;
}

static double calls_in_rows(const struct flick_rows *r, const bool *is, uint32_t n)
{
	int function = r ? fl_sheet_column(r, "function") : -1;
	int calls = r ? fl_sheet_column(r, "calls") : -1;
	double sum = 0;

	for (size_t i = 0; function >= 0 && calls >= 0 && i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[function] < n && is[row[function]] && row[calls] != FLICK_NONE)
			sum += (double)row[calls];
	}
	return sum;
}

double fl_jumps_ns(struct fl_session *s)
{
	double calls = 0;
	bool *is = find_led(s);

	if (is && s->budget)
		for (uint32_t f = 0; f < s->functions.n; f++)
			calls += is[f] ? (double)fl_budget_calls(s->budget, f) : 0;
	else if (is)
		calls = calls_in_rows(fl_session_calls(s), is, s->functions.n);
	free(is);
	return calls * s->prices.jump / FL_TICK_PARTS * s->view.ns_per_tick;
}
