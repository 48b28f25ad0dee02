/*
 * decode.h - what one word of A64 is; private to this port.
 *
 * An instruction is a word, so its bits tell everything: a64_read() says which kind the
 * instruction is, which general registers and flags it reads and writes, and whether it
 * accesses memory. The fields have names here; decode.c says what they mean.
 */
#ifndef FL_A64_DECODE_H
#define FL_A64_DECODE_H

#include "base/base.h"

enum a64_kind {
	A64_NONE,		/* no instruction, or none that is known here */
	A64_PLAIN,		/* leads to the next one, and is the same anywhere */
	A64_B, A64_BL, A64_BCOND, A64_CBZ, A64_TBZ,
	A64_BR, A64_BLR, A64_RET,
	A64_ADR, A64_ADRP,
	A64_LITERAL,		/* loads, or prefetches, what lies at a distance */
	A64_LDX, A64_STX, A64_CLREX,	/* exclusives */
	A64_SVC,
	A64_NOP,
	A64_STOP,		/* undefined for good; or compilers end code with it */
	A64_SIGNED		/* signs or checks an address by where this word stands */
};

enum a64_access { A64_LOADS = 1, A64_STORES = 2 };

/* Bit 31 of a mask of registers is the stack pointer; the zero register has none. */
struct a64 {
	uint8_t kind;			/* enum a64_kind */
	uint8_t access;			/* enum a64_access */
	bool reads_flags, sets_flags;
	uint32_t reads, writes;		/* all ones: not known */
};
void a64_read(struct a64 *, uint32_t word);

/* ---- fields -------------------------------------------------------------- */

enum { A64_SP = 31, A64_ZERO = 31, A64_LINK = 30 };

static inline unsigned int a64_rd(uint32_t w)
{
	return w & 31;
}
static inline unsigned int a64_rn(uint32_t w)
{
	return w >> 5 & 31;
}
static inline unsigned int a64_ra(uint32_t w)
{
	return w >> 10 & 31;		/* the second register of a pair, too */
}
static inline unsigned int a64_rm(uint32_t w)
{
	return w >> 16 & 31;		/* the status of a store-exclusive, too */
}

/* `n` bits from `at` on, the top one a sign. */
static inline int64_t a64_signed(uint32_t w, unsigned int at, unsigned int n)
{
	return (int64_t)((uint64_t)w << (64 - at - n)) >> (64 - n);
}

/* How far a direct branch, an ADR, an ADRP or a literal leads; ADRP: from its own page. */
int64_t a64_distance(uint32_t word, enum a64_kind);
/* To which address the word leads that stands at `at`. */
uintptr_t a64_target(uint32_t word, enum a64_kind, uintptr_t at);

static inline uint32_t a64_word(const unsigned char *code)
{
	return code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
}

/* For exclusives: bytes as a power of two, of each register of a pair. */
static inline unsigned int a64_size(uint32_t w)
{
	return w >> 30;
}
static inline bool a64_is_pair(uint32_t w)
{
	return w >> 21 & 1;
}
/* For loads and stores: of vector registers? */
static inline bool a64_is_vector(uint32_t w)
{
	return w >> 26 & 1;
}
/* For loads and stores: bytes as a power of two, of each register of a pair. */
unsigned int a64_log_size(uint32_t w);
/* For exclusives: does the load acquire, or the store release? */
static inline bool a64_is_ordered(uint32_t w)
{
	return w >> 15 & 1;
}

#endif
