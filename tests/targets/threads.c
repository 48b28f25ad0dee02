/* threads [THREADS [CALLS]]: threads that make a known number of calls. */
#include <pthread.h>
#define FUNCTIONS(X) X(main) X(worker) X(step) X(leaf) X(twig)
#include "truth.h"

static long n_calls = 20000;

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
	return (void *)sum;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 8;
	pthread_t *t = calloc(n, sizeof(*t));
	long sum = 0;
	void *part;

	CALLED(main);
	if (argc > 2)
		n_calls = atol(argv[2]);
	for (long i = 0; i < n; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], &part);
		sum += (long)part;
	}
	printf("sum %ld\n", sum);
	truth_print();
	free(t);
	return 0;
}
