/*
 * decode.c - how long is an x86-64 instruction, and what does it do to flow?
 *
 * Hides the opcode maps: legacy prefixes, REX, the one-, two- and three-byte
 * maps, VEX, EVEX and XOP.
 *
 * Bytes of an instruction:
 *
 *	[66 67 f2 f3 2e ...] [REX] opcode [ModRM [SIB] [disp8/32]] [imm]
 *	                     c5 RvvvvLpp / c4 RXBmmmmm WvvvvLpp / 62 p0 p1 p2
 *	                     8f RXBmmmmm WvvvvLpp (XOP)
 *
 * An instruction is decoded in four steps, each of which moves `at` of struct parts:
 *
 *	1 opcode	take_common() takes an opcode of one or two bytes, with a REX or
 *			none. take_any() takes every other beginning. Either finds the
 *			opcode's attributes: one word a row of maps[], or vector_attr().
 *	2 ModRM		take_modrm() takes the byte that M announces, and SIB and
 *			displacement, whose lengths modrm_bytes[] has. Where one opcode
 *			is several instructions (GROUP), take_group() replaces the
 *			attributes, now that ModRM.reg is known.
 *	3 immediate	of as many bytes as the attributes say.
 *	4 description	writes_of(): the attributes name the registers that may change, by
 *			where their numbers stand (RM, REG, OP), or by a fixed set (F).
 *			classify(): the attributes' kind (K) and the operand give the class.
 *
 * Where the attributes do not tell, the description is the safe one: more registers change,
 * more bytes of the frame are written. An instruction that is not understood has length 0, and
 * so have 16-bit near branches, whose length depends on the maker of the processor. A scan
 * decodes all code of a program; so the common instructions have a way of their own (decode()),
 * without a loop over prefixes.
 */
#include "arch/arch.h"
#include "direct.h"

#define INLINE inline __attribute__((always_inline))

enum {
	LOOK = 24,		/* bytes that decoding may look at */
	LEN_MAX = 15,
	REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1,
	SP = 4, BP = 5		/* registers */
};

/* Attributes of an opcode, a word: bits 0-3 the immediate, 4-12 what it writes, 13-16 its
 * kind, 17-22 how it is recognised, 24-27 the bytes of the immediate, 28-30 all set with M. */
