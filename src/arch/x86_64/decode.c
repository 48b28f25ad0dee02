/*
 * decode.c - how long is an x86-64 instruction, and what does it do to flow?
 *
 * Hides the opcode maps: legacy prefixes, REX, the one-, two- and three-byte
 * maps, VEX, EVEX and XOP. One word of attributes an opcode says whether a ModRM
 * byte follows, which immediate, which general registers may change and how to
 * recognise the classes of arch.h. What is not understood has length 0, as have
 * 16-bit near branches, whose length depends on the maker of the processor.
 *
 * Bytes of an instruction:
 *
 *	[66 67 f2 f3 2e ...] [REX] opcode [ModRM [SIB] [disp8/32]] [imm]
 *	                     c5 RvvvvLpp / c4 RXBmmmmm WvvvvLpp / 62 p0 p1 p2
 *	                     8f RXBmmmmm WvvvvLpp (XOP)
 */
#include "arch/arch.h"

#define INLINE inline __attribute__((always_inline))

enum {
	LOOK = 24,		/* bytes that decoding may look at */
	LEN_MAX = 15,
	REX_W = 8, REX_R = 4, REX_B = 1
};

enum {				/* attributes */
	/* immediate: index into imm_bytes[] */
	I8 = 1, IZ, IV, I16, I24, IA, J8, JZ, IMM = 15,
	M = 1 << 4,		/* a ModRM byte follows */
	/* registers written */
	RM = 1 << 5, REG = 1 << 6, OP = 1 << 7,	/* low bits of the opcode */
	BYTE = 1 << 8,		/* of byte size: 4..7 may be ah..bh */
	GROUP = 1 << 9,		/* ModRM.reg chooses, see take_group() */
	NOT7 = 1 << 19,		/* no register when ModRM.reg is 7: cmp */
	F = 1 << 10,		/* unit: index into fixed_writes[] */
	AX = 1 * F, AXDX = 2 * F, STR = 3 * F, CX = 4 * F, ALL = 5 * F,
	BP = 6 * F, FIXED = 7 * F,
	/* recognition */
	K = 1 << 13,
	CALL = 1 * K, JUMP = 2 * K, COND = 3 * K, RET = 4 * K, NOP90 = 5 * K,
	LEA = 6 * K, IMMEDIATE = 7 * K, LOAD = 8 * K, STORE = 9 * K, IND = 10 * K,
	NOPM = 11 * K, C7 = 12 * K, HINT = 13 * K, POP = 14 * K, KIND = 15 * K,
	P = 1 << 17,		/* prefix or escape */
	X = 1 << 18,		/* not understood */
	RMB = RM | BYTE, REGB = REG | BYTE, OPB = OP | BYTE,
	BOTH = RM | REG | BYTE | AX, OPAX = OP | AX,
	ARI = RM | NOT7, ARIB = RMB | NOT7	/* 80, 81, 83 */
};

#define ALU M | RMB, M | RM, M | REGB, M | REG, I8 | AX, IZ | AX
#define X2(a) a, a
#define X4(a) X2(a), X2(a)
#define X8(a) X4(a), X4(a)
#define X16(a) X8(a), X8(a)

