/*
 * attach-herd: many threads that are there from the first, and wait. The first thread has 2.6
 * seconds of CPU time in first(), and then each of them, one after the other, 16 ms in heavy().
 * It ends at SIGTERM.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cpu-time.h"

#define QUIET __attribute__((no_instrument_function))
#define BODY __attribute__((noinline))

enum { THREADS = 150, STACK = 1 << 17 };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sink;

BODY void first(void)
{
	SPIN_BY(2600000, 20000);
	sink++;
}

BODY void heavy(void)
{
	SPIN_BY(16000, 20000);
	sink++;
}

QUIET static void *one_that_waits(void *arg)
{
	pthread_mutex_lock(&turn);
	heavy();
	pthread_mutex_unlock(&turn);
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t attr;
	sigset_t term;
	int sig;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_mutex_lock(&turn);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &attr, one_that_waits, NULL))
			return 1;
	puts("begun");
	fflush(stdout);
	first();
	pthread_mutex_unlock(&turn);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	sigwait(&term, &sig);
	puts("fine");
	return 0;
}
