/*
 * resume.c - where a signal has found a thread, and how it goes on.
 *
 * Hides how a system call looks from a signal's context: the kernel keeps the
 * call's number to itself, so it is read from the code, where nearly every call is
 *
 *	b8 nn nn 00 00		mov $number,%eax
 *	0f 05			syscall
 *
 * A byte before the mov that could make it another one (`41 b8`: to %r8d) is taken
 * for its prefix; such a call cannot be told.
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

	/* syscall leaves the address behind itself in %rcx */
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

/* ---- frames of signals --------------------------------------------------------- */

/*
 * What the kernel puts on a stack for a handler, from the lowest address on, in bytes:
 *
 *	8	where the handler returns to
 *	40	of the context: flags, link, stack
 *	184	registers: the 17th is the pc, the 19th has the segments
 *	8	where vector registers lie, which is right above all this
 *	72	reserved, and the signals that are blocked
 *	16	siginfo_t: the signal, and who sent it; where the handler asked for it
 */
struct kernel_frame {
	uint64_t restorer, flags, link, stack[3], registers[23], vectors, reserved[8], mask;
	int32_t sig, error, code, padding;
};
_Static_assert(sizeof(struct kernel_frame) == FL_ARCH_FRAME_BYTES &&
	       offsetof(struct kernel_frame, registers[REG_RIP]) - 8 ==
	       offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]), "it is the kernel's");

enum { BEHIND_FRAME = 104, BEHIND_MOST = 512 };	/* the rest of siginfo_t */

uint64_t fl_arch_frame_mark(void)
{
	uint16_t cs, ss;

	__asm__("mov %%cs, %0; mov %%ss, %1" : "=r"(cs), "=r"(ss));
	return cs | (uint64_t)ss << 48;
}

uintptr_t fl_arch_frame_at(uintptr_t mark_at)
{
	return mark_at - offsetof(struct kernel_frame, registers[REG_CSGSFS]);
}

uintptr_t fl_arch_frame_of_pc(uintptr_t pc_at)
{
	return pc_at - offsetof(struct kernel_frame, registers[REG_RIP]);
}

/* The vector registers of a copied frame do not lie right above the copy. */
bool fl_arch_frame(struct fl_signal_frame *out, const void *bytes, uintptr_t at)
{
	const struct kernel_frame *f = bytes;

	*out = (struct fl_signal_frame){
		.pc_at = at + offsetof(struct kernel_frame, registers[REG_RIP]),
		.pc = f->registers[REG_RIP], .sp = f->registers[REG_RSP],
		.restorer = f->restorer, .result = (long)f->registers[REG_RAX],
		.sig = f->code > 0 ? f->sig : 0,
	};
	return f->registers[REG_CSGSFS] == fl_arch_frame_mark() && !f->link &&
	       (!f->vectors || f->vectors - at - sizeof *f - BEHIND_FRAME < BEHIND_MOST);
}

/* mov $15,%eax or %rax; syscall */
bool fl_arch_is_restorer(const unsigned char code[FL_ARCH_RESTORER_BYTES])
{
	static const unsigned char of_libc[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const unsigned char ours[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	return !__builtin_memcmp(code, of_libc, sizeof of_libc) ||
	       !__builtin_memcmp(code, ours, sizeof ours);
}
