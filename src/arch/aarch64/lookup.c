/*
 * lookup.c - an indirect jump of a body: does it lead into what the body stands for?
 *
 * Nothing is assumed to be dead: when the body goes on, every register and the flags are
 * what they were. The code uses two of x15, x16 and x17 (a, b), not the one that the jump goes
 * through; all three are kept on the stack, whose pointer is moved first.
 *
 *	stp x16, x17, [sp, #-32]!; str x15, [sp, #16]
 *   for each part:
 *	mov a, part			four words
 *	sub b, xn, a
 *	tbnz b, #63, next
 *	mov a, bytes			two words
 *	sub a, b, a
 *	tbz a, #63, next
 *	mov a, table			four words
 *	lsl b, b, #2
 *	ldrsw b, [a, b]
 *	cbz b, next			no instruction begins there
 *	add a, a, b
 *	br a
 *   next:
 *   outside:
 *	ldr x15, [sp, #16]; ldp x16, x17, [sp], #32
 *
 * landing:
 *	ldr x15, [sp, #16]; ldp x16, x17, [sp], #32; b the instruction
 */
#include "arch/arch.h"
#include "decode.h"
#include "emit.h"

enum { KEPT = FL_ARCH_LOOKUP_KEPT, PART_WORDS = 19, TOP = 63 };

static void put(unsigned char **out, uint32_t word)
{
	a64_put(*out, word);
	*out += 4;
}

/* tbz or tbnz of the top bit, so many words ahead. */
static uint32_t on_sign(unsigned int reg, uint32_t is_set, unsigned int words)
{
	return 0xb6000000 | is_set << 24 | (TOP & 31) << 19 | words << 5 | reg;
}

static uint32_t sub(unsigned int rd, unsigned int rn, unsigned int rm)
{
	return 0xcb000000 | rm << 16 | rn << 5 | rd;
}

static void put_part(unsigned char **out, const struct fl_looked *p, unsigned int n,
		     unsigned int a, unsigned int b)
{
	const unsigned char *start = *out, *next = start + 4 * PART_WORDS;
#define AHEAD ((unsigned int)(next - *out) / 4)

	*out += a64_put_constant(*out, a, p->start, 64);
	put(out, sub(b, n, a));
	put(out, on_sign(b, 1, AHEAD));
	*out += a64_put_constant(*out, a, p->bytes, 32);
	put(out, sub(a, b, a));
	put(out, on_sign(a, 0, AHEAD));
	*out += a64_put_constant(*out, a, p->table, 64);
	put(out, 0xd37ef400 | b << 5 | b);		/* lsl b, b, #2 */
	put(out, 0xb8a06800 | b << 16 | a << 5 | b);	/* ldrsw b, [a, b] */
	put(out, 0xb4000000 | AHEAD << 5 | b);		/* cbz */
	put(out, 0x8b000000 | b << 16 | a << 5 | a);	/* add */
	put(out, a64_br(a));
#undef AHEAD
}

/* Note how far the stack pointer is below the original's, and from which offset on. */
static void note_depths(struct fl_lookup *l, size_t n)
{
	l->depths[0] = (struct fl_depth){ 4, KEPT };
	for (size_t k = 1; k < FL_ARCH_LOOKUP_DEPTHS; k++)
		l->depths[k] = (struct fl_depth){ (uint16_t)n, 0 };
}

static void put_back(unsigned char **out)
{
	put(out, a64_ldr(15, A64_SP, 16));
	put(out, a64_pop(16, 17, KEPT));
}

size_t fl_arch_put_lookup(unsigned char *out, struct fl_lookup *l)
{
	unsigned char *start = out;
	unsigned int n, a, b;
	struct a64 jump;

	if (!l->n_parts || l->n_parts > FL_LOOKED_PARTS || l->len != 4)
		return 0;
	a64_read(&jump, a64_word(l->code));
	n = a64_rn(a64_word(l->code));
	if (jump.kind != A64_BR || n == A64_ZERO)
		return 0;
	a = n == 15 ? 16 : 15;
	b = n == 17 ? 16 : 17;
	put(&out, a64_push(16, 17, -KEPT));
	put(&out, a64_str(15, A64_SP, 16));
	for (uint32_t k = 0; k < l->n_parts; k++)
		put_part(&out, &l->part[k], n, a, b);
	put_back(&out);
	note_depths(l, (size_t)(out - start));
	return (size_t)(out - start);
}

size_t fl_arch_put_landing(unsigned char *out, uintptr_t to, uintptr_t target)
{
	uint32_t word;

	put_back(&out);
	if (!a64_branch(&word, A64_W_B, to + 8, target))
		return 0;
	a64_put(out, word);
	return FL_ARCH_LANDED_BYTES;
}

/* Paths are not woven here yet. */
size_t fl_arch_put_aside(unsigned char *out, uintptr_t to, uintptr_t data, uintptr_t word)
{
	(void)out;
	(void)to;
	(void)data;
	(void)word;
	return 0;
}
