/* windows [ROUNDS]: what a recording of a part of the time meets. A loop that
 * began long before calls a leaf; a loop inlined into another function does;
 * callbacks of qsort; recursion; two threads; bodies inlined into one another. */
#include <pthread.h>
#define FUNCTIONS(X) X(main) X(work) X(spin) X(leaf) X(sorts) X(compare) X(swing) \
	X(tree) X(outer) X(inner) X(bottom)
#include "truth.h"

#define BUSY 40
#define INLINE static inline __attribute__((always_inline))

/* What the program does besides its calls. */
QUIET static long busy(long x)
{
	for (int i = 0; i < BUSY; i++)
		x = x * 3 + i;
	return x;
}

BODY static long leaf(long x)
{
	CALLED(leaf);
	return busy(x);
}

BODY static long bottom(long x)
{
	CALLED(bottom);
	return busy(x) + 1;
}

BODY static long spin(long n)
{
	long sum = 0;

	CALLED(spin);
	for (long i = 0; i < n * 4000; i++)
		sum += leaf(i);
	return sum;
}

BODY static int compare(const void *x, const void *y)
{
	const long *a = x, *b = y;

	CALLED(compare);
	return (*a > *b) - (*a < *b) + (busy(*a) == 7);
}

BODY static long sorts(long n)
{
	static __thread long a[1000];

	CALLED(sorts);
	for (long i = 0; i < 1000; i++)
		a[i] = busy(i * n) % 1000;
	qsort(a, 1000, sizeof(*a), compare);
	return a[0];
}

BODY static long tree(long n)
{
	CALLED(tree);
	return n < 2 ? busy(n) : tree(n - 1) + tree(n - 2);
}

INLINE long inner(long n)
{
	long sum = 0;

	CALLED(inner);
	for (long i = 0; i < 50; i++)
		sum += bottom(n + i);
	return sum;
}

INLINE long outer(long n)
{
	long sum = leaf(n);

	CALLED(outer);
	for (long i = 0; i < 20; i++)
		sum += inner(n + i);
	return sum;
}

BODY static long swing(long n)
{
	long sum = 0;

	CALLED(swing);
	for (long i = 0; i < n; i++)
		sum += outer(i);
	return sum + bottom(n);
}

BODY static void *work(void *rounds)
{
	long sum = 0;

	CALLED(work);
	for (long i = 0; i < (long)rounds; i++)
		sum += spin(3) + sorts(i) + tree(15) + swing(6);
	return (void *)sum;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 60;
	pthread_t t;
	void *one, *two;

	CALLED(main);
	pthread_create(&t, NULL, work, (void *)rounds);
	two = work((void *)rounds);
	pthread_join(t, &one);
	CHECK(one == two);
	truth_print();
	return truth_failed;
}
