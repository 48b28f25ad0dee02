/*
 * flight: `early` once, then `work` for long, then `slow`, which takes 20 ms, in `request`;
 * then `late`, many times. Prints how often `late` was called, and that it came so far.
 */
#include <stdio.h>
#include <time.h>

#define BODY __attribute__((noinline))

static __attribute__((no_instrument_function)) long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

BODY static long work(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

BODY static void early(void)
{
	__asm__ volatile("");
}

BODY static void slow(void)
{
	long end = now_ms() + 20;

	while (now_ms() < end)
		;			/* no probe: it never waits for flick */
}

BODY static long late(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

BODY static void request(void)
{
	long end;

	early();
	for (int i = 0; i < 20000; i++)
		work(1);
	end = now_ms() + 300;
	while (now_ms() < end)
		work(1);
	slow();
}

int main(void)
{
	long x = 0;

	request();
	for (int i = 0; i < 3000000; i++)
		x = late(x);
	printf("late %ld\n", x);
	return 0;
}
