/*
 * spin.c - functions that use known CPU time: heavy 60 %, medium 30 %, light 10 %;
 * `tiny` is called a million times between, and `sleeper` only waits.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#ifndef BODY			/* how it is compiled */
#define BODY __attribute__((noinline))
#endif
#ifndef REST			/* microseconds of main's own */
#define REST 0
#endif
#define QUIET __attribute__((no_instrument_function))

static volatile unsigned long sink;

QUIET static inline __attribute__((always_inline)) void burn(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__asm__ volatile("");
}

QUIET static inline __attribute__((always_inline)) long cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Here, in the function that it is written into. */
#define SPIN(us) do { \
	long until = cpu_us() + (us); \
	while (cpu_us() < until) \
		burn(200000); \
} while (0)

BODY void heavy(void)
{
	SPIN(60000);
}

BODY void medium(void)
{
	SPIN(30000);
}

BODY void light(void)
{
	SPIN(10000);
}

BODY void tiny(void)
{
	sink++;
}

BODY void sleeper(void)
{
	usleep(20000);
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		heavy();
		medium();
		light();
		sleeper();
		for (int j = 0; j < 100000; j++)
			tiny();
		SPIN(REST);
	}
	printf("%lu\n", sink);
	return 0;
}
