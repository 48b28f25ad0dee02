/*
 * gusts: until SIGTERM three threads at a time, which live for some 100 us, and call rare()
 * and often() each so often. Prints `ready`, and at its end how often: NAME CALLS.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#define PLAIN __attribute__((no_instrument_function))

static volatile sig_atomic_t is_over;
static unsigned long calls[2];
static __thread volatile unsigned long own[2];

__attribute__((noinline)) void rare(void)
{
	own[0]++;
}

__attribute__((noinline)) void often(void)
{
	own[1]++;
}

PLAIN static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

PLAIN static void *gust(void *arg)
{
	(void)arg;
	for (int i = 0; i < 6000; i++) {
		often();
		if (i % 3 == 0)
			rare();
	}
	for (int i = 0; i < 2; i++)
		__atomic_fetch_add(&calls[i], own[i], __ATOMIC_RELAXED);
	return NULL;
}

PLAIN int main(void)
{
	pthread_t t[3];

	signal(SIGTERM, on_term);
	puts("ready");
	fflush(stdout);
	while (!is_over) {
		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], NULL, gust, NULL);
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
	}
	printf("rare %lu\noften %lu\n", calls[0], calls[1]);
	return 0;
}
