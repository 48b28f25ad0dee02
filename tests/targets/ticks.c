/*
 * ticks.c - functions that take known times, some 10 to 10,000 ticks: leaf_N, and nest_N
 * which calls it a hundred times. Each has a twin without a probe, which the program
 * times itself. Prints `ticks NAME T`, of one call.
 */
#include <stdio.h>
#include <x86intrin.h>

#define QUIET __attribute__((no_instrument_function, noinline))

static unsigned long chain(unsigned long x, int n) __attribute__((no_instrument_function,
								  always_inline));
static inline unsigned long chain(unsigned long x, int n)
{
	for (int i = 0; i < n; i++)
		__asm__ volatile("imul %0, %0" : "+r"(x));
	return x;
}

#define PAIR(n, steps) \
	__attribute__((noinline)) unsigned long leaf_##n(unsigned long x) \
	{ \
		return chain(x, steps); \
	} \
	QUIET unsigned long twin_##n(unsigned long x) \
	{ \
		return chain(x, steps); \
	} \
	__attribute__((noinline)) unsigned long nest_##n(unsigned long x) \
	{ \
		for (int i = 0; i < 100; i++) \
			x = leaf_##n(x); \
		return x; \
	} \
	QUIET unsigned long twin_nest_##n(unsigned long x) \
	{ \
		for (int i = 0; i < 100; i++) \
			x = twin_##n(x); \
		return x; \
	}

/* A step takes three cycles: some two ticks. */
PAIR(10, 4) PAIR(30, 15) PAIR(100, 55) PAIR(300, 165) PAIR(1k, 550) PAIR(10k, 5500)

static unsigned long x = 3;

/* The least of many rounds: what others on the machine take is not ours. */
QUIET static double time_one(unsigned long (*f)(unsigned long), int n)
{
	unsigned long long least = ~0ull;

	for (int round = 0; round < 100; round++) {
		unsigned long long from = __rdtsc(), took;

		for (int i = 0; i < n; i++)
			x = f(x);
		took = __rdtsc() - from;
		least = took < least ? took : least;
	}
	return (double)least / n;
}

QUIET static void tell(const char *name, unsigned long (*twin)(unsigned long),
		       unsigned long (*nest)(unsigned long))
{
	printf("ticks leaf_%s %.1f\nticks nest_%s %.1f\n", name, time_one(twin, 200), name,
	       time_one(nest, 2));
}

#define TELL(n) tell(#n, twin_##n, twin_nest_##n)

int main(void)
{
	for (int i = 0; i < 1000; i++)
		x = nest_10(x) + nest_30(x) + nest_100(x) + nest_300(x);
	for (int i = 0; i < 200; i++)
		x = nest_1k(x) + nest_10k(x);
	TELL(10);
	TELL(30);
	TELL(100);
	TELL(300);
	TELL(1k);
	TELL(10k);
	return x == 42;
}
