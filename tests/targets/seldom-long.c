/*
 * seldom-long THREADS MS HOW: in each thread one call in fifty of `mixed` takes 5 ms and the
 * others 5 us, by the clock, for MS; HOW is `spin` or `sleep` (the long ones). Prints `lasted
 * mixed NS`: all of them together, `meant mixed NS`: as said, `ran mixed NS`: the CPU time, and
 * `calls mixed N`.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUIET __attribute__((no_instrument_function))
#define BODY __attribute__((noinline))

static long end_ns, lasted, meant, ran, calls;
static int sleeps;

QUIET static long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

QUIET static long now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

QUIET static long ns_of(long n)
{
	return n % 50 ? 5000 : 5000000;
}

BODY static long mixed(long n)
{
	long from = now_ns(), ns = ns_of(n);
	struct timespec t = { 0, ns };

	if (ns > 5000 && sleeps)
		nanosleep(&t, NULL);
	while (now_ns() - from < ns)
		;
	return now_ns() - from;
}

QUIET static void *run(void *unused)
{
	long sum = 0, due = 0, n = 0;

	while (now_ns() < end_ns) {
		due += ns_of(++n);
		sum += mixed(n);
	}
	__atomic_fetch_add(&lasted, sum, __ATOMIC_RELAXED);
	__atomic_fetch_add(&meant, due, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ran, clock_ns(CLOCK_THREAD_CPUTIME_ID), __ATOMIC_RELAXED);
	__atomic_fetch_add(&calls, n, __ATOMIC_RELAXED);
	return unused;
}

QUIET int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64];

	end_ns = now_ns() + (argc > 2 ? atol(argv[2]) : 1000) * 1000000;
	sleeps = argc > 3 && !strcmp(argv[3], "sleep");
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("lasted mixed %ld\nmeant mixed %ld\nran mixed %ld\ncalls mixed %ld\n", lasted,
	       meant, ran, calls);
	return 0;
}
