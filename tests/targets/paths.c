/* Functions whose paths can be told apart by what they did, and how often each was gone: lines
 * `path FUNCTION N`, of each path through it: of one that jumps by a table up to there, too.
 * Each mark is in a block of its own. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

#define BODY __attribute__((noinline, noclone))
#define MARK(k) __asm__ volatile("/* " #k " */" ::: "memory")

static unsigned int seed = 1;

static unsigned int draw(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

/* What is told at the end. */
static struct counted {
	const char *name;
	unsigned long of[64];
} counted[24];
static unsigned int n_counted;

static unsigned long *counts(const char *name)
{
	counted[n_counted].name = name;
	return counted[n_counted++].of;
}

/* Eight paths, and a call in the midst of which others are gone. */
static long leaf(long x);
BODY long three(long a, long b, long c)
{
	if (a & 1)
		MARK(1);
	if (b & 1) {
		MARK(2);
		a += leaf(b);
	}
	if (c & 1)
		MARK(3);
	return a;
}

BODY static long leaf(long x)
{
	MARK(4);
	return x / 3;
}

/* A path for each round: those that begin, of which one goes on for each of two ways. */
BODY long loop(const unsigned char *p, long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++) {
		if (p[i] & 1) {
			MARK(1);
			sum += leaf(p[i]);
		} else {
			MARK(2);
			sum -= 1;
		}
	}
	return sum;
}

BODY long table(unsigned int k)
{
	switch (k) {
	case 0: MARK(0); return leaf(7);
	case 1: MARK(1); return 12 + leaf(1);
	case 2: MARK(2); return 5 * leaf(2);
	case 3: MARK(3); return 4 ^ leaf(3);
	case 4: MARK(4); return 33 - leaf(4);
	case 5: MARK(5); return 2 | leaf(5);
	case 6: MARK(6); return ~leaf(6);
	case 7: MARK(7); return -leaf(9);
	}
	return 0;
}

/* Some ways lead into the midst of others, before whose end registers are free. */
#define SET __asm__ volatile("mov $1, %%ecx; mov $2, %%edx; mov $3, %%esi" \
			     ::: "ecx", "edx", "esi")
BODY long falls(unsigned int k)
{
	switch (k) {
	case 0: SET; __attribute__((fallthrough));
	case 1: SET; __attribute__((fallthrough));
	case 2: SET; __attribute__((fallthrough));
	case 3: SET; __attribute__((fallthrough));
	case 4: SET; __attribute__((fallthrough));
	case 5: SET; __attribute__((fallthrough));
	case 6: SET; __attribute__((fallthrough));
	case 7: break;
	default: __builtin_unreachable();
	}
	MARK(8);
	return 0;
}

/* The innermost call, and those that called one that did this or that. */
BODY long recurse(long n)
{
	if (n == 0) {
		MARK(1);
		return 1;
	}
	if (n & 1) {
		MARK(2);
		return recurse(n - 1) + 1;
	}
	MARK(3);
	return recurse(n - 1) * 2 % 1000;
}

/* Ends by a jump, or not. */
BODY long tail(long x)
{
	if (x & 1) {
		MARK(1);
		return leaf(x);
	}
	MARK(2);
	return 3;
}

/* Of what is left by longjmp() nobody tells; of who calls that the paths are whole. */
static jmp_buf out;
BODY long leaves(long x)
{
	if (x & 1) {
		MARK(1);
		leaf(x);
		if (x & 2)
			longjmp(out, 1);
		return 2;
	}
	MARK(2);
	return 1;
}
BODY long catches(long x)
{
	if (setjmp(out))
		return 1;
	return leaves(x);
}
BODY long around(long x)
{
	long sum = 0;

	if (x & 4)
		MARK(1);
	sum += catches(x);
	return sum;
}

/* A handler's own paths, on another stack, come between those of what it interrupts. */
static volatile long handled;
BODY static void on_signal(int sig)
{
	if (handled & 1)
		MARK(1);
	handled += leaf(sig) > 0;
}
BODY long raises(long x)
{
	if (x & 1)
		MARK(1);
	raise(SIGUSR1);
	if (x & 2)
		MARK(2);
	return x;
}

