/*
 * clock-jumps.c MS - looks at the clock for so much CPU time, and does nothing else. Prints by
 * how much it jumped, which is when somebody had this CPU: nanoseconds, a line each, longest
 * first. What the scheduler counts, jumps in which another thread had it, is left out.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { JUMP_NS = 400, MOST = 1 << 16 };

static unsigned long jumps[MOST];

static int compare(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return (x < y) - (x > y);
}

static unsigned long ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
}

static long switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nivcsw + u.ru_nvcsw;
}

/* No sample is taken during a system call: so these are made behind jumps alone, of which each
 * tick of the kernel's makes one. */
__attribute__((noipa)) static int look(unsigned long cpu_ns)
{
	long before = switches(), after;
	unsigned long last = ns_of(CLOCK_MONOTONIC), now;
	int n = 0;

	while (n < MOST) {
		now = ns_of(CLOCK_MONOTONIC);
		if (now - last <= JUMP_NS) {
			last = now;
			continue;
		}
		after = switches();
		if (after == before)
			jumps[n++] = now - last;
		if (ns_of(CLOCK_THREAD_CPUTIME_ID) >= cpu_ns)
			break;
		before = after;
		last = ns_of(CLOCK_MONOTONIC);
	}
	return n;
}

int main(int argc, char **argv)
{
	int n = look(strtoul(argc > 1 ? argv[1] : "1000", NULL, 10) * 1000000);

	qsort(jumps, (size_t)n, sizeof(*jumps), compare);
	for (int i = 0; i < n; i++)
		printf("%lu\n", jumps[i]);
	return 0;
}
