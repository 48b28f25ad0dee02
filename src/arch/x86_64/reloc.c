/*
 * reloc.c - the same effect at another address, and what else a body is made of.
 *
 *	original		moved
 *	anything else		as it is
 *	... disp32(%rip) ...	the same, disp32 leads to the same address
 *	jmp rel8, rel32		jmp rel32
 *	jcc rel8, rel32		jcc rel32
 *	call rel32		call rel32
 *	xbegin rel32		xbegin rel32
 *	loop, jrcxz rel8	loop 1f; jmp 2f; 1: jmp rel32; 2:
 *
 * Prefixes stay: bnd, notrack, hints, and 67, which makes jrcxz ask %ecx. An address of 32
 * bits (67) is cut after the instruction pointer has been added, so the same sum is right.
 * An instruction that would become longer than 15 bytes cannot be moved.
 */
#include "arch/arch.h"
#include "emit.h"

enum { LEN_MAX = 15, JCC8 = 0x70, JCC32 = 0x80, LOOP_FIRST = 0xe0, LOOP_LAST = 0xe3 };

/* Direct branches, by what they become. */
enum way { COPIED, LONG, CONDITIONAL, LOOPED, SAME };

static enum way branch_of(const struct fl_insn *i, const unsigned char *code)
{
	uint8_t op = code[i->opcode_at];

	if (op == 0xff)
		return COPIED;			/* indirect */
	if (i->cls == FL_INSN_JUMP)
		return LONG;
	if (i->cls == FL_INSN_CALL)
		return SAME;
	if (i->cls != FL_INSN_BRANCH)
		return COPIED;
	if (op >= LOOP_FIRST && op <= LOOP_LAST)
		return LOOPED;
	return op == 0xc7 ? SAME : CONDITIONAL;	/* xbegin */
}

/* The opcode's low bits say which condition, in either form. */
static uint8_t condition(const struct fl_insn *i, const unsigned char *code)
{
	uint8_t op = code[i->opcode_at];

	return (op == 0x0f ? code[i->opcode_at + 1] : op) & 15;
}

/* `n` bytes stand at `out`; the displacement is still to be put. */
static size_t put_rel32(unsigned char *out, size_t n, uintptr_t to, uintptr_t target)
{
	if (n + 4 > LEN_MAX || !x86_rel32(out + n, to + n + 4, target))
		return 0;
	return n + 4;
}

struct fl_moved fl_arch_moved(const unsigned char *code, const struct fl_insn *i)
{
	size_t n = i->len, at = i->opcode_at;

	switch (branch_of(i, code)) {
	case COPIED: case SAME:
		return (struct fl_moved){ (uint8_t)n, 0 };
	case LOOPED:
		return (struct fl_moved){ (uint8_t)(n + 2 + FL_ARCH_BRANCH_BYTES),
					  (uint8_t)(at + 2) };
	case LONG:
		n = at + 5;
		break;
	case CONDITIONAL:
		n = at + 6;
		break;
	}
	return (struct fl_moved){ n > LEN_MAX ? 0 : (uint8_t)n, (uint8_t)(at + 2) };
}

static size_t move_loop(unsigned char *out, uintptr_t to, const struct fl_insn *i,
			uintptr_t target)
{
	size_t n = i->len;

	out[n - 1] = 2;				/* 1f */
	out[n++] = X86_JMP8;
	out[n++] = FL_ARCH_BRANCH_BYTES;	/* 2f */
	if (!x86_branch(out + n, X86_JMP, to + n, target))
		return 0;
	return n + FL_ARCH_BRANCH_BYTES;
}

/* Most branches have no prefix, which a call of memcpy() would take longer to find out. */
static void put_prefixes(unsigned char *out, const unsigned char *code, size_t n)
{
	if (n)
		__builtin_memcpy(out, code, n);
}

static size_t move_branch(unsigned char *out, uintptr_t to, const unsigned char *code,
			  const struct fl_insn *i, uintptr_t target, enum way way)
{
	size_t n = i->opcode_at;

	if (way == LONG || way == CONDITIONAL) {
		put_prefixes(out, code, n);
		if (way == CONDITIONAL) {
			out[n++] = 0x0f;
			out[n++] = JCC32 | condition(i, code);
		} else {
			out[n++] = X86_JMP;
		}
		return put_rel32(out, n, to, target);
	}
	__builtin_memcpy(out, code, i->len);
	return way == LOOPED ? move_loop(out, to, i, target) :
	       put_rel32(out, i->len - 4u, to, target);		/* call, xbegin */
}

size_t fl_arch_move(unsigned char *out, uintptr_t to, const unsigned char *code,
		    const struct fl_insn *i, uintptr_t at, uintptr_t target)
{
	enum way way = branch_of(i, code);
	size_t len = i->len;
	int32_t d;

	if (way != COPIED)
		return move_branch(out, to, code, i, target, way);
	__builtin_memcpy(out, code, len);
	if (!i->operand_at)
		return len;
	__builtin_memcpy(&d, code + i->operand_at, sizeof d);
	at += len + (uintptr_t)(intptr_t)d;
	return x86_rel32(out + i->operand_at, to + len, at) ? len : 0;
}

