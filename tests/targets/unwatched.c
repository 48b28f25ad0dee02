/* unwatched: half of its time is in a function whose accesses cannot be told, as it
 * translates bytes by an instruction of its own; the rest is in one whose can. */
#include "cpu-time.h"

static char room[1 << 16];

__attribute__((noinline)) void translates(void)
{
	char at = 0;

	for (unsigned long i = 0; i < sizeof room; i++)
		__asm__ volatile("xlatb" : "+a"(at) : "b"(room) : "memory");
}

__attribute__((noinline)) void walks(void)
{
	for (unsigned long i = 0; i < sizeof room; i++)
		((volatile char *)room)[i]++;
}

static long run_for(void (*work)(void), long us)
{
	long n = 0;

	for (long begun = cpu_us(); cpu_us() - begun < us; n++)
		work();
	return n;
}

int main(void)
{
	return !run_for(translates, 400000) || !run_for(walks, 400000);
}
