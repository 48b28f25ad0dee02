/*
 * decode.c - what an A64 instruction is: its effect on flow, registers and memory.
 *
 * Hides the encodings. Bits 28 to 25 of a word choose a group of rows. The first row of the
 * group whose `mask` and `bits` fit says what the word is: its kind, and by letters which
 * fields name registers, and what happens to these. A row without letters before another row
 * takes out what is not allocated. A word that no row fits is no instruction.
 *
 * The groups of SVE, SME and floating point do not tell apart what touches no general
 * registers, flags or memory: all of it is one row, allocated or not. No instruction there
 * depends on where it stands. Where it is not known which general registers an instruction
 * of SVE or SME writes, all count as written.
 *
 * Checked word by word against an assembler and two disassemblers: tests/a64/decode.c.
 */
#include "arch/arch.h"
#include "decode.h"

/* Letters of a row. */
enum {
	D = 1 << 5,		/* bits 4-0 are written ... */
	T = 1 << 6,		/* ... are read */
	N = 1 << 7,		/* bits 9-5 are read ... */
	B = 1 << 8,		/* ... are written, too, and may be the stack pointer */
	A = 1 << 9,		/* bits 14-10 are read ... */
	A_ = 1 << 10,		/* ... are written */
	M = 1 << 11,		/* bits 20-16 are read ... */
	S = 1 << 12,		/* ... are written */
	DP = 1 << 13,		/* 31 in bits 4-0 is the stack pointer */
	NP = 1 << 14,		/* 31 in bits 9-5 is */
	FR = 1 << 15, FW = 1 << 16,	/* flags */
	LD = 1 << 17, ST = 1 << 18,
	TWO = 1 << 19,		/* bits 4-0 and 20-16 are the first of two registers each */
	EIGHT = 1 << 20,	/* bits 4-0 are the first of eight */
	LINK = 1 << 21,		/* x30 is written */
	X17 = 1 << 22, X16 = 1 << 23, X0 = 1 << 24,	/* is written */
	CALL = 1 << 25,		/* what a call may change is written */
	ANY = 1 << 26,		/* it is not known which are read or written */
	KIND = 31
};

#define XX A64_NONE
#define OK A64_PLAIN
#define LDN (OK | LD | NP | N)		/* a load from the address in bits 9-5 */
#define STN (OK | ST | NP | N)
#define RMW (OK | LD | ST | NP | N)

struct row {
	uint32_t mask, bits, what;
};

/* 0000: undefined for good; SME. */
static const struct row reserved[] = {
	{ 0xffff0000, 0x00000000, A64_STOP },
	{ 0x9e000000, 0x80000000, OK | ANY | LD | ST },
};

/* 0010: SVE; the first three may have general registers. */
static const struct row sve[] = {
	{ 0xff000000, 0x04000000, OK | ANY },
	{ 0xff000000, 0x05000000, OK | ANY },
	{ 0xff000000, 0x25000000, OK | ANY },
	{ 0xff000000, 0x24000000, OK | FW },
	{ 0x80000000, 0x80000000, OK | N | NP | M | LD | ST },
	{ 0x00000000, 0x00000000, OK },
};

/* 100x: data processing, immediate. */
static const struct row immediate[] = {
	{ 0x9f000000, 0x10000000, A64_ADR | D },
	{ 0x9f000000, 0x90000000, A64_ADRP | D },
	{ 0x3f800000, 0x11000000, OK | D | DP | N | NP },		/* add, sub */
	{ 0x3f800000, 0x31000000, OK | D | N | NP | FW },
	{ 0xbfc0c000, 0x91800000, OK | D | DP | N | NP },		/* addg, subg */
	{ 0x7ff00000, 0x11c00000, OK | D | N },				/* smax, ... */
	{ 0x9fc00000, 0x12400000, XX },					/* and: N, 32 bits */
	{ 0x1fc0fc00, 0x1240fc00, XX }, { 0x1fc07c00, 0x12007c00, XX },	/* all ones */
	{ 0x1fc0bc00, 0x1200bc00, XX }, { 0x1fc0dc00, 0x1200dc00, XX },
	{ 0x1fc0ec00, 0x1200ec00, XX }, { 0x1fc0f400, 0x1200f400, XX },
	{ 0x1fc0f800, 0x1200f800, XX },
	{ 0x7f800000, 0x72000000, OK | D | N | FW },			/* ands */
	{ 0x1f800000, 0x12000000, OK | D | DP | N },
	{ 0x7f800000, 0x32800000, XX }, { 0x9fc00000, 0x12c00000, XX },
	{ 0x7f800000, 0x72800000, OK | D | T },				/* movk */
	{ 0x1f800000, 0x12800000, OK | D },				/* movn, movz */
	{ 0x9fc00000, 0x93000000, XX }, { 0x9fc00000, 0x13400000, XX },
	{ 0x9f208000, 0x13208000, XX }, { 0x9f200000, 0x13200000, XX },
	{ 0x9f008000, 0x13008000, XX },
	{ 0x7f800000, 0x33000000, OK | D | T | N },			/* bfm */
	{ 0x7f800000, 0x13000000, OK | D | N }, { 0x7f800000, 0x53000000, OK | D | N },
	{ 0xffe00000, 0x93c00000, OK | D | N | M },			/* extr */
	{ 0xffe08000, 0x13800000, OK | D | N | M },
	{ 0xffe0001f, 0xf380001f, A64_SIGNED }, { 0xffe0001f, 0xf3a0001f, A64_SIGNED },
};

