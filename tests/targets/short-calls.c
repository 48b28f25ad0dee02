/*
 *	short-calls SECONDS [HOW N]
 *
 * Calls of a nanosecond or some: leaf() calls nothing, caller() spends half of its time in it,
 * outer() has all of that, and down(), which calls itself, half of the program's time. Of
 * seldom_long() a call in five thousand is long: by those that are timed it takes nothing.
 *
 * HOW N: N children do that, but for seldom_long(), and each takes so many SECONDS. `fork`: one
 * behind the other; `exec`: the same, as a program that each executes; `pool`: all at once;
 * `nested`: each is a child's child; `orphan`: likewise, and its parent ends at once.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUT __attribute__((noinline, noclone))
#ifndef LEAF
#define LEAF OUT
#endif

static volatile uint32_t sink;

/* No function: a compiler's sites would be in it, wherever it is inlined. */
#define SPIN(x, n)							\
	for (int i_ = 0; i_ < (n); i_++) {				\
		x = x * 1664525 + 1013904223;				\
		__asm__ volatile("" : "+r"(x));				\
	}

LEAF uint32_t leaf(uint32_t x)
{
	SPIN(x, 6);
	return x;
}

OUT uint32_t caller(uint32_t x)
{
	x = leaf(x);
	SPIN(x, 6);
	return leaf(x) + 1;
}

OUT uint32_t outer(uint32_t x, int n)
{
	for (int i = 0; i < n; i++)
		x = caller(x) + 1;
	return x + 1;
}

OUT uint32_t down(uint32_t x, int n)
{
	SPIN(x, 6);
	return (n ? down(x, n - 1) : x) + 1;
}

OUT uint32_t seldom_long(uint32_t x, int n)
{
	if (n % 5000 == 4999)
		SPIN(x, 200000);
	return x + 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void work(double seconds)
{
	double end;

	for (end = now() + seconds / 2; now() < end;)
		sink = outer(sink, 2000);
	for (end = now() + seconds / 2; now() < end;)
		for (int i = 0; i < 500; i++)
			sink = down(sink, 30);
}

static void await_children(void)
{
	while (wait(NULL) > 0)
		;
}

static void be_child(char **argv, double seconds)
{
	char *again[] = { argv[0], argv[1], NULL };

	if (!strcmp(argv[2], "exec"))
		execv(argv[0], again);
	if (!strcmp(argv[2], "nested") && fork()) {
		await_children();
		_exit(0);
	}
	if (!strcmp(argv[2], "orphan") && fork())
		_exit(0);
	work(seconds);
	_exit(0);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int n = argc > 3 ? atoi(argv[3]) : 0;

	if (!n)
		work(seconds);
	for (int i = 0; i < n; i++) {
		if (!fork())
			be_child(argv, seconds);
		if (strcmp(argv[2], "pool"))
			await_children();
	}
	await_children();
	for (int i = 0; !n && i < seconds * 250000; i++)
		sink = seldom_long(sink, i);
	return 0;
}