/* The one-byte map, and behind it the two-byte map. */
static const uint32_t maps[512] = {
/* 00 */ ALU, X, X, ALU, X, P,
/* 10 */ ALU, X, X, ALU, X, X,
/* 20 */ ALU, P, X, ALU, P, X,
/* 30 */ ALU, P, X, X4(M), I8, IZ, P, X,
/* 40 */ X16(P),
/* 50 */ X8(0), X8(OP | POP),
/* 60 */ X, X, P, M | REG, X4(P),
	 IZ, M | IZ | REG, I8, M | I8 | REG, X4(STR),
/* 70 */ X16(J8 | COND),
/* 80 */ M | I8 | ARIB, M | IZ | ARI, X, M | I8 | ARI,
	 M, M, M | BOTH, M | BOTH,
/* 88 */ M | RMB, M | RM | STORE, M | REGB, M | REG | LOAD,
	 M | RM, M | REG | LEA, M, M | RM | P,
/* 90 */ OPAX | NOP90, X4(OPAX), X2(OPAX), OPAX,
	 AX, AXDX, X, 0, 0, 0, 0, AX,
/* a0 */ IA | AX, IA | AX, IA, IA, X4(STR),
	 I8, IZ, X2(STR), X2(STR), X2(STR),
/* b0 */ X8(I8 | OPB), X8(IV | OP | IMMEDIATE),
/* c0 */ M | I8 | RMB, M | I8 | RM, I16 | RET, RET, P, P,
	 M | I8 | RMB | C7, M | IZ | RM | C7,
/* c8 */ I24 | ALL, BP | POP, I16 | RET, RET, ALL, I8 | ALL, X, RET,
/* d0 */ M | RMB, M | RM, M | RMB, M | RM, X, X, X, AX, X8(M | AX),
/* e0 */ X2(J8 | CX | COND), J8 | CX | COND, J8 | COND,
	 I8 | AX, I8 | AX, I8, I8,
/* e8 */ JZ | CALL, JZ | JUMP, X, J8 | JUMP, AX, AX, 0, 0,
/* f0 */ P, 0, P, P, ALL, 0, M | RMB | GROUP, M | RM | GROUP,
/* f8 */ X4(0), X2(0), M | RMB | GROUP, M | GROUP | IND,

/* 0f 00 */ M | ALL, M | ALL, M | REG, M | REG, X, ALL, 0, ALL,
	    0, 0, X, 0, X, M, 0, M | I8,
/* 10 */ X8(M), M, X4(M | HINT), M | HINT, M | HINT, M | NOPM,
/* 20 */ X4(I8 | ALL), X4(X), X4(M), M | REG, M | REG, M, M,
/* 30 */ ALL, AXDX, AXDX, AXDX, ALL, ALL, X, ALL, P, X, P, X, X4(X),
/* 40 */ X16(M | REG),
/* 50 */ M | REG, X4(M), X2(M), M, X8(M),
/* 60 */ X16(M),
/* 70 */ X4(M | I8), X2(M), M, 0, M | ALL, M | ALL, X, X,
	 M, M, M | RM, M,
/* 80 */ X16(JZ | COND),
/* 90 */ X16(M | RMB),
/* a0 */ 0, 0, ALL, M, M | I8 | RM, M | RM, M | ALL, M | ALL,
	 0, 0, 0, M | RM, M | I8 | RM, M | RM, M | RM, M | REG,
/* b0 */ M | BOTH, M | BOTH, M | REG, M | RM, M | REG, M | REG, M | REG, M | REG,
	 M | REG, M, M | I8 | RM | GROUP, M | RM, M | REG, M | REG, M | REG, M | REG,
/* c0 */ M | BOTH, M | BOTH, M | I8, M, M | I8, M | I8 | REG, M | I8, M | ALL,
	 X8(OP),
/* d0 */ X4(M), X2(M), M, M | REG, X8(M),
/* e0 */ X16(M),
/* f0 */ X16(M),
};

/* ModRM, SIB and displacement, by mod and rm; 8: SIB may name a disp32. */
static const uint8_t modrm_bytes[32] = {
	1, 1, 1, 1, 2 | 8, 5, 1, 1,	2, 2, 2, 2, 3, 2, 2, 2,
	5, 5, 5, 5, 6, 5, 5, 5,		1, 1, 1, 1, 1, 1, 1, 1,
};

/* What the prefixes and the opcode said. */
struct parts {
	const unsigned char *code;
	size_t at;			/* offset of the next byte */
	uint32_t attr;
	uint32_t behind;		/* two bytes behind the opcode */
	uint32_t opcode, opcode_at, modrm, modrm_at;
	uint32_t rex, o16, a32, segment, rep;
};

static int32_t s32(const unsigned char *p)
{
	int32_t v;

	__builtin_memcpy(&v, p, sizeof v);
	return v;
}

static bool is_escape(uint8_t b)
{
	return b == 0x0f || b == 0xc4 || b == 0xc5 || b == 0x62 || b == 0x8f;
}

/* False when there is no end of them. A REX counts only in the last place. */
static bool take_prefixes(struct parts *x)
{
	while (x->at < LEN_MAX) {
		uint8_t b = x->code[x->at];

		if ((b & 0xf0) == 0x40) {
			x->rex = b & 15;
		} else {
			if (!(maps[b] & P) || is_escape(b))
				return true;
			x->rex = 0;
			x->o16 |= b == 0x66;
			x->a32 |= b == 0x67;
			x->segment |= b == 0x64 || b == 0x65;
			if (b == 0xf2 || b == 0xf3)
				x->rep = b;
		}
		x->at++;
	}
	return false;
}

