/* Paths of calls that are left by exceptions and longjmp(), that catch them, and of calls that
 * go on elsewhere in between: as coroutines, some of them in another thread. Lines `path
 * FUNCTION N`, of each path; `ends FUNCTION N`, how many came to their end, for calls whose
 * paths may be dropped; and what came out. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define BODY __attribute__((noinline, noclone))
#define MARK(k) __asm__ volatile("/* " #k " */" ::: "memory")

enum { ROUNDS = 20000, COROUTINES = 8, STEPS = 400, STACK = 1 << 16 };

static unsigned int draw(unsigned int n)
{
	static unsigned int seed = 7;

	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

/* ---- exceptions --------------------------------------------------------------------- */

BODY static long leaf(long x)
{
	MARK(0);
	return x / 3;
}

static unsigned long thrower[3], catcher[4], around[4], destroyed[1];

struct guard {
	long *sum;
	BODY ~guard()
	{
		MARK(0);
		destroyed[0]++;
		*sum += 1;
	}
};

/* A call that does not return is a path's end, where code ends behind it. */
BODY static long throws(long x)
{
	if (x & 1) {
		MARK(1);
		leaf(x);
		if (x & 2) {
			thrower[2]++;
			throw x;
		}
		thrower[0]++;
		return 2;
	}
	MARK(2);
	thrower[1]++;
	return 1;
}

/* The paths up to the call that throws are no paths; from the catch on there is one. */
BODY static long catches(long x)
{
	try {
		long r = throws(x);

		catcher[x & 4 ? 1 : 0]++;
		if (x & 4)
			MARK(1);
		return r;
	} catch (long y) {
		catcher[2]++;
		return leaf(y);
	}
}

/* Whose frame others are dropped above. */
BODY static long calls(long x)
{
	long sum = 0;

	if (x & 8)
		MARK(1);
	{
		struct guard g = { &sum };

		sum += catches(x);
	}
	if (x & 16)
		MARK(2);
	around[(x & 8 ? 1 : 0) + (x & 16 ? 2 : 0)]++;
	return sum;
}

/* ---- longjmp -------------------------------------------------------------------------- */

static jmp_buf out;
static unsigned long outer[4];
static void (*volatile leave)(jmp_buf, int) = longjmp;	/* might come back */

/* Its frame and its callee's are still there when the one above goes on. */
BODY static void jumps(long x)
{
	if (x & 1)
		MARK(1);
	leaf(x);
	leave(out, 1);
}

/* It has no paths. */
BODY static void comes_back(long x)
{
	if (!setjmp(out))
		jumps(x);
}

BODY static void calls_jump(long x)
{
	if (x & 1)
		MARK(1);
	comes_back(x);
	if (x & 2)
		MARK(2);
	outer[x & 3]++;
}

/* ---- coroutines --------------------------------------------------------------------- */

static ucontext_t there[COROUTINES], back;
static unsigned long ended, worked[2];
static long made;

BODY static void work(long x)
{
	if (x & 1)
		MARK(1);
	made += leaf(x);
}

/* A path in each round: and what is between may be another coroutine's. */
BODY static void goes(int n)
{
	for (int i = 0; i < STEPS; i++) {
		if (i % 3 == n % 3) {
			MARK(1);
			work(i);
			worked[i & 1]++;
		} else {
			MARK(2);
			work(i + 1);
			worked[(i + 1) & 1]++;
		}
		swapcontext(&there[n], &back);
		ended++;
	}
}

static void begins(int n)
{
	goes(n);
	for (;;)
		swapcontext(&there[n], &back);
}

static void *turns(void *arg)
{
	for (int i = 0; i < STEPS / 2; i++)
		for (int n = 0; n < COROUTINES; n++) {
			int k = draw(2) ? n : COROUTINES - 1 - n;

			swapcontext(&back, &there[k]);
		}
	return arg;
}

/* Every other part is gone in a thread of its own. */
static void run_all()
{
	static char stacks[COROUTINES][STACK];
	pthread_t thread;

	for (int n = 0; n < COROUTINES; n++) {
		getcontext(&there[n]);
		there[n].uc_stack.ss_sp = stacks[n];
		there[n].uc_stack.ss_size = STACK;
		makecontext(&there[n], (void (*)())begins, 1, n);
	}
	turns(NULL);
	if (!pthread_create(&thread, NULL, turns, NULL))
		pthread_join(thread, NULL);
}

/* ---- what came out -------------------------------------------------------------------- */

static void tell(const char *name, const unsigned long *n, int most)
{
	for (int i = 0; i < most; i++)
		if (n[i])
			printf("path %s %lu\n", name, n[i]);
}

int main()
{
	long sum = 0;

	for (int i = 0; i < ROUNDS; i++)
		sum += calls(draw(32));
	for (int i = 0; i < ROUNDS; i++)
		calls_jump(draw(4));
	run_all();
	tell("throws", thrower, 3);
	tell("catches", catcher, 3);
	tell("calls", around, 4);
	tell("guard", destroyed, 1);
	tell("calls_jump", outer, 4);
	tell("work", worked, 2);
	printf("ends goes %lu\n", ended);
	printf("sum %ld %ld\n", sum, made);
	return 0;
}
