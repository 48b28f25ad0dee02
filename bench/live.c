/*
 * live.c - what bench/live.sh shows: sorts pages by a comparison of its own, and says how
 * long that took it, in seconds of the clock and of its CPU time.
 *
 *	live FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAGES = 3000, ENTRIES = 2000 };

static unsigned page[ENTRIES];

static int compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

__attribute__((noinline)) static void fill_page(unsigned seed)
{
	for (int i = 0; i < ENTRIES; i++)
		page[i] = seed = seed * 1664525 + 1013904223;
}

__attribute__((noinline)) static unsigned sort_page(unsigned seed)
{
	fill_page(seed);
	qsort(page, ENTRIES, sizeof(page[0]), compare);
	return page[ENTRIES / 2];
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	unsigned sum = 1;
	FILE *to;

	for (int i = 0; i < PAGES; i++)
		sum = sort_page(sum);
	wall = seconds(CLOCK_MONOTONIC) - wall;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	to = argc > 1 ? fopen(argv[1], "w") : NULL;
	if (!to || fprintf(to, "%.6f %.6f %u\n", wall, cpu, sum) < 0 || fclose(to))
		return 1;
	return 0;
}
