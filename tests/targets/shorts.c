/*
 * shorts.c - children one after the other, for MS milliseconds: each calls step() twenty
 * thousand times, which takes less than a millisecond, and ends. It counts these calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
enum { CALLS = 20000 };

__attribute__((noinline)) static long step(long x)
{
	for (int i = 0; i < 25; i++)
		__asm__ volatile("imul $3, %0" : "+r"(x));
	return x;
}

PLAIN static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

PLAIN int main(int argc, char **argv)
{
	long until = now_ms() + (argc > 1 ? atol(argv[1]) : 1000), children = 0;
	volatile long x = 1;

	while (now_ms() < until && ++children) {
		int pid = fork();

		if (pid < 0)
			return 1;
		for (int i = 0; !pid && i < CALLS; i++)
			x = step(x);
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	printf("children %ld\ncalls %ld\n", children, children * CALLS);
	return 0;
}
