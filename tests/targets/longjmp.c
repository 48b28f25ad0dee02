/* longjmp: out of recursion, back into its middle, and from a signal handler;
 * then calls that must still be told apart from the abandoned ones. */
#include <setjmp.h>
#include <signal.h>
#define FUNCTIONS(X) X(main) X(dive) X(bounce) X(drown) X(on_signal) X(after) \
	X(all_the_way)
#include "truth.h"

#pragma GCC diagnostic ignored "-Winfinite-recursion"	/* it is left otherwise */

static jmp_buf out, middle;
static sigjmp_buf shore;

BODY static int dive(int depth)
{
	CALLED(dive);
	if (depth == 0)
		CUT(51), longjmp(out, 1);
	return dive(depth - 1) + 1;
}

/* Sets a mark at depth 10, goes on, jumps back to it once, then returns. */
BODY static int bounce(int depth)
{
	volatile int below = depth;

	CALLED(bounce);
	if (depth == 10 && setjmp(middle))
		return below;
	if (depth == 0)
		CUT(10), longjmp(middle, 1);
	return bounce(depth - 1) + 1;
}

BODY static void on_signal(int sig)
{
	CALLED(on_signal);
	CUT(1 + 31);
	siglongjmp(shore, sig);
}

BODY static int drown(int depth)
{
	CALLED(drown);
	if (depth == 0)
		raise(SIGUSR1);
	return drown(depth - 1) + 1;
}

BODY static long after(long x)
{
	CALLED(after);
	return x + 1;
}

BODY static void all_the_way(void)
{
	CALLED(all_the_way);
	if (!setjmp(out))
		dive(50);
	CHECK(bounce(20) == 20);
	if (!sigsetjmp(shore, 1))
		drown(30);
	KEEP(after(1));
}

int main(void)
{
	CALLED(main);
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 300; i++) {
		all_the_way();
		KEEP(after(i));
	}
	truth_print();
	return truth_failed;
}