/* Opcodes of the vector maps that write general registers. */
static bool vector_writes(unsigned int map, uint8_t op)
{
	if (map == 2)
		return op >= 0xf0;
	if (map == 3)
		return (op >= 0x14 && op <= 0x17) || op == 0x61 || op == 0x63 ||
		       op >= 0xf0;
	return op == 0x2c || op == 0x2d || op == 0x50 || op == 0xd7 || op == 0xc5 ||
	       op == 0x7e || op == 0x93 || op == 0x78 || op == 0x79;
}

static uint32_t vector_attr(unsigned int map, uint8_t op)
{
	uint32_t a = M | (vector_writes(map, op) ? ALL : 0);

	if (map == 3 || (map == 1 && ((op >= 0x70 && op <= 0x73) || op == 0xc2 ||
				      (op >= 0xc4 && op <= 0xc6))))
		a |= I8;
	return a;
}

static bool is_plain(const struct parts *x)
{
	return !x->o16 && !x->rep && !(x->at && (x->code[x->at - 1] & 0xf0) == 0x40);
}

/* 8f: a map of 8 to 10, else it is pop. */
static uint32_t take_xop(struct parts *x)
{
	static const uint8_t imm[3] = { I8, 0, JZ };
	const unsigned char *c = x->code + x->at;
	unsigned int map = c[1] & 31;

	if (!is_plain(x) || map < 8 || map > 10)
		return X;
	x->opcode = c[3];
	x->at += 4;
	return M | ALL | imm[map - 8];
}

/* c5, c4, 62: the map and the opcode behind them. */
static uint32_t take_vector(struct parts *x)
{
	const unsigned char *c = x->code + x->at;
	unsigned int map = 1, skip = 2;

	if (!is_plain(x))
		return X;
	if (c[0] == 0xc4) {
		map = c[1] & 31;
		skip = 3;
	} else if (c[0] == 0x62) {
		if ((c[1] & 8) || !(c[2] & 4))
			return X;
		map = c[1] & 7;
		skip = 4;
	}
	if (!map || map == 4 || map == 7 || (skip < 4 && map > 3))
		return X;
	x->opcode = c[skip];
	x->at += skip + 1;
	if (skip < 4 && map == 1 && x->opcode == 0x77)	/* vzeroupper */
		return 0;
	return vector_attr(map, x->opcode);
}

/* 0f: two or three bytes. */
static uint32_t take_escaped(struct parts *x)
{
	const unsigned char *c = x->code + x->at;

	if (c[1] == 0x38 || c[1] == 0x3a) {
		x->opcode = c[2];
		x->at += 3;
		return vector_attr(c[1] == 0x38 ? 2 : 3, c[2]);
	}
	x->opcode = c[1];
	x->at += 2;
	if (c[1] == 0x78 && (x->o16 || x->rep))		/* extrq, insertq */
		return X;
	return maps[256 + c[1]];
}

static uint32_t take_opcode(struct parts *x)
{
	uint8_t b = x->code[x->at];

	if (b == 0x0f)
		return take_escaped(x);
	if (b == 0xc4 || b == 0xc5 || b == 0x62)
		return take_vector(x);
	if (b == 0x8f && (x->code[x->at + 1] & 0x38))
		return take_xop(x);
	x->opcode = b;
	x->at++;
	return maps[b];
}

static INLINE void take_modrm(struct parts *x)
{
	uint32_t c = x->behind;
	size_t n = modrm_bytes[((c >> 3) & 0x18) | (c & 7)];
	size_t wide_sib = (n >> 3) & ((c & 0x700) == 0x500);
	size_t has = x->attr / M & 1;

	x->modrm = c & 0xff;
	x->modrm_at = x->at;
	x->at += (n & 7 & -has) + (wide_sib & has) * 4;
}

/* By operand size: 32 bits, 16, 64, 64. */
static const uint8_t imm_bytes[4][16] = {
	{ [I8] = 1, [IZ] = 4, [IV] = 4, [I16] = 2, [I24] = 3, [IA] = 8, [J8] = 1, [JZ] = 4 },
	{ [I8] = 1, [IZ] = 2, [IV] = 2, [I16] = 2, [I24] = 3, [IA] = 8, [J8] = 1, [JZ] = 4 },
	{ [I8] = 1, [IZ] = 4, [IV] = 8, [I16] = 2, [I24] = 3, [IA] = 8, [J8] = 1, [JZ] = 4 },
	{ [I8] = 1, [IZ] = 4, [IV] = 8, [I16] = 2, [I24] = 3, [IA] = 8, [J8] = 1, [JZ] = 4 },
};

