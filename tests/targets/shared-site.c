/*
 * shared-site.c - calls of the profiling functions that are for several functions.
 *
 * Compilers join the tails of functions that they inlined: which function a call
 * is of is then known when it is made, not before.
 */
#include <stdio.h>

#define PLAIN __attribute__((noinline, no_instrument_function))

void __cyg_profile_func_enter(void *, void *);
void __cyg_profile_func_exit(void *, void *);

PLAIN static void often(void)
{
	__asm__ volatile("");
}

PLAIN static void seldom(void)
{
	__asm__ volatile("" : : : "memory");
}

PLAIN static void call(void (*f)(void))
{
	__cyg_profile_func_enter(f, NULL);
	f();
	__cyg_profile_func_exit(f, NULL);
	__asm__ volatile("");			/* no tail call */
}

/* Leaves by a jump to the exit, behind its frame. */
PLAIN static void call_and_jump(void (*f)(void))
{
	volatile char frame[200];

	frame[0] = 0;
	__cyg_profile_func_enter(f, __builtin_return_address(0));
	f();
	__cyg_profile_func_exit(f, __builtin_return_address(0));
}

PLAIN static void leaps(void)
{
	__asm__ volatile("" : : : "cc");
}

PLAIN static void follows(void)
{
	__asm__ volatile("" : : : "memory");
}

/* Its own entry is certain; what it leaves by a jump is itself or another. */
PLAIN static void ends_as(int other)
{
	volatile char frame[200];
	void (*last)(int) = ends_as;

	frame[0] = 0;
	__cyg_profile_func_enter(ends_as, __builtin_return_address(0));
	if (other) {
		__cyg_profile_func_exit(ends_as, __builtin_return_address(0));
		__cyg_profile_func_enter(follows, __builtin_return_address(0));
		last = (void (*)(int))follows;
	}
	__cyg_profile_func_exit(last, __builtin_return_address(0));
}

/* Its own sites make this program one that has some. */
__attribute__((noinline)) static void start(void)
{
	__asm__ volatile("");
}

PLAIN int main(void)
{
	start();
	for (int i = 0; i < 3000; i++)
		call(i % 3 == 2 ? seldom : often);
	for (int i = 0; i < 500; i++)
		call_and_jump(i % 2 ? leaps : seldom);
	for (int i = 0; i < 900; i++)
		ends_as(i % 3 == 0);
	printf("count start 1\ncount often 2000\ncount seldom 1250\ncount leaps 250\n"
	       "count ends_as 900\ncount follows 300\n");
	return 0;
}
