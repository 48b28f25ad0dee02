/* strides: walks a square of memory by rows and by columns, each line of C with accesses and
 * misses that can be worked out by hand. The square is larger than the caches of the test. */
#include <stdio.h>

enum { N = 256, LINE = 16 };		/* of 4 bytes: LINE of them stand in a cache's line */

static int square[N][N] __attribute__((aligned(4096)));

__attribute__((noinline)) int by_rows(void)
{
	int sum = 0;

	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			sum += square[i][j];	/* rows: one in LINE misses */
	return sum;
}

__attribute__((noinline)) int by_columns(void)
{
	int sum = 0;

	for (int j = 0; j < N; j++)
		for (int i = 0; i < N; i++)
			sum += square[i][j];	/* columns: each misses */
	return sum;
}

__attribute__((noinline)) void fill(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			square[i][j] = i ^ j;	/* fill: stores, one in LINE misses */
}

int main(void)
{
	fill();
	return by_rows() != by_columns();
}
