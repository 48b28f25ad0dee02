/*
 * whose-calls.c - one function that takes all the time, called in several ways: of its time
 * left() has a half, right() a quarter, and what is deep an eighth each: down() calls itself,
 * and wide() has more of the stack than a sample has. That one main() alone calls, the others a
 * thread as well. argv[1]: rounds. argv[2]: of that one alone.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef WORK
#define WORK __attribute__((noipa)) static
#endif

static volatile long sum;

/* A round takes as long as a product and a sum, wherever the loop is put. */
WORK void work(long n)
{
	unsigned long x = (unsigned long)n;

	while (n--) {
		x = x * 2654435761u + 1;
		__asm__ volatile("" : "+r"(x));
	}
	sum += (long)(x & 1);
}

__attribute__((noipa)) static void left(void)
{
	work(20000);
	sum += 1;
}

__attribute__((noipa)) static void right(void)
{
	work(10000);
	sum += 2;
}

__attribute__((noipa)) static void down(int n)
{
	if (n)
		down(n - 1);
	else
		work(5000);
	sum += 3;
}

#ifndef WIDE
#define WIDE 3000
#endif

__attribute__((noipa)) static void wide(int n)
{
	char bytes[WIDE];

	memset(bytes, n, sizeof(bytes));
	if (n != 1)
		work(5000);
	if (n)
		wide(n - 1);
	sum += bytes[n];
}

__attribute__((noipa)) static void above(void)
{
	wide(2);
	sum += 4;
}

__attribute__((noipa)) static void *all(void *rounds)
{
	for (long i = 0; i < (long)rounds; i++) {
		left();
		right();
		down(5);
	}
	return NULL;
}

__attribute__((noipa)) static void rest(long rounds)
{
	while (rounds--)
		above();
}

int main(int argc, char **argv)
{
	void *rounds = (void *)(argc > 1 ? atol(argv[1]) : 100);
	pthread_t thread;

	if (argc <= 2) {
		pthread_create(&thread, NULL, all, rounds);
		pthread_join(thread, NULL);
		all(rounds);
	}
	rest((long)rounds);
	printf("sum %ld\n", sum);
	return 0;
}