/* 101x: branches, exceptions, system. */
static const struct row branches[] = {
	{ 0xfc000000, 0x14000000, A64_B },
	{ 0xfc000000, 0x94000000, A64_BL | CALL },
	{ 0x7e000000, 0x34000000, A64_CBZ | T },
	{ 0x7e000000, 0x36000000, A64_TBZ | T },
	{ 0xff000000, 0x54000000, A64_BCOND | FR },
	{ 0xffc0001f, 0x5500001f, A64_SIGNED },				/* retaasppc */
	{ 0xffe0001f, 0xd4000001, A64_SVC | X0 },
	{ 0xffe0001e, 0xd4000002, OK | X0 },				/* hvc, smc */
	{ 0xffffffff, 0xd4200020, A64_STOP },			/* brk #1: clang's trap */
	{ 0xffffffff, 0xd4207d00, A64_STOP },			/* brk #1000: gcc's */
	{ 0xfff0001f, 0xd42aa000, A64_STOP },			/* brk #0x55..: ubsan's */
	{ 0xffe0001f, 0xd4200000, OK },
	{ 0xffe0001f, 0xd4400000, OK },					/* hlt */
	{ 0xffe0001f, 0xd4600000, OK | FW },				/* tcancel */
	{ 0xffe0001f, 0xd4a00000, XX }, { 0xffe0001c, 0xd4a00000, OK },	/* dcps */
	{ 0xffffffff, 0xd503201f, A64_NOP },
	{ 0xffffffff, 0xd50320ff, OK | LINK },				/* xpaclri */
	{ 0xffffff3f, 0xd503211f, OK | X17 },				/* pacia1716, ... */
	{ 0xffffff1f, 0xd503231f, OK | LINK },				/* paciasp, ... */
	{ 0xffffffff, 0xd50324ff, A64_SIGNED },				/* pacm */
	{ 0xffffffff, 0xd503251f, OK | X16 },				/* chkfeat */
	{ 0xfffff01f, 0xd503201f, OK },					/* hints */
	{ 0xfffff0ff, 0xd503305f, A64_CLREX },
	{ 0xffffffff, 0xd503307f, OK },					/* tcommit */
	{ 0xfffff3ff, 0xd503323f, OK },					/* dsb nxs */
	{ 0xffffffff, 0xd50330ff, OK },					/* sb */
	{ 0xfffff0ff, 0xd503309f, OK }, { 0xfffff0df, 0xd503309f, OK },
	{ 0xfffff0ff, 0xd50330bf, OK }, { 0xfffff0ff, 0xd50330df, OK },	/* dmb, isb */
	{ 0xffffffc0, 0xd5031000, OK | T },				/* wfet, wfit */
	{ 0xfffff0ff, 0xd500401f, OK | FR | FW },			/* cfinv */
	{ 0xfffff0df, 0xd500401f, OK | FR | FW },			/* axflag, xaflag */
	{ 0xfff8f01f, 0xd500401f, OK },					/* msr, immediate */
	{ 0xffffffe0, 0xd5233060, OK | D }, { 0xffffffe0, 0xd5233160, OK | D },
	{ 0xfff80000, 0xd5080000, OK | T | ST },			/* sys: dc zva */
	{ 0xfff80000, 0xd5280000, OK | D },				/* sysl */
	{ 0xffffffe0, 0xd53b4200, OK | D | FR }, { 0xffffffe0, 0xd51b4200, OK | T | FW },
	{ 0xffe00000, 0xd5000000, OK | T }, { 0xffe00000, 0xd5200000, OK | D },
	{ 0xfffffc1f, 0xd61f0000, A64_BR | N }, { 0xfffff81f, 0xd61f081f, A64_BR | N },
	{ 0xfffffc1f, 0xd63f0000, A64_BLR | N | CALL },
	{ 0xfffff81f, 0xd63f081f, A64_BLR | N | CALL },
	{ 0xffffffff, 0xd65f03c0, A64_RET | N },
	{ 0xfffffbff, 0xd65f0bff, A64_RET },				/* retaa, retab */
	{ 0xfffffc1f, 0xd65f0000, A64_BR | N },				/* ret to elsewhere */
	{ 0xfffff800, 0xd65f0800, A64_SIGNED },				/* retaasppcr */
	{ 0xffffffff, 0xd69f03e0, OK }, { 0xffffffff, 0xd6bf03e0, OK },	/* eret, drps */
	{ 0xfffffbff, 0xd69f0bff, OK },
	{ 0xfffff800, 0xd71f0800, A64_BR | N | T },
	{ 0xfffff800, 0xd73f0800, A64_BLR | N | T | CALL },
};

