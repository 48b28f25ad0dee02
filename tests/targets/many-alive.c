/* many-alive N: N threads that are there at once, each of which calls. */
#include <pthread.h>
#include "truth.h"

static pthread_barrier_t all;

BODY static long leaf(long x)
{
	return x + 1;
}

BODY static void *work(void *arg)
{
	long sum = 0;

	for (int i = 0; i < 100; i++)
		sum += leaf(i);
	pthread_barrier_wait(&all);
	KEEP(sum);
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 200;
	pthread_t t[1000];
	pthread_attr_t small;

	pthread_barrier_init(&all, NULL, (unsigned)n);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; i < n; i++)
		CHECK(!pthread_create(&t[i], &small, work, NULL));
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return truth_failed;
}
