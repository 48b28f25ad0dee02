/*
 * vectors.c - the widest vector registers a handler may use here.
 */
#include <cpuid.h>

#include "arch/arch.h"

static uint64_t enabled_state(void)
{
	uint32_t lo, hi;

	__asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return (uint64_t)hi << 32 | lo;
}

/* CPUID leaves 1 and 7, and XCR0: does the CPU have such registers, does the kernel save
 * them? */
unsigned int fl_arch_vectors(void)
{
	enum { XMM_YMM = 0x6, ZMM = 0xe6 };	/* XCR0 bits, SDM vol 1 13.3 */
	enum { SSE, AVX, AVX512, AVX512BW };		/* FL_ARCH_VECTORS */
	uint32_t a, b, c, d;
	uint64_t state;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
		return SSE;
	state = enabled_state();
	if ((state & XMM_YMM) != XMM_YMM)
		return SSE;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512F) &&
	    (state & ZMM) == ZMM)
		return b & bit_AVX512BW ? AVX512BW : AVX512;
	return AVX;
}
