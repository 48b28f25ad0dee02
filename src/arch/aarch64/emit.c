/*
 * emit.c - sequences of words that every file makes in the same way.
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
