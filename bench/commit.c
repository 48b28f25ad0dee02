/*
 * commit.c - what bench/commit.sh changes: two threads go through all functions of the file
 * of bench/synth until standard input ends.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "synth.h"

static atomic_int is_over;

__attribute__((no_instrument_function))
static void *go_through(void *unused)
{
	int x = 1;

	while (!is_over)
		for (size_t i = 0; i < synth_n; i++)
			x = synth_fn[i](x);
	return unused;
}

__attribute__((no_instrument_function))
int main(void)
{
	pthread_t t[2];
	char c;

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, go_through, NULL);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	is_over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
