/*
 * emit.c - sequences of words that are made in one way everywhere.
 */
#include "arch/arch.h"
#include "emit.h"

size_t a64_put_constant(unsigned char *out, unsigned int rd, uint64_t v, unsigned int bits)
{
	a64_put(out, a64_movz(rd, (uint16_t)v, 0));
	for (unsigned int part = 1; part < bits / 16; part++)
		a64_put(out + 4 * part, a64_movk(rd, (uint16_t)(v >> 16 * part), part));
	return bits / 4;
}

size_t a64_put_far(unsigned char *out, unsigned int by, uintptr_t to)
{
	size_t n = a64_put_constant(out, by, to, 64);

	a64_put(out + n, a64_br(by));
	return n + 4;
}

size_t a64_put_island(unsigned char *out, uintptr_t to)
{
	uint32_t w = 0;

	a64_ldr_literal(&w, 16, 0, 8);
	a64_put(out, w);
	a64_put(out + 4, a64_br(16));
	__builtin_memcpy(out + 8, &to, sizeof to);
	return A64_ISLAND_BYTES;
}
