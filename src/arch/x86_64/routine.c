/*
 * routine.c - which routine of tramp.S serves an action on this machine.
 *
 * Knows what the kernel and the CPU offer: restartable sequences for the short
 * path, and the widest vector registers a handler might use.
 */
#include <cpuid.h>

#include "arch/arch.h"

#define ROUTINES(x) \
	x(abi_count) x(abi_time) x(abi_sample) x(abi_call) x(abi_count_long) \
	x(abi_time_long) x(abi_window) x(ask_count) x(ask_time) x(ask_sample) \
	x(ask_call) x(ask_count_long) x(ask_time_long) x(ask_window) x(ask_idle) \
	x(abi_full) x(bare_full) x(bare_count) x(bare_time) x(bare_sample) \
	x(bare_count_long) x(bare_time_long) x(bare_window) x(bare_call_sse) \
	x(bare_call_avx) x(bare_call_avx512) x(abi_after) x(bare_after) x(ask_after) \
	x(abi_after_long) x(bare_after_long) x(ask_after_long)
#define DECLARE(name) extern void fl_##name(void);
ROUTINES(DECLARE)

static void (*routines[FL_N_ACTIONS][FL_N_CONVENTIONS])(void) = {
	[FL_ACT_COUNT] = { fl_abi_count_long, fl_bare_count_long, fl_ask_count_long },
	[FL_ACT_TIME] = { fl_abi_time_long, fl_bare_time_long, fl_ask_time_long },
	[FL_ACT_SAMPLE] = { fl_abi_sample, fl_bare_sample, fl_ask_sample },
	[FL_ACT_AFTER] = { fl_abi_after_long, fl_bare_after_long, fl_ask_after_long },
	[FL_ACT_CALL] = { fl_abi_call, fl_bare_call_sse, fl_ask_call },
	[FL_ACT_WINDOW] = { fl_abi_window, fl_bare_window, fl_ask_window },
};

static uint64_t enabled_state(void)
{
	uint32_t lo, hi;

	__asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return (uint64_t)hi << 32 | lo;
}

/* CPUID leaves 1 and 7: does the CPU have it, and does the kernel save it? */
static void (*choose_bare_call(void))(void)
{
	enum { XMM_YMM = 0x6, ZMM = 0xe6 };	/* XCR0 bits, SDM vol 1 13.3 */
	uint32_t a, b, c, d;
	uint64_t state;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
		return fl_bare_call_sse;
	state = enabled_state();
	if ((state & XMM_YMM) != XMM_YMM)
		return fl_bare_call_sse;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512F) &&
	    (state & ZMM) == ZMM)
		return fl_bare_call_avx512;
	return fl_bare_call_avx;
}

void fl_arch_open(void)
{
	routines[FL_ACT_CALL][FL_BARE] = choose_bare_call();
	fl_arch_rseq_open();
	if (!fl_arch_has_rseq())
		return;
	routines[FL_ACT_COUNT][FL_ABI] = fl_abi_count;
	routines[FL_ACT_COUNT][FL_BARE] = fl_bare_count;
	routines[FL_ACT_COUNT][FL_ASK] = fl_ask_count;
	routines[FL_ACT_AFTER][FL_ABI] = fl_abi_after;
	routines[FL_ACT_AFTER][FL_BARE] = fl_bare_after;
	routines[FL_ACT_AFTER][FL_ASK] = fl_ask_after;
	routines[FL_ACT_TIME][FL_ABI] = fl_abi_time;
	routines[FL_ACT_TIME][FL_BARE] = fl_bare_time;
	routines[FL_ACT_TIME][FL_ASK] = fl_ask_time;
}

uintptr_t fl_arch_routine_uncounted(enum fl_action action, enum fl_convention convention)
{
	static void (*const checked[2][FL_N_CONVENTIONS])(void) = {
		{ fl_abi_count_long, fl_bare_count_long, fl_ask_count_long },
		{ fl_abi_after_long, fl_bare_after_long, fl_ask_after_long },
	};

	return (uintptr_t)checked[action == FL_ACT_AFTER][convention];
}

uintptr_t fl_arch_routine_full(enum fl_convention convention)
{
	return (uintptr_t)(convention == FL_BARE ? fl_bare_full : fl_abi_full);
}

uintptr_t fl_arch_routine_idle(void)
{
	return (uintptr_t)fl_ask_idle;
}

uintptr_t fl_arch_routine(enum fl_action action, enum fl_convention convention)
{
	return (uintptr_t)routines[action][convention];
}
