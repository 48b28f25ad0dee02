/* fdcloser: says which descriptors it was born with, closes all from 3 on,
 * and goes on calling; the numbers must be those of a run without flick. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#define FUNCTIONS(X) X(main) X(leaf) X(worker) X(list_open) X(close_all)
#include "truth.h"

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY static void list_open(const char *when)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0, highest = 0;

	CALLED(list_open);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d)) {
			n++;
			highest = atoi(e->d_name) > highest ? atoi(e->d_name) : highest;
		}
	printf("%s: %d open, highest %d\n", when, n, highest);
	closedir(d);
}

BODY static void close_all(void)
{
	CALLED(close_all);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
}

BODY static void *worker(void *arg)
{
	CALLED(worker);
	for (long i = 0; i < 20000; i++)
		KEEP(leaf(i));
	return arg;
}

int main(void)
{
	pthread_t t;
	int fd;

	CALLED(main);
	list_open("born");
	close_all();
	list_open("closed");
	pthread_create(&t, NULL, worker, NULL);
	worker(NULL);
	pthread_join(t, NULL);
	fd = open("/dev/null", O_RDONLY);
	printf("next is %d\n", fd);
	close(fd);
	list_open("end");
	truth_print();
	return 0;
}
