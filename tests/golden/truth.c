/*
 * truth.c - preloaded: which functions each call to a profiling function really
 * names. At the end one line a pair goes to the file TRUTH names:
 *
 *	return address, function (both less the program's base), E or X
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAIRS = 65536 };
static struct {
	uintptr_t ret, function;
	char kind;
} pairs[PAIRS];
static uintptr_t base, top;

static void note(void *function, void *ret, char kind)
{
	uintptr_t r = (uintptr_t)ret, f = (uintptr_t)function;
	size_t i = (r * 31 + f) % PAIRS;

	for (; pairs[i].ret; i = (i + 1) % PAIRS)
		if (pairs[i].ret == r && pairs[i].function == f &&
		    pairs[i].kind == kind)
			return;
	pairs[i].ret = r;
	pairs[i].function = f;
	pairs[i].kind = kind;
}

void __cyg_profile_func_enter(void *function, void *caller)
{
	(void)caller;
	note(function, __builtin_return_address(0), 'E');
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)caller;
	note(function, __builtin_return_address(0), 'X');
}

static int find_program(struct dl_phdr_info *i, size_t n, void *arg)
{
	(void)n;
	(void)arg;
	base = i->dlpi_addr;
	for (int k = 0; k < i->dlpi_phnum; k++)
		if (i->dlpi_phdr[k].p_type == PT_LOAD)
			top = base + i->dlpi_phdr[k].p_vaddr + i->dlpi_phdr[k].p_memsz;
	return 1;
}

__attribute__((destructor)) static void tell(void)
{
	FILE *f = fopen(getenv("TRUTH"), "w");

	if (!f)
		return;
	dl_iterate_phdr(find_program, NULL);
	for (size_t i = 0; i < PAIRS; i++)
		if (pairs[i].ret >= base && pairs[i].ret < top)
			fprintf(f, "%lx %lx %c\n", pairs[i].ret - base,
				pairs[i].function - base, pairs[i].kind);
	fclose(f);
}
