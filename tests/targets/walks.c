/*
 * walks: two functions call one that reads each line of what it is given, few lines, always
 * the same, or many, and one that fills them. Others call them in themselves, are left by
 * longjmp(), or are threads that take turns.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE = 64, FEW = 64, MANY = 1 << 17, ROUNDS = 400 };

static char few[FEW * LINE] __attribute__((aligned(LINE)));
static char *many;
static jmp_buf back;
volatile long sink;

__attribute__((noipa)) static void walk(const volatile char *of, int lines)
{
	for (int i = 0; i < lines; i++)
		(void)of[i * LINE];
}

__attribute__((noipa)) static void fill(char *to, long bytes)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
}

__attribute__((noipa)) static void walk_few(void)
{
	walk(few, FEW);
	fill(few, sizeof(few));
	__asm__ volatile("");
}

__attribute__((noipa)) static void walk_many(void)
{
	walk(many, MANY);
	fill(many, (long)MANY * LINE);
	__asm__ volatile("");
}

__attribute__((noipa)) static void again(int depth)
{
	walk(few, FEW);
	if (depth)
		again(depth - 1);
	__asm__ volatile("");
}

__attribute__((noipa)) static void leave(void)
{
	walk(few, FEW);
	longjmp(back, 1);
}

__attribute__((noipa)) static void leave_often(void)
{
	for (volatile int i = 0; i < ROUNDS; i = i + 1)
		if (!setjmp(back))
			leave();
	walk_few();
	__asm__ volatile("");
}

static void *run(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		walk_few();
	return unused;
}

int main(void)
{
	pthread_t t;

	many = aligned_alloc(LINE, (size_t)MANY * LINE);
	for (int i = 0; i < 3; i++) {
		walk_many();
		for (int k = 0; k < ROUNDS; k++)
			walk_few();
	}
	again(3);
	leave_often();
	for (int i = 0; i < 2; i++) {
		pthread_create(&t, NULL, run, NULL);
		pthread_join(t, NULL);
	}
	puts("done");
	free(many);
	return 0;
}
