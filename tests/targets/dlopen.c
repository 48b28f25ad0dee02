/* dlopen LIBRARY [ROUNDS]: loads, calls and unloads it ROUNDS (200) times,
 * while a thread goes on calling functions of the program itself. */
#include <dlfcn.h>
#include <pthread.h>
#define FUNCTIONS(X) X(main) X(own) X(caller)
#include "truth.h"

/* The library counts here, so that its counts outlive it. Built -rdynamic. */
__attribute__((visibility("default"))) unsigned long library_calls[6];
static const char *const library_names[] = { "lib_constructor", "lib_thread",
	"lib_leaf", "lib_work", "lib_destructor", "lib_hidden" };
static int over;

/* By thread, too. */
__attribute__((visibility("default"))) QUIET void library_called(int i)
{
	TRUTH_ADD(library_calls[i], 1);
	TRUTH_ADD(by_thread()->calls, 1);
}

BODY static long own(long x)
{
	CALLED(own);
	return x + 1;
}

BODY static void *caller(void *arg)
{
	long sum = (long)arg;

	CALLED(caller);
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		sum += own(sum);
	return (void *)sum;
}

QUIET static void round_trip(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	long (*work)(long);

	CHECK(lib != NULL);
	if (!lib)
		return;
	work = (long (*)(long))dlsym(lib, "lib_work");
	CHECK(work && work(10) == 55);
	CHECK(dlclose(lib) == 0);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200;
	pthread_t t;

	CALLED(main);
	if (argc < 2)
		return 2;
	pthread_create(&t, NULL, caller, NULL);
	for (int i = 0; i < rounds; i++)
		round_trip(argv[1]);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	for (int i = 0; i < 6; i++)
		printf("count %s %lu\n", library_names[i], library_calls[i]);
	truth_print();
	return truth_failed;
}
