/*
 * stack.c - what an instruction does with the stack pointer.
 *
 * Hides which instructions are known. Compilers move the stack pointer by push, pop, and an
 * addition of a number, and touch what lies at a distance from it. All other instructions that
 * name the stack pointer are not known: they may keep it in a register, from which anything on
 * the stack is in reach.
 */
#include "arch/arch.h"
#include "emit.h"

enum { REX = 0x40, REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1, SP = 4, WORD = 8 };

struct parts {
	const unsigned char *op;	/* the opcode's first byte */
	uint8_t rex;
	bool has_prefix;		/* one that is not REX */
};

static bool names_pointer(const struct parts *p)
{
	return (p->op[0] & 7) == SP && !(p->rex & REX_B);
}

/* push and pop of a register, push of a number. False: it is another instruction. */
static bool use_by_word(struct fl_needs *n, const struct parts *p)
{
	uint8_t op = p->op[0];
	bool pops = (op & 0xf8) == 0x58;

	if (!pops && (op & 0xf8) != 0x50 && op != 0x68 && op != 0x6a)
		return false;
	n->stack_known = !p->has_prefix && !((op & 0xf0) == 0x50 && names_pointer(p));
	n->grows = pops ? -WORD : WORD;
	n->touched_at = pops ? 0 : -WORD;
	n->touched = WORD;
	return true;
}

/* add $by,%rsp; sub $by,%rsp. */
static bool use_by_number(struct fl_needs *n, const struct parts *p)
{
	uint8_t op = p->op[0], modrm = p->op[1];
	int32_t by = (int8_t)p->op[2];

	if ((op != 0x83 && op != 0x81) || (modrm != 0xc4 && modrm != 0xec))
		return false;
	if (op == 0x81)
		__builtin_memcpy(&by, p->op + 2, sizeof by);
	n->stack_known = p->rex == (REX | REX_W) && !p->has_prefix && by != INT32_MIN;
	n->grows = modrm == 0xec ? by : -by;
	return true;
}

/* pushf, popf, enter, leave, ret; push of what is in memory. */
static bool pushes_else(const struct parts *p)
{
	uint8_t op = p->op[0];

	return (op & 0xfe) == 0x9c || (op & 0xfe) == 0xc8 || (op & 0xfe) == 0xc2 ||
	       (op == 0xff && (p->op[1] >> 3 & 7) == 6);
}

/* Do three bits of ModRM say which instruction it is, and not which register? */
static bool has_group(const struct parts *p)
{
	uint8_t op = p->op[0];

	if (op == 0x0f)
		return p->op[1] == 0xba || (p->op[1] & 0xf0) == 0x90;
	return (op & 0xfc) == 0x80 || (op & 0xfe) == 0xc0 || (op & 0xfe) == 0xc6 ||
	       (op & 0xfc) == 0xd0 || (op & 0xf8) == 0xd8 || (op & 0xfe) == 0xf6 ||
	       op == 0xfe;
}

/* Does the instruction's ModRM name the stack pointer as a base, and as nothing else? */
static bool is_based(const struct parts *p)
{
	const unsigned char *m = p->op + (p->op[0] == 0x0f ? 2 : 1);

	return m[0] < 0xc0 && (m[0] & 7) == SP && (m[1] & 7) == SP &&
	       !(p->rex & (REX_B | REX_X)) && (m[1] >> 3 & 7) == SP &&
	       ((m[0] >> 3 & 7) != SP || p->rex & REX_R || has_group(p));
}

static void use_memory(struct fl_needs *n, const unsigned char *code, const struct parts *p)
{
	struct fl_insn i = { .opcode_at = (uint8_t)(p->op - code) };
	uint8_t op = p->op[0];
	struct fl_operands memory;

	if (op == 0xc4 || op == 0xc5 || op == 0xff || op == 0x8f ||
	    (op == 0x0f && (p->op[1] == 0x38 || p->op[1] == 0x3a)) || !is_based(p) ||
	    !fl_arch_operands(&memory, code, &i, 0) || memory.n != 1 ||
	    memory.of[0].base != SP || memory.of[0].index != FL_NO_REG ||
	    memory.of[0].is_fs || memory.of[0].is_32)
		return;
	n->stack_known = true;
	n->touched_at = (int32_t)memory.of[0].target;
	n->touched = memory.of[0].size;
}

void x86_use_stack(struct fl_needs *n, const unsigned char *code, const unsigned char *op,
		   uint8_t rex)
{
	struct parts p = { .op = op, .rex = rex, .has_prefix = op - code > (rex != 0) };

	if (n->calls || n->reads == (fl_regs)-1 || use_by_word(n, &p) || use_by_number(n, &p))
		return;
	if ((n->reads | n->sets) >> SP & 1)
		use_memory(n, code, &p);
	else
		n->stack_known = !pushes_else(&p);
}
