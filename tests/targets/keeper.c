/* keeper: errno, the rounding modes and the exception flags of both floating
 * point units, and the vector registers' state are as they were after a call
 * of an empty function, from a thread's first call on. */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <xmmintrin.h>
#define FUNCTIONS(X) X(main) X(empty) X(thirds) X(worker)
#include "truth.h"

BODY static void empty(void)
{
	CALLED(empty);
}

BODY static double thirds(double x)
{
	CALLED(thirds);
	return x / 3;
}

QUIET static unsigned short x87_control(void)
{
	unsigned short w;

	__asm__ volatile("fnstcw %0" : "=m"(w));
	return w;
}

QUIET static unsigned long flags(void)
{
	unsigned long f;

	__asm__ volatile("pushfq\n\tpop %0" : "=r"(f));
	return f;
}

QUIET static void check_errno(int i)
{
	errno = i;
	empty();
	CHECK(errno == i);
}

QUIET static void check_modes(int round)
{
	unsigned int csr;
	unsigned short cw;

	fesetround(round);
	csr = _mm_getcsr();
	cw = x87_control();
	empty();
	CHECK(_mm_getcsr() == csr && x87_control() == cw && fegetround() == round);
	CHECK(!(flags() & 0x400));	/* the direction flag: up */
	fesetround(FE_TONEAREST);
}

/* Division by three is inexact: rounded up and down results differ. */
QUIET static void check_rounding(void)
{
	double up, down;

	fesetround(FE_UPWARD);
	up = thirds(1);
	fesetround(FE_DOWNWARD);
	down = thirds(1);
	fesetround(FE_TONEAREST);
	CHECK(up > down);
}

/* A probe that computes in floating point would raise a flag, or trap. */
QUIET static void check_exceptions(void)
{
	feclearexcept(FE_ALL_EXCEPT);
	feenableexcept(FE_INEXACT | FE_DIVBYZERO | FE_INVALID);
	empty();
	CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
	fedisableexcept(FE_ALL_EXCEPT);
}

/* All eight x87 registers in use around a call: MMX keeps them so. */
QUIET static void check_mmx(void)
{
	unsigned long in = 0x1234567890abcdef, out = 0;

	__asm__ volatile("movq %0, %%mm7" : : "m"(in));
	empty();
	__asm__ volatile("movq %%mm7, %0\n\temms" : "=m"(out));
	CHECK(in == out);
}

QUIET static void check_all(void)
{
	static const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };

	for (int i = 0; i < 3000; i++) {
		check_errno(i);
		check_modes(modes[i % 3]);
		check_rounding();
		check_exceptions();
		check_mmx();
	}
}

BODY static void *worker(void *arg)
{
	CALLED(worker);
	check_all();
	return arg;
}

int main(void)
{
	pthread_t t;

	CALLED(main);
	pthread_create(&t, NULL, worker, NULL);
	pthread_join(t, NULL);
	check_all();
	truth_print();
	return truth_failed;
}
