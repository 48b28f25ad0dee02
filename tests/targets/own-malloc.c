/* own-malloc LIBRARY [ROUNDS [US]]: defines the allocator, with sites, and has the
 * loader call it: free() runs inside dlclose(), behind the unmapping, for US. */
#include <dlfcn.h>
#include <stddef.h>
#include "truth.h"

__attribute__((visibility("default"))) unsigned long library_calls[6];

static char heap[64 << 20] __attribute__((aligned(16)));
static size_t used;
static unsigned long frees;
static useconds_t slow_us;

BODY void *malloc(size_t n)
{
	size_t room = (n + 31) & ~(size_t)15;
	size_t at = __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);

	if (at + room > sizeof heap)
		return NULL;
	*(size_t *)(heap + at) = n;
	return heap + at + 16;
}

BODY void free(void *p)
{
	frees += p != NULL;
	if (slow_us)
		usleep(slow_us);
}

BODY void *calloc(size_t n, size_t each)
{
	return malloc(n * each);		/* nothing is used twice */
}

BODY void *realloc(void *p, size_t n)
{
	char *to = malloc(n), *from = p;
	size_t had = from ? *(size_t *)(from - 16) : 0;

	for (size_t i = 0; to && i < had && i < n; i++)
		to[i] = from[i];
	return to;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200;
	useconds_t us = argc > 3 ? (useconds_t)strtol(argv[3], NULL, 10) : 0;
	unsigned long freed = 0;

	if (argc < 2)
		return 2;
	for (int i = 0; i < rounds; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW);
		unsigned long before = frees;

		usleep(3000);			/* an epoch begins: free() is timed again */
		slow_us = us;
		CHECK(lib && dlclose(lib) == 0);
		slow_us = 0;
		freed += frees - before;
	}
	CHECK(freed > 0);
	return truth_failed;
}
