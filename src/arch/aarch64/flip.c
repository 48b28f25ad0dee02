/*
 * flip.c - the stores to text. Only patch/ may call them.
 *
 * An instruction is one aligned word, so a store of a whole one is whole. What may be
 * exchanged for what while another core executes it is plan.c's to say.
 */
#include "arch/arch.h"

void fl_arch_store_bytes(uintptr_t at, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store_relaxed((uint8_t *)at + i, bytes[i]);
}

void fl_arch_store_word(uintptr_t at, const uint8_t *bytes, size_t n)
{
	uint32_t word;

	__builtin_memcpy(&word, bytes, sizeof word);
	if (n == sizeof word)
		store_relaxed((uint32_t *)at, word);
	else
		fl_arch_store_bytes(at, bytes, n);
}

void fl_arch_store_line(uintptr_t at, const uint8_t *bytes, size_t n)
{
	fl_arch_store_bytes(at, bytes, n);
}

void fl_arch_sync_self(uintptr_t at, size_t n)
{
	__builtin___clear_cache((char *)at, (char *)at + n);
}
