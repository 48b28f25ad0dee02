/*
 * steps.c - calls what it is told to, and says when it has: lines `a 1000` or `b 20`, of
 * standard input. `loop` begins a thread that calls b and then a until the end; `quit`.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

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
	char line[64], name[8];
	unsigned long n;
	pthread_t threads[8];
	int k = 0;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strncmp(line, "quit", 4)) {
		if (!strncmp(line, "loop", 4) && k < 8)
			pthread_create(&threads[k++], NULL, loop, NULL);
		if (sscanf(line, "%7s %lu", name, &n) == 2)
			while (n--)
				(*name == 'a' ? a : *name == 'b' ? b : c)();
		puts("done");
		fflush(stdout);
	}
	stop = 1;
	while (k)
		pthread_join(threads[--k], NULL);
	return 0;
}
