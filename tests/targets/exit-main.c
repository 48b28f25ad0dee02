/* exit-main: the main thread ends first (pthread_exit); the others go on, and
 * the last of them ends the process. */
#include <pthread.h>
#define FUNCTIONS(X) X(main) X(worker) X(leaf) X(at_end)
#include "truth.h"

static pthread_t first;

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY static void at_end(void)
{
	CALLED(at_end);
	KEEP(leaf(1));
	truth_print();
}

BODY static void *worker(void *arg)
{
	CALLED(worker);
	CUT(1);
	pthread_join(first, NULL);
	for (long i = 0; i < 1000; i++)
		KEEP(leaf(i));
	exit(0);
	return arg;
}

int main(void)
{
	pthread_t t;

	CALLED(main);
	CUT(1);
	atexit(at_end);
	first = pthread_self();
	for (long i = 0; i < 500; i++)
		KEEP(leaf(i));
	pthread_create(&t, NULL, worker, NULL);
	pthread_exit(NULL);
}
