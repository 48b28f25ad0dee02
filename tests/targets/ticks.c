/*
 * ticks.c - functions that take known times: each has a twin without a probe, which
 * the program times itself. Prints `ticks NAME T`, of one call.
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

#define PAIR(n) \
	__attribute__((noinline)) unsigned long leaf_##n(unsigned long x) \
	{ \
		return chain(x, n); \
	} \
	QUIET unsigned long twin_##n(unsigned long x) \
	{ \
		return chain(x, n); \
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

PAIR(10) PAIR(100) PAIR(1000)

static unsigned long x = 3;

/* The least of many rounds: what others on the machine take is not ours. */
QUIET static double time_one(unsigned long (*f)(unsigned long), int n)
{
	unsigned long long least = ~0ull;

	for (int round = 0; round < 200; round++) {
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
	printf("ticks leaf_%s %.1f\nticks nest_%s %.1f\n", name, time_one(twin, 1000), name,
	       time_one(nest, 10));
}

int main(void)
{
	for (int i = 0; i < 1000; i++)
		x = nest_10(x) + nest_100(x) + nest_1000(x);
	tell("10", twin_10, twin_nest_10);
	tell("100", twin_100, twin_nest_100);
	tell("1000", twin_1000, twin_nest_1000);
	return x == 42;
}