/* X1x0: loads and stores. */
static const struct row memory[] = {
	{ 0x3fe08000, 0x08000000, A64_STX | ST | N | NP | T | S },	/* stxr */
	{ 0x3fe08000, 0x08008000, A64_STX | ST | N | NP | T | S },	/* stlxr */
	{ 0x3fe00000, 0x08400000, A64_LDX | LD | N | NP | D },
	{ 0xbfe00000, 0x88200000, A64_STX | ST | N | NP | T | A | S },	/* stxp */
	{ 0xbfe00000, 0x88600000, A64_LDX | LD | N | NP | D | A_ },
	{ 0x3fe00000, 0x08800000, STN | T }, { 0x3fe00000, 0x08c00000, LDN | D },
	{ 0xbfa17c01, 0x08207c00, RMW | S | M | T | TWO },		/* casp */
	{ 0x3fa07c00, 0x08a07c00, RMW | S | M | T },			/* cas */
	{ 0x3f000000, 0x08000000, XX },
	{ 0xff003c00, 0x0c000c00, XX },
	{ 0xbfbff000, 0x0c001000, XX }, { 0xbfbff000, 0x0c003000, XX },
	{ 0xbfbff000, 0x0c005000, XX }, { 0xbfbff000, 0x0c009000, XX },
	{ 0xbfbff000, 0x0c00b000, XX }, { 0xbfbfc000, 0x0c00c000, XX },
	{ 0xbfa0f000, 0x0c801000, XX }, { 0xbfa0f000, 0x0c803000, XX },
	{ 0xbfa0f000, 0x0c805000, XX }, { 0xbfa0f000, 0x0c809000, XX },
	{ 0xbfa0f000, 0x0c80b000, XX }, { 0xbfa0c000, 0x0c80c000, XX },
	{ 0xbfff0000, 0x0c000000, STN }, { 0xbfff0000, 0x0c400000, LDN },	/* st1, ld1 */
	{ 0xbfe00000, 0x0c800000, STN | B | M }, { 0xbfe00000, 0x0cc00000, LDN | B | M },
	{ 0xbf00c400, 0x0d004400, XX }, { 0xbf00c800, 0x0d008800, XX },	/* of one lane */
	{ 0xbf00dc00, 0x0d009400, XX }, { 0xbf40c000, 0x0d00c000, XX },
	{ 0xbf00d000, 0x0d00d000, XX },
	{ 0xbfdf0000, 0x0d000000, STN }, { 0xbfdf0000, 0x0d400000, LDN },
	{ 0xbfc00000, 0x0d800000, STN | B | M }, { 0xbfc00000, 0x0dc00000, LDN | B | M },
	{ 0xfffffc00, 0xd9200000, STN | T }, { 0xfffffc00, 0xd9a00000, STN | T },
	{ 0xfffffc00, 0xd9e00000, LDN | D },				/* tags */
	{ 0xffe00c00, 0xd9600000, LDN | D | T },
	{ 0xff200400, 0xd9200400, STN | B | T | DP },
	{ 0xff200c00, 0xd9200800, STN | T | DP },
	{ 0xfb200c00, 0x19000400, RMW | D | T | B | M | S | FR | FW },	/* cpy, set */
	{ 0x3fe00c00, 0x19000000, STN | T },				/* stlur, ldapur */
	{ 0xffe00c00, 0xd9800000, XX }, { 0xbfe00c00, 0x99c00000, XX },
	{ 0x3f200c00, 0x19000000, LDN | D },
	{ 0x3f600c00, 0x1d000800, STN }, { 0x3f600c00, 0x1d400800, LDN },
	{ 0xff000000, 0xd8000000, A64_LITERAL },			/* prfm */
	{ 0x3f000000, 0x18000000, A64_LITERAL | LD | D },
	{ 0xff000000, 0xdc000000, XX }, { 0x3f000000, 0x1c000000, A64_LITERAL | LD },
	{ 0xfa000000, 0xe8000000, XX }, { 0xff800000, 0x68000000, XX },	/* pairs */
	{ 0x3ec00000, 0x28800000, STN | T | A | B },
	{ 0x3ec00000, 0x28c00000, LDN | D | A_ | B },
	{ 0x3ec00000, 0x28000000, STN | T | A }, { 0x3ec00000, 0x28400000, LDN | D | A_ },
	{ 0x3ec00000, 0x2c000000, STN }, { 0x3ec00000, 0x2c400000, LDN },
	{ 0x3ec00000, 0x2c800000, STN | B }, { 0x3ec00000, 0x2cc00000, LDN | B },
	{ 0x3fc00000, 0x39000000, STN | T }, { 0x3fc00000, 0x39400000, LDN | D },
	{ 0xffc00000, 0xf9800000, OK | N | NP },			/* prfm */
	{ 0xbfc00000, 0xb9c00000, XX }, { 0x3f800000, 0x39800000, LDN | D },
	{ 0x7f800000, 0x7d800000, XX }, { 0xbf800000, 0xbd800000, XX },
	{ 0x3f400000, 0x3d000000, STN }, { 0x3f400000, 0x3d400000, LDN },
	{ 0xffe00c00, 0xf8800000, OK | N | NP }, { 0xffe00000, 0xf8800000, XX },
	{ 0xbfe00000, 0xb8c00000, XX },
	{ 0x3fe00400, 0x38000000, STN | T }, { 0x3fe00400, 0x38000400, STN | T | B },
	{ 0x3f200400, 0x38000000, LDN | D }, { 0x3f200400, 0x38000400, LDN | D | B },
	{ 0x3f200c00, 0x3c000800, XX },
	{ 0x7fa00000, 0x7c800000, XX }, { 0xbfa00000, 0xbc800000, XX },
	{ 0x3f600400, 0x3c000000, STN }, { 0x3f600400, 0x3c400000, LDN },
	{ 0x3f600400, 0x3c000400, STN | B }, { 0x3f600400, 0x3c400400, LDN | B },
	{ 0xff200c00, 0xf8200400, LDN | D }, { 0xff200c00, 0xf8200c00, LDN | D | B },
	{ 0x3b204c00, 0x38200800, XX },					/* by a register */
	{ 0xffe00c00, 0xf8a00800, OK | N | NP | M }, { 0xbfe00c00, 0xb8e00800, XX },
	{ 0x3fe00c00, 0x38200800, STN | M | T }, { 0x3f200c00, 0x38200800, LDN | M | D },
	{ 0x7fa00c00, 0x7ca00800, XX }, { 0xbfa00c00, 0xbca00800, XX },
	{ 0x3f600c00, 0x3c200800, STN | M }, { 0x3f600c00, 0x3c600800, LDN | M },
	{ 0x3f208c00, 0x38200000, RMW | M | D },			/* ldadd, ... */
	{ 0x3f20fc00, 0x38208000, RMW | M | D },			/* swp */
	{ 0x3ffffc00, 0x38bfc000, LDN | D },				/* ldapr */
	{ 0xfffffc00, 0xf83f9000, STN | ANY }, { 0xfffffc00, 0xf83fd000, LDN | D | EIGHT },
	{ 0xffe0fc00, 0xf820b000, STN | ANY }, { 0xffe0fc00, 0xf820a000, STN | ANY },
};

