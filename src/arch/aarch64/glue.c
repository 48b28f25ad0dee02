/*
 * glue.c - what a site's branch leads to: none is made yet.
 */
#include "arch/arch.h"

bool fl_arch_glue(unsigned char *out, uintptr_t at, uint32_t id, uintptr_t word)
{
	(void)out, (void)at, (void)id, (void)word;
	return false;
}

bool fl_arch_glue_keeping(unsigned char *out, uintptr_t at, uint32_t id, uintptr_t word)
{
	(void)out, (void)at, (void)id, (void)word;
	return false;
}

bool fl_arch_glue_late(unsigned char *out, uintptr_t at, uintptr_t id, uintptr_t word)
{
	(void)out, (void)at, (void)id, (void)word;
	return false;
}

bool fl_arch_glue_counting(const struct fl_counting_glue *g)
{
	(void)g;
	return false;
}

bool fl_arch_glue_can_count(void)
{
	return false;
}
