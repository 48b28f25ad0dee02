/*
 * held.c - this CPU has no exclusive monitors: its atomics are one instruction each.
 */
#include "arch/arch.h"

size_t fl_arch_held_bytes(const struct fl_held_part *parts, uint32_t n)
{
	(void)parts, (void)n;
	return 0;
}

uint32_t fl_arch_held(const struct fl_held_part *parts, uint32_t n, void *memory)
{
	(void)parts, (void)n, (void)memory;
	return 0;
}

bool fl_arch_is_held(const void *memory, uintptr_t at, enum fl_woven what, uint64_t *pair)
{
	(void)memory, (void)at, (void)what, (void)pair;
	return false;
}
