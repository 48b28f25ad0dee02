/*
 * Two functions that are called too often to count each, in phases of some milliseconds, and
 * one for each that is called in step with it: once in a thousand of its calls. Prints how
 * often they were called.
 *
 *	in-step MS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))
enum { A_STEP = 1000, PHASE_MS = 7 };

__attribute__((noinline)) static void hot(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) static void warm(void)
{
	for (int i = 0; i < 20; i++)
		__asm__ volatile("");
}

__attribute__((noinline)) static void step_hot(void)
{
	for (int i = 0; i < A_STEP; i++)
		hot();
}

__attribute__((noinline)) static void step_warm(void)
{
	for (int i = 0; i < A_STEP; i++)
		warm();
}

PLAIN static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

PLAIN int main(int argc, char **argv)
{
	double begin = now_ms(), ms = argc > 1 ? atof(argv[1]) : 100;
	long steps[2] = { 0 };

	while (now_ms() - begin < ms) {
		int is_warm = (long)(now_ms() / PHASE_MS) % 3 == 0;

		if (is_warm)
			step_warm();
		else
			step_hot();
		steps[is_warm]++;
	}
	printf("calls hot %ld\ncalls warm %ld\n", steps[0] * A_STEP, steps[1] * A_STEP);
	return 0;
}
