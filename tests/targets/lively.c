/*
 * lively [N [x]]: calls its functions until it is ended, or N rounds; says so on both of its
 * outputs, reads its input, which has nothing for it. `seldom` is called once. With a
 * second argument it ignores SIGTERM.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BODY __attribute__((noinline))

BODY static void rest(void)
{
	nanosleep(&(struct timespec){ 0, 200000 }, NULL);
}

BODY static long inner(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

BODY static long outer(long x)
{
	for (int i = 0; i < 10; i++)
		x = inner(x);
	return x;
}

BODY static void seldom(void)
{
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : -1, x = 0;

	printf("lively: %d letters to read\n", getchar() == EOF ? 0 : 1);
	fflush(stdout);
	fprintf(stderr, "lively: an error that is none\n");
	if (argc > 2)
		signal(SIGTERM, SIG_IGN);
	seldom();
	for (long i = 0; i != n; i++) {
		x = outer(x);
		rest();
	}
	printf("lively: %ld\n", x);
	return 3;
}