/* X101: data processing, registers. */
static const struct row registers[] = {
	{ 0x9f008000, 0x0a008000, XX },
	{ 0x7f000000, 0x6a000000, OK | D | N | M | FW },		/* ands, bics */
	{ 0x1f000000, 0x0a000000, OK | D | N | M },
	{ 0x1fe00000, 0x0bc00000, XX }, { 0x9f208000, 0x0b008000, XX },
	{ 0x3f200000, 0x2b000000, OK | D | N | M | FW },		/* adds, subs */
	{ 0x3f200000, 0x0b000000, OK | D | N | M },
	{ 0x1f201400, 0x0b201400, XX }, { 0x1f201800, 0x0b201800, XX },
	{ 0x3fe00000, 0x2b200000, OK | D | N | NP | M | FW },
	{ 0x3fe00000, 0x0b200000, OK | D | DP | N | NP | M },
	{ 0x3fe0fc00, 0x1a000000, OK | D | N | M | FR },		/* adc, sbc */
	{ 0x3fe0fc00, 0x3a000000, OK | D | N | M | FR | FW },
	{ 0xffe07c10, 0xba000400, OK | N | FW }, { 0xffffbc1f, 0x3a00080d, OK | N | FW },
	{ 0xbfe0e000, 0x9a002000, OK | D | DP | N | NP | M },
	{ 0x3fe00410, 0x3a400000, OK | N | M | FR | FW },		/* ccmp */
	{ 0x3fe00800, 0x1a800000, OK | D | N | M | FR },		/* csel */
	{ 0x7fe0f800, 0x1ac00800, OK | D | N | M },			/* udiv, sdiv */
	{ 0x7fe0f000, 0x1ac02000, OK | D | N | M },
	{ 0xffe0ec00, 0x9ac04c00, OK | D | N | M },			/* crc32 */
	{ 0xffe0ec00, 0x1ac04c00, XX }, { 0xffe0e000, 0x1ac04000, OK | D | N | M },
	{ 0xffe0fc00, 0x9ac03000, OK | D | N | M | ANY }, /* pacga: bits 20-16 may be sp */
	{ 0xffe0fc00, 0x9ac00000, OK | D | N | NP | M },		/* subp, ... */
	{ 0xffe0fc00, 0xbac00000, OK | D | N | NP | M | FW },
	{ 0xffe0fc00, 0x9ac01000, OK | D | DP | N | NP | M },
	{ 0xffe0fc00, 0x9ac01400, OK | D | N | NP | M },
	{ 0x7fe0f000, 0x1ac06000, OK | D | N | M },			/* smax, ... */
	{ 0xfffffc00, 0x5ac00c00, XX }, { 0x7fffe000, 0x5ac00000, OK | D | N },
	{ 0x7ffffc00, 0x5ac02000, OK | D | N },				/* rbit, ..., abs */
	{ 0xffffe000, 0xdac10000, OK | D | T | N | NP },		/* pacia, ... */
	{ 0xffffe3e0, 0xdac123e0, OK | D | T }, { 0xfffffbe0, 0xdac143e0, OK | D | T },
	{ 0xffffdbff, 0xdac183fe, A64_SIGNED }, { 0xfffff81f, 0xdac1901e, A64_SIGNED },
	{ 0x7fe00000, 0x1b000000, OK | D | N | M | A },			/* madd, ... */
	{ 0xff600000, 0x9b200000, OK | D | N | M | A },
	{ 0xff608000, 0x9b400000, OK | D | N | M },
	{ 0xffe00000, 0x9b600000, OK | D | N | M | A },
};

