/*
 * deep.c - functions whose inlined bodies need more registers than there are:
 * their constants are copied to kept registers, to the frame and back, in loops,
 * in switches, behind calls that end the program, in parts that are cold.
 */
#include <alloca.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory")

static volatile int sink;
static jmp_buf env;

__attribute__((noinline)) int far(int x)
{
	return sink += x;
}

__attribute__((noinline, noreturn, cold)) void die(int x)
{
	printf("never %d\n", x);
	exit(1);
}

static inline int leaf(int x)
{
	return far(x) & 7;
}

static inline int early(int x, const char *s)
{
	if (x < 0)
		return leaf(-x);
	if (s[x & 3] == 'b')
		return far(x) + leaf(x);
	return x + leaf(x + 1);
}

static inline int nested(int x, const char *s)
{
	int sum = early(x, s);

	BUSY;
	for (int i = 0; i < (x & 3); i++)
		sum += early(i, s) + leaf(sum);
	return sum;
}

static inline int chosen(int x, const char *s)
{
	switch (x & 15) {
	case 0: return leaf(x);
	case 1: return early(x, s);
	case 2: BUSY; return nested(x, s);
	case 3: return far(x) + early(-x, s);
	case 4: if (x > 1000) die(x); break;
	case 5: return nested(far(x), s);
	case 6: x = leaf(x);	/* fall through */
	case 7: return early(x, s) - leaf(x);
	case 9: return (int)strlen(s);
	case 12: BUSY; return far(early(x, s));
	}
	return leaf(x) + nested(x & 3, s);
}

static inline double mixed(double a, int x, const char *s)
{
	double b = a * x + early(x, s);

	BUSY;
	for (int i = 0; i < 3; i++)
		b = b * 0.5 + nested(i + x, s) + a;
	return b;
}

/* Several of each, so that no register is one's all along. */
__attribute__((noinline)) int many(int x, const char *s)
{
	int sum = chosen(x, s) + nested(x + 1, s);

	BUSY;
	if (x & 1)
		sum += chosen(x + 2, s);
	while (sum & 4)
		sum = nested(sum >> 1, s) + (sum >> 3);
	sum += (int)mixed(sum, x, s) + chosen(sum, s);
	return sum + early(sum, s);
}

__attribute__((noinline)) int interpreter(const unsigned char *code, const char *s)
{
	static const void *const labels[] = { &&add, &&call, &&skip, &&loop, &&end };
	int acc = 1, n = 0;

	goto *labels[*code];
add:	acc += early(acc, s);
	goto *labels[*++code];
call:	acc += nested(acc, s) + leaf(acc);
	BUSY;
	goto *labels[*++code];
skip:	code += 1;
	goto *labels[*++code];
loop:	if (++n < 3) {
		code -= 3;
		acc = chosen(acc, s);
	}
	goto *labels[*++code];
end:	return acc + leaf(n);
}

__attribute__((noinline)) int frames(int n, const char *s)
{
	char *p = alloca((size_t)n * 16 + 16), vla[n + 1];
	_Alignas(64) volatile int wide[16];
	int sum = early(n, s);

	memset(p, n, (size_t)n * 16 + 16);
	memset(vla, 1, sizeof vla);
	for (int i = 0; i < 16; i++)
		wide[i] = leaf(i) + p[i % (n + 1)];
	BUSY;
	sum += nested(wide[n & 15] + vla[0], s);
	return sum + chosen(sum, s);
}

__attribute__((noinline)) int stack(int a, int b, int c, int d, int e, int f, int g,
				    const char *s, int h)
{
	BUSY;
	return early(a + b + c, s) + nested(d + e + f, s) + leaf(g + h);
}

__attribute__((noinline)) static void leap(int x)
{
	if (x > 2)
		longjmp(env, leaf(x) + 1);
	leap(x + 1);
}

__attribute__((noinline)) int jumper(const char *s)
{
	volatile int sum = early(2, s);

	if (!setjmp(env)) {
		sum += nested(3, s);
		leap(0);
		die(3);
	}
	return sum + chosen(sum, s);
}

int main(void)
{
	static const unsigned char code[] = { 0, 1, 2, 0, 1, 0, 3, 1, 4 };
	int sum = 0;

	for (int i = -3; i < 40; i++) {
		sum += many(i & 31, i & 1 ? "abcdab" : "bbaacc");
		sum += chosen(i, "hello") + frames(i & 7, "world");
		sum += stack(i, 1, 2, 3, 4, 5, 6, "abb", 8);
		sum &= 0xffff;
	}
	sum += interpreter(code, "bab") + jumper("aab");
	printf("%d\n", sum);
	return 0;
}