static INLINE void take_imm(struct parts *x)
{
	unsigned int size = (x->rex & REX_W ? 2 : 0) | x->o16;

	x->at += imm_bytes[size][x->attr & IMM];
	if (x->a32 && (x->attr & IMM) == IA)
		x->at -= 4;
}

static unsigned int reg_of(const struct parts *x)
{
	return ((x->modrm >> 3) & 7) | (x->rex & REX_R ? 8 : 0);
}

static unsigned int rm_of(const struct parts *x)
{
	return (x->modrm & 7) | (x->rex & REX_B ? 8 : 0);
}

static bool is_reg_form(const struct parts *x)
{
	return x->modrm >= 0xc0;
}

enum { R_AX = 1 << 0, R_CX = 1 << 1, R_DX = 1 << 2, R_SI = 1 << 6, R_DI = 1 << 7,
       R_SCRATCH = R_AX | R_CX | R_DX | R_SI | R_DI | 0xf00 };

static const uint16_t fixed_writes[8] = {
	[AX / F] = R_AX, [AXDX / F] = R_AX | R_DX, [CX / F] = R_CX,
	[STR / F] = R_AX | R_CX | R_DX | R_SI | R_DI, [ALL / F] = 0xffff,
	[BP / F] = 1 << 5,
};

/* Opcodes whose ModRM.reg says what they are. */
static void take_group(struct parts *x)
{
	unsigned int reg = (x->modrm >> 3) & 7;

	switch (x->opcode) {
	case 0xba:				/* /4 bt */
		if (reg == 4)
			x->attr -= RM;
		break;
	case 0xf6: case 0xf7:		/* test, test, not, neg, mul, ... */
		if (reg < 2)
			x->attr += (x->opcode == 0xf6 ? I8 : IZ) - RM;
		else if (reg > 3)
			x->attr += AXDX - RM;
		break;
	case 0xff:				/* inc, dec, call, jmp, push */
		if (reg < 2)
			x->attr |= RM;
		break;
	}
}

static INLINE uint32_t writes_of(const struct parts *x)
{
	uint32_t attr = x->attr, w = fixed_writes[(attr & FIXED) / F];
	uint32_t op = (x->opcode & 7) | (x->rex & REX_B ? 8 : 0);

	bool rm = (attr & RM) && is_reg_form(x) &&
		  !((attr & NOT7) && (x->modrm & 0x38) == 0x38);

	w |= (uint32_t)rm << rm_of(x);
	w |= (uint32_t)!!(attr & REG) << reg_of(x);
	w |= (uint32_t)!!(attr & OP) << op;
	return attr & BYTE ? w | ((w >> 4) & 15) : w;
}

/* ---- classes ------------------------------------------------------------- */

/* disp32(%rip), and the address is all of 64 bits. */
static bool is_pc_relative(const struct parts *x)
{
	return (x->modrm & 0xc7) == 0x05 && !x->a32 && !x->segment;
}

static uintptr_t pc_relative(const struct parts *x, uintptr_t end)
{
	return end + (uintptr_t)(intptr_t)s32(x->code + x->modrm_at + 1);
}

static void set_branch(struct fl_insn *i, const struct parts *x, uint8_t cls,
		       uintptr_t end)
{
	const unsigned char *c = x->code + x->at;
	intptr_t d = (x->attr & IMM) == J8 ? (int8_t)c[-1] : s32(c - 4);

	i->cls = cls;
	i->target = end + (uintptr_t)d;
	if (cls == FL_INSN_CALL)
		i->writes = R_SCRATCH;
}

static void set_load(struct fl_insn *i, uint8_t cls, unsigned int reg,
		     uintptr_t target)
{
	i->cls = cls;
	i->reg = reg;
	i->target = target;
}

static void set_move(struct fl_insn *i, unsigned int reg, unsigned int source)
{
	i->cls = FL_INSN_MOVE;
	i->reg = reg;
	i->source = source;
}

/* ff: /2 call, /4 jmp. */
static void set_indirect(struct fl_insn *i, const struct parts *x, uintptr_t end)
{
	unsigned int reg = (x->modrm >> 3) & 7;
	bool slot = is_pc_relative(x);

	if (reg == 2 || reg == 3)
		i->writes = R_SCRATCH;
	if (reg == 2 || reg == 3)
		i->cls = slot && reg == 2 ? FL_INSN_CALL_SLOT : FL_INSN_CALL;
	else if (reg == 4 || reg == 5)
		i->cls = slot && reg == 4 ? FL_INSN_JUMP_SLOT : FL_INSN_JUMP;
	if (i->cls == FL_INSN_CALL_SLOT || i->cls == FL_INSN_JUMP_SLOT)
		i->target = pc_relative(x, end);
}

