/* stack-depth [BYTES]: a thread with the smallest stack there is (16 or 128 KiB)
 * calls itself until BYTES (2,048) of it are left: a probe needs less. */
#include <limits.h>
#include <pthread.h>
#define FUNCTIONS(X) X(main) X(worker) X(descend) X(leaf)
#include "truth.h"

static char stack[4 * 65536] __attribute__((aligned(4096)));
static long margin = 2048;

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY static long descend(long x)
{
	char here;

	CALLED(descend);
	KEEP(&here);
	if (&here - stack < margin)
		return leaf(x);
	return descend(x) + leaf(x);
}

BODY static void *worker(void *arg)
{
	CALLED(worker);
	KEEP(leaf(1));
	for (int i = 0; i < 100; i++)
		KEEP(descend(i));
	return arg;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t t;

	CALLED(main);
	if (argc > 1)
		margin = atol(argv[1]);
	pthread_attr_init(&attr);
	CHECK(!pthread_attr_setstack(&attr, stack, PTHREAD_STACK_MIN));
	for (int i = 0; i < 5; i++) {
		CHECK(!pthread_create(&t, &attr, worker, NULL));
		pthread_join(t, NULL);
	}
	truth_print();
	return truth_failed;
}
