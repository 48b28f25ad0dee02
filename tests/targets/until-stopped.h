/*
 * until-stopped.h - threads that do the same until SIGTERM comes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static int stop;

static void end(int sig)
{
	(void)sig;
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

static inline int is_stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

/* `begun` is printed when they run. */
static void run_until_stopped(void *(*each)(void *))
{
	enum { N = 3 };
	pthread_t threads[N];

	signal(SIGTERM, end);
	for (int i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, each, NULL);
	puts("begun");
	fflush(stdout);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
}
