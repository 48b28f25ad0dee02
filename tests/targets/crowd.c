/*
 * crowd THREADS MS: threads on one processor call `leaf`, some 20 us of work, and each
 * twentieth time `nap`, which sleeps 2 ms once in twenty calls, each for MS of its CPU time.
 * Prints `calls leaf N`, `ran leaf NS`: their CPU time, `slept nap NS`: as
 * meant, and `napped nap NS`: as it was.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define QUIET __attribute__((no_instrument_function))
#define BODY __attribute__((noinline))

static long most_ns, calls, ran, slept, napped;

QUIET static long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

BODY static unsigned leaf(unsigned x)
{
	for (int i = 0; i < 16000; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

BODY static void nap(long n)
{
	struct timespec t = { 0, 2000000 };

	if (n % 20 == 0)
		nanosleep(&t, NULL);
}

QUIET static void *run(void *unused)
{
	long began = clock_ns(CLOCK_THREAD_CPUTIME_ID), n = 0, naps = 0, in_naps = 0, now;
	long whole = 0, from;
	unsigned x = 1;

	do {
		for (int i = 0; i < 20; i++)
			x = leaf(x);
		n += 20;
		now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		from = clock_ns(CLOCK_MONOTONIC);
		nap(++naps);
		whole += clock_ns(CLOCK_MONOTONIC) - from;
		in_naps += clock_ns(CLOCK_THREAD_CPUTIME_ID) - now;
	} while (now - began < most_ns);
	__atomic_fetch_add(&calls, n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ran, now - began - in_naps, __ATOMIC_RELAXED);
	__atomic_fetch_add(&napped, whole, __ATOMIC_RELAXED);
	__atomic_fetch_add(&slept, naps / 20 * 2000000, __ATOMIC_RELAXED);
	return x ? unused : NULL;
}

QUIET int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64];
	cpu_set_t one;

	most_ns = (argc > 2 ? atol(argv[2]) : 500) * 1000000;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return 1;
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("calls leaf %ld\nran leaf %ld\nslept nap %ld\nnapped nap %ld\n", calls, ran,
	       slept, napped);
	return 0;
}
