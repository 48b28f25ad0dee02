/* sigaltstack: a handler on a small stack of its own, called for a signal and
 * for the overflow of the main stack, from which it jumps out. */
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#define FUNCTIONS(X) X(main) X(on_user) X(on_overflow) X(leaf)
#define ABOUT(X) X(endless)
#include "truth.h"

#pragma GCC diagnostic ignored "-Winfinite-recursion"	/* it is left otherwise */

static char stack[16384] __attribute__((aligned(64)));
static sigjmp_buf out;

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY static void on_user(int sig)
{
	char here;

	CALLED(on_user);
	CHECK(&here >= stack && &here < stack + sizeof(stack));
	KEEP(leaf(sig));
}

BODY static void on_overflow(int sig)
{
	CALLED(on_overflow);
	KEEP(leaf(sig));
	siglongjmp(out, 1);
}

/* The last call may fault between its probe and its count. */
BODY static int endless(int depth)
{
	volatile char frame[8192];

	CALLED(endless);
	frame[0] = (char)depth;
	return endless(depth + 1) + frame[0];
}

int main(void)
{
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction act = { .sa_flags = SA_ONSTACK };

	CALLED(main);
	sigaltstack(&alt, NULL);
	act.sa_handler = on_user;
	sigaction(SIGUSR1, &act, NULL);
	act.sa_handler = on_overflow;
	sigaction(SIGSEGV, &act, NULL);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	if (!sigsetjmp(out, 1))
		KEEP(endless(0));
	CUT(CALLS(endless) + CALLS(on_overflow));
	KEEP(leaf(1));
	truth_print();
	return truth_failed;
}
