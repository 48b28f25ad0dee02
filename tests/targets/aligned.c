/* A program whose processor checks alignment (the flag AC) where it calls functions of its own:
 * an access that is not aligned is SIGBUS there. What it asks of the C library it asks without,
 * as that is not made for it. Each thread meets its first probe so. */
#define FUNCTIONS(X) X(work) X(leaf) X(branches) X(rounds) X(deeper)
#include "truth.h"

#include <pthread.h>

enum { THREADS = 3, CALLS = 30000, CHECKED = 1 << 18 };

static volatile unsigned sink;

QUIET static inline void check_alignment(void)
{
	__asm__ volatile("sub $128, %%rsp\n\tpushf\n\t"
			 "orl %0, (%%rsp)\n\tpopf\n\tadd $128, %%rsp"
			 : : "i"(CHECKED) : "cc", "memory");
}

QUIET static inline void let_alignment_be(void)
{
	__asm__ volatile("sub $128, %%rsp\n\tpushf\n\t"
			 "andl %0, (%%rsp)\n\tpopf\n\tadd $128, %%rsp"
			 : : "i"(~CHECKED) : "cc", "memory");
}

QUIET static inline int is_checked(void)
{
	unsigned long flags;

	__asm__ volatile("sub $128, %%rsp\n\tpushf\n\tpop %0\n\tadd $128, %%rsp" : "=r"(flags));
	return !!(flags & CHECKED);
}

BODY static int leaf(unsigned *of, int x)
{
	CALLED(leaf);
	of[x & 7] += x;
	return x + 1;
}

BODY static int branches(unsigned *of, int x)
{
	CALLED(branches);
	for (int i = 0; i < x % 4; i++)
		x += leaf(of, i);
	return x & 1 ? x * 3 : x + 5;
}

BODY static int deeper(unsigned *of, int x)
{
	int got = 0;

	CALLED(deeper);
	if (x)
		got = deeper(of, x - 1);
	return got + leaf(of, x);
}

BODY static int rounds(unsigned *of)
{
	int sum = 0;

	CALLED(rounds);
	for (int i = 0; i < CALLS; i++)
		sum += branches(of, i) + (i % 64 ? 0 : deeper(of, i % 40));
	return sum;
}

BODY static void *work(void *of)
{
	CALLED(work);
	sink += rounds(of);
	return NULL;
}

/* The first probe of the thread is met when alignment is checked already. */
QUIET static void *begin(void *of)
{
	by_thread();
	check_alignment();
	work(of);
	if (!is_checked())
		truth_failed = 1;
	let_alignment_be();
	return NULL;
}

QUIET int main(void)
{
	static unsigned words[THREADS][8];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, begin, words[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(!truth_failed);
	begin(words[0]);
	CHECK(!truth_failed);
	truth_print();
	return truth_failed;
}
