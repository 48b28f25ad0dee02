/*
 * operands.c - which memory does an instruction read and write, and where?
 *
 * Hides where opcodes keep their operands' sizes. Each opcode's operand is a letter of a
 * table: a small letter is read, a capital one is written.
 *
 *	b w d q x y t	1, 2, 4, 8, 16, 32, 10 bytes
 *	v		16 bytes, with VEX.L 32; h e f: a half, a quarter, an eighth of v
 *	z		4 bytes, with REX.W 8
 *	o		as large as the operation
 *	n s u		28, 108, 512 bytes
 *	m		8 bytes, with VEX.L 32 (movddup)
 *	-		none, though there is a ModRM that names memory
 *	.		not known
 *
 * No letter is for read and written: the code beside the tables knows such operands. Not known
 * are: EVEX and XOP, operands under masks, gathers, xsave, bit strings (bt with a register),
 * strings that are compared, absolute addresses of 64 bits, far transfers, what only a kernel
 * executes. Of the segments only %fs is known.
 */
#include "arch/arch.h"
#include "emit.h"

enum { REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1, AX = 0, CX = 1, SP = 4, BP = 5, SI = 6,
       DI = 7, WORD = 8, DATA16 = 0x66, NE = 0xf2, E = 0xf3, LOAD = FL_OPERAND_LOAD,
       STORE = FL_OPERAND_STORE, BOTH = LOAD | STORE };

/* What stands before ModRM. */
struct parts {
	const unsigned char *code;
	uint32_t at;			/* of the opcode's last byte */
	uint32_t map;			/* 0 to 3 */
	uint8_t opcode, rex, rep, mandatory;	/* mandatory: index of 0, 66, f3, f2 */
	bool o16, a32, fs, gs, is_vex, is_long;	/* is_long: VEX.L */
};

/* ---- how many bytes ---------------------------------------------------------------- */

/* Vector operations by map, prefix and opcode: the rows in which any is known. */
struct row {
	uint8_t map, mandatory, first;
	char letters[17];
};
static const struct row rows[] = {
	{ 1, 0, 0x10, "vVqQvvqQ........" }, { 1, 0, 0x20, "........vVqVqqdd" },
	{ 1, 0, 0x50, ".vvvvvvvvvhvvvvv" }, { 1, 0, 0x60, "dddqqqqqqqqq..zq" },
	{ 1, 0, 0x70, "q...qqq.......ZQ" }, { 1, 0, 0xd0, ".qqqqq..qqqqqqqq" },
	{ 1, 0, 0xe0, "qqqqqq.Qqqqqqqqq" }, { 1, 0, 0xf0, ".qqqqqq.qqqqqqq." },
	{ 1, 1, 0x10, "vVqQvvqQ........" }, { 1, 1, 0x20, "........vVqVvvqq" },
	{ 1, 1, 0x50, ".v..vvvvvvvvvvvv" }, { 1, 1, 0x60, "vvvvvvvvvvvvvvzv" },
	{ 1, 1, 0x70, "v...vvv.....vvZV" }, { 1, 1, 0xd0, "vxxxvvQ.vvvvvvvv" },
	{ 1, 1, 0xe0, "vxxvvvvVvvvvvvvv" }, { 1, 1, 0xf0, ".xxxvvv.vvvvvvv." },
	{ 1, 2, 0x10, "dDv...v........." }, { 1, 2, 0x20, "..........zDdd.." },
	{ 1, 2, 0x50, ".ddd....dddvdddd" }, { 1, 2, 0x60, "...............v" },
	{ 1, 2, 0x70, "v.............qV" }, { 1, 2, 0xe0, "......h........." },
	{ 1, 3, 0x10, "qQm............." }, { 1, 3, 0x20, "..........zQqq.." },
	{ 1, 3, 0x50, ".q......qqq.qqqq" }, { 1, 3, 0x70, "v...........vv.." },
	{ 1, 3, 0xd0, "v..............." }, { 1, 3, 0xe0, "......v........." },
	{ 1, 3, 0xf0, "v..............." },
	{ 2, 0, 0x00, "qqqqqqqqqqqq...." }, { 2, 0, 0x10, "............qqq." },
	{ 2, 0, 0xc0, "........vvvvvv.." }, { 2, 0, 0xf0, "oOz..zoz........" },
	{ 2, 1, 0x00, "vvvvvvvvvvvvvvvv" }, { 2, 1, 0x10, "v..hvvyvdqx.vvv." },
	{ 2, 1, 0x20, "hefheh..vvvv...." }, { 2, 1, 0x30, "hefhehyvvvvvvvvv" },
	{ 2, 1, 0x40, "vx...vvv........" }, { 2, 1, 0x50, "vvvv....dqx....." },
	{ 2, 1, 0x70, "........bw......" }, { 2, 1, 0x90, "......vvvzvzvzvz" },
	{ 2, 1, 0xa0, "......vvvzvzvzvz" }, { 2, 1, 0xb0, "......vvvzvzvzvz" },
	{ 2, 1, 0xc0, "...............v" }, { 2, 1, 0xd0, "...........xvvvv" },
	{ 2, 1, 0xf0, "oO....zz........" }, { 2, 2, 0xf0, ".....zzz........" },
	{ 2, 3, 0xf0, "bo...zzz........" },
	{ 3, 0, 0xc0, "............v..." }, { 3, 1, 0x00, "yyv.vvy.vvdqvvvv" },
	{ 3, 1, 0x10, "....BWZDxX...H.." }, { 3, 1, 0x20, "bdz............." },
	{ 3, 1, 0x30, "........xX......" }, { 3, 1, 0x40, "vxv.v.y...vvv..." },
	{ 3, 1, 0x50, "............vvvv" }, { 3, 1, 0x60, "xxxx....vvdqvvdq" },
	{ 3, 1, 0x70, "........vvdqvvdq" }, { 3, 1, 0xc0, "..............vv" },
	{ 3, 1, 0xd0, "...............x" }, { 3, 3, 0xf0, "z..............." },
};

