/*
 * told.c - accesses of all kinds, by functions in a section of their own, on a stack of their
 * own: so every address is the same in each run, whoever runs it.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define TOLD __attribute__((section("told"), noinline, noclone))

struct big { uint64_t of[4]; };
static struct { uint64_t a; uint32_t b; uint16_t c; uint8_t d; double e; float f; } all;
static uint32_t row[256];
static struct big bigs[8];
static double reals[32];
static unsigned char bytes[4096];
static unsigned char stack[1 << 16] __attribute__((aligned(64)));
static ucontext_t home, there;
static uint64_t result;

TOLD static uint64_t widths(uint64_t n)
{
	all.a += n;
	all.b ^= (uint32_t)n;
	all.c = (uint16_t)(all.c * 3 + 1);
	all.d++;
	all.e = all.e * 0.5 + (double)n;
	all.f += 1.5f;
	return all.a + all.b + all.c + all.d + (uint64_t)all.e;
}

TOLD static uint64_t chase(uint32_t from)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 40; i++) {
		from = row[row[from & 255] & 255];
		row[(from + i) & 255] += i;
		sum += from;
	}
	return sum;
}

TOLD static void copy(struct big *to, const struct big *from, int n)
{
	for (int i = 0; i < n; i++) {
		to[i] = from[i];
		to[i].of[i & 3]++;
	}
}

/* What calls nothing keeps its values below the stack pointer. */
TOLD static uint64_t below(uint64_t n)
{
	volatile uint64_t v[6] = { n, n + 1, n + 2 };

	v[n % 6] += 7;
	return v[0] + v[1] + v[2] + v[5];
}

TOLD static uint64_t choose(uint64_t n)
{
	switch (n % 7) {
	case 0: return all.a;
	case 1: all.b++; return 1;
	case 2: row[3] -= 5; break;
	case 3: all.d = 4; /* goes on */
	case 4: row[4]++; break;
	case 5: return row[n & 15];
	default: all.c += 3;
	}
	return all.c;
}

TOLD static uint64_t down(uint64_t n)
{
	uint64_t kept = n * row[n & 255];

	if (!n)
		return 1;
	return down(n - 1) + kept + (n & 1 ? below(n) : widths(n));
}

TOLD static double sum(const double *of, int n)
{
	double s = 0;

	for (int i = 0; i < n; i++)
		s += of[i] > 3 ? of[i] : -of[i];
	return s;
}

TOLD static void swap(uint64_t *a)
{
	__asm__ volatile("sub $128,%%rsp\n\tpushq (%0)\n\taddq $1,8(%0)\n\t"
			 "popq 16(%0)\n\tpushf\n\tpopf\n\tmovsq\n\tlodsb\n\tstosb\n\t"
			 "lea 24(%0),%%rcx\n\tnopl 8(%0)\n\tprefetcht0 (%0)\n\t"
			 "add $128,%%rsp"
			 : : "b"(a), "S"(a + 2), "D"(a + 4) : "rax", "rcx", "memory");
}

/* Flags live while the address is known: made behind the comparison, lost by the load. */
TOLD static uint64_t compare(const uint64_t *a, uint64_t n)
{
	uint64_t flags, kept;

	__asm__ volatile("cmpq %3,8(%2)\n\tleaq 24(%2),%1\n\tmovq (%1),%1\n\t"
			 "lahf\n\tseto %%al\n\tmovzwl %%ax,%%eax"
			 : "=&a"(flags), "=&r"(kept) : "b"(a), "r"(n) : "memory", "cc");
	return flags ^ kept;
}

/* Strings of each size, up and down, none and many; flags are live across the last. Not
 * rep lods, whose prefix valgrind passes over. */
TOLD static uint64_t repeat(unsigned char *a, uint64_t n)
{
	uint64_t c = n, d = n, equal;
	unsigned char *to = a + 3, *from = a + 1000;

	__asm__ volatile("rep movsb\n\tmov %3,%0\n\trep stosq\n\tmov %3,%0\n\t"
			 "shr $1,%0\n\trep movsl\n\t"
			 "rep stosb"
			 : "+&c"(c), "+&D"(to), "+&S"(from) : "r"(n) : "rax", "memory");
	to = a + 1500;
	from = a + 1530;
	__asm__ volatile("std\n\tmov %4,%0\n\tcmp $7,%0\n\trep movsw\n\trep stosb\n\t"
			 "mov %4,%0\n\trep stosl\n\tcld\n\tsete %%al\n\tmovzbl %%al,%k3"
			 : "+&c"(d), "+&D"(to), "+&S"(from), "=&r"(equal) : "r"(n)
			 : "rax", "memory");
	return equal + a[5] + a[1490] + (uint64_t)(to - from);
}

TOLD static void work(void)
{
	uint64_t words[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	for (uint64_t i = 0; i < 30; i++) {
		result += widths(i) + chase((uint32_t)i) + below(i) + choose(i);
		copy(bigs + 4, bigs, 4);
		copy(bigs, bigs + 4, 3);
	}
	result += down(20) + (uint64_t)sum(reals, 32);
	for (int i = 0; i < 4; i++)
		swap(words + (i & 1));
	for (uint64_t i = 0; i < 8; i++)
		result = result * 31 + compare(words, i << (i * 8));
	for (uint64_t i = 0; i < 60; i += 1 + i / 4)
		result = result * 31 + repeat(bytes + i, i);
	result += words[0] + words[7];
}

static void enter(void)
{
	work();
}

int main(void)
{
	for (int i = 0; i < 256; i++)
		row[i] = (uint32_t)(i * 167 + 13);
	for (int i = 0; i < 32; i++)
		reals[i] = i / 7.0;
	if (getcontext(&there))
		return 1;
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof stack;
	there.uc_link = &home;
	makecontext(&there, enter, 0);
	if (swapcontext(&home, &there))
		return 1;
	printf("%llu\n", (unsigned long long)result);
	return 0;
}
