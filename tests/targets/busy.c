/*
 * busy.c - threads that use known CPU time: `burner` 100 ms in each of six, `descend` 50 ms
 * in five calls, each made by the one before; and one that waits for 300 ms.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "cpu-time.h"

#define BODY __attribute__((noinline))
#define QUIET __attribute__((no_instrument_function))
enum { THREADS = 6, DEPTH = 5 };

static volatile int depth;

#define SPIN(us) SPIN_BY(us, 100000)

BODY void burner(void)
{
	SPIN(100000);
}

BODY void descend(int n)
{
	SPIN(10000);
	if (n > 1)
		descend(n - 1);
	depth++;
}

BODY void waiter(void)
{
	usleep(300000);
}

static void *burn(void *unused)
{
	burner();
	return unused;
}

static void *wait_long(void *unused)
{
	waiter();
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS + 1];

	for (int i = 0; i <= THREADS; i++)
		if (pthread_create(&threads[i], NULL, i < THREADS ? burn : wait_long, NULL))
			return 1;
	for (int i = 0; i <= THREADS; i++)
		pthread_join(threads[i], NULL);
	descend(DEPTH);
	printf("depth %d\n", depth);
	return 0;
}