enum {
	/* immediate: index into imm_bytes[], and its bytes without prefixes */
	L = 1 << 24, LEN = 15, M_BYTES = 28,
	I8 = 1 + L, IZ = 2 + 4 * L, IV = 3 + 4 * L, I16 = 4 + 2 * L, I24 = 5 + 3 * L,
	IA = 6 + 8 * L, J8 = 7 + L, JZ = 8 + 4 * L, IMM = 15,
	M = 1 << 4 | 7 << 28,	/* a ModRM byte follows; at the top, a mask for its bytes */
	/* registers written */
	RM = 1 << 5, REG = 1 << 6, OP = 1 << 7,	/* low bits of the opcode */
	BYTE = 1 << 8,		/* of byte size: 4..7 may be ah..bh */
	GROUP = 1 << 9,		/* ModRM.reg chooses, see take_group() */
	NOT7 = 1 << 19,		/* no register when ModRM.reg is 7: cmp */
	F = 1 << 10,		/* unit: index into fixed_writes[] */
	AX = 1 * F, AXDX = 2 * F, STR = 3 * F, CX = 4 * F, ALL = 5 * F,
	LEAVE = 6 * F, SPS = 7 * F, FIXED = 7 * F,
	/* recognition */
	K = 1 << 13,
	CALL = 1 * K, JUMP = 2 * K, COND = 3 * K, RET = 4 * K, NOP90 = 5 * K,
	LEA = 6 * K, IMMEDIATE = 7 * K, LOAD = 8 * K, STORE = 9 * K, IND = 10 * K,
	NOPM = 11 * K, C7 = 12 * K, HINT = 13 * K, POP = 14 * K, PUSH = 15 * K,
	KIND = 15 * K,
	P = 1 << 17,		/* prefix or escape */
	X = 1 << 18,		/* not understood */
	W = 1 << 20,		/* writes memory, or may, without RM */
	V = 1 << 21,		/* IV: with REX.W the immediate is longer */
	Q = 1 << 22,		/* its kind says what it does to flow */
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
/* 50 */ X8(PUSH), X8(OP | POP),
/* 60 */ X, X, P, M | REG, X4(P),
	 IZ | PUSH, M | IZ | REG, I8 | PUSH, M | I8 | REG, X4(STR),
/* 70 */ X16(J8 | COND | Q),
/* 80 */ M | I8 | ARIB, M | IZ | ARI, X, M | I8 | ARI,
	 M, M, M | BOTH, M | BOTH,
/* 88 */ M | RMB, M | RM | STORE, M | REGB, M | REG | LOAD,
	 M | RM, M | REG | LEA, M, M | RM | SPS | P,
/* 90 */ OPAX | NOP90 | Q, X4(OPAX), X2(OPAX), OPAX,
	 AX, AXDX, X, 0, PUSH, SPS, 0, AX,
/* a0 */ IA | AX, IA | AX, IA, IA, X4(STR),
	 I8, IZ, X2(STR), X2(STR), X2(STR),
/* b0 */ X8(I8 | OPB), X8(IV | V | OP | IMMEDIATE),
/* c0 */ M | I8 | RMB, M | I8 | RM, I16 | RET | Q, RET | Q, P, P,
	 M | I8 | RMB | GROUP | C7, M | IZ | RM | GROUP | C7,
/* c8 */ I24 | ALL, LEAVE | POP, I16 | RET | Q, RET | Q, ALL, I8 | ALL, X, RET | Q,
/* d0 */ M | RMB, M | RM, M | RMB, M | RM, X, X, X, AX,
	 M | AX, M | AX | W, M | AX, M | AX | W, M | AX, M | AX | W, M | AX, M | AX | W,
/* e0 */ X2(J8 | CX | COND | Q), J8 | CX | COND | Q, J8 | COND | Q,
	 I8 | AX, I8 | AX, I8, I8,
/* e8 */ JZ | CALL | Q, JZ | JUMP | Q, X, J8 | JUMP | Q, AX, AX, 0, 0,
/* f0 */ P, 0, P, P, ALL, 0, M | RMB | GROUP, M | RM | GROUP,
/* f8 */ X4(0), X2(0), M | RMB | GROUP, M | GROUP | IND,

/* 0f 00 */ M | ALL | W, M | ALL | W, M | REG, M | REG, X, ALL, 0, ALL,
	    0, 0, X, HINT | Q, X, M, 0, M | I8,
/* 10 */ M, M | W, M, M | W, X2(M), M, M | W,
	 M, X2(M | HINT | Q), M | HINT | Q | W, X2(M | HINT | Q), M | HINT | Q, M | NOPM | Q,
/* 20 */ X4(I8 | ALL), X4(X), M, M | W, M, M | W, M | REG, M | REG, M, M,
/* 30 */ ALL, AXDX, AXDX, AXDX, ALL, ALL, X, ALL, P, X, P, X, X4(X),
/* 40 */ X16(M | REG),
/* 50 */ M | REG, X4(M), X2(M), M, X8(M),
/* 60 */ X16(M),
/* 70 */ X4(M | I8), X2(M), M, 0, M | ALL | W, M | ALL, X, X,
	 M, M, M | RM, M | W,
/* 80 */ X16(JZ | COND | Q),
/* 90 */ X16(M | RMB),
/* a0 */ PUSH, SPS, ALL, M, M | I8 | RM, M | RM, M | ALL | W, M | ALL | W,
	 PUSH, SPS, 0, M | RM, M | I8 | RM, M | RM, M | RM, M | REG,
/* b0 */ M | BOTH, M | BOTH, M | REG, M | RM, M | REG, M | REG, M | REG, M | REG,
	 M | REG, M, M | I8 | RM | GROUP, M | RM, M | REG, M | REG, M | REG, M | REG,
/* c0 */ M | BOTH, M | BOTH, M | I8, M | W, M | I8, M | I8 | REG, M | I8, M | ALL | W,
	 X8(OP),
/* d0 */ X4(M), X2(M), M | W, M | REG, X8(M),
/* e0 */ X4(M), X2(M), M, M | W, X8(M),
/* f0 */ X16(M),
};

/* By ModRM: how many bytes it, SIB and displacement have, without a disp32 that the SIB names;
 * and what the operand is: REGISTER, disp(%rip), by SIB, disp(%rbp), MEMORY. */
