/*
 * lasting: calls that last as long as they say, by the clock. Prints `lasted NAME NS`
 * for each function: the sum of its calls, from its first statement to its last.
 */
#include <time.h>
#define FUNCTIONS(X) X(main) X(spin) X(doze)
#include "truth.h"

static long lasted_spin, lasted_doze;

QUIET static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

BODY static void spin(long ms)
{
	long start = now_ns();

	CALLED(spin);
	while (now_ns() - start < ms * 1000000)
		;
	lasted_spin += now_ns() - start;
}

BODY static void doze(long ms)
{
	struct timespec t = { 0, ms * 1000000 };
	long start = now_ns();

	CALLED(doze);
	nanosleep(&t, NULL);
	lasted_doze += now_ns() - start;
}

int main(void)
{
	CALLED(main);
	for (int i = 0; i < 10; i++) {
		spin(10);
		doze(10);
	}
	printf("lasted spin %ld\nlasted doze %ld\n", lasted_spin, lasted_doze);
	truth_print();
	return 0;
}
