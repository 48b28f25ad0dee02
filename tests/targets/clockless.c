/*
 * clockless: a program of one thread that may not read the processor's clock (PR_SET_TSC), and
 * calls work() until SIGTERM. Prints `ready`, and at its end `fine`.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

static volatile sig_atomic_t is_over;
volatile long sink;

static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

__attribute__((noinline)) long work(long x)
{
	sink = x;
	return x * 3;
}

int main(void)
{
	long sum = 0;

	signal(SIGTERM, on_term);
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		return 77;
	puts("ready");
	fflush(stdout);
	while (!is_over)
		for (long i = 0; i < 1000; i++)
			sum += work(i);
	puts("fine");
	return sum == 0;
}
