/* sanitized well|address|thread|undefined|leak|memory: honest work with threads, a child
 * and memory; then the mistake that the sanitizer of that name is for, or none. */
#include <pthread.h>
#include <sys/wait.h>
#define FUNCTIONS(X) X(main) X(work) X(add) X(mistake)
#include "truth.h"

enum { THREADS = 4, BLOCKS = 2000 };

static long racy;

BODY static long add(const long *block, int n)
{
	long sum = 0;

	CALLED(add);
	for (int i = 0; i < n; i++)
		sum += block[i];
	return sum;
}

BODY static void *work(void *arg)
{
	long sum = 0;

	CALLED(work);
	for (int i = 1; i <= BLOCKS; i++) {
		int n = 1 + i % 100;
		long *block = calloc(n, sizeof(*block));

		block[n - 1] = i;
		sum += add(block, n);
		free(block);
	}
	if (arg)
		racy++;
	return (void *)sum;
}

static int run_threads(void *arg)
{
	pthread_t t[THREADS];
	long all = 0;
	void *sum;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, arg))
			exit(2);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &sum);
		all += (long)sum;
	}
	return printf("sum %ld\n", all);
}

BODY static long mistake(const char *kind)
{
	volatile int n = 10, most = 0x7fffffff;
	int *block = malloc(n * sizeof(int));

	CALLED(mistake);
	memset(block, 1, (n - 1) * sizeof(int));
	if (!strcmp(kind, "address"))
		return ((volatile int *)block)[n];
	if (!strcmp(kind, "memory") && block[n - 1])
		return printf("not zero\n");
	if (!strcmp(kind, "undefined"))
		most++;
	if (strcmp(kind, "leak"))
		free(block);
	block = NULL;
	return most;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "well";
	int status;
	pid_t pid;

	CALLED(main);
	run_threads(NULL);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		KEEP(add((const long[]){ 1, 2 }, 2));
		_exit(7);
	}
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	if (system("exit 3") != 3 << 8)
		printf("wrong: a shell is not left alone\n");
	if (!strcmp(kind, "thread"))
		run_threads(&racy);
	else if (strcmp(kind, "well"))
		KEEP(mistake(kind));
	truth_print();
	return 0;
}
