/*
 * accesses.c - loads, stores and both at once, of 1 to 16 bytes, many of which lie in two
 * lines: along an array, against it, with strides, and where a row of random numbers says.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SIZE 200000
static unsigned char place[SIZE + 64];
static uint64_t x = 88172645463325252;

static uint64_t next(void)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

#define ACCESS(type, at, do) { type *p = (type *)(place + (at)); do; }
struct sixteen { uint64_t a, b; } __attribute__((packed));
typedef uint16_t __attribute__((aligned(1), may_alias)) two;
typedef uint32_t __attribute__((aligned(1), may_alias)) four;
typedef uint64_t __attribute__((aligned(1), may_alias)) eight;

int main(void)
{
	volatile uint64_t sum = 0;

	for (int i = 0; i < SIZE - 16; i += 7)
		ACCESS(eight, i, sum += *p)
	for (int i = SIZE - 16; i > 0; i -= 24)
		ACCESS(four, i, *p = (uint32_t)i)
	for (int stride = 64; stride <= 8192; stride *= 2)
		for (int i = 0; i < SIZE; i += stride)
			place[i]++;
	for (int i = 0; i < 8000; i++) {
		uint64_t at = next() % SIZE;

		switch (next() % 4) {
		case 0: ACCESS(two, at, *p += 3) break;
		case 1: ACCESS(eight, at, *p ^= sum) break;
		case 2: ACCESS(four, at / 16, sum += *p) break;
		default: memcpy(place + at, place + at / 2, 16);
		}
	}
	printf("%d\n", sum != 0);
	return 0;
}
