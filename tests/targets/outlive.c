/*
 * outlive - four threads call without end; one kills the recorder, its parent, in the
 * middle of that. They go on for a while after flick has let go.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>

#define FUNCTIONS(X) X(leaf) X(twig) X(step)
#include "truth.h"

enum { THREADS = 4, BEFORE = 20000, AFTER = 20000 };
static unsigned long over;

BODY long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY long twig(long x)
{
	CALLED(twig);
	return leaf(x * 2);
}

BODY long step(long x)
{
	CALLED(step);
	KEEP(leaf(x));
	return x ? twig(x) : 0;
}

QUIET static void *call(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		CHECK(step((long)arg) == 2 * (long)arg + 1);
	return arg;
}

QUIET static int count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = -2;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

QUIET static void wait_for_calls(unsigned long n)
{
	unsigned long until = CALLS(step) + n;

	while (CALLS(step) < until)
		usleep(100);
}

QUIET int main(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, call, (void *)(i + 1)));
	wait_for_calls(BEFORE);
	kill(getppid(), SIGKILL);
	for (int i = 0; i < 20000 && count_threads() > THREADS + 1; i++)
		usleep(1000);
	CHECK(count_threads() == THREADS + 1);
	wait_for_calls(AFTER);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK(CALLS(leaf) == CALLS(step) + CALLS(twig));
	puts(truth_failed ? "failed" : "done");
	return truth_failed;
}