/* X111: floating point and vectors. */
static const struct row floats[] = {
	{ 0x7f3e0000, 0x1e180000, OK | D }, { 0x7f3e0000, 0x1e020000, OK | N },
	{ 0xfffffc00, 0x1e7e0000, OK | D | FW },			/* fjcvtzs */
	{ 0x7f26fc00, 0x1e200000, OK | D }, { 0x7f26fc00, 0x1e220000, OK | N },
	{ 0x7f26fc00, 0x1e240000, OK | D },
	{ 0x7f27fc00, 0x1e260000, OK | D }, { 0x7f27fc00, 0x1e270000, OK | N },	/* fmov */
	{ 0xff20fc07, 0x1e202000, OK | FW },				/* fcmp */
	{ 0xff200c00, 0x1e200400, OK | FR | FW }, { 0xff200c00, 0x1e200c00, OK | FR },
	{ 0xbfe0ec00, 0x0e002c00, OK | D },				/* smov, umov */
	{ 0xbfe0fc00, 0x0e000c00, OK | N }, { 0xffe0fc00, 0x4e001c00, OK | N },
	{ 0xff000000, 0xce000000, OK }, { 0x90000000, 0x80000000, XX },
	{ 0xd0000000, 0xd0000000, XX }, { 0x70000000, 0x30000000, XX },
	{ 0x00000000, 0x00000000, OK },
};

