/*
 * put.c - instructions that are put one behind the other, for the files that make code of a
 * few of them (access.c, lookup.c, path.c).
 *
 * Hides prefixes, ModRM and SIB: %rsp and %r12 as a base need a SIB byte, registers above 7 a
 * bit of REX. Hides also where the stack has grown, which is noted for unwinders.
 */
#include "put.h"

void x86_put_bytes(struct x86_put *w, const unsigned char *bytes, size_t n)
{
	__builtin_memcpy(w->out + w->n, bytes, n);
	w->n += n;
}

void x86_put_32(struct x86_put *w, int64_t v)
{
	int32_t v32 = (int32_t)v;

	w->is_far |= v != v32;
	x86_put_bytes(w, (const unsigned char *)&v32, sizeof v32);
}

void x86_put_64(struct x86_put *w, uint64_t v)
{
	x86_put_bytes(w, (const unsigned char *)&v, sizeof v);
}

void x86_put_rel(struct x86_put *w, uintptr_t address, size_t behind)
{
	x86_put_32(w, (int64_t)(address - (w->to + w->n + 4 + behind)));
}

void x86_put_grown(struct x86_put *w, int by)
{
	w->kept = (uint16_t)(w->kept + by);
	w->depths[w->n_depths++] = (struct fl_depth){ (uint16_t)w->n, w->kept };
}

/* ---- with memory ----------------------------------------------------------------- */

static void put_operand(struct x86_put *w, uint8_t mod, unsigned int reg, unsigned int base)
{
	X86_PUT(w, (uint8_t)(mod | (reg & 7) << 3 | (base & 7)));
	if ((base & 7) == X86_SP)
		X86_PUT(w, 0x24);
}

void x86_put_at(struct x86_put *w, uint8_t rex, uint8_t op, unsigned int reg,
		unsigned int base, int disp)
{
	if (disp != (int8_t)disp) {
		x86_put_at_32(w, rex, op, reg, base, disp);
		return;
	}
	X86_PUT(w, rex, op);
	put_operand(w, 0x40, reg, base);
	X86_PUT(w, (uint8_t)disp);
}

void x86_put_at_32(struct x86_put *w, uint8_t rex, uint8_t op, unsigned int reg,
		   unsigned int base, int32_t disp)
{
	X86_PUT(w, rex, op);
	put_operand(w, 0x80, reg, base);
	x86_put_32(w, disp);
}

void x86_put_wide(struct x86_put *w, uint8_t op, unsigned int reg, unsigned int base, int disp)
{
	x86_put_at(w, x86_rex_w_of(reg, base), op, reg, base, disp);
}

void x86_put_fs(struct x86_put *w, uint8_t op, unsigned int reg, intptr_t disp)
{
	X86_PUT(w, 0x64, x86_rex_w_of(reg, 0), op, (uint8_t)((reg & 7) << 3 | 4), 0x25);
	x86_put_32(w, disp);
}

/* ---- without --------------------------------------------------------------------- */

void x86_put_both(struct x86_put *w, uint8_t op, unsigned int reg, unsigned int with)
{
	X86_PUT(w, x86_rex_w_of(reg, with), op, (uint8_t)(0xc0 | (reg & 7) << 3 | (with & 7)));
}

void x86_put_push(struct x86_put *w, unsigned int reg)
{
	if (reg & 8)
		X86_PUT(w, X86_REX | X86_REX_B);
	X86_PUT(w, (uint8_t)(0x50 | (reg & 7)));
	x86_put_grown(w, 8);
}

void x86_put_pop(struct x86_put *w, unsigned int reg)
{
	if (reg & 8)
		X86_PUT(w, X86_REX | X86_REX_B);
	X86_PUT(w, (uint8_t)(0x58 | (reg & 7)));
	x86_put_grown(w, -8);
}

void x86_put_lea(struct x86_put *w, unsigned int reg, uintptr_t address)
{
	X86_PUT(w, x86_rex_w_of(reg, 0), X86_LEA, (uint8_t)((reg & 7) << 3 | X86_BP));
	x86_put_rel(w, address, 0);
}

void x86_put_jmp(struct x86_put *w, uintptr_t address)
{
	X86_PUT(w, X86_JMP);
	x86_put_rel(w, address, 0);
}

void x86_put_if(struct x86_put *w, uint8_t condition, uintptr_t address)
{
	X86_PUT(w, 0x0f, (uint8_t)(condition + 0x10));
	x86_put_rel(w, address, 0);
}

void x86_put_past_red_zone(struct x86_put *w)
{
	X86_PUT(w, 0x48, 0x8d, 0x64, 0x24, 0x80);		/* lea -128(%rsp),%rsp */
	x86_put_grown(w, X86_RED_ZONE);
}

void x86_put_before_red_zone(struct x86_put *w)
{
	X86_PUT(w, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0);	/* lea 128(%rsp),%rsp */
	x86_put_grown(w, -X86_RED_ZONE);
}

void x86_put_flags_kept(struct x86_put *w)
{
	X86_PUT(w, 0x9f, 0x0f, 0x90, 0xc0);	/* lahf; seto %al */
}

void x86_put_flags_back(struct x86_put *w)
{
	X86_PUT(w, 0x04, 0x7f, 0x9e);		/* add $127,%al; sahf */
}
