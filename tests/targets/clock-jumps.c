/*
 * clock-jumps.c MS - looks at the clock for so long, and does nothing else. Prints by how much
 * it jumped, which is when somebody had this CPU: nanoseconds, a line each, longest first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { JUMP_NS = 400, MOST = 1 << 16 };

static unsigned long jumps[MOST];

static int compare(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return (x < y) - (x > y);
}

static unsigned long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
}

__attribute__((noipa)) static int look(unsigned long until)
{
	unsigned long last = now_ns(), now;
	int n = 0;

	while ((now = now_ns()) < until && n < MOST) {
		if (now - last > JUMP_NS)
			jumps[n++] = now - last;
		last = now;
	}
	return n;
}

int main(int argc, char **argv)
{
	int n = look(now_ns() + strtoul(argc > 1 ? argv[1] : "1000", NULL, 10) * 1000000);

	qsort(jumps, (size_t)n, sizeof(*jumps), compare);
	for (int i = 0; i < n; i++)
		printf("%lu\n", jumps[i]);
	return 0;
}
