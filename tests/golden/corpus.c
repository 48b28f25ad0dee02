/*
 * corpus.c - bodies that compilers instrument in all their ways: leaves, tail
 * calls, early returns, a switch, inlined bodies, loops, a cold part.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int leaf(int x)
{
	return x * 3;
}

static int inner(int x)
{
	return leaf(x) + 1;
}

int early(int x, const char *s)
{
	if (x < 0)
		return -1;
	if (strlen(s) > 5)
		return inner(x);
	return leaf(x) - inner(x + 1);
}

int loop(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i & 1 ? inner(i) : leaf(i);
	return sum;
}

__attribute__((cold)) static int fail(int x)
{
	fprintf(stderr, "%d\n", x);
	return inner(x);
}

int choose(int x)
{
	switch (x) {
	case 0:
		return 5;
	case 1:
		return inner(x);
	case 2:
		return loop(x);
	case 3:
		puts("three");
		break;
	case 4:
		return leaf(x) * inner(x);
	case 5:
		return early(x, "longer than five");
	default:
		if (__builtin_expect(x > 1000, 0))
			return fail(x);
	}
	return x;
}

int tail(int x)
{
	return choose(x + 1);
}

int recurse(int n)
{
	return n < 2 ? n : recurse(n - 1) + recurse(n - 2);
}

__attribute__((noinline)) int leap(int x)
{
	return recurse(x & 7);
}

void nothing(void)
{
}

int (*volatile pointer)(int) = tail;

int run(void)
{
	int sum = 0;

	for (int i = -1; i < 8; i++)
		sum += choose(i) + tail(i) + early(i, i & 1 ? "a" : "abcdefgh");
	nothing();
	return sum + leap(sum) + loop(9) + recurse(8) + pointer(2) + choose(1001);
}

#ifndef LIBRARY
int main(void)
{
	printf("%d\n", run());
	return 0;
}
#endif
