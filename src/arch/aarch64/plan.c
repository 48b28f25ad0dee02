/*
 * plan.c - which bytes a site holds: every site is refused yet.
 */
#include "arch/arch.h"

int fl_arch_plan(struct fl_patch *p, const struct fl_plan_in *in, uint64_t *datum)
{
	*p = (struct fl_patch){ .at = in->at };
	*datum = in->room;
	return FLE_NOPORT;
}

int fl_arch_mute(enum fl_form form, const unsigned char *code, fl_unit *to)
{
	(void)form, (void)code, (void)to;
	return FLE_NOPORT;
}

int fl_arch_unmute(enum fl_form form, const unsigned char *code, fl_unit *to)
{
	(void)form, (void)code, (void)to;
	return FLE_NOPORT;
}

int fl_arch_plan_insn(struct fl_patch *p, uintptr_t at, const void *on, size_t n)
{
	(void)p, (void)at, (void)on, (void)n;
	return FLE_NOPORT;
}

int fl_arch_plan_call(struct fl_patch *p, uintptr_t at, uintptr_t target,
		      enum fl_flags flags, bool *was_nop)
{
	(void)p, (void)at, (void)target, (void)flags, (void)was_nop;
	return FLE_NOPORT;
}

int fl_arch_moves(const struct fl_patch *p, int from, int to,
		  struct fl_move moves[FL_ARCH_MOVES])
{
	(void)p, (void)from, (void)to, (void)moves;
	return FLE_NOPORT;
}

/* A window is one instruction. */
bool fl_arch_inner(const struct fl_patch *p, uintptr_t *copy, uint8_t to[FL_ARCH_SITE_MAX - 1])
{
	__builtin_memset(to, 0, FL_ARCH_SITE_MAX - 1);
	*copy = p->at;
	return true;
}
