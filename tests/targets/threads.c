/* threads [THREADS [CALLS [together]]]: threads that make a known number of calls;
 * together, on small stacks: none ends before all have made theirs. */
#include <pthread.h>
#define FUNCTIONS(X) X(main) X(worker) X(step) X(leaf) X(twig)
#include "truth.h"

static long n_calls = 20000;
static pthread_barrier_t all_called;
static int together;

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x * 3 + 1;
}

BODY static long twig(long x)
{
	CALLED(twig);
	return leaf(x) ^ leaf(x + 1);
}

BODY static long step(long x)
{
	CALLED(step);
	return x % 3 ? leaf(x) : twig(x);
}

BODY static void *worker(void *arg)
{
	long sum = (long)arg;

	CALLED(worker);
	for (long i = 0; i < n_calls; i++)
		sum += step(i);
	if (together)
		pthread_barrier_wait(&all_called);
	return (void *)sum;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 8;
	pthread_t *t = calloc(n, sizeof(*t));
	long sum = 0;
	void *part;
	pthread_attr_t attr;

	CALLED(main);
	if (argc > 2)
		n_calls = atol(argv[2]);
	together = argc > 3;
	pthread_barrier_init(&all_called, NULL, n);
	pthread_attr_init(&attr);
	if (together)
		pthread_attr_setstacksize(&attr, 1 << 16);
	for (long i = 0; i < n; i++)
		if (pthread_create(&t[i], &attr, worker, (void *)i))
			exit(2);
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], &part);
		sum += (long)part;
	}
	printf("sum %ld\n", sum);
	truth_print();
	free(t);
	return 0;
}
