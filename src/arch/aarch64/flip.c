/*
 * flip.c - the stores to text. Only patch/ may call them.
 *
 * An instruction is one aligned word, so one store of it is whole. What may be exchanged
 * for what while another core executes it is plan.c's to say. __clear_cache() does
 * DC CVAU, DSB ISH, IC IVAU, DSB ISH, ISB, or as much of it as CTR_EL0 asks for.
 */
#include "arch/arch.h"

void fl_arch_publish(uintptr_t at, size_t n)
{
	__builtin___clear_cache((char *)at, (char *)at + n);
}

void fl_a64_flip(uintptr_t at, fl_unit to)
{
	/* ordering: none but fetch's: who executes it sees what was stored before */
	store_release((fl_unit *)at, to);
	fl_arch_publish(at, sizeof to);
}

void fl_arch_flip(uintptr_t at, const uint8_t *bytes, size_t n)
{
	fl_unit unit;

	if (n != sizeof unit)
		return fl_arch_store_bytes(at, bytes, n);
	__builtin_memcpy(&unit, bytes, sizeof unit);
	fl_a64_flip(at, unit);
}

void fl_arch_flip_line(uintptr_t at, const uint8_t *bytes, size_t n)
{
	fl_arch_flip(at, bytes, n);
}

void fl_arch_store_bytes(uintptr_t at, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store_relaxed((uint8_t *)at + i, bytes[i]);
	fl_arch_publish(at, n);
}
