/*
 * Functions whose time is calls of some ns: walk() calls itself DEEP times, nest_1() calls
 * nest_2() thrice, and so on. Prints `lasted NAME NS`, of a call on average, by the clock
 * of its own CPU time around many.
 *
 *	inner-calls MS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))
#define BODY __attribute__((noinline)) static
enum { DEEP = 200, ROUNDS = 100 };

BODY long walk(long n)
{
	long x = n > 1 ? walk(n - 1) : 0;

	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

BODY long nest_4(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

#define NEST(n, inner) \
	BODY long nest_##n(long x) \
	{ \
		for (int i = 0; i < 3; i++) \
			x = inner(x); \
		return x; \
	}
NEST(3, nest_4) NEST(2, nest_3) NEST(1, nest_2)

PLAIN static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	double end = now_ns() + (argc > 1 ? atof(argv[1]) : 100) * 1e6, at = now_ns();
	double walks = 0, nests = 0, calls = 0;
	volatile long x = 0;

	while (at < end) {
		double from = at;

		for (int i = 0; i < ROUNDS; i++)
			x += walk(DEEP);
		at = now_ns();
		walks += at - from;
		from = at;
		for (int i = 0; i < ROUNDS; i++)
			x += nest_1(i);
		at = now_ns();
		nests += at - from;
		calls += ROUNDS;
	}
	printf("lasted walk %.2f\nlasted nest_1 %.2f\n", walks / calls * (DEEP + 1) / 2 / DEEP,
	       nests / calls);
	printf("lasted nest_2 %.2f\n", nests / calls / 3);
	return 0;
}