/* d8 to df, by ModRM.reg. */
static const char *const x87[8] = {
	"dddddddd", "d.DDnwNW", "dddddddd", "dDDD.t.T", "qqqqqqqq", "qQQQs.SW", "wwwwwwww",
	"wWWWtqTQ",
};

static char vector_letter(const struct parts *p)
{
	for (size_t k = 0; k < ARRAY_LEN(rows); k++)
		if (rows[k].map == p->map && rows[k].mandatory == p->mandatory &&
		    rows[k].first == (p->opcode & 0xf0))
			return rows[k].letters[p->opcode & 15];
	return '.';
}

/* Environments of 16 bits are shorter. */
static char x87_letter(const struct parts *p, unsigned int reg)
{
	char letter = x87[p->opcode - 0xd8][reg], low = letter | 0x20;

	return p->o16 && (low == 'n' || low == 's') ? '.' : letter;
}

static uint16_t operation_bytes(const struct parts *p)
{
	return p->rex & REX_W ? 8 : p->o16 ? 2 : 4;
}

static uint16_t operand_bytes(const struct parts *p, char letter)
{
	uint16_t vector = p->is_long ? 32 : 16;

	switch (letter | 0x20) {
	case 'b': return 1;
	case 'w': return 2;
	case 'd': return 4;
	case 'q': return 8;
	case 'x': return 16;
	case 'y': return 32;
	case 't': return 10;
	case 'n': return 28;
	case 's': return 108;
	case 'u': return 512;
	case 'v': return vector;
	case 'h': return vector / 2;
	case 'e': return vector / 4;
	case 'f': return vector / 8;
	case 'z': return p->rex & REX_W ? 8 : 4;
	case 'o': return operation_bytes(p);
	case 'm': return p->is_long ? 32 : 8;
	}
	return 0;
}

/* ---- what stands before ModRM ---------------------------------------------------------- */

static void take_prefixes(struct parts *p, uint32_t opcode_at)
{
	for (uint32_t k = 0; k < opcode_at; k++) {
		uint8_t b = p->code[k];

		p->rex = (b & 0xf0) == 0x40 ? b & 15 : 0;
		p->o16 |= b == DATA16;
		p->a32 |= b == X86_ADDR32;
		p->fs |= b == 0x64;
		p->gs |= b == 0x65;
		if (b == NE || b == E)
			p->rep = b;
	}
	p->mandatory = p->rep == E ? 2 : p->rep == NE ? 3 : p->o16;
}