static bool put_rel8(unsigned char *out, uintptr_t end, uintptr_t to)
{
	intptr_t d = (intptr_t)(to - end);

	*out = (unsigned char)d;
	return d == (int8_t)d;
}

size_t fl_arch_move_short(unsigned char *out, uintptr_t to, const unsigned char *code,
			  const struct fl_insn *i, uintptr_t target)
{
	enum way way = branch_of(i, code);
	size_t n = i->opcode_at;

	if (way == COPIED || way == SAME)
		return 0;
	put_prefixes(out, code, n);
	out[n] = way == LONG ? X86_JMP8 : way == LOOPED ? code[n] : JCC8 | condition(i, code);
	return put_rel8(out + n + 1, to + n + 2, target) ? n + 2 : 0;
}

size_t fl_arch_put_skip(unsigned char *out, const unsigned char *code,
			const struct fl_insn *i, uint32_t over, enum fl_past reach)
{
	bool is_far = reach == FL_PAST_FAR;
	size_t n = i->opcode_at;

	if (!is_far && over > INT8_MAX)
		return 0;
	__builtin_memcpy(out, code, n + 1);
	switch (branch_of(i, code)) {
	case CONDITIONAL:
		if (is_far)
			out[n++] = 0x0f;
		out[n++] = (is_far ? JCC32 : JCC8) | (condition(i, code) ^ 1);
		break;
	case LOOPED:				/* its condition has no opposite */
		out[++n] = is_far ? 5 : 2;
		out[++n] = is_far ? X86_JMP : X86_JMP8;
		n++;
		break;
	default:
		return 0;
	}
	if (!is_far) {
		out[n++] = (unsigned char)over;
		return n;
	}
	__builtin_memcpy(out + n, &over, sizeof over);
	return n + sizeof over;
}

size_t fl_arch_put_branch(unsigned char *out, enum fl_branch b, uintptr_t at, uintptr_t to)
{
	uint8_t op = b == FL_BRANCH_CALL ? X86_CALL : X86_JMP;

	return x86_branch(out, op, at, to) ? FL_ARCH_BRANCH_BYTES : 0;
}

/* nop; the jump; nothing up to the look-up. When the NOP has become a jump it leads to the
 * look-up, because its second byte is 31 (plan.c). */
static size_t put_switch(unsigned char *out, const unsigned char *code, size_t len)
{
	static const unsigned char nop[] = { 0x0f, FL_ARCH_SWITCH_BYTES - 2, 0x00 };

	if (len > FL_ARCH_SWITCH_BYTES - sizeof nop)
		return 0;
	__builtin_memset(out, X86_INT3, FL_ARCH_SWITCH_BYTES);
	__builtin_memcpy(out, nop, sizeof nop);
	__builtin_memcpy(out + sizeof nop, code, len);
	return FL_ARCH_SWITCH_BYTES;
}

/*
 * Flags are live, and so is what is below the stack pointer: the glue is called below that.
 * When the first instruction is a jump by 0 it leads on (plan.c). DF is not touched. lahf and
 * sahf know all other flags except OF: 127 + 1 overflows, 127 + 0 does not (HW15).
 */
static const unsigned char point[] = {
	X86_JMP8, 29,					/* jmp past all of it */
	0x48, 0x8d, 0x64, 0x24, 0x80,			/* lea -128(%rsp),%rsp */
	0x50,						/* push %rax */
	0x9f, 0x0f, 0x90, 0xc0,				/* lahf; seto %al */
	0x50,						/* push %rax */
	X86_CALL, 0, 0, 0, 0,				/* call glue */
	0x58,						/* pop %rax */
	0x04, 0x7f, 0x9e,				/* add $127,%al; sahf */
	0x58,						/* pop %rax */
	0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0,		/* lea 128(%rsp),%rsp */
};
_Static_assert(sizeof point == 31 && sizeof point <= FL_ARCH_PLACE_MAX, "29 and 2");

const struct fl_depth fl_arch_point_depths[FL_ARCH_POINT_DEPTHS] = {
	{ 7, 128 }, { 8, 136 }, { 13, 144 }, { 19, 136 }, { 23, 128 }, { 31, 0 },
};

size_t fl_arch_put_place(unsigned char *out, enum fl_form form, const unsigned char *code,
			 size_t len)
{
	static const unsigned char nops[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	static const unsigned char ret[] = { X86_RET, 0x0f, 0x1f, 0x40, 0x00, X86_RET };

	if (form == FL_FORM_BODY_TAIL) {
		__builtin_memcpy(out, nops, sizeof nops);
		return sizeof nops;
	}
	if (form == FL_FORM_BODY_SWITCH)
		return put_switch(out, code, len);
	if (form == FL_FORM_BODY_POINT) {
		__builtin_memcpy(out, point, sizeof point);
		return sizeof point;
	}
	if (code[len - 1] != X86_RET || len > 2)	/* rep ret, bnd ret */
		return 0;
	__builtin_memcpy(out, ret, sizeof ret);
	return sizeof ret;
}
