/*
 * bytes.c - libflick.so's own functions on bytes and strings, which guest code calls,
 * and compilers call for it.
 *
 * Only libflick.so has them. The loader finds a name like memcpy in the program first: a
 * sanitizer may have such a function there, which must not be called before the sanitizer
 * has begun, or the program its own, with probes in it. And the C library's functions use
 * vector registers, which a probe's path must leave alone. The functions here are hidden,
 * so no other module's calls come here.
 */
#include "base/base.h"

/* Without this a compiler would turn such a loop into a call of the function it is in. */
#define KEEP_LOOP(n) __asm__("" : "+r"(n))

typedef uint64_t word __attribute__((may_alias, aligned(1)));
typedef uint32_t half __attribute__((may_alias, aligned(1)));

/* The last word is read before anything is stored, so `to` may overlap `from` if `to` begins
 * first. */
void *memcpy(void *to, const void *from, size_t n)
{
	const char *f = from, *last = f + n;
	char *t = to, *end = t + n;

	if (n >= sizeof(word)) {
		word w = *(const word *)(last - sizeof w);

		for (; f < last - sizeof w; f += sizeof w, t += sizeof w) {
			*(word *)t = *(const word *)f;
			KEEP_LOOP(t);
		}
		*(word *)(end - sizeof w) = w;
	} else if (n >= sizeof(half)) {
		half a = *(const half *)f, b = *(const half *)(last - sizeof b);

		*(half *)t = a;
		*(half *)(end - sizeof b) = b;
	} else if (n) {
		char a = f[0], b = f[n / 2], c = last[-1];

		t[0] = a;
		t[n / 2] = b;
		end[-1] = c;
	}
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	const char *f = from;
	char *t = to;

	if ((uintptr_t)to - (uintptr_t)from >= n)
		return memcpy(to, from, n);	/* no byte is overwritten before it is read */
	while (n--) {
		t[n] = f[n];
		KEEP_LOOP(n);
	}
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	const uint64_t all = 0x0101010101010101u * (unsigned char)byte;
	char *t = to;

	for (; n >= sizeof(word); n -= sizeof(word)) {
		*(word *)t = all;
		t += sizeof(word);
		KEEP_LOOP(n);
	}
	while (n--) {
		*t++ = (char)byte;
		KEEP_LOOP(n);
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *p = a, *q = b;

	for (; n >= sizeof(word) && *(const word *)p == *(const word *)q; n -= sizeof(word)) {
		p += sizeof(word);
		q += sizeof(word);
	}
	for (; n; n--, p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}

void *memchr(const void *in, int byte, size_t n)
{
	const unsigned char *p = in;

	for (; n; n--, p++)
		if (*p == (unsigned char)byte)
			return (void *)p;
	return NULL;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n]) {
		n++;
		KEEP_LOOP(n);
	}
	return n;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n && *a && *a == *b; n--) {
		a++;
		b++;
	}
	return n ? (unsigned char)*a - (unsigned char)*b : 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}
