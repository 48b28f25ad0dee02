/*
 * flip.c - the stores to text. Only patch/ may call them.
 *
 * One byte, or one naturally aligned word: the two stores of which no core
 * ever fetches a part (HW1, HW2). A store to text becomes visible to
 * instruction fetch on every core in bounded time without further ado; that
 * nobody runs the old bytes any more takes a sync (patch/sync.h).
 */
#include "arch/arch.h"

void fl_arch_store_byte(uintptr_t at, uint8_t byte)
{
	store_relaxed((uint8_t *)at, byte);
}

void fl_arch_store_word(uintptr_t at, const uint8_t *bytes, size_t n)
{
	uint64_t *word = (uint64_t *)(at & ~(uintptr_t)7);
	uint64_t old = load_relaxed(word), new;

	do {
		new = old;
		__builtin_memcpy((uint8_t *)&new + (at & 7), bytes, n);
	} while (!__atomic_compare_exchange_n(word, &old, new, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* Stores through the address that is executed need nothing (Intel SDM vol 3,
 * "Handling Self- and Cross-Modifying Code"). */
void fl_arch_sync_self(uintptr_t at, size_t n)
{
	(void)at;
	(void)n;
}
