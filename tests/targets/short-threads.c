/* short-threads [N]: N threads (2,000) that come and go, 20 at a time; each
 * makes a known number of calls, some of them from a thread-local destructor. */
#include <pthread.h>
#define FUNCTIONS(X) X(main) X(worker) X(leaf) X(last_words)
#include "truth.h"

#define AT_ONCE 20

static pthread_key_t key;

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY static void last_words(void *arg)
{
	CALLED(last_words);
	KEEP(leaf((long)arg));
}

BODY static void *worker(void *arg)
{
	long n = (long)arg % 7 + 1;

	CALLED(worker);
	if (n % 2)
		pthread_setspecific(key, arg);
	for (long i = 0; i < n; i++)
		KEEP(leaf(i));
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 2000;
	pthread_t t[AT_ONCE];

	CALLED(main);
	pthread_key_create(&key, last_words);
	for (long i = 0; i < n; i += AT_ONCE) {
		for (long j = 0; j < AT_ONCE; j++)
			pthread_create(&t[j], NULL, worker, (void *)(i + j + 1));
		for (long j = 0; j < AT_ONCE; j++)
			pthread_join(t[j], NULL);
	}
	truth_print();
	return 0;
}
