/*
 * emit.h - A64 encoders, a line each; false when out of reach.
 */
#ifndef FL_A64_EMIT_H
#define FL_A64_EMIT_H

#include "base/base.h"

enum a64_fixed {
	A64_W_NOP = 0xd503201f, A64_W_BTI_C = 0xd503245f, A64_W_BTI_J = 0xd503249f,
	A64_W_PACIASP = 0xd503233f, A64_W_BRK = 0xd4200000, A64_W_ISB = 0xd5033fdf,
	A64_W_RET = 0xd65f03c0, A64_W_CLREX = 0xd5033f5f,
	A64_W_PUSH_LINK = 0xf81f0ffe,	/* str x30, [sp, #-16]! */
	A64_W_POP_LINK = 0xf84107fe,	/* ldr x30, [sp], #16 */
	A64_W_PAST_CALL = 0x14000004,	/* b .+16, over a call of glue */
	A64_W_PAST_POINT = 0x1400000a,	/* b .+40 */
	A64_W_PAST_NEXT = 0x14000002	/* b .+8 */
};

enum a64_direct { A64_W_B = 0x14000000, A64_W_BL = 0x94000000 };
enum { A64_BRANCH_REACH = 1 << 27, A64_NEAR_REACH = 1 << 20, A64_BIT_REACH = 1 << 15 };

/* May the word stand for another one, or become another one, while another core executes it?
 * Both the old and the new word must be such (Arm ARM, "Concurrent modification and execution
 * of instructions"). */
static inline bool a64_is_exchangeable(uint32_t w)
{
	return (w & 0x7c000000) == A64_W_B		/* b, bl */
	    || (w & 0xffe0001f) == A64_W_BRK
	    || ((w & 0xffe0001c) == 0xd4000000 && (w & 3))	/* svc, hvc, smc */
	    || w == A64_W_NOP
	    || (w & 0xfffff0ff) == 0xd50330df;		/* isb */
}

static inline void a64_put(unsigned char *out, uint32_t w)
{
	out[0] = (unsigned char)w;
	out[1] = (unsigned char)(w >> 8);
	out[2] = (unsigned char)(w >> 16);
	out[3] = (unsigned char)(w >> 24);
}

/* A distance of `bits` bits, in words, at bit `shift` of the word. */
static inline bool a64_field(uint32_t *w, int64_t d, unsigned int bits, unsigned int shift)
{
	int64_t most = (int64_t)2 << bits;

	if ((d & 3) || d < -most || d >= most)
		return false;
	*w |= ((uint32_t)(d >> 2) & ((1u << bits) - 1)) << shift;
	return true;
}

/* b or bl, at..to: 128 MiB either way. */
static inline bool a64_branch(uint32_t *w, enum a64_direct op, uintptr_t at, uintptr_t to)
{
	*w = op;
	return a64_field(w, (int64_t)(to - at), 26, 0);
}

/* adr: 1 MiB either way, to the byte. */
static inline bool a64_adr(uint32_t *w, unsigned int rd, uintptr_t at, uintptr_t to)
{
	int64_t d = (int64_t)(to - at);

	*w = 0x10000000 | ((uint32_t)d & 3) << 29 | rd;
	return a64_field(w, d & ~3ll, 19, 5);
}

/* adrp: the page of `to`, 4 GiB either way. */
static inline bool a64_adrp(uint32_t *w, unsigned int rd, uintptr_t at, uintptr_t to)
{
	int64_t d = (int64_t)((to & ~(uintptr_t)4095) - (at & ~(uintptr_t)4095)) / 4096;

	*w = 0x90000000 | ((uint32_t)d & 3) << 29 | rd;
	return a64_field(w, d & ~3ll, 19, 5);
}

/* add rd, rn, #imm, of 64 bits; 31 is the stack pointer. */
static inline uint32_t a64_add(unsigned int rd, unsigned int rn, unsigned int imm)
{
	return 0x91000000 | (imm & 4095) << 10 | rn << 5 | rd;
}

/* ldr rt, at..to, of 64 bits: what lies within 1 MiB. */
static inline bool a64_ldr_literal(uint32_t *w, unsigned int rt, uintptr_t at, uintptr_t to)
{
	*w = 0x58000000 | rt;
	return a64_field(w, (int64_t)(to - at), 19, 5);
}

/* ldr, str rt, [rn, #offset], of 64 bits: a multiple of 8, below 32 KiB. */
static inline uint32_t a64_ldr(unsigned int rt, unsigned int rn, unsigned int offset)
{
	return 0xf9400000 | (offset / 8 & 4095) << 10 | rn << 5 | rt;
}
static inline uint32_t a64_str(unsigned int rt, unsigned int rn, unsigned int offset)
{
	return 0xf9000000 | (offset / 8 & 4095) << 10 | rn << 5 | rt;
}
/* ldr rt, [rn, rm], of 64 bits. */
static inline uint32_t a64_ldr_by(unsigned int rt, unsigned int rn, unsigned int rm)
{
	return 0xf8606800 | rm << 16 | rn << 5 | rt;
}
/* stur rt, [rn, #offset], of 64 bits: any within 256 either way. */
static inline uint32_t a64_stur(unsigned int rt, unsigned int rn, int offset)
{
	return 0xf8000000 | ((uint32_t)offset & 511) << 12 | rn << 5 | rt;
}
/* ldp rt, rt2, [rn, #offset], of 64 bits: a multiple of 8 within 512. */
static inline uint32_t a64_ldp(unsigned int rt, unsigned int rt2, unsigned int rn, int offset)
{
	return 0xa9400000 | ((uint32_t)(offset / 8) & 127) << 15 | rt2 << 10 | rn << 5 | rt;
}
/* ldar rt, [rn], of 64 bits. */
static inline uint32_t a64_ldar(unsigned int rt, unsigned int rn)
{
	return 0xc8dffc00 | rn << 5 | rt;
}
/* stp, ldp rt, rt2, [sp, #offset]!, [sp], #offset: a multiple of 8 within 512. */
static inline uint32_t a64_push(unsigned int rt, unsigned int rt2, int offset)
{
	return 0xa98003e0 | ((uint32_t)(offset / 8) & 127) << 15 | rt2 << 10 | rt;
}
static inline uint32_t a64_pop(unsigned int rt, unsigned int rt2, int offset)
{
	return 0xa8c003e0 | ((uint32_t)(offset / 8) & 127) << 15 | rt2 << 10 | rt;
}

static inline uint32_t a64_mov(unsigned int rd, unsigned int rm)
{
	return 0xaa0003e0 | rm << 16 | rd;
}
static inline uint32_t a64_br(unsigned int rn)
{
	return 0xd61f0000 | rn << 5;
}
static inline uint32_t a64_blr(unsigned int rn)
{
	return 0xd63f0000 | rn << 5;
}

/* movz, movk rd, #v, lsl #(16 * part). */
static inline uint32_t a64_movz(unsigned int rd, uint16_t v, unsigned int part)
{
	return 0xd2800000 | (uint32_t)part << 21 | (uint32_t)v << 5 | rd;
}
static inline uint32_t a64_movk(unsigned int rd, uint16_t v, unsigned int part)
{
	return 0xf2800000 | (uint32_t)part << 21 | (uint32_t)v << 5 | rd;
}

/* A constant of `bits` bits, by as many words as it takes: 2 for 32 bits, 4 for 64, the
 * same number for each value. Touches neither memory nor flags. Returns the bytes. */
size_t a64_put_constant(unsigned char *out, unsigned int rd, uint64_t v, unsigned int bits);

#endif