#define ROWS(t) { t, ARRAY_LEN(t) }
static const struct group {
	const struct row *rows;
	size_t n;
} groups[16] = {
	[0] = ROWS(reserved), [2] = ROWS(sve), [8] = ROWS(immediate), [9] = ROWS(immediate),
	[10] = ROWS(branches), [11] = ROWS(branches), [4] = ROWS(memory), [6] = ROWS(memory),
	[12] = ROWS(memory), [14] = ROWS(memory), [5] = ROWS(registers),
	[13] = ROWS(registers), [7] = ROWS(floats), [15] = ROWS(floats),
};

/* ---- a word --------------------------------------------------------------- */

static uint32_t what_is(uint32_t w)
{
	const struct group *g = &groups[w >> 25 & 15];

	for (size_t i = 0; i < g->n; i++)
		if ((w & g->rows[i].mask) == g->rows[i].bits)
			return g->rows[i].what;
	return XX;
}

/* 31 is the zero register, which counts as none. Callers look first whether a letter says that
 * 31 is the stack pointer. */
static uint32_t general(unsigned int reg)
{
	return reg == A64_ZERO ? 0 : 1u << reg;
}

static uint32_t several(unsigned int first, unsigned int n)
{
	uint32_t mask = 0;

	while (n--)
		mask |= general((first + n) & 31);
	return mask;
}

static uint32_t reads_of(uint32_t w, uint32_t what)
{
	uint32_t r = 0;

	if (what & T)
		r |= what & DP ? 1u << a64_rd(w) : general(a64_rd(w));
	if (what & N)
		r |= what & NP ? 1u << a64_rn(w) : general(a64_rn(w));
	if (what & A)
		r |= general(a64_ra(w));
	if (what & M)
		r |= general(a64_rm(w));
	if (what & TWO)
		r |= several(a64_rd(w), 2) | several(a64_rm(w), 2);
	return r;
}

static uint32_t fixed_writes(uint32_t what)
{
	return (what & LINK ? 1u << A64_LINK : 0) | (what & X17 ? 1u << 17 : 0) |
	       (what & X16 ? 1u << 16 : 0) | (what & X0 ? 1u << 0 : 0) |
	       (what & CALL ? (uint32_t)FL_ARCH_SCRATCH | 1u << 18 : 0);
}

static uint32_t writes_of(uint32_t w, uint32_t what)
{
	uint32_t r = fixed_writes(what);

	if (what & D)
		r |= what & DP ? 1u << a64_rd(w) : general(a64_rd(w));
	if (what & B)
		r |= 1u << a64_rn(w);
	if (what & A_)
		r |= general(a64_ra(w));
	if (what & S)
		r |= general(a64_rm(w));
	if (what & EIGHT)
		r |= several(a64_rd(w), 8);
	return what & TWO ? r | several(a64_rm(w), 2) : r;
}

void a64_read(struct a64 *i, uint32_t w)
{
	uint32_t what = what_is(w);

	*i = (struct a64){
		.kind = what & KIND,
		.access = (what & LD ? A64_LOADS : 0) | (what & ST ? A64_STORES : 0),
		.reads_flags = what & FR, .sets_flags = what & FW,
		.reads = what & ANY ? ~0u : reads_of(w, what),
		.writes = what & ANY ? ~0u : writes_of(w, what),
	};
}

int64_t a64_distance(uint32_t w, enum a64_kind kind)
{
	switch (kind) {
	case A64_B: case A64_BL:
		return a64_signed(w, 0, 26) * 4;
	case A64_BCOND: case A64_CBZ: case A64_LITERAL:
		return a64_signed(w, 5, 19) * 4;
	case A64_TBZ:
		return a64_signed(w, 5, 14) * 4;
	case A64_ADR:
		return a64_signed(w, 5, 19) * 4 + (w >> 29 & 3);
	case A64_ADRP:
		return (a64_signed(w, 5, 19) * 4 + (w >> 29 & 3)) * 4096;
	default:
		return 0;
	}
}

uintptr_t a64_target(uint32_t w, enum a64_kind kind, uintptr_t at)
{
	if (kind == A64_ADRP)
		at &= ~(uintptr_t)4095;
	return at + (uintptr_t)a64_distance(w, kind);
}

/* ---- classes -------------------------------------------------------------- */