static void take_vex(struct parts *p)
{
	const unsigned char *c = p->code + p->at;
	uint8_t last = c[0] == 0xc5 ? c[1] : c[2];

	p->is_vex = true;
	p->is_long = last & 4;
	p->mandatory = last & 3;
	p->rex = ~c[1] >> 5 & REX_R;
	p->map = 1;
	if (c[0] == 0xc4) {
		p->rex = (~c[1] >> 5 & 7) | (last >> 4 & REX_W);
		p->map = c[1] & 31;
	}
	p->at += c[0] == 0xc5 ? 2 : 3;
}

/* False: the encoding is not known. */
static bool take_opcode(struct parts *p)
{
	uint8_t b = p->code[p->at];

	if (b == 0x62 || (b == 0x8f && p->code[p->at + 1] & 0x38))
		return false;
	if (b == 0xc4 || b == 0xc5) {
		take_vex(p);
	} else if (b == 0x0f) {
		b = p->code[++p->at];
		p->map = b == 0x38 ? 2 : b == 0x3a ? 3 : 1;
		p->at += p->map > 1;
	}
	p->opcode = p->code[p->at];
	return p->map < 4;
}

/* ---- the address --------------------------------------------------------------------- */

static int32_t s32(const unsigned char *p)
{
	int32_t v;

	__builtin_memcpy(&v, p, sizeof v);
	return v;
}

static void take_sib(struct fl_operand *o, const struct parts *p, const unsigned char *m)
{
	o->index = (m[1] >> 3 & 7) | (p->rex & REX_X ? 8 : 0);
	o->shift = m[1] >> 6;
	o->base = (m[1] & 7) | (p->rex & REX_B ? 8 : 0);
	if (o->index == SP) {
		o->index = FL_NO_REG;
		o->shift = 0;
	}
	if ((m[1] & 7) == BP && m[0] < 0x40) {
		o->base = FL_NO_REG;
		o->target = s32(m + 2);
	}
}

/* `next`: where the next instruction stands. */
static void take_named(struct fl_operand *o, const struct parts *p, uintptr_t next)
{
	const unsigned char *m = p->code + p->at + 1, *disp = m + ((m[0] & 7) == SP ? 2 : 1);

	*o = (struct fl_operand){
		.base = (m[0] & 7) | (p->rex & REX_B ? 8 : 0), .index = FL_NO_REG,
		.is_fs = p->fs, .is_32 = p->a32,
	};
	if ((m[0] & 7) == SP) {
		take_sib(o, p, m);
	} else if ((m[0] & 0xc7) == BP) {
		o->base = FL_NO_REG;
		o->target = (int64_t)next + s32(disp);
	}
	if (m[0] >> 6 == 1)
		o->target = (int8_t)*disp;
	else if (m[0] >> 6 == 2)
		o->target = s32(disp);
}

/* ---- which ---------------------------------------------------------------------------- */

static bool touch_at(struct fl_operands *s, struct fl_operand o, uint8_t what, uint16_t size)
{
	o.what = what;
	o.size = size;
	s->of[s->n++] = o;
	return size != 0;
}

static struct fl_operand at_register(unsigned int base, int64_t disp)
{
	return (struct fl_operand){ .base = (uint8_t)base, .index = FL_NO_REG, .target = disp };
}

static uint16_t stack_bytes(const struct parts *p)
{
	return p->o16 && !(p->rex & REX_W) ? 2 : WORD;
}

static bool touch_push(struct fl_operands *s, const struct parts *p)
{
	uint16_t n = stack_bytes(p);

	return touch_at(s, at_register(SP, -(int64_t)n), STORE, n);
}

static bool touch_pop(struct fl_operands *s, const struct parts *p)
{
	return touch_at(s, at_register(SP, 0), LOAD, stack_bytes(p));
}

