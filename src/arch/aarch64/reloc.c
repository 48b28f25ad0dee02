/*
 * reloc.c - the same effect at another address, and what else a body is made of.
 *
 *	original		moved, in its long form
 *	anything else		as it is
 *	b, bl			b, bl
 *	b.cond, cbz, tbz	the opposite over the next; b
 *	adr xd			adrp xd; add xd
 *	adrp xd			adrp xd
 *	ldr xd, literal		adrp xd; add xd; ldr xd, [xd]
 *	ldr vd, literal		str x16, [sp, #-16]!; adrp x16; add x16; ldr vd, [x16];
 *				ldr x16, [sp], #16
 *	prfm literal		the same, or a nop: a prefetch may be left out
 *
 * In its short form a branch on a condition stays as it is. No register and no flag is taken
 * for dead, and memory is read as often as before, except for the literal of a vector
 * register, which takes a word of the stack. Cannot be moved: an instruction that signs an
 * address by where it stands; a literal that is loaded into the zero register; what is out of
 * reach, 128 MiB for b, 4 GiB for adrp.
 */
#include "arch/arch.h"
#include "decode.h"
#include "emit.h"

enum { OVER = 8, COND_AL = 14, TAIL_BYTES = FL_ARCH_TAIL_CALL + FL_ARCH_CALL_BYTES };

/* Words, one behind the other; `to`: where out[0] will stand. */
struct words {
	unsigned char *out;
	uintptr_t to;
	size_t n;
	bool is_far;			/* something was out of reach */
};

static void put(struct words *w, uint32_t word)
{
	a64_put(w->out + w->n, word);
	w->n += 4;
}

static size_t made_by(const struct words *w)
{
	return w->is_far ? 0 : w->n;
}

static void put_direct(struct words *w, enum a64_direct op, uintptr_t target)
{
	uint32_t word;

	w->is_far |= !a64_branch(&word, op, w->to + w->n, target);
	put(w, word);
}

/* `address` into a register, to the byte. */
static void put_address(struct words *w, unsigned int rd, uintptr_t address)
{
	uint32_t word;

	w->is_far |= !a64_adrp(&word, rd, w->to + w->n, address);
	put(w, word);
	put(w, a64_add(rd, rd, address & 4095));
}

/* ---- branches on a condition ------------------------------------------------ */

static bool is_conditional(unsigned int kind)
{
	return kind == A64_BCOND || kind == A64_CBZ || kind == A64_TBZ;
}

/* b.al, b.nv */
static bool is_always(uint32_t word, unsigned int kind)
{
	return kind == A64_BCOND && (word & COND_AL) == COND_AL;
}

/* Let the branch lead `d` bytes from where it stands. */
static bool redirect(uint32_t *word, unsigned int kind, int64_t d)
{
	unsigned int bits = kind == A64_TBZ ? 14 : 19;

	*word &= ~(((1u << bits) - 1) << 5);
	return a64_field(word, d, bits, 5);
}

static uint32_t opposite(uint32_t word, unsigned int kind)
{
	return word ^ (kind == A64_BCOND ? 1u : 1u << 24);
}

/* A condition that has no opposite is always true: the branch goes there at once. */
static void put_conditional(struct words *w, uint32_t word, unsigned int kind,
			    uintptr_t target)
{
	uint32_t skip = opposite(word, kind);

	redirect(&skip, kind, OVER);
	put(w, is_always(word, kind) ? (uint32_t)A64_W_NOP : skip);
	put_direct(w, A64_W_B, target);
}

/* ---- literals ------------------------------------------------------------------ */

/* ldr, ldrsw of general registers, by size and sign; of vector registers. */
static uint32_t load_of(uint32_t word, unsigned int base)
{
	static const uint32_t general[] = { 0xb9400000, 0xf9400000, 0xb9800000 };
	static const uint32_t vector[] = { 0xbd400000, 0xfd400000, 0x3dc00000 };
	bool is_vector = word >> 26 & 1;

	return (is_vector ? vector : general)[word >> 30] | base << 5 | a64_rd(word);
}

static void put_vector_literal(struct words *w, uint32_t word, uintptr_t address)
{
	put(w, 0xf81f0ff0);			/* str x16, [sp, #-16]! */
	put_address(w, 16, address);
	put(w, load_of(word, 16));
	put(w, 0xf84107f0);			/* ldr x16, [sp], #16 */
}

static void put_literal(struct words *w, uint32_t word, uintptr_t address)
{
	uint32_t near = word & ~(0x7ffffu << 5);

	if (word >> 24 == 0xd8) {		/* prfm */
		bool is_near = a64_field(&near, (int64_t)(address - w->to), 19, 5);

		put(w, is_near ? near : (uint32_t)A64_W_NOP);
	} else if (word >> 26 & 1) {
		put_vector_literal(w, word, address);
	} else {
		w->is_far |= a64_rd(word) == A64_ZERO;
		put_address(w, a64_rd(word), address);
		put(w, load_of(word, a64_rd(word)));
	}
}

/* ---- the door ------------------------------------------------------------------ */

static void put_page(struct words *w, unsigned int rd, uintptr_t page)
{
	uint32_t word;

	w->is_far |= !a64_adrp(&word, rd, w->to, page);
	put(w, word);
}

