/*
 * killme FILE [THREADS [SECONDS]]: threads that call until they are killed (or
 * the seconds are over) and keep a running truth in FILE, which outlives them:
 * pairs of 64-bit words a thread, calls of `step` begun and returned.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "truth.h"

#define MOST 64

struct tally {
	unsigned long begun, returned;
};
static struct tally *tallies;
static int over;

BODY static long step(struct tally *t)
{
	__atomic_store_n(&t->begun, t->begun + 1, __ATOMIC_RELAXED);
	return (long)t->begun;
}

QUIET static void *worker(void *arg)
{
	struct tally *t = arg;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		KEEP(step(t));
		__atomic_store_n(&t->returned, t->returned + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

QUIET static void print_tallies(int n)
{
	unsigned long sum = 0;

	for (int i = 0; i < n; i++)
		sum += tallies[i].returned;
	printf("count step %lu\n", sum);
}

QUIET int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 2;
	struct timespec t = { argc > 3 ? atoi(argv[3]) : 60, 0 };
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	pthread_t threads[MOST];

	if (fd < 0 || n > MOST || ftruncate(fd, MOST * sizeof(*tallies)))
		return 2;
	tallies = mmap(NULL, MOST * sizeof(*tallies), PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, 0);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, worker, &tallies[i]);
	nanosleep(&t, NULL);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	print_tallies(n);
	return 0;
}
