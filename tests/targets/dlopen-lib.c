/* dlopen-lib: what dlopen.c loads. Its constructor calls functions and starts
 * a thread, its destructor ends it. */
#include <pthread.h>
#include "truth.h"

extern unsigned long library_calls[6];
#define CALLED_LIB(i) \
	__atomic_fetch_add(&library_calls[i], 1, __ATOMIC_RELAXED)

static pthread_t thread;

BODY long lib_leaf(long x)
{
	CALLED_LIB(2);
	return x;
}

BODY static long lib_hidden(long x)
{
	CALLED_LIB(5);
	return lib_leaf(x);
}

BODY long lib_work(long n)
{
	long sum = 0;

	CALLED_LIB(3);
	for (long i = 0; i <= n; i++)
		sum += i % 2 ? lib_leaf(i) : lib_hidden(i);
	return sum;
}

BODY static void *lib_thread(void *arg)
{
	CALLED_LIB(1);
	KEEP(lib_work(3));
	return arg;
}

__attribute__((constructor)) BODY static void lib_constructor(void)
{
	CALLED_LIB(0);
	KEEP(lib_work(2));
	pthread_create(&thread, NULL, lib_thread, NULL);
}

__attribute__((destructor)) BODY static void lib_destructor(void)
{
	CALLED_LIB(4);
	pthread_join(thread, NULL);
	KEEP(lib_leaf(1));
}