enum { REGISTER, RIP, BY_SIB, BY_BP, MEMORY, OPERAND = 16 };

#define ROWS(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, \
	__VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__
#define MEM(n) ((n) + MEMORY * OPERAND)
#define MODRM0 X4(MEM(1)), 2 + BY_SIB * OPERAND, 5 + RIP * OPERAND, X2(MEM(1))
#define MODRM(d) X4(MEM(1 + d)), 2 + d + BY_SIB * OPERAND, \
	1 + d + BY_BP * OPERAND, X2(MEM(1 + d))
static const uint8_t modrm_bytes[256] = {
	ROWS(MODRM0), ROWS(MODRM(1)), ROWS(MODRM(4)),
	ROWS(X8(1 + REGISTER * OPERAND)),
};

/* What is known of an instruction so far. */
struct parts {
	const unsigned char *code;
	uint32_t attr;
	uint32_t behind;		/* bytes behind the opcode: ModRM, SIB */
	uint32_t at;			/* offset of the next byte */
	uint32_t opcode, opcode_at, modrm, modrm_at;
	uint32_t row;			/* of modrm_bytes[], in case there is a ModRM */
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

/* False when the prefixes do not end. A REX counts only in the last place. */
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

	a |= map == 1 ? maps[256 + op] & (W | RM) ? W : 0 : W;
	if (map == 3 || (map == 1 && ((op >= 0x70 && op <= 0x73) || op == 0xc2 ||
				      (op >= 0xc4 && op <= 0xc6))))
		a |= I8;
	return a;
}

static bool is_plain(const struct parts *x)
{
	return !x->o16 && !x->rep && !(x->at && (x->code[x->at - 1] & 0xf0) == 0x40);
}