/* A near transfer has 64 bits, whatever its prefixes. */
static bool touch_call(struct fl_operands *s)
{
	return touch_at(s, at_register(SP, -WORD), STORE, WORD);
}

static bool touch_ret(struct fl_operands *s)
{
	return touch_at(s, at_register(SP, 0), LOAD, WORD);
}

/* movs, stos, lods, in the order of a processor, which reads first. */
static bool touch_string(struct fl_operands *s, const struct parts *p)
{
	uint16_t n = p->opcode & 1 ? operation_bytes(p) : 1;
	uint8_t op = p->opcode & 0xfe;
	struct fl_operand from = at_register(SI, 0), to = at_register(DI, 0);

	if (p->a32 || p->fs || p->gs || (p->rep && (op == 0xa6 || op == 0xae)))
		return false;
	from.repeats = to.repeats = p->rep != 0;
	if (op == 0xa4 || op == 0xa6 || op == 0xac)
		touch_at(s, from, LOAD, n);
	if (op != 0xac)
		touch_at(s, to, op == 0xa4 || op == 0xaa ? STORE : LOAD, n);
	return true;
}

/* The operand that ModRM names, if it names memory. */
static bool touch_named(struct fl_operands *s, const struct parts *p, uintptr_t next,
			uint8_t what, uint16_t size)
{
	struct fl_operand o;

	if (p->code[p->at + 1] >= 0xc0)
		return true;
	if (p->gs || !size)
		return false;
	take_named(&o, p, next);
	return touch_at(s, o, what, size);
}

static bool touch_letter(struct fl_operands *s, const struct parts *p, uintptr_t next,
		      char letter)
{
	if (letter == '-')
		return true;
	return touch_named(s, p, next, letter & 0x20 ? LOAD : STORE,
		     letter == '.' ? 0 : operand_bytes(p, letter));
}

/* ff */
static bool touch_indirect(struct fl_operands *s, const struct parts *p, uintptr_t next)
{
	unsigned int reg = p->code[p->at + 1] >> 3 & 7;

	switch (reg) {
	case 0: case 1:
		return touch_named(s, p, next, BOTH, operation_bytes(p));
	case 2:
		return touch_named(s, p, next, LOAD, WORD) && touch_call(s);
	case 4:
		return touch_named(s, p, next, LOAD, WORD);
	case 6:
		return touch_named(s, p, next, LOAD, stack_bytes(p)) && touch_push(s, p);
	}
	return false;
}

/* `pop` makes the address of its operand when the stack pointer has moved. */
static bool touch_pop_named(struct fl_operands *s, const struct parts *p, uintptr_t next)
{
	if (!touch_pop(s, p) || !touch_named(s, p, next, STORE, stack_bytes(p)))
		return false;
	if (s->n == 2 && s->of[1].base == SP)
		s->of[1].target += stack_bytes(p);
	return true;
}

/* 80 to 8f. */
static bool touch_row_80(struct fl_operands *s, const struct parts *p, uintptr_t next)
{
	uint16_t n = p->opcode & 1 ? operation_bytes(p) : 1;
	unsigned int reg = p->code[p->at + 1] >> 3 & 7;

	switch (p->opcode) {
	case 0x80: case 0x81: case 0x83:
		n = p->opcode == 0x80 ? 1 : operation_bytes(p);
		return touch_named(s, p, next, reg == 7 ? LOAD : BOTH, n);
	case 0x84: case 0x85: case 0x8a: case 0x8b:
		return touch_named(s, p, next, LOAD, n);
	case 0x86: case 0x87:
		return touch_named(s, p, next, BOTH, n);
	case 0x88: case 0x89:
		return touch_named(s, p, next, STORE, n);
	case 0x8c:
		return touch_named(s, p, next, STORE, 2);
	case 0x8d:
		return true;
	case 0x8e:
		return touch_named(s, p, next, LOAD, 2);
	}
	return touch_pop_named(s, p, next);
}

