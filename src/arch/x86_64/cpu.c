/*
 * cpu.c - which processor this is, by CPUID.
 *
 * Hides the leaves, and how family and model are put together from two fields
 * each (SDM vol 2A and APM vol 3, CPUID, leaf 1). Under a hypervisor CPUID says
 * what the hypervisor wants known.
 */
#include <cpuid.h>

#include "arch/arch.h"

enum { LEAF_VENDOR = 0, LEAF_VERSION = 1, LEAF_HYPERVISOR = 0x40000000 };
#define HAS_HYPERVISOR (1u << 31)	/* ecx of leaf 1 */

struct regs {
	uint32_t a, b, c, d;
};

static struct regs cpuid(uint32_t leaf)
{
	struct regs r;

	__cpuid(leaf, r.a, r.b, r.c, r.d);
	return r;
}

/* Letters and digits stay; anything else becomes `-`. */
static char plain(char c)
{
	bool good = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		    (c >= 'a' && c <= 'z');

	return good ? c : '-';
}

/* Twelve letters out of three registers. */
static void spell(char to[16], uint32_t first, uint32_t second, uint32_t third)
{
	const uint32_t words[3] = { first, second, third };

	for (int i = 0; i < 12; i++) {
		char c = (char)(words[i / 4] >> i % 4 * 8);

		if (!c) {
			to[i] = '\0';
			return;
		}
		to[i] = plain(c);
	}
	to[12] = '\0';
}

void fl_arch_cpu(struct fl_cpu *cpu)
{
	struct regs who = cpuid(LEAF_VENDOR), v = cpuid(LEAF_VERSION), hyper;
	uint32_t base = v.a >> 8 & 15;

	spell(cpu->vendor, who.b, who.d, who.c);
	cpu->family = base == 15 ? base + (v.a >> 20 & 255) : base;
	cpu->model = (v.a >> 4 & 15) | (v.a >> 12 & 0xf0);
	cpu->stepping = v.a & 15;
	cpu->hypervisor[0] = '\0';
	if (!(v.c & HAS_HYPERVISOR))
		return;
	hyper = cpuid(LEAF_HYPERVISOR);
	spell(cpu->hypervisor, hyper.b, hyper.c, hyper.d);
	if (!cpu->hypervisor[0])
		__builtin_memcpy(cpu->hypervisor, "unnamed", 8);
}

/* On Granite Rapids a load of a line that another core has changed takes the line over, with
 * the right to store: loads ahead overlap where stores do not. On Zen such a load takes a
 * copy, and the store has to wait for the rest. */
uint32_t fl_arch_read_ahead(void)
{
	struct fl_cpu cpu;

	fl_arch_cpu(&cpu);
	return __builtin_strcmp(cpu.vendor, "GenuineIntel") ? 0 : 2048;
}
