/*
 * taken-around.h - a program around whose code all is taken, as far as branches reach, but for
 * TAKEN_HOLES holes of TAKEN_PAGES pages, a mebibyte apart. By -include. It says at its end in
 * how many of these code is then. They are taken where the loader asks which function an
 * ifunc is: that is before any constructor, and before flick begins.
 */
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __aarch64__
#define TAKEN_REACH (1ul << 27)
#else
#define TAKEN_REACH (1ul << 31)
#endif
#define TAKEN_OWN __attribute__((no_instrument_function, noinline, patchable_function_entry(0)))
enum { TAKEN_PAGE = 4096, TAKEN_APART = 1 << 20 };

static struct { uintptr_t first; } taken;

/* What is free of it, whatever lies between. */
TAKEN_OWN static void taken_take(uintptr_t lo, uintptr_t hi)
{
	uintptr_t mid = lo + (hi - lo) / 2 / TAKEN_PAGE * TAKEN_PAGE;
	void *p = mmap((void *)lo, hi - lo, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		       MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == (void *)lo)
		return;
	if (p != MAP_FAILED)
		munmap(p, hi - lo);
	if (mid == lo)
		return;
	taken_take(lo, mid);
	taken_take(mid, hi);
}

TAKEN_OWN static void taken_nothing(void)
{
}

TAKEN_OWN static void (*taken_begin(void))(void)
{
	uintptr_t at = (uintptr_t)taken_begin / TAKEN_PAGE * TAKEN_PAGE;

	taken.first = at - TAKEN_REACH / 2;
	taken_take(at - TAKEN_REACH - TAKEN_APART, at + TAKEN_REACH + TAKEN_APART);
	for (unsigned int i = 0; i < TAKEN_HOLES; i++)
		munmap((void *)(taken.first - (uintptr_t)i * TAKEN_APART),
		       (size_t)TAKEN_PAGES * TAKEN_PAGE);
	return taken_nothing;
}
void taken_early(void) __attribute__((ifunc("taken_begin")));

TAKEN_OWN __attribute__((destructor)) static void taken_end(void)
{
	char line[512], rights[8];
	unsigned long lo, hi;
	unsigned int with_code = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof line, f))
		for (unsigned int i = 0; i < TAKEN_HOLES; i++) {
			uintptr_t hole = taken.first - (uintptr_t)i * TAKEN_APART;

			if (sscanf(line, "%lx-%lx %7s", &lo, &hi, rights) == 3 &&
			    strchr(rights, 'x') && lo >= hole &&
			    hi <= hole + (uintptr_t)TAKEN_PAGES * TAKEN_PAGE)
				with_code++;
		}
	if (f)
		fclose(f);
	taken_early();
	printf("holes %u\n", with_code);
}
