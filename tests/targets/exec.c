/* exec [N]: replaces itself N times (3) by itself with other arguments. Each
 * image prints its own counts; the sum of them is the truth. */
#include <pthread.h>
#include <unistd.h>
#define FUNCTIONS(X) X(main) X(leaf) X(sleeper)
#include "truth.h"

static pthread_barrier_t both;

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

/* A thread that is there when its process is replaced. */
BODY static void *sleeper(void *arg)
{
	CALLED(sleeper);
	CUT(1);
	KEEP(leaf((long)arg));
	pthread_barrier_wait(&both);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 3;
	char next[16];
	pthread_t t;

	CALLED(main);
	CUT(left ? 1 : 0);
	for (int i = 0; i < 10 * (left + 1); i++)
		KEEP(leaf(i));
	if (left) {
		pthread_barrier_init(&both, NULL, 2);
		pthread_create(&t, NULL, sleeper, NULL);
		pthread_barrier_wait(&both);
	}
	truth_print();
	if (!left)
		return 0;
	snprintf(next, sizeof(next), "%d", left - 1);
	execl("/proc/self/exe", argv[0], next, (char *)NULL);
	perror("execl");
	return 1;
}
