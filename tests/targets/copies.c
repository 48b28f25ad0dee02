/*
 * copies: calls of the C library's functions that copy memory, whichever of them it chose.
 *
 *	copies N	so many of each; where each function is in its file
 *	copies		threads copy until SIGTERM comes; then `fine`
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "until-stopped.h"

typedef void *copy(void *, const void *, size_t);

static copy *volatile copying[] = { memcpy, memmove, mempcpy };
static void *(*volatile fills)(void *, int, size_t) = memset;
static const char *const names[] = { "memcpy", "memmove", "mempcpy" };
enum { MOST = 9000 };
static long wrong;

static void check(_Bool is_right)
{
	if (!is_right)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

/* All ways through them: by size, and to below and above what is copied. */
static size_t size_of(long n)
{
	return n % 7 == 0 ? (size_t)(n * 131 % MOST) : (size_t)(n % 300);
}

static void copy_all(long n, unsigned char *from, unsigned char *to)
{
	size_t size = size_of(n);

	fills(from, (int)n, size + 1);
	from[size / 2] ^= 0x55;
	for (int i = 0; i < 3; i++) {
		unsigned char *at = to + n % 64;

		check(copying[i](at, from, size) == at + (i == 2 ? size : 0));
		for (size_t k = 0; k < size; k += 1 + size / 9)
			check(at[k] == from[k]);
		check(!size || at[size / 2] == from[size / 2]);
	}
	copying[1](to + 3, to, size);
	copying[1](to, to + 3, size);
}

static unsigned char *room(void)
{
	return malloc(2 * MOST + 64);
}

static void *copy_until_stopped(void *arg)
{
	unsigned char *from = room(), *to = room();

	for (long n = 0; !is_stopped(); n++)
		copy_all(n, from, to);
	free(from);
	free(to);
	return arg;
}

static int run_threads(void)
{
	run_until_stopped(copy_until_stopped);
	puts(wrong ? "wrong bytes" : "fine");
	return wrong != 0;
}

static void tell(const char *name, void *function, long calls)
{
	Dl_info i;

	if (dladdr(function, &i))
		printf("at %s %ld %ld\n", name, (long)((char *)function - (char *)i.dli_fbase),
		       calls);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;
	unsigned char *from = room(), *to = room();

	if (n < 100)
		return run_threads();
	for (long i = 0; i < n; i++)
		copy_all(i, from, to);
	for (int i = 0; i < 3; i++)
		tell(names[i], (void *)copying[i], i == 1 ? 3 * n : n);
	tell("memset", (void *)fills, n);
	return wrong != 0;
}
