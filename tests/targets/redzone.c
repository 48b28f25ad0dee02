/*
 * redzone: every kind of argument and result, and locals in the red zone,
 * under probes; a register or a byte of stack that a probe changes shows.
 *
 * Functions are static and may be called with what the compiler knows of them
 * (gcc's -fipa-ra keeps values in registers a callee happens not to use), so
 * BODY is not used here. With -DBARE (probes in NOPs at the entry, where every
 * register is live) an empty function must preserve all registers but r11, which
 * the ABI leaves to whoever stands between caller and callee; gcc keeps nothing
 * in it across a call of a function with such an entry.
 */
#include <complex.h>
#include <immintrin.h>
#include <stdarg.h>
#include <stdint.h>
#define FUNCTIONS(X) X(main) X(scratch) X(many) X(floats) X(mixed) X(varied) \
	X(pair) X(fpair) X(big) X(wide_int) X(long_double) X(complex_pair) \
	X(vector) X(small) X(nothing)
#define TRUTH_KEEPS_REGISTERS
#include "truth.h"

#define PLAIN __attribute__((noinline))
#define ROUNDS 400

struct two { long a, b; };
struct ftwo { double a; long b; };
struct large { long v[9]; };
typedef long vec __attribute__((vector_size(16)));

/* A leaf with no call: at -O2 its array lies in the red zone. */
PLAIN static long scratch(long n)
{
	volatile long a[12];
	long sum = 0;

	CALLED(scratch);
	for (int i = 0; i < 12; i++)
		a[i] = n * i;
	for (int i = 0; i < 12; i++)
		sum += a[i];
	return sum;
}

PLAIN static long many(long a, int b, short c, char d, long e, long f, long g,
		       long h, int i, long j)
{
	CALLED(many);
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i +
	       10 * j;
}

PLAIN static double floats(double a, float b, double c, double d, double e,
			   double f, double g, double h, double i, float j)
{
	CALLED(floats);
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i +
	       10 * j;
}

PLAIN static double mixed(int a, double b, struct two c, struct ftwo d,
			  long double e, struct large f, const long *g)
{
	CALLED(mixed);
	return a + b + c.a + c.b + d.a + d.b + (double)e + f.v[8] + *g;
}

