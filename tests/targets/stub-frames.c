/*
 * stub-frames: a timer interrupts calls of small functions, in stubs of the linkage table, too;
 * `lost N` is how often who unwinds from there does not find who called them. Each function has
 * been called before it says `ready`; it begins when it is told to.
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/time.h>

enum { TICKS = 3000, DEEP = 16 };

static volatile int ticks, lost;
extern char __start_calls[], __stop_calls[];	/* of the section `calls` */

static void on_tick(int sig)
{
	void *pc[DEEP];
	int n = backtrace(pc, DEEP), found = 0;

	(void)sig;
	for (int i = 0; i < n; i++)
		found |= (char *)pc[i] > __start_calls && (char *)pc[i] < __stop_calls;
	lost += !found;
	ticks++;
}

__attribute__((noinline, section("calls"))) static unsigned int call_all(void)
{
	unsigned int sum = 0;

	while (ticks < TICKS)
		for (int i = 0; i < 1000; i++)
			sum += (unsigned int)(abs(i) + ffs(i)) + (unsigned int)labs(i);
	return sum;
}

int main(void)
{
	struct itimerval each = { { 0, 200 }, { 0, 200 } };
	void *pc[DEEP];
	unsigned int sum;

	backtrace(pc, 1);		/* it loads what it needs */
	sum = (unsigned int)(abs(1) + ffs(1)) + (unsigned int)labs(1);
	puts("ready");
	fflush(stdout);
	getchar();
	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &each, NULL);
	sum += call_all();
	printf("lost %d\n", lost);
	return sum == 1;
}
