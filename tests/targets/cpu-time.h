/*
 * cpu-time.h - CPU time that a target knows, by its thread's own clock.
 */
#ifndef CPU_TIME_H
#define CPU_TIME_H

#include <time.h>

__attribute__((no_instrument_function, always_inline)) static inline long cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Here, in the function that it is written into; the clock is read each `rounds`. */
#define SPIN_BY(us, rounds) do { \
	long until = cpu_us() + (us); \
	while (cpu_us() < until) \
		for (unsigned i = 0; i < (rounds); i++) \
			__asm__ volatile(""); \
} while (0)

#endif