static void set_target(struct fl_insn *i, uint8_t cls, const struct a64 *a, uint32_t w,
		       uintptr_t at)
{
	i->cls = cls;
	i->target = a64_target(w, a->kind, at);
}

/* adr, adrp, loads of what lies at a distance. */
static void set_operand(struct fl_insn *i, const struct a64 *a, uint32_t w, uintptr_t at)
{
	i->operand_at = 1;
	if (a64_rd(w) == A64_ZERO || (a->kind == A64_LITERAL && w >> 24 != 0x58))
		return;
	set_target(i, a->kind == A64_LITERAL ? FL_INSN_LOAD_POINTER :
		   a->kind == A64_ADRP ? FL_INSN_LOAD_PAGE : FL_INSN_LOAD_ADDRESS, a, w, at);
	i->reg = a64_rd(w);
}

static bool is_frame(unsigned int reg)
{
	return reg == A64_SP || reg == FL_ARCH_FP;
}

static void set_frame(struct fl_insn *i, uint8_t cls, unsigned int reg, uint32_t w,
		      int64_t offset)
{
	i->cls = cls;
	i->reg = reg;
	i->source = a64_rn(w);
	i->target = (uintptr_t)offset;
}

/* add, sub; mov from or to the stack pointer is an add. */
static void set_sum(struct fl_insn *i, uint32_t w)
{
	int64_t v = w >> 10 & 4095;

	if (w >> 22 & 1)
		v <<= 12;
	if (w >> 30 & 1)
		v = -v;
	if (!is_frame(a64_rn(w)))
		return;
	set_frame(i, FL_INSN_FRAME_ADDRESS, a64_rd(w), w, v);
	i->writes &= ~(1u << A64_SP);
}

unsigned int a64_log_size(uint32_t w)
{
	bool is_vector = a64_is_vector(w), is_of_pair = (w & 0x3a000000) == 0x28000000;

	if (is_of_pair)
		return is_vector ? 2 + (w >> 30) : w >> 31 ? 3 : 2;
	return is_vector && w >> 23 & 1 ? 4 : w >> 30;
}

/* A store that is not of one whole register smashes what was there. */
static void set_access(struct fl_insn *i, const struct a64 *a, uint32_t w, int64_t offset,
		       unsigned int n)
{
	unsigned int size = a64_log_size(w);
	bool is_whole = size == 3 && n == 1 && !(w >> 26 & 1) && a64_rd(w) != A64_ZERO;

	if (is_whole && a->access == A64_STORES)
		set_frame(i, FL_INSN_STORE_FRAME, a64_rd(w), w, offset);
	else if (is_whole && a->access == A64_LOADS && !(w >> 23 & 1))
		set_frame(i, FL_INSN_LOAD_FRAME, a64_rd(w), w, offset);
	else if (a->access & A64_STORES)
		set_frame(i, FL_INSN_SMASH, size + (n - 1), w, offset);
}

/* An access from a base in the frame, at an offset that is in the word; other stores from such
 * a base write anywhere. */
static void set_memory(struct fl_insn *i, const struct a64 *a, uint32_t w)
{
	if (!is_frame(a64_rn(w)))
		return;
	if ((w & 0x3b000000) == 0x39000000)
		set_access(i, a, w, (int64_t)(w >> 10 & 4095) << a64_log_size(w), 1);
	else if ((w & 0x3b200c00) == 0x38000000)
		set_access(i, a, w, a64_signed(w, 12, 9), 1);
	else if ((w & 0x3b000000) == 0x29000000 && !(w >> 23 & 1))
		set_access(i, a, w, (int64_t)((uint64_t)a64_signed(w, 15, 7) <<
					      a64_log_size(w)), 2);
	else if (a->access & A64_STORES)
		set_frame(i, FL_INSN_SMASH, FL_ANYWHERE, w, 0);
}

/* movz, movn: the constant. */
static void set_constant(struct fl_insn *i, uint32_t w)
{
	uint64_t v = (uint64_t)(w >> 5 & 0xffff) << (w >> 21 & 3) * 16;

	if (!(w >> 30 & 1))
		v = ~v;
	i->cls = FL_INSN_LOAD_ADDRESS;
	i->reg = a64_rd(w);
	i->target = w >> 31 ? v : (uint32_t)v;
}

