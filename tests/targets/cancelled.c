/*
 * cancelled: threads are cancelled wherever they are (PTHREAD_CANCEL_ASYNCHRONOUS). A cleanup,
 * which the compiler's tables lead to from calls alone, finds its frame as it was, on an
 * aligned stack. `clean N` is how often it was come to: by chance, as a thread is mostly
 * elsewhere.
 */
#include <emmintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define APART __attribute__((noinline, noipa))

enum { THREADS = 400 };

static int started, wrong, cleaned;

APART static long add(const volatile long *a, const volatile long *b, long c)
{
	return *a + *b + c;
}

/* The aligned store faults on a stack that is not aligned. */
APART static void clean(void *arg)
{
	const volatile long *words = arg;
	_Alignas(16) long aligned[2];

	_mm_store_si128((void *)aligned, _mm_set1_epi8(1));
	__asm__ volatile("" : : "r"(aligned) : "memory");
	cleaned++;
	for (long i = 0; i < 4; i++)
		wrong += words[i] != 1000 + i;
}

APART static void *work(void *arg)
{
	volatile long words[4] = { 1000, 1001, 1002, 1003 };
	long sum = 0;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cleanup_push(clean, (void *)words);
	__atomic_store_n(&started, 1, __ATOMIC_RELEASE);
	for (;;)
		sum = add(words, words + 1, sum);
	pthread_cleanup_pop(0);
	return arg;
}

int main(void)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_t t;

		started = 0;
		pthread_create(&t, NULL, work, NULL);
		while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
			;
		usleep(300);
		pthread_cancel(t);
		pthread_join(t, NULL);
	}
	printf("wrong %d\n", wrong);
	fprintf(stderr, "clean %d\n", cleaned);
	return 0;
}
