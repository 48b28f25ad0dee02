/*
 * cpu.c - which processor this is: not asked for yet.
 */
#include "arch/arch.h"

void fl_arch_cpu(struct fl_cpu *cpu)
{
	*cpu = (struct fl_cpu){ .vendor = "aarch64" };
}

uint32_t fl_arch_read_ahead(void)
{
	return 0;
}