/* b8+r: an immediate of 4 or 8 bytes. */
static void set_immediate(struct fl_insn *i, const struct parts *x)
{
	const unsigned char *c = x->code + x->at;
	unsigned int reg = (x->opcode & 7) | (x->rex & REX_B ? 8 : 0);
	uint64_t wide;

	if (x->rex & REX_W) {
		__builtin_memcpy(&wide, c - 8, sizeof wide);
		set_load(i, FL_INSN_LOAD_ADDRESS, reg, wide);
	} else if (!x->o16) {
		set_load(i, FL_INSN_LOAD_ADDRESS, reg, (uint32_t)s32(c - 4));
	}
}

/* c6, c7: /0 mov; f8 xabort, xbegin. */
static void set_c7(struct fl_insn *i, const struct parts *x, uintptr_t end)
{
	int32_t imm = s32(x->code + x->at - 4);

	if (x->modrm == 0xf8) {
		i->writes = R_AX;
		i->cls = x->opcode == 0xc7 ? FL_INSN_BRANCH : FL_INSN_OTHER;
		i->target = x->opcode == 0xc7 ? end + (uintptr_t)(intptr_t)imm : 0;
		return;
	}
	if (x->opcode == 0xc6 || !is_reg_form(x) || (x->modrm & 0x38))
		return;
	if (x->rex & REX_W)
		set_load(i, FL_INSN_LOAD_ADDRESS, rm_of(x), (uintptr_t)(intptr_t)imm);
	else if (!x->o16)
		set_load(i, FL_INSN_LOAD_ADDRESS, rm_of(x), (uint32_t)imm);
}

/* mov between registers, or from disp32(%rip). */
static void set_mov(struct fl_insn *i, const struct parts *x, uintptr_t end)
{
	if (!(x->rex & REX_W))
		return;
	if (is_reg_form(x) && x->opcode == 0x8b)
		set_move(i, reg_of(x), rm_of(x));
	else if (is_reg_form(x))
		set_move(i, rm_of(x), reg_of(x));
	else if (x->opcode == 0x8b && is_pc_relative(x))
		set_load(i, FL_INSN_LOAD_SLOT, reg_of(x), pc_relative(x, end));
}

static void set_lea(struct fl_insn *i, const struct parts *x, uintptr_t end)
{
	if ((x->modrm & 0xc7) != 0x05 || x->a32)
		return;
	if (x->rex & REX_W)
		set_load(i, FL_INSN_LOAD_ADDRESS, reg_of(x), pc_relative(x, end));
	else if (!x->o16)
		set_load(i, FL_INSN_LOAD_ADDRESS, reg_of(x),
			 (uint32_t)pc_relative(x, end));
}

/* 90 is xchg with %rax but for three of its forms. */
static void set_nop(struct fl_insn *i, const struct parts *x)
{
	if (!(x->rex & REX_B) && x->rep != 0xf3)
		i->cls = FL_INSN_NOP;
	if (!(x->rex & REX_B))
		i->writes = 0;			/* pause */
}

static void classify(struct fl_insn *i, const struct parts *x, uintptr_t end)
{
	switch (x->attr & KIND) {
	case CALL:
		set_branch(i, x, FL_INSN_CALL, end);
		break;
	case JUMP:
		set_branch(i, x, FL_INSN_JUMP, end);
		break;
	case COND:
		set_branch(i, x, FL_INSN_BRANCH, end);
		break;
	case RET:
		i->cls = FL_INSN_RET;
		break;
	case NOP90:
		set_nop(i, x);
		break;
	case NOPM:
		i->cls = FL_INSN_NOP;
		break;
	case HINT:
		if (is_reg_form(x) && x->rep)	/* rdssp, endbr64 */
			i->writes = 1u << rm_of(x);
		break;
	case LEA:
		set_lea(i, x, end);
		break;
	case IMMEDIATE:
		set_immediate(i, x);
		break;
	case LOAD: case STORE:
		set_mov(i, x, end);
		break;
	case IND:
		set_indirect(i, x, end);
		break;
	case POP:
		i->cls = FL_INSN_POP;
		i->reg = x->opcode == 0xc9 ? 5 :		/* leave */
			(x->opcode & 7) | (x->rex & REX_B ? 8 : 0);
		break;
	case C7:
		set_c7(i, x, end);
		break;
	}
}

