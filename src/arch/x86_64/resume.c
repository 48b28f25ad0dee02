/*
 * resume.c - where a signal has found a thread, and how it goes on.
 *
 * Hides how a system call looks from a signal's context: the kernel keeps its
 * number to itself, so it is read from the code, where nearly every call is
 *
 *	b8 nn nn 00 00		mov $number,%eax
 *	0f 05			syscall
 *
 * A byte before it that would make the mov another one (`41 b8`: to %r8d) is
 * taken for that; such a call cannot be told.
 */
#include <errno.h>
#include <ucontext.h>

#include "arch/arch.h"

enum { CALL_BYTES = 2, MOV_BYTES = 5 };

void fl_arch_serialise(void)
{
	uint32_t a = 0, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d) :: "memory");
}

static uint64_t reg(const void *uc, int which)
{
	return (uint64_t)((const ucontext_t *)uc)->uc_mcontext.gregs[which];
}

uintptr_t fl_arch_pc(const void *uc)
{
	return reg(uc, REG_RIP);
}

uintptr_t fl_arch_trap_pc(const void *uc)
{
	return fl_arch_pc(uc) - sizeof(fl_unit);
}

void fl_arch_retry(void *uc, uintptr_t pc)
{
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
}

/* The kernel puts the context right above the address that its handler returns to. */
bool fl_arch_is_delivered(const void *uc, const void *cfa)
{
	return uc == cfa;
}

/* `p` is behind a syscall instruction: the number of its call, or -1. Nothing
 * is read from the page before. */
static long number_before(const uint8_t *p)
{
	uint32_t number;

	if (((uintptr_t)p & 4095) <= CALL_BYTES + MOV_BYTES)
		return -1;
	p -= CALL_BYTES;
	if (p[0] != 0x0f || p[1] != 0x05)	/* syscall */
		return -1;
	p -= MOV_BYTES;
	if (p[0] != 0xb8 || (p[-1] & 0xf1) == 0x41)
		return -1;
	__builtin_memcpy(&number, p + 1, sizeof number);
	return number > 4095 ? -1 : (long)number;
}

bool fl_arch_interrupted(const void *uc, struct fl_call *c)
{
	static const int args[6] = { REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9 };

	/* the instruction leaves the address behind it in %rcx */
	if (reg(uc, REG_RAX) != (uint64_t)-EINTR || reg(uc, REG_RCX) != reg(uc, REG_RIP))
		return false;
	c->number = number_before((const uint8_t *)reg(uc, REG_RIP));
	for (int i = 0; i < 6; i++)
		c->args[i] = reg(uc, args[i]);
	return c->number >= 0;
}

void fl_arch_call_again(void *uc, const struct fl_call *c)
{
	greg_t *r = ((ucontext_t *)uc)->uc_mcontext.gregs;

	r[REG_RAX] = c->number;
	r[REG_RIP] -= CALL_BYTES;
}
