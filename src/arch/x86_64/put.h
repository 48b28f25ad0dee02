/*
 * put.h - private to arch/x86_64/: instructions that are put one behind the other (put.c).
 */
#ifndef FL_X86_PUT_H
#define FL_X86_PUT_H

#include "arch/arch.h"
#include "emit.h"

enum {
	X86_AX, X86_CX, X86_SP = 4, X86_BP,
	X86_REX = 0x40, X86_REX_W = 8, X86_REX_R = 4, X86_REX_X = 2, X86_REX_B = 1,
	X86_STORE = 0x89, X86_LOAD = 0x8b,
	X86_BELOW = 0x72, X86_AT_LEAST, X86_EQUAL, X86_UNEQUAL, X86_AT_MOST, X86_ABOVE,
	X86_RED_ZONE = 128
};

struct x86_put {
	unsigned char *out;
	uintptr_t to;			/* where out[0] will stand */
	size_t n;
	bool is_far;			/* a displacement was out of reach */
	uint16_t kept;			/* bytes below the original's stack pointer */
	struct fl_depth *depths;	/* `kept`, each time that it has changed */
	uint32_t n_depths;
};

#define X86_PUT(w, ...) \
	x86_put_bytes(w, (const unsigned char[]){ __VA_ARGS__ }, \
		      sizeof((const unsigned char[]){ __VA_ARGS__ }))

void x86_put_bytes(struct x86_put *, const unsigned char *bytes, size_t n);
/* Four bytes. A number that does not fit in 32 bits, with its sign, is out of reach. */
void x86_put_32(struct x86_put *, int64_t v);
void x86_put_64(struct x86_put *, uint64_t v);
/* A displacement to `address`, counted from `behind` bytes behind the displacement. */
void x86_put_rel(struct x86_put *, uintptr_t address, size_t behind);
/* The stack has grown downwards by so many bytes. */
void x86_put_grown(struct x86_put *, int by);

/* REX for the registers, 0 to 15, that stand in ModRM's reg, and in its r/m. */
static inline uint8_t x86_rex_of(unsigned int reg, unsigned int base)
{
	return (uint8_t)(X86_REX | (reg & 8 ? X86_REX_R : 0) | (base & 8 ? X86_REX_B : 0));
}

/* The same for an operation of 64 bits. */
static inline uint8_t x86_rex_w_of(unsigned int reg, unsigned int base)
{
	return x86_rex_of(reg, base) | X86_REX_W;
}

/* rex op reg, disp(base): with the shortest displacement, or with one of 32 bits. */
void x86_put_at(struct x86_put *, uint8_t rex, uint8_t op, unsigned int reg,
		unsigned int base, int disp);
void x86_put_at_32(struct x86_put *, uint8_t rex, uint8_t op, unsigned int reg,
		   unsigned int base, int32_t disp);
/* op reg, disp(base), of 64 bits */
void x86_put_wide(struct x86_put *, uint8_t op, unsigned int reg, unsigned int base, int disp);
/* op reg, %fs:disp, of 64 bits */
void x86_put_fs(struct x86_put *, uint8_t op, unsigned int reg, intptr_t disp);
/* op reg, with, of 64 bits: two registers */
void x86_put_both(struct x86_put *, uint8_t op, unsigned int reg, unsigned int with);
void x86_put_push(struct x86_put *, unsigned int reg);
void x86_put_pop(struct x86_put *, unsigned int reg);
/* lea address(%rip),reg */
void x86_put_lea(struct x86_put *, unsigned int reg, uintptr_t address);
void x86_put_jmp(struct x86_put *, uintptr_t address);
/* A jump to `address` if the condition holds; `condition` is a short jump's opcode. */
void x86_put_if(struct x86_put *, uint8_t condition, uintptr_t address);
/* Move the stack pointer below the red zone, and back; flags stay. */
void x86_put_past_red_zone(struct x86_put *);
void x86_put_before_red_zone(struct x86_put *);
/* Flags into %rax, and back. lahf and sahf know all flags except OF, which 127 + 1 sets
 * (HW15). */
void x86_put_flags_kept(struct x86_put *);
void x86_put_flags_back(struct x86_put *);

#endif
