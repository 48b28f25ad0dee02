/* dlopen-lib: what dlopen.c loads. Its constructor calls functions and starts
 * a thread, its destructor ends it. */
#include <pthread.h>
#include "truth.h"

extern unsigned long library_calls[6];
/* Of a program that counts by thread. */
extern void library_called(int i) __attribute__((weak));

QUIET static void lib_called(int i)
{
	if (library_called)
		library_called(i);
	else
		__atomic_fetch_add(&library_calls[i], 1, __ATOMIC_RELAXED);
}

static pthread_t thread;

BODY long lib_leaf(long x)
{
	lib_called(2);
	return x;
}

BODY static long lib_hidden(long x)
{
	lib_called(5);
	return lib_leaf(x);
}

BODY long lib_work(long n)
{
	long sum = 0;

	lib_called(3);
	for (long i = 0; i <= n; i++)
		sum += i % 2 ? lib_leaf(i) : lib_hidden(i);
	return sum;
}

BODY static void *lib_thread(void *arg)
{
	lib_called(1);
	KEEP(lib_work(3));
	return arg;
}

__attribute__((constructor)) BODY static void lib_constructor(void)
{
	lib_called(0);
	KEEP(lib_work(2));
	pthread_create(&thread, NULL, lib_thread, NULL);
}

__attribute__((destructor)) BODY static void lib_destructor(void)
{
	lib_called(4);
	pthread_join(thread, NULL);
	KEEP(lib_leaf(1));
}
