/*
 * flip.c - the stores to text. Only patch/ may call them.
 *
 * Two stores are never fetched in part by any core: that of one byte, and that of one
 * naturally aligned word (HW1, HW2). The third one, anywhere in a line, is atomic as data; as
 * code it is so only where that has been seen. Instruction fetch on every core sees a store to
 * text in bounded time, without further ado. Only a sync makes sure that nobody runs the old
 * bytes any more (patch/sync.h).
 */
#include "arch/arch.h"

_Static_assert(offsetof(struct fl_flip, unit) == 8 && offsetof(struct fl_flip, armed) == 11,
	       "FLIP_UNIT and FLIP_ARMED of tramp.S");

void fl_arch_store_bytes(uintptr_t at, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store_relaxed((uint8_t *)at + i, bytes[i]);
}

/* Eight bytes of one line, aligned or not: a locked access is atomic. */
static bool exchange8(uintptr_t at, uint64_t *old, uint64_t new)
{
	bool done;

	__asm__ volatile("lock cmpxchgq %3, %1"
			 : "=@ccz"(done), "+m"(*(uint64_t *)at), "+a"(*old)
			 : "r"(new) : "memory");
	return done;
}

/* Put `n` bytes at `at` into the eight bytes at `word`. */
static void store_into(uintptr_t word, uintptr_t at, const uint8_t *bytes, size_t n)
{
	uint64_t old, new;

	__builtin_memcpy(&old, (const void *)word, sizeof old);
	do {
		new = old;
		__builtin_memcpy((uint8_t *)&new + (at - word), bytes, n);
	} while (!exchange8(word, &old, new));
}

/* Two or four bytes have a store of their own, which is whole as well. */
static void store2(uintptr_t at, const uint8_t *bytes)
{
	uint16_t v;

	__builtin_memcpy(&v, bytes, sizeof v);
	__asm__ volatile("movw %1, %0" : "=m"(*(uint16_t *)at) : "r"(v) : "memory");
}

static void store4(uintptr_t at, const uint8_t *bytes)
{
	uint32_t v;

	__builtin_memcpy(&v, bytes, sizeof v);
	__asm__ volatile("movl %1, %0" : "=m"(*(uint32_t *)at) : "r"(v) : "memory");
}

void fl_arch_flip(uintptr_t at, const uint8_t *bytes, size_t n)
{
	if (n == 2)
		store2(at, bytes);
	else if (n == 4)
		store4(at, bytes);
	else if (n == 1)
		store_relaxed((uint8_t *)at, *bytes);
	else
		store_into(at & ~(uintptr_t)7, at, bytes, n);
}

void fl_arch_flip_line(uintptr_t at, const uint8_t *bytes, size_t n)
{
	uintptr_t last = (at | (FL_ARCH_LINE - 1)) - 7;

	store_into(at < last ? at : last, at, bytes, n);
}

/* Fetches see what is in memory, through whatever address it was written (Intel SDM vol 3,
 * "Handling Self- and Cross-Modifying Code"); no core has fetched anything there before. */
void fl_arch_publish(uintptr_t at, size_t n)
{
	(void)at;
	(void)n;
}

bool fl_arch_may_alias(void)
{
	return true;
}

bool fl_arch_on_store(void (*stored)(uintptr_t at, size_t n))
{
	(void)stored;
	return false;
}
