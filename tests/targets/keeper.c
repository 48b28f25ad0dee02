/* keeper: errno, the rounding modes and the exception flags of floating point (x86-64 has
 * two units for it), and the vector registers' state are as they were after a call of an
 * empty function, from a thread's first call on. */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif
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

#ifdef __x86_64__
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

/* What says how floating point is rounded, and what it has met. */
QUIET static unsigned long control(void)
{
	return (unsigned long)_mm_getcsr() << 16 | x87_control();
}

QUIET static int goes_down(void)	/* the direction flag */
{
	return (flags() & 0x400) != 0;
}

/* All eight x87 registers in use around a call: MMX keeps them so. */
QUIET static void check_vector(void)
{
	unsigned long in = 0x1234567890abcdef, out = 0;

	__asm__ volatile("movq %0, %%mm7" : : "m"(in));
	empty();
	__asm__ volatile("movq %%mm7, %0\n\temms" : "=m"(out));
	CHECK(in == out);
}
#else
QUIET static unsigned long control(void)
{
	unsigned long fpcr, fpsr;

	__asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(fpcr), "=r"(fpsr));
	return fpcr << 32 | fpsr;
}

QUIET static int goes_down(void)
{
	return 0;
}

/* Of v8 to v15 the lower halves are the caller's. */
QUIET static void check_vector(void)
{
	unsigned long in = 0x1234567890abcdef, out = 0;
	register double kept __asm__("d15");

	__asm__ volatile("fmov %d0, %x1" : "=w"(kept) : "r"(in));
	empty();
	__asm__ volatile("fmov %x0, %d1" : "=r"(out) : "w"(kept));
	CHECK(in == out);
}
#endif

QUIET static void check_errno(int i)
{
	errno = i;
	empty();
	CHECK(errno == i);
}

QUIET static void check_modes(int round)
{
	unsigned long was;

	fesetround(round);
	was = control();
	empty();
	CHECK(control() == was && fegetround() == round && !goes_down());
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

QUIET static void check_all(void)
{
	static const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };

	for (int i = 0; i < 3000; i++) {
		check_errno(i);
		check_modes(modes[i % 3]);
		check_rounding();
		check_exceptions();
		check_vector();
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
