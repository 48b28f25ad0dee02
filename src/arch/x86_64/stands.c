/*
 * stands.c - what stands at an address: a landing pad, bytes that fill a gap, a call that
 * returns there, a stub of the linker's.
 */
#include "arch/arch.h"

size_t fl_arch_landing(const unsigned char *code, size_t n)
{
	static const unsigned char endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return n >= 4 && !__builtin_memcmp(code, endbr64, 4) ? 4 : 0;
}

bool fl_arch_is_filler(const unsigned char *code, size_t n, size_t left)
{
	for (size_t at = 0; at < n;) {
		struct fl_insn i = { .len = 1 };

		if (code[at] && code[at] != FL_ARCH_TRAP) {
			fl_arch_decode(&i, code + at, left - at, 0);
			if (i.cls != FL_INSN_NOP)
				return false;
		}
		at += i.len;
	}
	return true;
}

/* Is it a call through a register or through memory (ff /2), `n` bytes long? */
static bool is_indirect(const unsigned char *p, size_t n)
{
	struct fl_insn i;

	fl_arch_decode(&i, p, n, 0);
	return i.len == n && i.cls == FL_INSN_CALL && p[i.opcode_at] == 0xff;
}

/* May an indirect call end at `p`? */
static bool may_end_indirect(const unsigned char *p)
{
	static const uint8_t sizes[] = { 2, 3, 4, 6, 7 };

	for (size_t k = 0; k < ARRAY_LEN(sizes); k++)
		if (is_indirect(p - sizes[k], sizes[k]))
			return true;
	return false;
}

bool fl_arch_call_before(struct fl_insn *i, uintptr_t ret)
{
	const unsigned char *p = (const unsigned char *)ret;

	if (may_end_indirect(p))
		return false;
	fl_arch_decode(i, p - 5, 5, ret - 5);
	if (i->len == 5 && i->cls == FL_INSN_CALL)
		return true;
	fl_arch_decode(i, p - 6, 6, ret - 6);
	return i->len == 6 && i->cls == FL_INSN_CALL_POINTER;
}

uintptr_t fl_arch_stub(const unsigned char *code, size_t n, uintptr_t at, size_t *bytes)
{
	size_t skip = fl_arch_landing(code, n);
	struct fl_insn i;

	fl_arch_decode(&i, code + skip, n - skip, at + skip);
	*bytes = i.cls == FL_INSN_JUMP_POINTER ? skip + i.len : 0;
	return *bytes ? i.target : 0;
}