/* 31 is the zero register to adr, and the stack pointer to add. */
static void put_adr(struct words *w, unsigned int rd, uintptr_t address)
{
	if (rd != A64_ZERO) {
		put_address(w, rd, address);
		return;
	}
	put(w, A64_W_NOP);
	put(w, A64_W_NOP);
}

static void move(struct words *w, uint32_t word, const struct a64 *a, uintptr_t at,
		 uintptr_t target)
{
	uintptr_t operand = a64_target(word, a->kind, at);

	switch (a->kind) {
	case A64_B: case A64_BL:
		put_direct(w, a->kind == A64_B ? A64_W_B : A64_W_BL, target);
		break;
	case A64_BCOND: case A64_CBZ: case A64_TBZ:
		put_conditional(w, word, a->kind, target);
		break;
	case A64_ADR:
		put_adr(w, a64_rd(word), operand);
		break;
	case A64_ADRP:
		put_page(w, a64_rd(word), operand);
		break;
	case A64_LITERAL:
		put_literal(w, word, operand);
		break;
	case A64_NONE: case A64_SIGNED:
		w->is_far = true;
		break;
	default:
		put(w, word);
	}
}

size_t fl_arch_move(unsigned char *out, uintptr_t to, const unsigned char *code,
		    const struct fl_insn *i, uintptr_t at, uintptr_t target)
{
	struct words w = { .out = out, .to = to };
	struct a64 a;

	if (i->len != 4)
		return 0;
	a64_read(&a, a64_word(code));
	move(&w, a64_word(code), &a, at, target);
	return made_by(&w);
}

size_t fl_arch_move_short(unsigned char *out, uintptr_t to, const unsigned char *code,
			  const struct fl_insn *i, uintptr_t target)
{
	uint32_t word = a64_word(code);
	struct a64 a;

	a64_read(&a, word);
	if (i->len != 4 || !is_conditional(a.kind) ||
	    !redirect(&word, a.kind, (int64_t)(target - to)))
		return 0;
	a64_put(out, word);
	return 4;
}

struct fl_moved fl_arch_moved(const unsigned char *code, const struct fl_insn *i)
{
	unsigned char out[FL_ARCH_MOVED_MAX];

	return (struct fl_moved){ (uint8_t)fl_arch_move(out, 0, code, i, 0, 0),
				  (uint8_t)fl_arch_move_short(out, 0, code, i, 0) };
}

size_t fl_arch_put_skip(unsigned char *out, const unsigned char *code,
			const struct fl_insn *i, uint32_t over, enum fl_past reach)
{
	uint32_t word = a64_word(code);
	struct a64 a;

	(void)reach;
	a64_read(&a, word);
	if (i->len != 4 || !is_conditional(a.kind) || over & 3)
		return 0;
	word = is_always(word, a.kind) ? (uint32_t)A64_W_NOP : opposite(word, a.kind);
	if (word != A64_W_NOP)
		redirect(&word, a.kind, 4 + over);
	a64_put(out, word);
	return 4;
}

/* The function's way back is kept over a call; the glue may use the word above it. */
size_t fl_arch_put_branch(unsigned char *out, enum fl_branch b, uintptr_t at, uintptr_t to)
{
	struct words w = { .out = out, .to = at };

	if (b == FL_BRANCH_JUMP) {
		put_direct(&w, A64_W_B, to);
		return made_by(&w);
	}
	put(&w, 0xf81f0ffe);			/* str x30, [sp, #-16]! */
	put_direct(&w, A64_W_BL, to);
	put(&w, 0xf84107fe);			/* ldr x30, [sp], #16 */
	return made_by(&w);
}

/*
 * A point's place. When it is on the first word is a NOP. The glue keeps all registers, but not
 * the flags.
 *
 *	b .+40
 *	str x0, [sp, #-16]!; mrs x0, nzcv; str x0, [sp, #8]
 *	call of glue
 *	ldr x0, [sp, #8]; msr nzcv, x0; ldr x0, [sp], #16
 */
static const uint32_t point[] = {
	A64_W_PAST_POINT, 0xf81f0fe0, 0xd53b4200, 0xf90007e0,
	A64_W_BRK, A64_W_BRK, A64_W_BRK,
	0xf94007e0, 0xd51b4200, 0xf84107e0,
};
const struct fl_depth fl_arch_point_depths[FL_ARCH_POINT_DEPTHS] = {
	{ 8, 16 }, { 20, 32 }, { 28, 16 }, { 40, 0 },
};
_Static_assert(FL_ARCH_POINT_CALL == 16 && sizeof point <= FL_ARCH_PLACE_MAX, "as drawn");

/* A return may not be exchanged: the place for it stands before the return. */
size_t fl_arch_put_place(unsigned char *out, enum fl_form form, const unsigned char *code,
			 size_t len)
{
	switch (form) {
	case FL_FORM_BODY_TAIL:
		a64_put(out, A64_W_PAST_CALL);
		for (size_t n = FL_ARCH_TAIL_CALL; n < TAIL_BYTES; n += 4)
			a64_put(out + n, A64_W_BRK);
		return TAIL_BYTES;
	case FL_FORM_BODY_POINT:
		for (size_t k = 0; k < ARRAY_LEN(point); k++)
			a64_put(out + 4 * k, point[k]);
		return sizeof point;
	case FL_FORM_BODY_SWITCH:
		a64_put(out, A64_W_NOP);
		__builtin_memcpy(out + 4, code, len);
		return FL_ARCH_SWITCH_BYTES;
	default:
		return 0;
	}
}
