/*
 * bursts.c - ten of 400 tiny functions at a time, each some ten million times a second;
 * others every 50 ms, for MS milliseconds. It counts their calls, and says how many of the
 * fN are there: `made fN CALLS`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))
#define ONE(n) \
	__attribute__((noinline)) static long f##n(long x) \
	{ \
		__asm__ volatile(""); \
		return x + n; \
	}
#define NAME(n) f##n,
#define TEN(X, d) X(d##0) X(d##1) X(d##2) X(d##3) X(d##4) X(d##5) X(d##6) X(d##7) \
	X(d##8) X(d##9)
#define HUNDRED(X, d) TEN(X, d##0) TEN(X, d##1) TEN(X, d##2) TEN(X, d##3) TEN(X, d##4) \
	TEN(X, d##5) TEN(X, d##6) TEN(X, d##7) TEN(X, d##8) TEN(X, d##9)
#define ALL(X) HUNDRED(X, 1) HUNDRED(X, 2) HUNDRED(X, 3) HUNDRED(X, 4)

ALL(ONE)
static long (*const functions[])(long) = { ALL(NAME) };

PLAIN static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

PLAIN int main(int argc, char **argv)
{
	long from = now_ms(), ms = argc > 1 ? atol(argv[1]) : 1000, ran, calls = 0;
	long made[40] = { 0 };
	volatile long x = 0;

	while ((ran = now_ms() - from) < ms) {
		long first = ran / 50 % 40 * 10;

		for (int i = 0; i < 20000; i++)
			x = functions[first + i % 10](x);
		calls += 20000;
		made[first / 10] += 2000;
	}
	for (int i = 0; i < 400; i++)
		if (made[i / 10])
			printf("made f%d %ld\n", i + 100, made[i / 10]);
	printf("calls %ld\n", calls);
	return 0;
}
