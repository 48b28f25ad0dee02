/* inline: bodies that always stand inside others. A profiling call in one says
 * its own function, not the one whose code contains it. */
#define FUNCTIONS(X) X(main) X(outer) X(inner) X(innermost) X(other)
#include "truth.h"

#define INSIDE static inline __attribute__((always_inline))

INSIDE long innermost(long x)
{
	CALLED(innermost);
	return x * 3;
}

INSIDE long inner(long x)
{
	CALLED(inner);
	return innermost(x) + innermost(x + 1);
}

BODY static long outer(long x)
{
	CALLED(outer);
	return inner(x) + 1;
}

BODY static long other(long x)
{
	CALLED(other);
	return x % 4 ? innermost(x) : inner(x);
}

int main(void)
{
	CALLED(main);
	for (long i = 0; i < 1000; i++)
		KEEP(outer(i) + other(i));
	truth_print();
	return 0;
}
