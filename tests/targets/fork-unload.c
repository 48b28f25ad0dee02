/*
 * fork-unload LIBRARY: forks, and then loads and unloads the library again and again. Where
 * each unloading waits for a fork that is over, that takes seconds.
 */
#include <dlfcn.h>
#include <sys/wait.h>
#include <time.h>
#include "truth.h"

enum { TIMES = 20, MOST_MS = 1000 };

QUIET static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((noinline)) static void leaf(void)
{
	__asm__("");
}

QUIET int main(int argc, char **argv)
{
	long from, took;
	int pid = fork(), status = -1;

	leaf();
	if (!pid)
		_exit(0);
	CHECK(argc == 2 && waitpid(pid, &status, 0) == pid && status == 0);
	from = now_ms();
	for (int i = 0; i < TIMES; i++) {
		void *library = dlopen(argv[1], RTLD_NOW);

		CHECK(library && dlclose(library) == 0);
	}
	took = now_ms() - from;
	if (took > MOST_MS)
		printf("it took %ld ms\n", took);
	CHECK(took <= MOST_MS);
	printf("count leaf 2\n");
	return truth_failed;
}
