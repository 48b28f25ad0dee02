/* life-lib.c - what life.c loads: functions with probes of their own. */
#include <stdint.h>

__attribute__((noinline)) static uint32_t inner(uint32_t x)
{
	__asm__ volatile("" : "+r"(x));
	return x ^ x << 7;
}

uint32_t life_lib(uint32_t x)
{
	for (int i = 0; i < 100; i++)
		x = inner(x) + 3;
	return x;
}
