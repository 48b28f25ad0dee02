/* busy-fork: children come by fork while other threads call; what they call is
 * in no record, and what the threads call is. */
#include <pthread.h>
#include <sys/wait.h>
#define FUNCTIONS(X) X(main) X(worker) X(leaf)
#include "truth.h"

#define THREADS 3
#define CHILDREN 100

static int over;

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY static void *worker(void *arg)
{
	long sum = (long)arg;

	CALLED(worker);
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		sum = leaf(sum);
	return (void *)sum;
}

QUIET static void have_child(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < 2000; i++)
			KEEP(leaf(i));
		_exit(leaf(5));
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 6);
	KEEP(leaf(pid));
}

int main(void)
{
	pthread_t t[THREADS];

	CALLED(main);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	for (int i = 0; i < CHILDREN; i++)
		have_child();
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	truth_print();
	return truth_failed;
}
