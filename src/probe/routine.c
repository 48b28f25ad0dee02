/*
 * routine.c - which routine of routines.S serves an action.
 *
 * Knows that short paths are restartable sequences, which some kernels do not have.
 */
#include "routine.h"

#define ROUTINES(x, how) \
	x(how##_time) x(how##_time_long) x(how##_precise) x(how##_precise_long) \
	x(how##_count) x(how##_count_long) x(how##_after) x(how##_after_long) \
	x(how##_sample) x(how##_window) x(how##_staged)
#define DECLARE(name) extern void fl_##name(void);
ROUTINES(DECLARE, abi)
ROUTINES(DECLARE, bare)
ROUTINES(DECLARE, body)
ROUTINES(DECLARE, ask)
DECLARE(abi_call) DECLARE(ask_call) DECLARE(ask_idle)
DECLARE(abi_twice) DECLARE(bare_twice) DECLARE(ask_twice) DECLARE(body_twice)
DECLARE(abi_both) DECLARE(bare_both) DECLARE(ask_both) DECLARE(body_both)
DECLARE(abi_count_full) DECLARE(bare_count_full) DECLARE(body_count_full)
FL_ARCH_VECTORS(DECLARE, bare_call)
FL_ARCH_VECTORS(DECLARE, body_call)

#define EACH(name) { fl_abi_##name, fl_bare_##name, fl_ask_##name, fl_body_##name }
#define ADDRESS(name) fl_##name,

typedef void routine_fn(void);
static routine_fn *const shorts[FL_N_ACTIONS][FL_N_CONVENTIONS] = {
	[FL_ACT_TIME] = EACH(time), [FL_ACT_COUNT] = EACH(count), [FL_ACT_AFTER] = EACH(after),
	[FL_ACT_TWICE] = EACH(twice),
};
static routine_fn *const longs[FL_N_ACTIONS][FL_N_CONVENTIONS] = {
	[FL_ACT_TIME] = EACH(time_long), [FL_ACT_COUNT] = EACH(count_long),
	[FL_ACT_AFTER] = EACH(after_long), [FL_ACT_SAMPLE] = EACH(sample),
	[FL_ACT_WINDOW] = EACH(window), [FL_ACT_STAGED] = EACH(staged),
	[FL_ACT_CALL] = { fl_abi_call, NULL, fl_ask_call },
	[FL_ACT_BOTH] = EACH(both), [FL_ACT_TWICE] = EACH(both),	/* asks, and does it */
};
/* In place of FL_ACT_TIME's, where nothing else may run beside a reading of the clock. */
static routine_fn *const precise_shorts[FL_N_CONVENTIONS] = EACH(precise);
static routine_fn *const precise_longs[FL_N_CONVENTIONS] = EACH(precise_long);
/* A function of the program's own may use the widest vectors there are. */
static routine_fn *const bare_calls[] = { FL_ARCH_VECTORS(ADDRESS, bare_call) };
static routine_fn *const body_calls[] = { FL_ARCH_VECTORS(ADDRESS, body_call) };
void (*fl_bare_bound)(void), (*fl_body_bound)(void);

void fl_probe_routines_open(void)
{
	fl_bare_bound = bare_calls[fl_arch_vectors()];
	fl_body_bound = body_calls[fl_arch_vectors()];
	fl_arch_rseq_open();
}

uintptr_t fl_probe_routine(enum fl_action action, enum fl_convention convention)
{
	if (action == FL_ACT_CALL && convention == FL_BARE)
		return (uintptr_t)fl_bare_bound;
	if (action == FL_ACT_CALL && convention == FL_BODY)
		return (uintptr_t)fl_body_bound;
	if (action == FL_ACT_TIME && fl_table.session && fl_table.session->precise)
		return (uintptr_t)(fl_arch_has_rseq() ? precise_shorts :
				   precise_longs)[convention];
	if (fl_arch_has_rseq() && shorts[action][convention])
		return (uintptr_t)shorts[action][convention];
	return (uintptr_t)longs[action][convention];
}

uintptr_t fl_probe_routine_uncounted(enum fl_action action, enum fl_convention convention)
{
	return (uintptr_t)longs[action][convention];
}

uintptr_t fl_probe_routine_full(enum fl_convention convention)
{
	switch (convention) {
	case FL_BARE:	return (uintptr_t)fl_bare_count_full;
	case FL_BODY:	return (uintptr_t)fl_body_count_full;
	default:	return (uintptr_t)fl_abi_count_full;
	}
}

uintptr_t fl_probe_routine_idle(void)
{
	return (uintptr_t)fl_ask_idle;
}
