/*
 * resume.c - where a signal has found a thread, and how it goes on.
 *
 * Interrupted system calls cannot be told yet: no call is made again.
 */
#include <signal.h>
#include <ucontext.h>

#include "arch/arch.h"

/* A DMB does not hold back a read of the counter, nor does an ISB wait for stores. */
void fl_arch_serialise(void)
{
	__asm__ volatile("dsb ish\n\tisb" : : : "memory");
}

uintptr_t fl_arch_pc(const void *uc)
{
	return ((const ucontext_t *)uc)->uc_mcontext.pc;
}

uintptr_t fl_arch_trap_pc(const void *uc)
{
	return fl_arch_pc(uc);		/* brk leaves it at itself */
}

void fl_arch_retry(void *uc, uintptr_t pc)
{
	((ucontext_t *)uc)->uc_mcontext.pc = pc;
}

/* The kernel's frame is a siginfo_t and the context; the handler's frame is right below. */
bool fl_arch_is_delivered(const void *uc, const void *cfa)
{
	return (const char *)uc - sizeof(siginfo_t) == (const char *)cfa;
}

bool fl_arch_interrupted(const void *uc, struct fl_call *c)
{
	(void)uc, (void)c;
	return false;
}

void fl_arch_call_again(void *uc, const struct fl_call *c)
{
	(void)uc, (void)c;
}

/* Windows are single instructions: nobody stands inside, and no frame is looked for. */
uint64_t fl_arch_frame_mark(void)
{
	return ~0ull;
}

uintptr_t fl_arch_frame_at(uintptr_t mark_at)
{
	return mark_at;
}

uintptr_t fl_arch_frame_of_pc(uintptr_t pc_at)
{
	return pc_at;
}

bool fl_arch_frame(struct fl_signal_frame *out, const void *bytes, uintptr_t at)
{
	(void)bytes;
	*out = (struct fl_signal_frame){ .pc_at = at };
	return false;
}

bool fl_arch_is_restorer(const unsigned char code[FL_ARCH_RESTORER_BYTES])
{
	(void)code;
	return false;
}
