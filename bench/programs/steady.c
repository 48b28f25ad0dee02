/*
 * steady.c - preloaded into a program that is measured, so that its runs are alike.
 *
 * Keeps the main thread of the program called $STEADY on the victim's CPU, from
 * here on; what was started before (an agent's threads), and flick itself, which
 * is preloaded with this as well, stay where they are. The program does not see
 * how it is run, as one that reads its whole environment makes other calls.
 * rand() has one seed, and the time of day is how often it was asked for: who
 * looks at it makes the same calls in each run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "bench.h"

__attribute__((constructor))
static void pin_main(void)
{
	const char *name = getenv("STEADY");

	if (!name || strcmp(name, program_invocation_short_name))
		return;
	bench_pin(BENCH_VICTIM);
	unsetenv("STEADY");
	unsetenv("LD_PRELOAD");
	unsetenv("FLICK_SHM");
}

void srand(unsigned seed)
{
	(void)seed;
}

/* A hundredth of a second each. */
int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	static long asked;

	(void)zone;
	asked++;
	t->tv_sec = 1000000000 + asked / 100;
	t->tv_usec = asked % 100 * 10000;
	return 0;
}
