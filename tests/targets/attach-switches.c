/*
 * attach-switches: two functions with tables of jumps, called until SIGTERM. `ready`, and at
 * its end `fine`, or which sum was wrong.
 */
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t is_over;

static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

#define CASES(X) X(0, 7) X(1, 11) X(2, 13) X(3, 17) X(4, 19) X(5, 23) X(6, 29) X(7, 31)
#define LABEL(n, by) &&at_##n,

__attribute__((noinline)) static unsigned step(unsigned x, unsigned by)
{
	__asm__ volatile("" : "+r"(x));
	return x + by;
}

/* A jump through a register, whose places nobody can list; but where it is made the stack is
 * deeper than at the function's first bytes. */
#define STEPS(name, op)							\
	__attribute__((noinline)) static unsigned name(unsigned n)	\
	{								\
		static void *const labels[] = { CASES(LABEL) };		\
		volatile char deep[200];				\
		unsigned x = n;						\
		deep[n % 8] = 1;					\
		goto *labels[n % 8];					\
		CASES(op)						\
	}
#define ADD(n, by) at_##n: x = step(x, by); if (x < 1000) goto *labels[x % 8]; return x;
#define SHIFT(n, by) at_##n: x = step(x * 3, by); if (x < 90000) goto *labels[x % 8]; return x;

STEPS(added, ADD)
STEPS(shifted, SHIFT)

static unsigned sum(void)
{
	unsigned x = 0;

	for (unsigned i = 0; i < 64; i++)
		x = x * 31 + added(i) + shifted(i);
	return x;
}

int main(void)
{
	unsigned first = sum();

	signal(SIGTERM, on_term);
	puts("ready");
	fflush(stdout);
	while (!is_over)
		if (sum() != first) {
			puts("a sum");
			return 1;
		}
	puts("fine");
	return 0;
}
