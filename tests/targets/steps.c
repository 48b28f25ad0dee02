/*
 * steps.c - calls what it is told to, and says when it has: lines `a 1000` or `b 20`, of
 * standard input. `loop` begins a thread that calls b and then a until the end; `load LIBRARY`
 * loads what has hot(), of which `hot 5` makes five calls, and `unload` unloads it; `thread 5`
 * has another thread, which then stays, call c; `quit`.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

volatile unsigned long sum, stop;

__attribute__((noinline)) void a(void)
{
	sum++;
}

__attribute__((noinline)) void b(void)
{
	sum += 2;
}

__attribute__((noinline)) void c(void)
{
	a();
	b();
}

static volatile unsigned long asked;	/* of the last thread */

static void *call_c(void *unused)
{
	for (unsigned long n = asked; n--;)
		c();
	asked = 0;
	while (!stop)
		usleep(1000);
	return unused;
}

static void new_thread(pthread_t *t, unsigned long n)
{
	asked = n;
	pthread_create(t, NULL, call_c, NULL);
	while (asked)
		;
}

static long (*hot)(long);

static void call_hot(void)
{
	if (hot)
		sum += (unsigned long)hot(1);
}

static void *library;

static void load(const char *path)
{
	library = dlopen(path, RTLD_NOW);
	hot = library ? (long (*)(long))dlsym(library, "hot") : NULL;
}

static void unload(void)
{
	if (library)
		dlclose(library);
	library = NULL;
	hot = NULL;
}

static void *loop(void *unused)
{
	while (!stop) {
		b();
		a();
	}
	return unused;
}

int main(void)
{
	char line[256], name[8], path[200];
	unsigned long n;
	pthread_t threads[8];
	int k = 0;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strncmp(line, "quit", 4)) {
		if (!strncmp(line, "loop", 4) && k < 8)
			pthread_create(&threads[k++], NULL, loop, NULL);
		if (sscanf(line, "load %199s", path) == 1)
			load(path);
		else if (!strncmp(line, "unload", 6))
			unload();
		else if (sscanf(line, "thread %lu", &n) == 1 && k < 8)
			new_thread(&threads[k++], n);
		else if (sscanf(line, "%7s %lu", name, &n) == 2)
			while (n--)
				(*name == 'a' ? a : *name == 'b' ? b :
				 *name == 'h' ? call_hot : c)();
		puts("done");
		fflush(stdout);
	}
	stop = 1;
	while (k)
		pthread_join(threads[--k], NULL);
	return 0;
}