/* c0 to cf, d0 to df. */
static bool touch_rows_c0(struct fl_operands *s, const struct parts *p, uintptr_t next)
{
	uint16_t n = p->opcode & 1 ? operation_bytes(p) : 1;
	unsigned int reg = p->code[p->at + 1] >> 3 & 7;

	if (p->opcode >= 0xd8)
		return touch_letter(s, p, next, x87_letter(p, reg));
	switch (p->opcode) {
	case 0xc0: case 0xc1: case 0xd0: case 0xd1: case 0xd2: case 0xd3:
		return touch_named(s, p, next, BOTH, n);
	case 0xc2: case 0xc3:
		return touch_ret(s);
	case 0xc6: case 0xc7:
		return p->code[p->at + 1] == 0xf8 || touch_named(s, p, next, STORE, n);
	case 0xc9:
		return !p->o16 && touch_at(s, at_register(BP, 0), LOAD, WORD);
	case 0xcc:
		return true;
	}
	return false;				/* enter, far returns, int, xlat */
}

/* f0 to ff. */
static bool touch_row_f0(struct fl_operands *s, const struct parts *p, uintptr_t next)
{
	uint16_t n = p->opcode & 1 ? operation_bytes(p) : 1;
	unsigned int reg = p->code[p->at + 1] >> 3 & 7;

	switch (p->opcode) {
	case 0xf6: case 0xf7:
		return touch_named(s, p, next, reg == 2 || reg == 3 ? BOTH : LOAD, n);
	case 0xfe:
		return reg < 2 && touch_named(s, p, next, BOTH, 1);
	case 0xff:
		return touch_indirect(s, p, next);
	}
	return true;				/* of one byte: flags, hlt */
}

/* 50 to 7f, 90 to bf, e0 to ef. */
static bool touch_plain_rows(struct fl_operands *s, const struct parts *p, uintptr_t next)
{
	switch (p->opcode) {
	case 0x50 ... 0x57: case 0x68: case 0x6a: case 0x9c:
		return touch_push(s, p);
	case 0x58 ... 0x5f: case 0x9d:
		return touch_pop(s, p);
	case 0x63:
		return touch_named(s, p, next, LOAD, p->o16 && !(p->rex & REX_W) ? 0 : 4);
	case 0x69: case 0x6b:
		return touch_named(s, p, next, LOAD, operation_bytes(p));
	case 0xa4 ... 0xa7: case 0xaa ... 0xaf:
		return touch_string(s, p);
	case 0x6c ... 0x6f: case 0xa0 ... 0xa3:
		return false;			/* ins, outs; 64 bits of address */
	case 0xe8:
		return touch_call(s);
	}
	return true;
}

static bool touch_one_byte(struct fl_operands *s, const struct parts *p, uintptr_t next)
{
	uint16_t n = p->opcode & 1 ? operation_bytes(p) : 1;

	switch (p->opcode >> 4) {
	case 0: case 1: case 2: case 3:
		if ((p->opcode & 7) > 3)
			return true;
		return touch_named(s, p, next,
				   (p->opcode & 2) || p->opcode >= 0x38 ? LOAD : BOTH, n);
	case 8:
		return touch_row_80(s, p, next);
	case 12: case 13:
		return touch_rows_c0(s, p, next);
	case 15:
		return touch_row_f0(s, p, next);
	}
	return touch_plain_rows(s, p, next);
}

/* 0f ae */
static bool touch_group_ae(struct fl_operands *s, const struct parts *p, uintptr_t next)
{
	static const char letters[9] = "UudD....";
	unsigned int reg = p->code[p->at + 1] >> 3 & 7;
	bool flushes = !p->rep && (reg == 7 || (reg == 6 && p->o16));

	if (p->rep && p->code[p->at + 1] < 0xc0)
		return false;
	return touch_letter(s, p, next, flushes ? '-' : letters[reg]);
}

