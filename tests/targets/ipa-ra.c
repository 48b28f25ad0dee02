/* ipa-ra: a caller keeps registers live over a call of a local function that, as the
 * compiler can see, leaves them alone: those that a call would lose by the usual rule. */
#define FUNCTIONS(X) X(main) X(caller) X(callee) X(floats) X(halve)
#define TRUTH_KEEPS_REGISTERS
#include "truth.h"

#undef BODY
#define BODY __attribute__((noinline))

static long scratch;

/* Changes nothing but %rax, the flags and memory. */
BODY static long callee(long x)
{
	CALLED(callee);
	scratch += x;
	return scratch;
}

/* All that are free are asked for: what is live over the call is in the others. */
BODY long caller(long a, long b, long c, long d, long e, long f)
{
	long x;

	CALLED(caller);
	x = callee(a);
	return x + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f;
}

BODY static double halve(double x)
{
	CALLED(halve);
	return x * 0.5;
}

BODY double floats(double a, double b, double c, double d)
{
	double x;

	CALLED(floats);
	x = halve(a);
	return x + b * 3 + c * 5 + d * 7;
}

/* The compiler is told which registers are live over the call, by name; the callee's are
 * what it sees. */
#define LIVE(name, value) \
	{ \
		register long live __asm__(#name) = (value); \
		long got; \
		__asm__ volatile("" : "+r"(live)); \
		got = callee((value) & 15); \
		__asm__ volatile("" : "+r"(live)); \
		CHECK(live == (value) && got == scratch); \
	}

int main(void)
{
	CALLED(main);
	for (long i = 0; i < 20000; i++) {
		long was = scratch;

		CHECK(caller(i, 1, 2, 3, 4, 5) ==
		      was + i + 2 + 6 + 15 + 28 + 55);
		CHECK(floats((double)i, 1, 2, 3) == i * 0.5 + 34);
		LIVE(rcx, i * 3 + 1)
		LIVE(rdx, i * 5 + 1)
		LIVE(rsi, i * 7 + 1)
		LIVE(r8, i * 9 + 1)
		LIVE(r9, i * 11 + 1)
		LIVE(r10, i * 13 + 1)
		LIVE(r11, i * 17 + 1)
	}
	truth_print();
	return truth_failed;
}