static void set_plain(struct fl_insn *i, const struct a64 *a, uint32_t w)
{
	if ((w & 0xbf800000) == 0x91000000 || (w & 0xff800000) == 0xd1000000)
		set_sum(i, w);
	else if ((w & 0x1f800000) == 0x12800000 && (w >> 29 & 3) != 3 && a64_rd(w) != A64_ZERO)
		set_constant(i, w);
	else if ((w & 0xffe0ffe0) == 0xaa0003e0 && a64_rd(w) != A64_ZERO &&
		 a64_rm(w) != A64_ZERO) {
		i->cls = FL_INSN_MOVE;
		i->reg = a64_rd(w);
		i->source = a64_rm(w);
	} else if (a->access) {
		set_memory(i, a, w);
	}
}

static void classify(struct fl_insn *i, const struct a64 *a, uint32_t w, uintptr_t at)
{
	switch (a->kind) {
	case A64_B:
		set_target(i, FL_INSN_JUMP, a, w, at);
		break;
	case A64_BL:
		set_target(i, FL_INSN_CALL, a, w, at);
		break;
	case A64_BCOND: case A64_CBZ: case A64_TBZ:
		set_target(i, FL_INSN_BRANCH, a, w, at);
		break;
	case A64_BR:
		i->cls = FL_INSN_JUMP;
		break;
	case A64_BLR:
		i->cls = FL_INSN_CALL;
		break;
	case A64_RET:
		i->cls = FL_INSN_RET;
		break;
	case A64_NOP:
		i->cls = FL_INSN_NOP;
		break;
	case A64_STOP:
		i->cls = FL_INSN_STOP;
		break;
	case A64_ADR: case A64_ADRP: case A64_LITERAL:
		set_operand(i, a, w, at);
		break;
	case A64_SIGNED:
		i->operand_at = 1;		/* its operand is where it stands */
		break;
	case A64_LDX: case A64_STX:
		set_memory(i, a, w);
		break;
	case A64_PLAIN:
		set_plain(i, a, w);
	}
}

/* ---- the door ------------------------------------------------------------- */

void fl_arch_decode(struct fl_insn *i, const unsigned char *code, size_t n, uintptr_t at)
{
	struct a64 a;
	uint32_t w;

	*i = (struct fl_insn){ .writes = (fl_regs)~0u };
	if (n < 4 || at & 3)
		return;
	w = a64_word(code);
	a64_read(&a, w);
	if (a.kind == A64_NONE)
		return;
	i->len = 4;
	i->writes = a.writes;
	classify(i, &a, w, at);
}

size_t fl_arch_decode_flow(struct fl_insn *i, const unsigned char *code, size_t n,
			   uintptr_t at)
{
	fl_arch_decode(i, code, n, at);
	return i->len;
}

uintptr_t fl_arch_operand(const struct fl_insn *i, const unsigned char *code, uintptr_t at)
{
	uint32_t w = a64_word(code);
	struct a64 a;

	(void)i;
	a64_read(&a, w);
	return a64_target(w, a.kind, at);
}

bool fl_arch_call_before(struct fl_insn *i, uintptr_t ret)
{
	fl_arch_decode(i, (const unsigned char *)(ret - 4), 4, ret - 4);
	return i->cls == FL_INSN_CALL && i->target;
}

/* bti c, bti jc, paciasp, pacibsp. */
size_t fl_arch_landing(const unsigned char *code, size_t n)
{
	uint32_t w = n < 4 ? 0 : a64_word(code);

	return w == 0xd503245f || w == 0xd50324df || w == 0xd503233f || w == 0xd503237f ? 4 : 0;
}

/* NOPs and zeros. */
bool fl_arch_is_filler(const unsigned char *code, size_t n, size_t left)
{
	for (size_t at = 0; at < n; at += 4) {
		struct a64 a;

		if (left - at < 4)
			return false;
		a64_read(&a, a64_word(code + at));
		if (a.kind != A64_NOP && a64_word(code + at))
			return false;
	}
	return true;
}

bool fl_arch_takes_flags(const unsigned char *code, size_t n, size_t most)
{
	for (; most-- && n >= 4; code += 4, n -= 4) {
		struct a64 a;

		a64_read(&a, a64_word(code));
		if (a.reads_flags)
			return true;
		if (a.sets_flags || (a.kind != A64_PLAIN && a.kind != A64_ADR &&
				     a.kind != A64_ADRP && a.kind != A64_NOP))
			return false;
	}
	return false;
}

/* Compilers for this CPU write no such code. */
bool fl_arch_splits_stack(const unsigned char *code, size_t n)
{
	(void)code;
	(void)n;
	return false;
}
