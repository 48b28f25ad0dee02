/*
 * attach.c - what bench/attach.sh attaches to: threads that call the functions of bench/synth.
 *
 *	attach THREADS US	`ready`; they call some every US microseconds, and note by how
 *				much each wake was late, or without a pause (0). At each line
 *				of input: the largest lateness since the last one, in
 *				milliseconds, and calls a millisecond
 *	attach now		nanoseconds of CLOCK_MONOTONIC, and that is all
 *
 * Who is stopped cannot wake: of 64 threads with two milliseconds each one is always about to.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "synth.h"

enum { CALLS = 50 };

static _Atomic long latest_ns;
static _Atomic unsigned long calls;
static volatile int sink;
static long period_ns, n_threads;

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void note(long late)
{
	long most = atomic_load(&latest_ns);

	while (late > most && !atomic_compare_exchange_weak(&latest_ns, &most, late))
		;
}

static void wake_at(long *next)
{
	struct timespec t = { *next / 1000000000, *next % 1000000000 };
	long now;

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	now = now_ns();
	note(now - *next);
	*next = now + period_ns;
}

/* They begin one after the other within a period. */
static void *run(void *arg)
{
	long id = (long)arg, next = now_ns() + id * period_ns / n_threads;
	size_t at = (size_t)id * 313;

	for (;;) {
		if (period_ns)
			wake_at(&next);
		for (int i = 0; i < CALLS; i++)
			sink = synth_fn[(at += 7) % synth_n](i);
		atomic_fetch_add(&calls, CALLS);
	}
	return arg;
}

static void answer(void)
{
	static long last;
	long now = now_ns();

	printf("%.3f %.3f\n", (double)atomic_exchange(&latest_ns, 0) / 1e6,
	       (double)atomic_exchange(&calls, 0) * 1e6 / (double)(now - last));
	fflush(stdout);
	last = now;
}

int main(int argc, char **argv)
{
	pthread_t t;
	char line[16];

	if (argc == 2 && !strcmp(argv[1], "now"))
		return printf("%ld\n", now_ns()) < 0;
	if (argc != 3)
		return 2;
	n_threads = atol(argv[1]);
	period_ns = atol(argv[2]) * 1000;
	for (long i = 0; i < n_threads; i++)
		if (pthread_create(&t, NULL, run, (void *)i))
			return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		answer();
	return 0;
}