/* Where it faults nobody comes to its end. */
static sigjmp_buf behind;
BODY long faults(const volatile long *p)
{
	return p[0] - p[1] * 5;
}
BODY long indexes(long k)
{
	volatile long words[2] = { 1, 2 };

	return words[k];
}
BODY long divides(long a, long b)
{
	return a / b;
}
BODY double divides_real(double a, double b)
{
	return a / b + 1;
}
static void on_fault(int sig)
{
	siglongjmp(behind, sig);
}
static void call_faults(void)
{
	const struct sigaction sa = { .sa_handler = on_fault };
	unsigned long *c = counts("faults"), *cd = counts("divides");
	unsigned long *cr = counts("divides_real"), *ci = counts("indexes");
	unsigned int control, raises_all;
	static volatile double real;
	static volatile long whole;
	static long words[2];

	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGFPE, &sa, NULL);
	__asm__("stmxcsr %0" : "=m"(control));
	raises_all = control & ~(0x3fu << 7);
	for (volatile int i = 0; i < 100; i++) {
		if (sigsetjmp(behind, 1))
			continue;
		faults(i % 4 ? words : NULL);
		c[0]++;
	}
	for (volatile int i = 0; i < 100; i++) {
		if (sigsetjmp(behind, 1))
			continue;
		whole = indexes(i % 4 ? 1 : 1l << 40);
		ci[0]++;
	}
	for (volatile int i = 0; i < 100; i++) {
		if (sigsetjmp(behind, 1))
			continue;
		whole = divides(i, i % 4);
		cd[0]++;
	}
	for (volatile int i = 0; i < 100; i++) {
		if (sigsetjmp(behind, 1))
			continue;
		__asm__ volatile("ldmxcsr %0" : : "m"(raises_all));
		real = divides_real(i + 1, i % 4);
		cr[0]++;
	}
	__asm__ volatile("ldmxcsr %0" : : "m"(control));
	(void)whole, (void)real;
}

static long work(void)
{
	unsigned long *c3 = counts("three"), *cl = counts("loop"), *ct = counts("table");
	unsigned long *cr = counts("recurse"), *cj = counts("tail");
	unsigned long *cv = counts("leaves"), *cf = counts("falls");
	unsigned char bytes[50];
	long sum = 0;

	for (int i = 0; i < 20000; i++) {
		long a = draw(1000), b = draw(500), c = draw(7);

		sum += three(a, b, c);
		c3[(a & 1) | (b & 1) << 1 | (c & 1) << 2]++;
		sum += table((unsigned int)(a & 7));
		ct[a & 7]++, ct[8]++;
		sum += falls((unsigned int)(b & 7));
		cf[b & 7]++, cf[8]++;
		sum += tail(b);
		cj[b & 1]++;
	}
	for (int i = 0; i < 500; i++) {
		long n = 1 + draw(50);

		for (int k = 0; k < n; k++) {
			bytes[k] = (unsigned char)draw(256);
			/* the first round, one in the midst, the last one */
			cl[(bytes[k] & 1) | (k == 0) << 1 | (k == n - 1) << 2]++;
		}
		sum += loop(bytes, n);
		for (long k = n; k >= 0; k--)
			cr[k == 0 ? 0 : k & 1 ? 1 : 2]++;
		sum += recurse(n);
	}
	for (int i = 0; i < 1000; i++) {
		long x = draw(8);

		cv[x & 1]++;
		if ((x & 3) == 3)
			cv[1]--, cv[2]++;
		sum += around(x);
	}
	return sum;
}

static void *thread(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000; i++)
		leaf(i);
	return NULL;
}

int main(void)
{
	static unsigned char stack[1 << 16];
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof stack };
	pthread_t t[4];
	long sum;

	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sum = work();
	call_faults();
	for (int i = 0; i < 100; i++)
		sum += raises(i);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (unsigned int k = 0; k < n_counted; k++)
		for (int i = 0; i < 64; i++)
			if (counted[k].of[i])
				printf("path %s %lu\n", counted[k].name, counted[k].of[i]);
	printf("sum %ld\n", sum);
	return 0;
}
