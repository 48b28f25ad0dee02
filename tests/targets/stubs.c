/*
 * stubs LIBRARY [ROUNDS]: calls functions of the C library by stubs of the linkage table, from
 * four threads, from a library that is loaded three times, and from a child. `count FUNCTION N`
 * says how often the program's own stub of it was called, and prints what came back.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, POINTED = 77, CHILD = 10 };

static long rounds = 20000;
static const char *volatile text = "text";

/* labs is bound at its first call; strlen, chosen by the loader, too. */
static void *work(void *sum)
{
	for (long i = 0; i < rounds; i++)
		*(long *)sum += labs(-i) + (long)strlen(text);
	return NULL;
}

static long load(const char *library)
{
	long sum = 0;

	for (int i = 0; i < 3; i++) {
		void *l = dlopen(library, i & 1 ? RTLD_NOW : RTLD_LAZY);
		long (*called)(long) = l ? (long (*)(long))dlsym(l, "calls") : NULL;

		if (!called)
			printf("wrong: %s\n", dlerror());
		else
			sum += called(100);
		if (l)
			dlclose(l);
	}
	return sum;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	long sums[THREADS] = { 0 }, sum = 0;
	long (*pointer)(long) = (long (*)(long))dlsym(RTLD_DEFAULT, "labs");
	int status = 0;

	rounds = argc > 2 ? atol(argv[2]) : rounds;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, &sums[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += sums[i];
	}
	if (sum != THREADS * (rounds * (rounds - 1) / 2 + rounds * 4))
		printf("wrong: the sum is %ld\n", sum);
	if (argc > 1 && load(argv[1]) != 3 * 100 * 4)
		printf("wrong: the library's sum\n");
	for (int i = 0; i < POINTED; i++)
		sum += pointer(-i);
	fflush(stdout);
	if (fork() == 0) {
		for (int i = 0; i < CHILD; i++)
			sum += labs(-i);
		_exit(sum == 1);	/* labs() is for this */
	}
	wait(&status);
	if (status)
		printf("wrong: the child ended with %d\n", status);
	printf("count labs@plt %ld\n", THREADS * rounds);
	printf("count strlen@plt %ld\nchild %d\n", THREADS * rounds, CHILD);
	return 0;
}
