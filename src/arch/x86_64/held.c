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

uint32_t fl_arch_rewrite_exclusives(void *memory, enum fl_exclusive how)
{
	(void)memory, (void)how;
	return 0;
}

unsigned int fl_arch_exclusive_part(const void *memory, uintptr_t at)
{
	(void)memory, (void)at;
	return 0;
}

size_t fl_arch_put_exclusive(unsigned char *out, struct fl_exclusive_code *p)
{
	(void)out;
	p->n_depths = 0;
	return 0;
}
