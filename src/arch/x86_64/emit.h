/*
 * emit.h - x86-64 encoders, one line each; false when out of reach.
 */
#ifndef FL_X86_EMIT_H
#define FL_X86_EMIT_H

#include "base/base.h"

enum {
	X86_CALL = 0xe8,	/* call rel32 */
	X86_JMP = 0xe9,		/* jmp rel32 */
	X86_JMP8 = 0xeb,	/* jmp rel8 */
	X86_RET = 0xc3,
	X86_TEST_EAX = 0xa9,	/* test $imm32,%eax: as long as call and jmp */
	X86_LEA = 0x8d,		/* in place of ff, before X86_POINTER: lea pointer(%rip),%edx */
	X86_POINTER = 0x15,	/* behind ff: call *pointer(%rip); behind 67: adc $imm32,%eax */
	X86_TEST_AL = 0xa8,	/* test $imm8,%al: as long as jmp rel8 */
	X86_INT3 = 0xcc,
	X86_MOV_EAX = 0xb8,	/* mov $imm32,%eax: as long as jmp; then syscall */
	X86_ASK_BYTES = 7,
	X86_ADDR32 = 0x67	/* prefix without effect on a branch */
};

/* What stands before the code where an interrupted sequence goes on: the signature that glibc
 * registered, as the operand of a ud1, because no code falls into it; see rseq.h. */
#define X86_SIGNATURE 0x0f, 0xb9, 0x3d, 0x53, 0x30, 0x05, 0x53
/* A sequence's descriptor, which the kernel reads: struct rseq_cs. */
struct x86_sequence {
	uint32_t version, flags;
	uint64_t start, length, abort;
};

/* The displacement of a rel32 instruction that ends at `end`. */
static inline bool x86_rel32(unsigned char *out, uintptr_t end, uintptr_t to)
{
	int64_t d = (int64_t)(to - end);
	int32_t d32 = (int32_t)d;

	if (d != d32)
		return false;
	__builtin_memcpy(out, &d32, sizeof d32);
	return true;
}

/* `opcode` rel32 at..to, five bytes. */
static inline bool x86_branch(unsigned char *out, unsigned char opcode,
			      uintptr_t at, uintptr_t to)
{
	out[0] = opcode;
	return x86_rel32(out + 1, at + 5, to);
}

/* The part of fl_arch_glue_doing() for a glue that records. glue-record.c */
struct fl_doing_glue;
bool x86_glue_recording(const struct fl_doing_glue *);

/* An instruction's length, class and target, as fl_arch_decode() has them: at once for those
 * that nearly all windows hold. plan.c */
struct fl_insn;
void x86_look(struct fl_insn *, const unsigned char *code, size_t n, uintptr_t at);

/* What an instruction does with the stack pointer, once it is known what the instruction reads
 * and sets. Its opcode is at `op`, behind the prefix `rex` (0: none) and others. stack.c */
struct fl_needs;
void x86_use_stack(struct fl_needs *, const unsigned char *code, const unsigned char *op,
		   uint8_t rex);

/* Fill in `idle` and `whole` of a plan whose bytes and starts are known. moves.c */
struct fl_patch;
void x86_note_stretches(struct fl_patch *);

#endif