/* General operations of two bytes; *known is false for another operation. */
static bool touch_escaped(struct fl_operands *s, const struct parts *p, uintptr_t next,
			  bool *known)
{
	uint16_t n = p->opcode & 1 ? operation_bytes(p) : 1;
	unsigned int reg = p->code[p->at + 1] >> 3 & 7;

	*known = true;
	switch (p->opcode) {
	case 0x05: case 0x0b: case 0x0d: case 0x18: case 0x19: case 0x1c ... 0x1f:
	case 0x31: case 0x77: case 0x80 ... 0x8f: case 0xa2: case 0xc8 ... 0xcf:
		return true;
	case 0x40 ... 0x4f: case 0xaf: case 0xbc: case 0xbd:
		return touch_named(s, p, next, LOAD, operation_bytes(p));
	case 0x90 ... 0x9f:
		return touch_named(s, p, next, STORE, 1);
	case 0xa0: case 0xa8:
		return touch_push(s, p);
	case 0xa1: case 0xa9:
		return touch_pop(s, p);
	case 0xa4: case 0xa5: case 0xac: case 0xad:
		return touch_named(s, p, next, BOTH, operation_bytes(p));
	case 0xb0: case 0xb1: case 0xc0: case 0xc1:
		return touch_named(s, p, next, BOTH, n);
	case 0xb6: case 0xb7: case 0xbe: case 0xbf:
		return touch_named(s, p, next, LOAD, 1 + (p->opcode & 1));
	case 0xb8:
		return touch_named(s, p, next, LOAD, p->rep == E ? operation_bytes(p) : 0);
	case 0xba:
		return touch_named(s, p, next, reg == 4 ? LOAD : BOTH, operation_bytes(p));
	case 0xa3: case 0xab: case 0xb3: case 0xbb:
		return touch_named(s, p, next, BOTH, 0);
	case 0xc7:
		return touch_named(s, p, next, BOTH,
			     reg != 1 || p->rep ? 0 : p->rex & REX_W ? 16 : 8);
	case 0xae:
		return touch_group_ae(s, p, next);
	}
	*known = false;
	return true;
}

/* Instructions of 0f 01 that touch nothing: xgetbv, xend, xtest, rdpkru, wrpkru, rdtscp. */
static bool is_harmless(uint8_t modrm)
{
	return modrm == 0xd0 || modrm == 0xd5 || modrm == 0xd6 || modrm == 0xee ||
	       modrm == 0xef || modrm == 0xf9;
}

/* A vector operation, with VEX or without; c2 to c6 have an immediate. */
static bool touch_vector(struct fl_operands *s, const struct parts *p, uintptr_t next)
{
	static const char row_c2[4][6] = { "vZw.v", "v.w.v", "d....", "q...." };

	if (p->map == 1 && p->opcode == 0x01)
		return is_harmless(p->code[p->at + 1]);
	if (p->map == 1 && (p->opcode == 0xf7 || p->opcode == 0xa6 || p->opcode == 0xa7))
		return false;			/* maskmovq; xcrypt and its like */
	if (p->map == 1 && p->opcode >= 0xc2 && p->opcode <= 0xc6)
		return touch_letter(s, p, next, row_c2[p->mandatory][p->opcode - 0xc2]);
	return touch_letter(s, p, next, vector_letter(p));
}

bool fl_arch_operands(struct fl_operands *s, const unsigned char *code,
		      const struct fl_insn *i, uintptr_t at)
{
	struct parts p = { .code = code, .at = i->opcode_at };
	bool known;

	s->n = 0;
	take_prefixes(&p, i->opcode_at);
	if (!take_opcode(&p))
		return false;
	if (!p.map)
		return touch_one_byte(s, &p, at + i->len);
	if (p.map == 1 && !p.is_vex) {
		bool is_known = touch_escaped(s, &p, at + i->len, &known);

		if (known)
			return is_known;
	}
	if (p.is_vex && p.map == 1 && p.opcode == 0x77)
		return true;			/* vzeroupper: no ModRM */
	if (p.is_vex && p.map == 1 && p.opcode == 0xae)
		return touch_letter(s, &p, at + i->len,
				 "..dD...."[code[p.at + 1] >> 3 & 7]);
	return touch_vector(s, &p, at + i->len);
}

/* It is counted from the instruction's end. */
uintptr_t fl_arch_operand(const struct fl_insn *i, const unsigned char *code, uintptr_t at)
{
	int32_t by;

	__builtin_memcpy(&by, code + i->operand_at, sizeof by);
	return at + i->len + (uintptr_t)(intptr_t)by;
}
