/*
 * reloc.c - second bodies of functions: nothing can be moved yet.
 */
#include "arch/arch.h"

size_t fl_arch_move(unsigned char *out, uintptr_t to, const unsigned char *code,
		    const struct fl_insn *i, uintptr_t at, uintptr_t target)
{
	(void)out, (void)to, (void)code, (void)i, (void)at, (void)target;
	return 0;
}

size_t fl_arch_move_short(unsigned char *out, uintptr_t to, const unsigned char *code,
			  const struct fl_insn *i, uintptr_t target)
{
	(void)out, (void)to, (void)code, (void)i, (void)target;
	return 0;
}

size_t fl_arch_put_skip(unsigned char *out, const unsigned char *code,
			const struct fl_insn *i, uint8_t over)
{
	(void)out, (void)code, (void)i, (void)over;
	return 0;
}

size_t fl_arch_put_branch(unsigned char *out, enum fl_branch b, uintptr_t at, uintptr_t to)
{
	(void)out, (void)b, (void)at, (void)to;
	return 0;
}

size_t fl_arch_put_place(unsigned char *out, enum fl_form form, const unsigned char *code,
			 size_t len)
{
	(void)out, (void)form, (void)code, (void)len;
	return 0;
}

size_t fl_arch_put_lookup(unsigned char *out, struct fl_lookup *l)
{
	(void)out, (void)l;
	return 0;
}

size_t fl_arch_put_landing(unsigned char *out, uintptr_t to, uintptr_t target)
{
	(void)out, (void)to, (void)target;
	return 0;
}
