/*
 * contexts.c - calls in as many contexts as there are numbers of so many bits: each takes
 * another way through two functions. argv[1]: bits. Prints what came out.
 */
#include <stdio.h>
#include <stdlib.h>

static unsigned long sum;

__attribute__((noipa)) static void even(unsigned way, unsigned depth);

__attribute__((noipa)) static void odd(unsigned way, unsigned depth)
{
	sum += 3;
	if (depth)
		(way & 1 ? odd : even)(way >> 1, depth - 1);
	sum += way;
}

static void even(unsigned way, unsigned depth)
{
	sum += 1;
	if (depth)
		(way & 1 ? odd : even)(way >> 1, depth - 1);
	sum += way;
}

int main(int argc, char **argv)
{
	unsigned bits = argc > 1 ? (unsigned)atoi(argv[1]) : 4;

	for (unsigned way = 0; way < 1u << bits; way++)
		even(way, bits);
	printf("sum %lu\n", sum);
	return 0;
}
