/*
 * cpu.c - which processor this is, by MIDR_EL1, which the kernel reads for us.
 */
#include "arch/arch.h"

static const struct { uint8_t code; char name[12]; } implementers[] = {
	{ 0x41, "ARM" }, { 0x42, "Broadcom" }, { 0x43, "Cavium" }, { 0x46, "Fujitsu" },
	{ 0x48, "HiSilicon" }, { 0x4e, "NVIDIA" }, { 0x50, "APM" }, { 0x51, "Qualcomm" },
	{ 0x53, "Samsung" }, { 0x61, "Apple" }, { 0x6d, "Microsoft" }, { 0xc0, "Ampere" },
};

void fl_arch_cpu(struct fl_cpu *cpu)
{
	uint64_t midr;

	__asm__("mrs %0, midr_el1" : "=r"(midr));
	*cpu = (struct fl_cpu){
		.vendor = "aarch64", .family = midr >> 24 & 255, .model = midr >> 4 & 0xfff,
		.stepping = (midr >> 20 & 15) << 4 | (midr & 15),
	};
	for (size_t i = 0; i < ARRAY_LEN(implementers); i++)
		if (implementers[i].code == cpu->family)
			__builtin_memcpy(cpu->vendor, implementers[i].name,
					 sizeof implementers[i].name);
}

uint32_t fl_arch_read_ahead(void)
{
	return 0;
}