/* 8f that is no pop: XOP with a map of 8 to 10; else it is not understood. */
static uint32_t take_xop(struct parts *x)
{
	static const uint32_t imm[3] = { I8, 0, JZ };
	const unsigned char *c = x->code + x->at;
	unsigned int map = c[1] & 31;

	if (!is_plain(x) || map < 8 || map > 10)
		return X;
	x->opcode = c[3];
	x->at += 4;
	x->rex = ~c[1] >> 5 & (REX_R | REX_X | REX_B);
	return M | ALL | W | imm[map - 8];
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
	if (skip > 2)
		x->rex = ~c[1] >> 5 & (REX_R | REX_X | REX_B);
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

/* Without a branch: as many bytes as modrm_bytes[] says, if M is set. Rarely four more: ModRM
 * says SIB without a displacement (mod 0, rm 4), and the base in SIB is 5, a disp32 alone. */
static INLINE void take_modrm(struct parts *x)
{
	x->modrm = x->behind & 0xff;
	x->modrm_at = x->at;
	x->at += x->row & x->attr >> M_BYTES;
	if ((x->behind & 0x7c7) == 0x504 && (x->attr & M))
		x->at += 4;
}

/* By operand size: 32 bits, 16, 64, 64. */
static const uint8_t imm_bytes[4][16] = {
	/* none I8 IZ IV I16 I24 IA J8 JZ */
	{ 0, 1, 4, 4, 2, 3, 8, 1, 4 },
	{ 0, 1, 2, 2, 2, 3, 8, 1, 4 },
	{ 0, 1, 4, 8, 2, 3, 8, 1, 4 },
	{ 0, 1, 4, 8, 2, 3, 8, 1, 4 },
};

static INLINE bool has_imm(const struct parts *x, uint32_t imm)
{
	return (x->attr & IMM) == (imm & IMM);
}

static void take_imm(struct parts *x)
{
	unsigned int size = (x->rex & REX_W ? 2 : 0) | x->o16;

	x->at += imm_bytes[size][x->attr & IMM];
	if (x->a32 && has_imm(x, IA))
		x->at -= 4;
}

static INLINE unsigned int reg_of(const struct parts *x)
{
	return ((x->modrm >> 3) & 7) | (x->rex & REX_R ? 8 : 0);
}

static INLINE unsigned int rm_of(const struct parts *x)
{
	return (x->modrm & 7) | (x->rex & REX_B ? 8 : 0);
}

static INLINE bool is_reg_form(const struct parts *x)
{
	return x->modrm >= 0xc0;
}

enum { R_AX = 1 << 0, R_CX = 1 << 1, R_DX = 1 << 2, R_SI = 1 << 6, R_DI = 1 << 7,
       R_SCRATCH = R_AX | R_CX | R_DX | R_SI | R_DI | 0xf00 };

static const fl_regs fixed_writes[8] = {
	[AX / F] = R_AX, [AXDX / F] = R_AX | R_DX, [CX / F] = R_CX,
	[STR / F] = R_AX | R_CX | R_DX | R_SI | R_DI, [ALL / F] = 0xffff,
	[LEAVE / F] = 1 << BP, [SPS / F] = 1 << SP,
};

/* Opcodes whose ModRM.reg says which instruction they are. False for what the groups, or the
 * maps, leave open, and no compiler writes. */
static bool take_group(struct parts *x)
{
	unsigned int reg = (x->modrm >> 3) & 7;

	if (x->attr & X)
		return false;
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
	case 0xc6: case 0xc7:		/* mov, xabort, xbegin */
		return !reg || x->modrm == 0xf8;
	case 0xff:				/* inc, dec, call, jmp, push */
		if (reg < 2)
			x->attr |= RM;
		return reg < 7;
	}
	return true;
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

/* disp(%rsp) or disp(%rbp), no index: which; 0: another operand. In `c` ModRM is the low
 * byte and SIB the next: 0x3800 is its index (4: none), 0x700 its base. */
static INLINE unsigned int frame_base(const struct parts *x)
{
	uint32_t c = x->behind, operand = modrm_bytes[c & 0xff] / OPERAND;

	if (operand < BY_SIB || operand > BY_BP || !(x->attr & M) || x->a32 ||
	    x->segment || (x->rex & REX_B))
		return 0;
	if (operand == BY_BP)
		return BP;
	if ((x->rex & REX_X) || (c & 0x3800) != 0x2000)
		return 0;
	return (c & 0x700) == 0x400 ? SP : (c & 0x700) == 0x500 && (c & 0xc0) ? BP : 0;
}

static INLINE intptr_t frame_offset(const struct parts *x)
{
	const unsigned char *d = x->code + x->modrm_at + ((x->modrm & 7) == 4 ? 2 : 1);

	switch (x->modrm >> 6) {
	case 1:
		return (int8_t)*d;
	case 2:
		return s32(d);
	}
	return 0;
}

static INLINE void set_frame(struct fl_insn *i, const struct parts *x, uint8_t cls,
		      unsigned int reg)
{
	i->cls = cls;
	i->reg = reg;
	i->source = frame_base(x);
	i->target = (uintptr_t)frame_offset(x);
}

/* How many bytes an instruction writes at most, as a power of two. The short
 * displacements of EVEX are multiples of what only each instruction knows. */
static unsigned int written(const struct parts *x)
{
	uint8_t first = x->code[x->opcode_at];

	if (first == 0x62 && x->modrm >> 6 == 1)
		return FL_ANYWHERE;
	if (first == 0x0f && x->opcode == 0xae)
		return 13;			/* xsave */
	if (x->attr & RM)
		return x->attr & BYTE && !(x->opcode & 1) ? 0 :
			x->rex & REX_W || x->opcode == 0x8f ? 3 : 2;
	if (first >= 0xd8 && first <= 0xdf)
		return 7;			/* fnsave */
	if (first != 0x0f)
		return 6;
	if ((x->opcode == 0x11 && (x->rep & 0xfe) == 0xf2) || x->opcode == 0x13 ||
	    x->opcode == 0x17 || x->opcode == 0xd6 || x->opcode == 0xc3)
		return 3;			/* movss, movsd, movlps, movhps, movq, movnti */
	return 4;
}

/* The class of an instruction that neither loads nor stores a whole register. */
static __attribute__((noinline)) void set_other(struct fl_insn *i, const struct parts *x)
{
	if (x->opcode == 0x7e && x->rep == 0xf3)	/* movq, a load */
		return;
	if (frame_base(x) && (x->attr & (RM | W)) &&
	    !((x->attr & NOT7) && (x->modrm & 0x38) == 0x38))
		set_frame(i, x, FL_INSN_SMASH, written(x));
}

/* 81, 83: add, sub, and of the stack pointer. */
static void set_stack(struct fl_insn *i, const struct parts *x)
{
	const unsigned char *c = x->code + x->at;
	unsigned int op = x->modrm & 0x38;
	intptr_t v;

	if (!(x->attr & NOT7) || (x->attr & BYTE) || !(x->rex & REX_W))
		return;
	/* Only these opcodes have an immediate behind them. */
	v = has_imm(x, I8) ? (int8_t)c[-1] : s32(c - 4);
	i->reg = i->source = SP;
	i->target = (uintptr_t)(op == 0x28 ? -v : v);
	if (op == 0 || op == 0x28)
		i->cls = FL_INSN_FRAME_ADDRESS;
	else if (op == 0x20)
		i->cls = FL_INSN_ALIGN;
	else
		return;
	i->writes &= ~(1u << SP);
}

/* Is it disp32(%rip), with an address of all 64 bits? */
static INLINE bool is_pc_relative(const struct parts *x)
{
	return (x->modrm & 0xc7) == 0x05 && !x->a32 && !x->segment;
}

static INLINE uintptr_t pc_relative(const struct parts *x, uintptr_t end)
{
	return end + (uintptr_t)(intptr_t)s32(x->code + x->modrm_at + 1);
}

static INLINE uintptr_t branch_target(const struct parts *x, uintptr_t end)
{
	const unsigned char *c = x->code + x->at;

	return end + (uintptr_t)(has_imm(x, J8) ? (intptr_t)(int8_t)c[-1] : s32(c - 4));
}

static INLINE void set_branch(struct fl_insn *i, const struct parts *x, uint8_t cls,
		       uintptr_t end)
{
	i->cls = cls;
	i->target = branch_target(x, end);
	if (cls == FL_INSN_CALL)
		i->writes = R_SCRATCH;
}

static INLINE void set_load(struct fl_insn *i, uint8_t cls, unsigned int reg,
		     uintptr_t target)
{
	i->cls = cls;
	i->reg = reg;
	i->target = target;
}

static INLINE void set_move(struct fl_insn *i, unsigned int reg, unsigned int source)
{
	i->cls = FL_INSN_MOVE;
	i->reg = reg;
	i->source = source;
	i->writes &= ~(1u << SP);
}

static INLINE void set_push(struct fl_insn *i, const struct parts *x, unsigned int reg)
{
	if (x->o16 && !(x->rex & REX_W)) {
		i->writes |= 1u << SP;
		return;
	}
	i->cls = FL_INSN_PUSH;
	i->reg = reg;
}

static INLINE void set_pop(struct fl_insn *i, const struct parts *x)
{
	unsigned int reg = x->opcode == 0xc9 ? BP :		/* leave */
		(x->opcode & 7) | (x->rex & REX_B ? 8 : 0);

	if (x->o16 && !(x->rex & REX_W)) {
		i->writes |= 1u << SP;
		return;
	}
	i->cls = x->opcode == 0xc9 ? FL_INSN_LEAVE : FL_INSN_POP;
	i->reg = reg;
}

/* ff: /2 call, /4 jmp. */
static void set_indirect(struct fl_insn *i, const struct parts *x, uintptr_t end)
{
	unsigned int reg = (x->modrm >> 3) & 7;
	bool pointer = is_pc_relative(x);

	if (reg == 2 || reg == 3)
		i->writes = R_SCRATCH;
	if (reg == 2 || reg == 3)
		i->cls = pointer && reg == 2 ? FL_INSN_CALL_POINTER : FL_INSN_CALL;
	else if (reg == 4 || reg == 5)
		i->cls = pointer && reg == 4 ? FL_INSN_JUMP_POINTER : FL_INSN_JUMP;
	else if (reg == 6)
		set_push(i, x, FL_NO_REG);
	else
		set_other(i, x);
	if (i->cls == FL_INSN_CALL_POINTER || i->cls == FL_INSN_JUMP_POINTER)
		i->target = pc_relative(x, end);
}

/* b8+r: an immediate of 4 or 8 bytes. */
static INLINE void set_immediate(struct fl_insn *i, const struct parts *x)
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
	int32_t imm;

	if (x->opcode == 0xc6) {	/* it may have three bytes: s32() takes four */
		set_other(i, x);
		if (x->modrm == 0xf8)
			i->writes = R_AX;
		return;
	}
	imm = s32(x->code + x->at - 4);
	if (x->modrm == 0xf8) {
		i->writes = R_AX;
		i->cls = FL_INSN_BRANCH;
		i->target = end + (uintptr_t)(intptr_t)imm;
		return;
	}
	if (!is_reg_form(x)) {
		set_other(i, x);
		return;
	}
	if (x->rex & REX_W)
		set_load(i, FL_INSN_LOAD_ADDRESS, rm_of(x), (uintptr_t)(intptr_t)imm);
	else if (!x->o16)
		set_load(i, FL_INSN_LOAD_ADDRESS, rm_of(x), (uint32_t)imm);
}

