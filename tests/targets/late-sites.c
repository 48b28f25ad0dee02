/*
 * late-sites HOW ROUNDS [LIBRARY]: 6,000 functions whose profiling calls no scan
 * can name, as each passes on what it was given for its own address. HOW is
 * `direct`, calls that become sites at their first, or `register`, which never do.
 * Calls all ROUNDS times, loads LIBRARY and calls its two(). Prints `count` lines
 * for two() and for all together, and how many ticks a call took in the second
 * half of the rounds: of the first and of the last thousand functions.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUIET __attribute__((no_instrument_function))

/* f(f): tells of itself twice and returns. */
#define MAKE(kind, enter, exit) \
	__asm__(".macro make_" #kind "\n" \
		".type " #kind "_\\@, @function\n" \
		#kind "_\\@:\n" \
		"push %rdi\nmov 8(%rsp), %rsi\n" enter "\n" \
		"mov (%rsp), %rdi\nmov 8(%rsp), %rsi\n" exit "\n" \
		"pop %rdi\nret\n" \
		".size " #kind "_\\@, . - " #kind "_\\@\n" \
		".pushsection .data.rel." #kind ", \"aw\"\n" \
		".quad " #kind "_\\@\n.popsection\n.endm\n" \
		".pushsection .data.rel." #kind ", \"aw\"\n" \
		#kind ":\n.popsection\n.text\n.rept 6000\nmake_" #kind "\n.endr\n"); \
	extern void (*const kind[])(void *)

enum { N = 6000, EDGE = 1000 };

MAKE(direct, "call __cyg_profile_func_enter@plt", "call __cyg_profile_func_exit@plt");
MAKE(through, "mov __cyg_profile_func_enter@GOTPCREL(%rip), %rax\ncall *%rax",
     "mov __cyg_profile_func_exit@GOTPCREL(%rip), %rax\ncall *%rax");

QUIET static unsigned long long call_all(void (*const f[])(void *), int from, int to)
{
	unsigned long long begin = __builtin_ia32_rdtsc();

	for (int i = from; i < to; i++)
		f[i](f[i]);
	return __builtin_ia32_rdtsc() - begin;
}

/* The least of the later rounds: what a call costs when nobody disturbs. */
QUIET static void least(unsigned long long *of, unsigned long long ticks)
{
	if (!*of || ticks < *of)
		*of = ticks;
}

QUIET int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 0;
	void (*const *f)(void *) = argc > 1 && !strcmp(argv[1], "direct") ? direct : through;
	unsigned long long first = 0, last = 0;
	void *lib;

	for (int i = 0; i < rounds; i++) {
		unsigned long long a = call_all(f, 0, EDGE);
		unsigned long long b = (call_all(f, EDGE, N - EDGE), call_all(f, N - EDGE, N));

		if (i < rounds / 2)
			continue;
		least(&first, a);
		least(&last, b);
	}
	printf("all %d\nticks %llu %llu\n", rounds * N, first / EDGE, last / EDGE);
	lib = argc > 3 ? dlopen(argv[3], RTLD_NOW) : NULL;
	for (int i = 0; lib && i < 7; i++)
		((int (*)(int))dlsym(lib, "two"))(i);
	printf("count two 7\n");
	return rounds < 2;
}
