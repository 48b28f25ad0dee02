/*
 * decode.c - what an instruction is: nothing is understood yet.
 */
#include "arch/arch.h"

void fl_arch_decode(struct fl_insn *i, const unsigned char *code, size_t n, uintptr_t at)
{
	(void)code, (void)n, (void)at;
	*i = (struct fl_insn){ 0 };
}

bool fl_arch_call_before(struct fl_insn *i, uintptr_t ret)
{
	(void)i, (void)ret;
	return false;
}

void fl_arch_decode_flow(struct fl_insn *i, const unsigned char *code, size_t n,
			 uintptr_t at)
{
	fl_arch_decode(i, code, n, at);
}

size_t fl_arch_landing(const unsigned char *code, size_t n)
{
	(void)code, (void)n;
	return 0;
}

bool fl_arch_is_filler(const unsigned char *code, size_t n, size_t left)
{
	(void)code, (void)n, (void)left;
	return false;
}

bool fl_arch_takes_flags(const unsigned char *code, size_t n, size_t most)
{
	(void)code, (void)n, (void)most;
	return false;
}

bool fl_arch_splits_stack(const unsigned char *code, size_t n)
{
	(void)code, (void)n;
	return false;
}
