/*
 * act.c - make a thread that met a trap go on as if the new bytes stood there.
 *
 * It knows the few instructions that plan.c puts into a window, and what
 * compilers had there before: calls, jumps, returns, tests and NOPs.
 */
#include <ucontext.h>

#include "arch/arch.h"
#include "emit.h"

static greg_t *reg(void *uc, int which)
{
	return &((ucontext_t *)uc)->uc_mcontext.gregs[which];
}

uintptr_t fl_arch_pc(const void *uc)
{
	return (uintptr_t)((const ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
}

uintptr_t fl_arch_trap_pc(const void *uc)
{
	return fl_arch_pc(uc) - FL_ARCH_TRAP_BYTES;
}

void fl_arch_retry(void *uc, uintptr_t pc)
{
	*reg(uc, REG_RIP) = (greg_t)pc;
}

static void push(void *uc, uintptr_t value)
{
	*reg(uc, REG_RSP) -= 8;
	*(uintptr_t *)*reg(uc, REG_RSP) = value;
}

static uintptr_t pop(void *uc)
{
	uintptr_t v = *(uintptr_t *)*reg(uc, REG_RSP);

	*reg(uc, REG_RSP) += 8;
	return v;
}

/* Where a thread goes that executes `i`, which stands at `at`. */
static uintptr_t next_pc(void *uc, const struct fl_insn *i, uintptr_t at)
{
	switch (i->cls) {
	case FL_INSN_CALL:
		push(uc, at + i->len);
		return i->target;
	case FL_INSN_CALL_SLOT:
		push(uc, at + i->len);
		return *(uintptr_t *)i->target;
	case FL_INSN_JUMP:
		return i->target;
	case FL_INSN_JUMP_SLOT:
		return *(uintptr_t *)i->target;
	case FL_INSN_RET:
		return pop(uc);
	default:			/* test, nop: no effect that is live */
		return at + i->len;
	}
}

void fl_arch_act(void *uc, const struct fl_patch *p, int state)
{
	uintptr_t at = p->at + p->head_at;
	struct fl_insn i;

	fl_arch_decode(&i, p->bytes[state] + p->head_at, p->len - p->head_at, at);
	*reg(uc, REG_RIP) = (greg_t)next_pc(uc, &i, at);
}
