/*
 * access.c - bodies tell nothing yet of accesses to memory, and of paths. No instruction's
 * accesses are known (fl_arch_operands()), so nobody calls these (FL_ARCH_TELLS).
 */
#include "arch/arch.h"

bool fl_arch_operands(struct fl_operands *s, const unsigned char *code,
		      const struct fl_insn *i, uintptr_t at)
{
	(void)code, (void)i, (void)at;
	s->n = 0;
	return false;
}

size_t fl_arch_put_tell(unsigned char *out, struct fl_tell *t)
{
	(void)out, (void)t;
	return 0;
}

size_t fl_arch_put_cold(unsigned char *out, uintptr_t to, struct fl_tell *t, uintptr_t word)
{
	(void)out, (void)to, (void)t, (void)word;
	return 0;
}

void fl_arch_lay_cs(unsigned char *out, const struct fl_tell *t, uintptr_t cold)
{
	(void)out, (void)t, (void)cold;
}

enum fl_flags_use fl_arch_flags_use(const unsigned char *code, size_t n)
{
	(void)code, (void)n;
	return FL_FLAGS_READ;
}

size_t fl_arch_put_path(unsigned char *out, struct fl_path_code *c)
{
	(void)out, (void)c;
	return 0;
}

size_t fl_arch_put_path_cold(unsigned char *out, uintptr_t to, struct fl_path_code *c,
			     uintptr_t data, uintptr_t word)
{
	(void)out, (void)to, (void)c, (void)data, (void)word;
	return 0;
}

void fl_arch_lay_path_cs(unsigned char *out, const struct fl_path_code *c, uintptr_t cold)
{
	(void)out, (void)c, (void)cold;
}

void fl_arch_needs(struct fl_needs *n, const unsigned char *code, size_t len)
{
	(void)code, (void)len;
	*n = (struct fl_needs){ .reads = (fl_regs)-1, .calls = true };
}
