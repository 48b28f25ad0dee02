/* cancel: threads cancelled in the middle of a recursion, at a cancellation
 * point and asynchronously in a loop of calls; clean-up handlers call too. */
#include <pthread.h>
#include <unistd.h>
#define FUNCTIONS(X) X(main) X(waiter) X(dive) X(cleanup) X(after)
#define ABOUT(X) X(spin) X(spinner)
#include "truth.h"

#pragma GCC diagnostic ignored "-Winfinite-recursion"	/* it is left otherwise */

#define ROUNDS 50

static pthread_barrier_t ready;

BODY static void cleanup(void *arg)
{
	CALLED(cleanup);
	KEEP(arg);
}

BODY static long after(long x)
{
	CALLED(after);
	return x + 1;
}

BODY static int dive(int depth)
{
	int below;

	CALLED(dive);
	pthread_cleanup_push(cleanup, NULL);
	if (depth == 0) {
		pthread_barrier_wait(&ready);
		for (;;)
			pause();
	}
	below = dive(depth - 1);
	pthread_cleanup_pop(0);
	return below + 1;
}

BODY static void *waiter(void *arg)
{
	CALLED(waiter);
	CUT(1 + 21);
	KEEP(dive(20));
	return arg;
}

BODY static void spin(void)
{
	CALLED(spin);
}

/* Every count of `spin` but the one cut off is in by the time it is read. */
BODY static void *spinner(void *arg)
{
	CALLED(spinner);
	CUT(1);
	pthread_barrier_wait(&ready);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		spin();
	return arg;
}

QUIET static void cancel_one(void *(*body)(void *))
{
	pthread_t t;
	void *result;

	pthread_create(&t, NULL, body, NULL);
	pthread_barrier_wait(&ready);
	CHECK(!pthread_cancel(t));
	CHECK(!pthread_join(t, &result) && result == PTHREAD_CANCELED);
	KEEP(after(1));
}

int main(void)
{
	CALLED(main);
	pthread_barrier_init(&ready, NULL, 2);
	for (int i = 0; i < ROUNDS; i++)
		cancel_one(waiter);
	cancel_one(spinner);
	truth_print();
	return truth_failed;
}
