/* bodies: what compilers make of plain functions: tables of jumps, jumps through pointers
 * at the end and in the middle, parts that are cold, functions of a single instruction,
 * loops to the first one, varying frames, the red zone, results in every register. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#define FUNCTIONS(X) X(main) X(choose) X(interpret) X(leave) X(leave_by) X(left) X(right) \
	X(rare) X(spin) X(shape) X(sum) X(zone) X(pair) X(real) X(recurse) X(jump_back) \
	X(jumped) X(many) X(narrow) X(row)
#include "truth.h"

BODY static int choose(int n)
{
	CALLED(choose);
	switch (n) {
	case 0:	return 17;
	case 1:	return 4;
	case 2:	return n * 93;
	case 3:	return (int)getpid() > 0 ? 5 : 6;
	case 4:	return 1 << n;
	case 5:	return 99;
	case 6:	return n - 100;
	case 7:	return 12345;
	case 8:	return ~n;
	default: return -1;
	}
}

/* Goes from one to the next by its own table. */
BODY static long interpret(const char *code)
{
	static const void *const to[] = { &&add, &&twice, &&negate, &&end };
	long x = 1;

	CALLED(interpret);
	goto *to[*code - '0'];
add:	x += 3;
	goto *to[*++code - '0'];
twice:	x *= 2;
	goto *to[*++code - '0'];
negate:	x = -x;
	goto *to[*++code - '0'];
end:	return x;
}

BODY static long left(long a, long b)
{
	CALLED(left);
	return a - b;
}

BODY static long right(long a, long b)
{
	CALLED(right);
	return b - a;
}

static long (*volatile ways[2])(long, long) = { left, right };

/* A jump through a pointer, of which nobody knows where it leads. */
BODY static long leave_by(int way, long a, long b)
{
	CALLED(leave_by);
	return ways[way](a, b);
}

/* One that is taken or not. */
BODY static long leave(long a, long b)
{
	CALLED(leave);
	if (a < b)
		return left(b, a);
	return a == b ? 0 : right(b, a);
}

BODY static long rare(long n)
{
	CALLED(rare);
	if (__builtin_expect(n == 77, 0)) {
		fprintf(stderr, "seldom %ld\n", n);
		return left(n, 7);
	}
	return n + 1;
}

BODY static long spin(long n)
{
	long x = 0;

	CALLED(spin);
	while (n--)
		x += n ^ x;
	return x;
}

BODY static long shape(unsigned n)
{
	volatile char bytes[n + 1];
	long x = 0;

	CALLED(shape);
	for (unsigned i = 0; i <= n; i++)
		bytes[i] = (char)i;
	for (unsigned i = 0; i <= n; i++)
		x += bytes[i];
	return x;
}

BODY static double sum(int n, ...)
{
	double x = 0;
	va_list ap;

	CALLED(sum);
	va_start(ap, n);
	while (n--)
		x += va_arg(ap, double);
	va_end(ap);
	return x;
}

/* A leaf: what it keeps lies below the stack pointer. */
BODY static long zone(long a, long b)
{
	volatile long at[12];
	long x = 0;

	TRUTH_ADD(truth_zone, 1);
	for (int i = 0; i < 12; i++)
		at[i] = a * i + b;
	for (int i = 0; i < 12; i++)
		x ^= at[i] << i;
	return x;
}

struct two {
	long a, b;
};
BODY static struct two pair(long a)
{
	CALLED(pair);
	return (struct two){ a, ~a };
}

BODY static double real(double x, float y)
{
	CALLED(real);
	return sqrt(x) * y + (double)(long double)x;
}

BODY static long recurse(long n)
{
	long x;

	CALLED(recurse);
	x = n ? recurse(n - 1) + n : 0;
	KEEP(x);
	return x;
}

static jmp_buf back;

BODY static void jumped(int how)
{
	CALLED(jumped);
	CUT(1);
	longjmp(back, how);
}

BODY static int jump_back(int how)
{
	int got;

	CALLED(jump_back);
	got = setjmp(back);
	if (!got)
		jumped(how);
	return got;
}

BODY static long many(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	CALLED(many);
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

/* Shorter than a jump, but for what counts it. */
BODY static void narrow(void)
{
	TRUTH_ADD(truth_narrow, 1);
}

/* More bytes in a row than 16 bits count, without a branch. */
enum { IN_A_ROW = 20000 };
BODY static long row(long x)
{
	CALLED(row);
#if defined __x86_64__
	__asm__(".rept %c1\n\t.byte 0x48, 0x81, 0xc0, 1, 0, 0, 0\n\t.endr"	/* add $1 */
		: "+a"(x) : "i"(IN_A_ROW) : "cc");
#else
	__asm__(".rept %c1\n\tadd %0, %0, 1\n\t.endr" : "+r"(x) : "i"(IN_A_ROW));
#endif
	return x;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 2000;

	CALLED(main);
	for (long i = 0; i < rounds; i++) {
		static const int chosen[] = { 17, 4, 186, 5, 16, 99, -94, 12345, ~8, -1 };
		struct two p = pair(i);

		CHECK(choose((int)(i % 10)) == chosen[i % 10]);
		CHECK(interpret("0103") == 11 && interpret("0120103") == -7);
		CHECK(leave(i, 5) == (i < 5 ? 5 - i : i == 5 ? 0 : i - 5));
		CHECK(leave_by(i & 1, i, 3) == (i & 1 ? 3 - i : i - 3));
		CHECK(rare(i % 100) == (i % 100 == 77 ? 70 : i % 100 + 1));
		CHECK(spin(i % 7) == spin(i % 7));
		CHECK(shape((unsigned)(i % 50)) == (i % 50) * (i % 50 + 1) / 2);
		CHECK(sum(3, 1.5, 2.0, (double)i) == 3.5 + (double)i);
		CHECK(zone(i, 1) == zone(i, 1));
		CHECK(p.a == i && p.b == ~i);
		CHECK(real(16, 0.5f) == 18);
		CHECK(recurse(i % 20) == (i % 20) * (i % 20 + 1) / 2);
		CHECK(jump_back((int)(i % 9) + 1) == i % 9 + 1);
		CHECK(many(i, 1, 1, 1, 1, 1, 1, 1, 1) == i + 44);
		narrow();
		if (i % 64 == 0)
			CHECK(row(i) == i + IN_A_ROW);
	}
	truth_print();
	return truth_failed;
}
