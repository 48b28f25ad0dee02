/*
 * direct.h - private to arch/x86_64/: direct branches without a prefix, as decode.c meets them.
 *
 * They are one instruction in five, and their first bytes say all: that takes a dozen
 * instructions, and decode.c's tables a hundred.
 */
#ifndef FL_X86_DIRECT_H
#define FL_X86_DIRECT_H

#include "arch/arch.h"

/* Such a branch, whose displacement is its last `width` bytes: 1 or 4. */
static inline __attribute__((always_inline)) size_t
x86_set_direct(struct fl_insn *i, enum fl_insn_class cls, const unsigned char *code,
	       uint8_t len, size_t width, uintptr_t at)
{
	int32_t by = (int8_t)code[1];

	if (width == sizeof by)
		__builtin_memcpy(&by, code + len - sizeof by, sizeof by);
	*i = (struct fl_insn){
		.len = len, .cls = cls, .target = at + len + (uintptr_t)(intptr_t)by,
	};
	return len;
}

/* Its length; 0: it is another instruction, and nothing is told of it. */
static inline __attribute__((always_inline)) size_t
x86_take_direct(struct fl_insn *i, const unsigned char *code, uintptr_t at)
{
	if ((code[0] & 0xf0) == 0x70)				/* jcc */
		return x86_set_direct(i, FL_INSN_BRANCH, code, 2, 1, at);
	if (code[0] == 0x0f && (code[1] & 0xf0) == 0x80)
		return x86_set_direct(i, FL_INSN_BRANCH, code, 6, 4, at);
	if (code[0] == 0xe8)					/* call */
		return x86_set_direct(i, FL_INSN_CALL, code, 5, 4, at);
	if (code[0] == 0xe9)					/* jmp */
		return x86_set_direct(i, FL_INSN_JUMP, code, 5, 4, at);
	if (code[0] == 0xeb)
		return x86_set_direct(i, FL_INSN_JUMP, code, 2, 1, at);
	return 0;
}

#endif