/* mov between registers, from disp32(%rip), from or to the frame; false: another mov. */
static INLINE bool set_mov(struct fl_insn *i, const struct parts *x, uintptr_t end)
{
	bool load = x->opcode == 0x8b;

	if (!(x->rex & REX_W))
		return false;
	if (frame_base(x))
		set_frame(i, x, load ? FL_INSN_LOAD_FRAME : FL_INSN_STORE_FRAME, reg_of(x));
	else if (is_reg_form(x))
		set_move(i, load ? reg_of(x) : rm_of(x), load ? rm_of(x) : reg_of(x));
	else if (load && is_pc_relative(x))
		set_load(i, FL_INSN_LOAD_POINTER, reg_of(x), pc_relative(x, end));
	return true;
}

static INLINE void set_lea(struct fl_insn *i, const struct parts *x, uintptr_t end)
{
	if (frame_base(x) && (x->rex & REX_W)) {
		set_frame(i, x, FL_INSN_FRAME_ADDRESS, reg_of(x));
		i->writes &= ~(1u << SP);
	}
	if ((x->modrm & 0xc7) != 0x05 || x->a32)
		return;
	if (x->rex & REX_W)
		set_load(i, FL_INSN_LOAD_ADDRESS, reg_of(x), pc_relative(x, end));
	else if (!x->o16)
		set_load(i, FL_INSN_LOAD_ADDRESS, reg_of(x),
			 (uint32_t)pc_relative(x, end));
}

