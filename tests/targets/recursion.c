/* recursion: direct, double, mutual, and through tail calls, which at -O2
 * are jumps: the callee returns for its caller. */
#define FUNCTIONS(X) X(main) X(factorial) X(fib) X(even) X(odd) X(hop) X(land) \
	X(sink)
#include "truth.h"

BODY static unsigned long factorial(unsigned long n)
{
	unsigned long rest;

	CALLED(factorial);
	if (n < 2)
		return 1;
	rest = factorial(n - 1);
	KEEP(rest);
	return n * rest;
}

BODY static long fib(long n)
{
	CALLED(fib);
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static int odd(long n);

BODY static int even(long n)
{
	CALLED(even);
	return n == 0 ? 1 : odd(n - 1);
}

BODY static int odd(long n)
{
	CALLED(odd);
	return n == 0 ? 0 : even(n - 1);
}

BODY static long land(long n)
{
	CALLED(land);
	return n * 2;
}

BODY static long hop(long n)
{
	CALLED(hop);
	return land(n + 1);
}

BODY static void sink(long n)
{
	CALLED(sink);
	KEEP(n);
}

int main(void)
{
	CALLED(main);
	CHECK(factorial(20) == 2432902008176640000ul);
	CHECK(fib(18) == 2584);
	CHECK(even(1001) == 0 && odd(1001) == 1);
	for (long i = 0; i < 1000; i++) {
		CHECK(hop(i) == 2 * i + 2);
		sink(i);
	}
	truth_print();
	return truth_failed;
}
