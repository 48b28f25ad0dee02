/*
 * late-sites HOW ROUNDS [LIBRARY [COPY]]: 6,000 functions whose profiling calls no
 * scan can name, as each passes on what it was given for its own address. HOW is
 * `direct`, calls that become sites at their first, or `register`, which never do, or
 * `crowded`: as direct, and no memory is to be had that their code could reach; nor
 * that LIBRARY's could, which is loaded where its COPY was.
 * Calls all ROUNDS times, loads LIBRARY and calls its two(). Prints `count` lines
 * for two() and for all together, and how many ticks a call took in the second
 * half of the rounds: of the first and of the last thousand functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

/* Reserve what is free from `lo` to `hi`, but for [keep, keep_end). */
QUIET static void reserve(unsigned long lo, unsigned long hi, unsigned long keep,
			  unsigned long keep_end)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;

	if (lo < keep_end && keep < hi) {
		reserve(lo, keep, 0, 0);
		reserve(keep_end, hi, 0, 0);
	} else if (lo < hi) {
		mmap((void *)lo, hi - lo, PROT_NONE, flags, -1, 0);
	}
}

/* All that code in [lo, hi) could reach; `keep` says it is free, and to stay so. */
QUIET static void crowd(unsigned long lo, unsigned long hi, int keep)
{
	const unsigned long reach = 1ul << 31, floor = lo - reach < lo ? lo - reach : 1 << 16;
	unsigned long end = floor, from, to;
	FILE *maps = fopen("/proc/self/maps", "r");
	static unsigned long gap[4096][2];
	char line[512];
	int n = 0;

	while (n < 4096 && fgets(line, sizeof(line), maps) &&
	       sscanf(line, "%lx-%lx", &from, &to) == 2) {
		if (from > end && end < hi + reach) {
			gap[n][0] = end;
			gap[n++][1] = from < hi + reach ? from : hi + reach;
		}
		end = to > end ? to : end;
	}
	fclose(maps);
	for (int i = 0; i < n; i++)
		reserve(gap[i][0], gap[i][1], keep ? lo : 0, keep ? hi : 0);
}

QUIET static int span_of(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned long *span = arg, end = 0;

	(void)size;
	if (!info->dlpi_name || strcmp(info->dlpi_name, (const char *)span[0]))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			end = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	span[0] = info->dlpi_addr;
	span[1] = (info->dlpi_addr + end + 4095) & -4096ul;
	return 1;
}

/* Where `copy` was there is room for a library of its size, and nowhere near. */
QUIET static void crowd_library(const char *copy)
{
	unsigned long span[2] = { (unsigned long)copy };
	void *lib = dlopen(copy, RTLD_NOW);

	if (!lib || !dl_iterate_phdr(span_of, span) || dlclose(lib))
		abort();
	crowd(span[0], span[1], 1);
}

QUIET int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 0;
	int is_crowded = argc > 1 && !strcmp(argv[1], "crowded");
	void (*const *f)(void *) = argc > 1 && !strcmp(argv[1], "register") ? through : direct;
	unsigned long long first = 0, last = 0;
	void *lib;

	if (is_crowded) {
		setvbuf(stdout, NULL, _IONBF, 0);
		if (argc > 4)
			crowd_library(argv[4]);
		crowd((unsigned long)direct[0] & -4096ul, (unsigned long)direct[N - 1], 0);
	}

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