/* 90 is xchg with %rax, except in three of its forms. */
static void set_nop(struct fl_insn *i, const struct parts *x)
{
	if (!(x->rex & REX_B) && x->rep != 0xf3)
		i->cls = FL_INSN_NOP;
	if (!(x->rex & REX_B))
		i->writes = 0;			/* pause */
}

static __attribute__((noinline)) void classify_rare(struct fl_insn *i,
						    const struct parts *x, uintptr_t end)
{
	switch (x->attr & KIND) {
	case NOP90:
		set_nop(i, x);
		break;
	case HINT:
		if (x->opcode == 0x0b)		/* ud2 */
			i->cls = FL_INSN_STOP;
		else if (is_reg_form(x) && x->rep)	/* rdssp, endbr64 */
			i->writes = 1u << rm_of(x);
		break;
	case IND:
		set_indirect(i, x, end);
		break;
	case C7:
		set_c7(i, x, end);
		break;
	default:
		set_other(i, x);
		if (i->writes >> SP & 1)
			set_stack(i, x);
	}
}

static INLINE void classify(struct fl_insn *i, const struct parts *x, uintptr_t end)
{
	struct parts copy;

	switch (x->attr & KIND) {
	case CALL:
		set_branch(i, x, FL_INSN_CALL, end);
		return;
	case JUMP:
		set_branch(i, x, FL_INSN_JUMP, end);
		return;
	case COND:
		set_branch(i, x, FL_INSN_BRANCH, end);
		return;
	case RET:
		i->cls = FL_INSN_RET;
		return;
	case NOPM:
		i->cls = FL_INSN_NOP;
		return;
	case LEA:
		set_lea(i, x, end);
		return;
	case IMMEDIATE:
		set_immediate(i, x);
		return;
	case LOAD: case STORE:
		if (set_mov(i, x, end))
			return;
		break;
	case POP:
		set_pop(i, x);
		return;
	case PUSH:
		set_push(i, x, (x->opcode & 0xf8) != 0x50 ? FL_NO_REG :
			 (x->opcode & 7) | (x->rex & REX_B ? 8 : 0));
		return;
	}
	copy = *x;			/* so that `x` can stay in registers */
	classify_rare(i, &copy, end);
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

static INLINE uint32_t with_rex(uint32_t without, uint32_t with, uint32_t rex)
{
	return without ^ ((without ^ with) & -rex);
}

/* A REX or none, and an opcode of one or two bytes. No branch on a REX could be predicted, and
 * the next instruction cannot be decoded before this one's length is known. So all that the
 * length may depend on is looked up both with a REX and without, and then chosen. */
static INLINE void take_usual(struct parts *x)
{
	uint64_t all;
	uint32_t rex;

	__builtin_memcpy(&all, x->code, sizeof all);
	rex = (all & 0xf0) == 0x40;
	x->attr = with_rex(maps[all & 0xff], maps[all >> 8 & 0xff], rex);
	x->row = with_rex(modrm_bytes[all >> 8 & 0xff], modrm_bytes[all >> 16 & 0xff], rex);
	x->rex = (uint32_t)all & 15 & -rex;
	x->opcode = with_rex(all & 0xff, all >> 8 & 0xff, rex);
	x->opcode_at = rex;
	x->at = 1 + rex;
	if (x->opcode == 0x0f) {
		all >>= 8;
		x->opcode = with_rex(all & 0xff, all >> 8 & 0xff, rex);
		x->attr = maps[256 + x->opcode];
		x->row = with_rex(modrm_bytes[all >> 8 & 0xff], modrm_bytes[all >> 16 & 0xff],
				rex);
		x->at++;
	}
	x->behind = (uint32_t)(all >> 8 >> rex * 8);
}

/* Is there an immediate that is longer with this REX? */
static INLINE bool has_wide_imm(const struct parts *x)
{
	return x->attr / (V / REX_W) & x->rex & REX_W;
}

/* The same; true if the opcode says all, as in nearly all code. */
static INLINE bool take_common(struct parts *x)
{
	take_usual(x);
	return !(x->attr & (P | GROUP | X)) && !has_wide_imm(x);
}

static bool take_any(struct parts *x)
{
	x->at = x->rex = 0;
	if (!take_prefixes(x))
		return false;
	x->opcode_at = x->at;
	x->attr = take_opcode(x);
	x->behind = (uint32_t)(x->code[x->at] | x->code[x->at + 1] << 8);
	x->row = modrm_bytes[x->behind & 0xff];
	return true;
}

/* Most moves have no class: this finds them before the switch of classify(). */
static INLINE bool has_class(const struct parts *x, uint32_t writes)
{
	uint32_t kind = x->attr & KIND, operand = modrm_bytes[x->modrm] / OPERAND;

	if (kind == LOAD || kind == STORE || kind == LEA)
		return operand < MEMORY;
	return kind || (writes >> SP & 1) ||
	       ((x->attr & (RM | W)) && (operand == BY_SIB || operand == BY_BP));
}

/* Is there a pc-relative operand? */
static INLINE bool has_operand(const struct parts *x)
{
	return (x->modrm & 0xc7) == 0x05 && (x->attr & M);
}

static INLINE void describe(struct fl_insn *i, const struct parts *x, uintptr_t at)
{
	uint32_t writes = writes_of(x);

	*i = (struct fl_insn){
		.len = x->at, .opcode_at = x->opcode_at, .writes = writes,
		.operand_at = has_operand(x) ? x->modrm_at + 1 : 0,
	};
	if (has_class(x, writes))
		classify(i, x, at + x->at);
}

/* Prefixes and groups; false: not understood. */
static INLINE bool take_rest(struct parts *x)
{
	if (!take_any(x))
		return false;
	take_modrm(x);
	if ((x->attr & (GROUP | X)) && !take_group(x))
		return false;
	if (x->o16 && is_short_branch(x))
		return false;
	take_imm(x);
	return x->at <= LEN_MAX;
}

static __attribute__((noinline)) bool decode_any(struct fl_insn *i,
						 const unsigned char *code, uintptr_t at)
{
	struct parts x = { .code = code };

	if (!take_rest(&x))
		return false;
	describe(i, &x, at);
	return true;
}

static INLINE bool decode(struct fl_insn *i, const unsigned char *code, uintptr_t at)
{
	struct parts x = { .code = code };

	if (!take_common(&x))
		return decode_any(i, code, at);
	take_modrm(&x);
	x.at += x.attr / L & LEN;
	describe(i, &x, at);
	return true;
}

/* ---- flow ------------------------------------------------------------------ */

/* The class by kind, where the kind says it. */
static const uint8_t flow_classes[16] = {
	[CALL / K] = FL_INSN_CALL, [JUMP / K] = FL_INSN_JUMP, [COND / K] = FL_INSN_BRANCH,
	[RET / K] = FL_INSN_RET, [NOPM / K] = FL_INSN_NOP,
};
enum {				/* ... direct branches; kinds of several classes */
	DIRECT = 1 << CALL / K | 1 << JUMP / K | 1 << COND / K,
	HIDDEN = 1 << NOP90 / K | 1 << IND / K | 1 << C7 / K | 1 << HINT / K
};

static INLINE bool has_kind(const struct parts *x, uint32_t kinds)
{
	return kinds >> (x->attr & KIND) / K & 1;
}

static INLINE void describe_flow(struct fl_insn *i, const struct parts *x)
{
	*i = (struct fl_insn){
		.len = x->at, .opcode_at = x->opcode_at,
		.cls = flow_classes[(x->attr & KIND) / K],
		.operand_at = has_operand(x) ? x->modrm_at + 1 : 0,
	};
}

/* Does one prefix 66, f2 or f3 add its own byte to the length, and nothing else? */
static INLINE bool is_size_alike(const struct parts *x, uint8_t prefix)
{
	return (prefix == 0x66 || (prefix & 0xfe) == 0xf2) &&
	       !(x->attr & (P | GROUP | X)) && (!(x->attr & Q) || has_kind(x, 1 << NOPM / K)) &&
	       (!(x->attr & IMM) || has_imm(x, I8)) && x->opcode != 0x78;
}

/* Instructions with prefixes, groups, or classes that need a look. Most have one prefix, as
 * SSE's do. */
static __attribute__((noinline)) size_t follow_any(struct fl_insn *i, const unsigned char *code,
						   uintptr_t at)
{
	struct parts x = { .code = code + 1 };

	take_usual(&x);
	if (is_size_alike(&x, code[0])) {
		x.at++;
		x.opcode_at++;
		take_modrm(&x);
		x.at += x.attr / L & LEN;
		describe_flow(i, &x);
		return x.at;
	}
	x = (struct parts){ .code = code };
	if (!take_rest(&x))
		*i = (struct fl_insn){ 0 };
	else if (has_kind(&x, DIRECT | HIDDEN))
		describe(i, &x, at);
	else
		describe_flow(i, &x);
	return i->len;
}

static __attribute__((noinline)) size_t follow_short(struct fl_insn *i,
						     const unsigned char *code, size_t n,
						     uintptr_t at)
{
	fl_arch_decode(i, code, n, at);
	return i->len;
}

/* mov $imm,...: c6 and c7, without xabort and xbegin. */
static INLINE bool stores_imm(const struct parts *x)
{
	return (x->attr & KIND) == C7 && !(x->modrm & 0x38);
}

/* Most instructions do nothing to flow, and are the same anywhere: as little as possible is
 * told of them. The rare cases are tail calls, so that no register is kept for them. */
size_t fl_arch_decode_flow(struct fl_insn *i, const unsigned char *code, size_t n,
			   uintptr_t at)
{
	struct parts x = { .code = code };
	size_t len;

	if (n < LOOK)
		return follow_short(i, code, n, at);
	len = x86_take_direct(i, code, at);
	if (len)
		return len;
	take_usual(&x);
	take_modrm(&x);
	if (((x.attr & (P | GROUP | X)) || has_wide_imm(&x)) && !stores_imm(&x))
		return follow_any(i, code, at);
	x.at += x.attr / L & LEN;
	describe_flow(i, &x);
	if (!(x.attr & Q))
		return x.at;
	if (has_kind(&x, HIDDEN))
		return follow_any(i, code, at);
	if (has_kind(&x, DIRECT))
		i->target = branch_target(&x, at + x.at);
	return x.at;
}

/* Decode near the end of what may be read. */
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
		*i = (struct fl_insn){ .writes = (fl_regs)~0u };
}

void fl_arch_decode_two(struct fl_insn *, const unsigned char *, size_t, uintptr_t)
	__attribute__((alias("fl_arch_decode")));

/* This CPU's code has no LOAD_PAGE. */
enum fl_paged fl_arch_paged(const unsigned char *code, unsigned int reg, uintptr_t *offset)
{
	(void)code, (void)reg, (void)offset;
	return FL_PAGED_OTHERWISE;
}
