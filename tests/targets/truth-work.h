/*
 * truth-work.h - for targets of which work(n) is one call of that and n of leaf().
 */
#ifndef TRUTH_WORK_H
#define TRUTH_WORK_H

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY static long work(long n)
{
	long sum = 0;

	CALLED(work);
	for (long i = 0; i < n; i++)
		sum += leaf(i);
	return sum;
}

#endif