/* A near branch of 16 bits: makers differ. */
static bool is_short_branch(const struct parts *x)
{
	uint32_t kind = x->attr & KIND;
	unsigned int reg = (x->modrm >> 3) & 7;

	if (!x->o16 || (x->rex & REX_W))
		return false;
	return kind == CALL || kind == JUMP || kind == COND ||
	       (kind == RET && x->opcode < 0xc4) ||
	       (kind == C7 && x->opcode == 0xc7 && x->modrm == 0xf8) ||
	       (kind == IND && (reg == 2 || reg == 4));
}

/* Bytes that the maps leave open and no compiler writes. */
static INLINE bool is_undefined(const struct parts *x)
{
	uint32_t kind = x->attr & KIND;
	unsigned int reg = (x->modrm >> 3) & 7;

	return (x->attr & X) || (kind == C7 && reg && x->modrm != 0xf8) ||
	       (kind == IND && reg == 7);
}

/* A REX or none, and an opcode of one or two bytes: nearly all code. Written
 * without branches, which these bytes would make unpredictable. */
static INLINE bool take_common(struct parts *x)
{
	uint64_t w, rex, escape;

	__builtin_memcpy(&w, x->code, sizeof w);
	rex = (w & 0xf0) == 0x40;
	x->rex = (uint32_t)w & 15 & -(uint32_t)rex;
	w >>= 8 * rex;
	escape = (w & 0xff) == 0x0f;
	w >>= 8 * escape;
	x->opcode_at = (uint32_t)rex;
	x->at = rex + escape + 1;
	x->opcode = w & 0xff;
	x->behind = (uint32_t)(w >> 8);
	x->attr = maps[escape * 256 + x->opcode];
	return !(x->attr & P);
}

static bool take_any(struct parts *x)
{
	x->at = x->rex = 0;
	if (!take_prefixes(x))
		return false;
	x->opcode_at = x->at;
	x->attr = take_opcode(x);
	x->behind = (uint32_t)(x->code[x->at] | x->code[x->at + 1] << 8);
	return true;
}

/* Most moves are of no class; say so before the jump table of classify(). */
static INLINE bool has_class(const struct parts *x)
{
	uint32_t kind = x->attr & KIND;

	if (kind == LOAD || kind == STORE || kind == LEA)
		return is_reg_form(x) || (x->modrm & 0xc7) == 0x05;
	return kind;
}

static INLINE bool decode(struct fl_insn *i, const unsigned char *code, uintptr_t at)
{
	struct parts x;

	x.code = code;
	x.o16 = x.a32 = x.segment = x.rep = 0;
	if (!take_common(&x) && !take_any(&x))
		return false;
	take_modrm(&x);
	if (x.attr & GROUP)
		take_group(&x);
	if (is_undefined(&x) || (x.o16 && is_short_branch(&x)))
		return false;
	take_imm(&x);
	if (x.at > LEN_MAX)
		return false;
	*i = (struct fl_insn){
		.len = x.at, .opcode_at = x.opcode_at, .writes = writes_of(&x),
	};
	if (has_class(&x))
		classify(i, &x, at + x.at);
	return true;
}

/* Near the end of what may be read. */
static bool decode_short(struct fl_insn *i, const unsigned char *code, size_t n,
			 uintptr_t at)
{
	unsigned char copy[LOOK] = { 0 };

	__builtin_memcpy(copy, code, n);
	return decode(i, copy, at) && i->len <= n;
}

void fl_arch_decode(struct fl_insn *i, const unsigned char *code, size_t n,
		    uintptr_t at)
{
	if (n >= LOOK ? !decode(i, code, at) : !decode_short(i, code, n, at))
		*i = (struct fl_insn){ .writes = 0xffff };
}

size_t fl_arch_landing(const unsigned char *code, size_t n)
{
	static const unsigned char endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return n >= 4 && !__builtin_memcmp(code, endbr64, 4) ? 4 : 0;
}

/* Is it a call through a register or through memory (ff /2), `n` bytes long? */
static bool is_indirect(const unsigned char *p, size_t n)
{
	struct fl_insn i;

	fl_arch_decode(&i, p, n, 0);
	return i.len == n && i.cls == FL_INSN_CALL && p[i.opcode_at] == 0xff;
}

/* May such a call end at `p`? */
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
	return i->len == 6 && i->cls == FL_INSN_CALL_SLOT;
}