PLAIN static double varied(int n, ...)
{
	double sum = 0;
	va_list ap;

	CALLED(varied);
	va_start(ap, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(ap, double) * va_arg(ap, int);
	va_end(ap);
	return sum;
}

PLAIN static struct two pair(long x)
{
	CALLED(pair);
	return (struct two){ x, -x };
}

PLAIN static struct ftwo fpair(long x)
{
	CALLED(fpair);
	return (struct ftwo){ x + .5, -x };
}

PLAIN static struct large big(long x)
{
	struct large l;

	CALLED(big);
	for (int i = 0; i < 9; i++)
		l.v[i] = x + i;
	return l;
}

PLAIN static __int128 wide_int(__int128 x)
{
	CALLED(wide_int);
	return x * 5 + 1;
}

PLAIN static long double long_double(long double x)
{
	CALLED(long_double);
	return x / 3;
}

PLAIN static double complex complex_pair(double complex x)
{
	CALLED(complex_pair);
	return x * 2 + 1i;
}

PLAIN static vec vector(vec a, vec b)
{
	CALLED(vector);
	return a * 3 + b;
}

PLAIN static _Bool small(_Bool a, signed char b, unsigned char c)
{
	CALLED(small);
	return a ? b < 0 : c > 200;
}

PLAIN __attribute__((used)) void nothing(void)
{
	CALLED(nothing);
}

#ifdef __AVX2__
PLAIN static __m256i wide_vector(__m256i a, __m256i b)
{
	return _mm256_xor_si256(a, b);
}

PLAIN static void check_wide_vector(long x)
{
	__m256i r = wide_vector(_mm256_set1_epi64x(x), _mm256_set1_epi64x(7));
	long out[4];

	_mm256_storeu_si256((void *)out, r);
	for (int i = 0; i < 4; i++)
		CHECK(out[i] == (x ^ 7));
}
#else
QUIET static void check_wide_vector(long x)
{
	KEEP(x);
}
#endif

#ifndef __clang__
/* The static chain is an argument in r10. */
PLAIN static long check_chain(long x)
{
	long seen = 0;
	__attribute__((noinline)) long inner(long y) { seen += y; return x + y; }
	long (*volatile f)(long) = inner;

	CHECK(inner(3) == x + 3);
	CHECK(f(4) == x + 4);
	CHECK(seen == 7);
	return seen;
}
#else
PLAIN __attribute__((preserve_most)) static void preserver(long *x)
{
	*x += 1;
}

/* The callee must preserve all but r11: the caller keeps values in them. */
PLAIN static long check_chain(long x)
{
	long a = x * 3, b = x * 5, c = x * 7, d = x * 11, e = x ^ 13, n = x;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
	preserver(&n);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
	CHECK(n == x + 1 && a == x * 3 && b == x * 5 && c == x * 7);
	CHECK(d == x * 11 && e == (x ^ 13));
	return n;
}
#endif

#ifdef BARE
#define VECTORS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) \
	X(11) X(12) X(13) X(14) X(15)
#define LOAD(n) "movdqu " #n "*16(%[in]), %%xmm" #n "\n\t"
#define STORE(n) "movdqu %%xmm" #n ", " #n "*16(%[out])\n\t"

/* Calls `nothing` with known values in every register it may not need. */
QUIET static void check_registers(void)
{
	static uint64_t in[48], out[48];
	static const uint64_t sign = 0x1122334455667788;
	uint64_t bad = 0;

	for (int i = 0; i < 32; i++)
		in[i] = sign * (i + 3);
	__asm__ volatile(
		"lea -256(%%rsp), %%rsp\n\t"	/* not into our red zone */
		VECTORS(LOAD)
		"mov %[sign], %%rax\n\tmov %[sign], %%rcx\n\t"
		"mov %[sign], %%rdx\n\tmov %[sign], %%rsi\n\t"
		"mov %[sign], %%rdi\n\tmov %[sign], %%r8\n\t"
		"mov %[sign], %%r9\n\tmov %[sign], %%r10\n\t"
		"call nothing\n\t"
		"xor %[sign], %%rax\n\txor %[sign], %%rcx\n\t"
		"xor %[sign], %%rdx\n\txor %[sign], %%rsi\n\t"
		"xor %[sign], %%rdi\n\txor %[sign], %%r8\n\t"
		"xor %[sign], %%r9\n\txor %[sign], %%r10\n\t"
		"or %%rax, %[bad]\n\tor %%rcx, %[bad]\n\tor %%rdx, %[bad]\n\t"
		"or %%rsi, %[bad]\n\tor %%rdi, %[bad]\n\tor %%r8, %[bad]\n\t"
		"or %%r9, %[bad]\n\tor %%r10, %[bad]\n\t"
		VECTORS(STORE)
		"lea 256(%%rsp), %%rsp\n\t"
		: [bad] "+b"(bad)
		: [in] "r"(in), [out] "r"(out), [sign] "r"(sign)
		: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
		  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
		  "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
		  "xmm15", "memory", "cc");
	CHECK(bad == 0);
	CHECK(!memcmp(in, out, 32 * sizeof(in[0])));
}
#else
QUIET static void check_registers(void)
{
	nothing();
}
#endif

QUIET static void check_integers(long n)
{
	struct large l;
	struct two p;

	CHECK(scratch(n) == 66 * n);
	CHECK(many(n, 2, 3, 4, 5, 6, 7, 8, 9, 10) == n + 384);
	p = pair(n);
	CHECK(p.a == n && p.b == -n);
	l = big(n);
	for (int i = 0; i < 9; i++)
		CHECK(l.v[i] == n + i);
	CHECK(wide_int((__int128)n << 90) == ((__int128)n << 90) * 5 + 1);
	CHECK(small(1, -1, 0) && !small(1, 1, 255) && small(0, 0, 201));
}

QUIET static void check_floats(long n)
{
	struct ftwo f = fpair(n);
	struct large l = { { 0, 0, 0, 0, 0, 0, 0, 0, 9 } };
	double complex c = complex_pair(n + 2i);
	vec v = vector((vec){ n, 2 }, (vec){ 3, 4 });
	struct two t = { 1, 2 };

	CHECK(f.a == n + .5 && f.b == -n);
	CHECK(floats(n, 2, 3, 4, 5, 6, 7, 8, 9, 10) == n + 384);
	CHECK(mixed(1, 2, t, f, 3, l, &n) == 1 + 2 + 3 + .5 + 3 + 9 + n);
	CHECK(varied(3, 1.5, 2, 2.5, 4, (double)n, 1) == 13 + n);
	CHECK(varied(10, 1., 1, 1., 1, 1., 1, 1., 1, 1., 1, 1., 1, 1., 1, 1., 1,
		     1., 1, 1., (int)n) == 9 + n);
	CHECK(long_double(n * 3.0L) == (long double)n);
	CHECK(creal(c) == 2 * n && cimag(c) == 5);
	CHECK(v[0] == 3 * n + 3 && v[1] == 10);
}

int main(void)
{
	CALLED(main);
	for (long n = 1; n <= ROUNDS; n++) {
		check_integers(n);
		check_floats(n);
		check_wide_vector(n);
		check_chain(n);
		check_registers();
	}
	truth_print();
	return truth_failed;
}
