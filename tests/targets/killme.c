/*
 * killme FILE [THREADS [MS]]: threads that call until they are killed (or the
 * milliseconds are over) and keep a running truth in FILE: tally.h.
 */
#include <pthread.h>
#include <time.h>
#include "tally.h"

static int over;

QUIET static void *worker(void *arg)
{
	struct tally *t = arg;

	tally_mine(t);
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		tally_step(t);
	tally_done(t);
	return NULL;
}

QUIET int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 2;
	long ms = argc > 3 ? atol(argv[3]) : 60000;
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
	pthread_t threads[TALLIES];
	struct tally *tallies;

	if (argc < 2 || n > TALLIES)
		return 2;
	tallies = tally_open(argv[1]);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, worker, &tallies[i]);
	nanosleep(&t, NULL);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	tally_print(tallies);
	return 0;
}
