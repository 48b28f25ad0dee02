/*
 * tiny.c - tiny() a hundred million times a second, for MS of CPU time each, from THREADS
 * threads; the last of them forks when there is a third argument, and its child goes on
 * as long again. It counts its calls.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))

static double seconds;
static long calls, rare_calls;

__attribute__((noinline)) static int tiny(int x)
{
	return x * 3 + 1;
}

__attribute__((noinline)) static int rare(int x)
{
	return x * 5 + 1;
}

PLAIN static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

PLAIN static void *run(void *unused)
{
	double until = now() + seconds;
	volatile int x = 1;
	long n = 0, m = 0;

	do {
		for (int i = 0; i < 20000; i++, n++) {
			int y = tiny(x);

			for (int k = 0; k < 4; k++)	/* as a caller does something, too */
				y = y * 7 + k;
			x = y;
		}
		x = rare(x);
		m++;
	} while (now() < until);
	__atomic_fetch_add(&calls, n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&rare_calls, m, __ATOMIC_RELAXED);
	return unused;
}

PLAIN int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 1, status = 0;
	pthread_t t[64];

	seconds = argc > 1 ? atof(argv[1]) / 1000 : 0.5;
	for (int i = 1; i < n && i < 64; i++)
		pthread_create(&t[i], NULL, run, NULL);
	run(NULL);
	for (int i = 1; i < n && i < 64; i++)
		pthread_join(t[i], NULL);
	if (argc > 3 && fork() == 0) {
		calls = rare_calls = 0;
		run(NULL);
	} else if (argc > 3) {
		wait(&status);
	}
	printf("guess tiny %ld\ncount rare %ld\n", calls, rare_calls);
	return status;
}
