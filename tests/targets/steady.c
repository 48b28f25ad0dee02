/* steady MS: three functions, called in turn by one thread until MS are over. */
#include <time.h>
#define FUNCTIONS(X) X(one) X(two) X(three)
#include "truth.h"

BODY static long one(long x)
{
	CALLED(one);
	return x + 1;
}

BODY static long two(long x)
{
	CALLED(two);
	return x + 2;
}

BODY static long three(long x)
{
	CALLED(three);
	return x + 3;
}

QUIET static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

QUIET int main(int argc, char **argv)
{
	long end = now_ms() + (argc > 1 ? atol(argv[1]) : 1000);

	while (now_ms() < end)
		KEEP(one(two(three(0))));
	truth_print();
	return 0;
}
