/*
 * jumps.c - functions that make calls and end in a jump to their exit probe, in a loop
 * of a function that is entered once.
 */
#include <stdio.h>

#define BODY __attribute__((noinline))

static volatile long sum;

BODY void leaf(void)
{
	sum++;
}

BODY void middle(void)
{
	leaf();
	sum++;
}

BODY void outer(void)
{
	middle();
	sum++;
}

int main(void)
{
	for (int i = 0; i < 5000000; i++)
		outer();
	printf("%ld\n", sum);
	return 0;
}
