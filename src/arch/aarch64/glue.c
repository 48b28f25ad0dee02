/*
 * glue.c - what a site's branch leads to.
 *
 * A glue loads its probe's id into w16 and goes where a word of data says, by x17: a call
 * may lose these two registers on its way. A glue that a call leads to, or a jump that
 * leaves the function, is not come back to: the routine returns by x30:
 *
 *	movz x16, #id			movk x16, #id, lsl #16	if it is large
 *	adrp x17, go
 *	ldr x17, [x17, go]
 *	br x17
 *	...
 *	ret				A64_GLUE_RET: a jump that is off leads here
 *
 * A glue that a jump out of a pad or sled leads to keeps x30, which is the function's way
 * back, and goes on in the function (`back`):
 *
 *	str x30, [sp, #-16]!
 *	movz x16, #id			movk, adrp, ldr as above
 *	blr x17
 *	ldr x30, [sp], #16
 *	b back
 *
 * A glue that is called in a body keeps x16 and x17 as well. Its call has put x30 on the
 * stack, in 16 bytes (reloc.c), of which the upper half is the glue's:
 *
 *	str x30, [sp, #8]
 *	stp x16, x17, [sp, #-16]!
 *	movz w16, #id			movk, adrp, ldr as above
 *	blr x17
 *	ldp x16, x17, [sp], #16
 *	ldr x30, [sp, #8]
 *	ret
 *
 * The word is loaded plainly. A routine that needs to see what was bound before has a
 * barrier of its own (routines.h, CALLS_BOUND).
 *
 * A glue that counts by itself is in count.c.
 */
#include "arch/arch.h"
#include "decode.h"
#include "emit.h"
#include "glue.h"

enum { ID = 16, GO = 17, WORDS = FL_ARCH_GLUE_BYTES / 4 };

static const uint32_t ldr_word = 0xb9400210;	/* ldr w16, [x16, #0] */
static const uint32_t jump_there = 0xd61f0220;	/* br x17 */
static const uint32_t call_there = 0xd63f0220;	/* blr x17 */

struct words {
	uint32_t w[WORDS];
	size_t n;
	uintptr_t at;			/* where the first one will run */
	bool in_reach;
};

static void add(struct words *g, uint32_t w)
{
	g->w[g->n++] = w;
}

static void load_id(struct words *g, uint32_t id)
{
	add(g, a64_movz(ID, (uint16_t)id, 0));
	if (id >> 16)
		add(g, a64_movk(ID, (uint16_t)(id >> 16), 1));
}

/* adrp to the page of `to`. */
static void point(struct words *g, int reg, uintptr_t to)
{
	g->in_reach &= a64_adrp(&g->w[g->n], (unsigned int)reg, g->at + 4 * g->n, to);
	g->n++;
}

static void load_go(struct words *g, uintptr_t word)
{
	point(g, GO, word);
	add(g, a64_ldr(GO, GO, word & 4095));
}

static struct words begin_glue(uintptr_t at)
{
	struct words g = { .at = at, .in_reach = true };

	for (size_t i = 0; i < WORDS; i++)
		g.w[i] = A64_W_BRK;
	g.w[A64_GLUE_RET / 4] = A64_W_RET;
	return g;
}

static bool finish(const struct words *g, unsigned char *out)
{
	__builtin_memcpy(out, g->w, sizeof g->w);
	return g->in_reach;
}

static bool keeping(struct words *g, unsigned char *out, uint32_t id, uintptr_t word)
{
	add(g, a64_str(A64_LINK, A64_SP, 8));
	add(g, a64_push(ID, GO, -16));
	load_id(g, id);
	load_go(g, word);
	add(g, call_there);
	add(g, a64_pop(ID, GO, 16));
	add(g, a64_ldr(A64_LINK, A64_SP, 8));
	add(g, A64_W_RET);
	return finish(g, out);
}

bool fl_arch_glue(unsigned char *out, uintptr_t at, uint32_t id, uintptr_t word, uintptr_t back)
{
	struct words g = begin_glue(at);

	if (back == FL_GLUE_KEEPS)
		return keeping(&g, out, id, word);
	if (back)
		add(&g, A64_W_PUSH_LINK);
	load_id(&g, id);
	load_go(&g, word);
	add(&g, back ? call_there : jump_there);
	if (back) {
		add(&g, A64_W_POP_LINK);
		g.in_reach &= a64_branch(&g.w[g.n], A64_W_B, at + 4 * g.n, back);
	}
	return finish(&g, out);
}

bool fl_arch_glue_late(unsigned char *out, uintptr_t at, uintptr_t id, uintptr_t word)
{
	struct words g = begin_glue(at);

	point(&g, ID, id);
	add(&g, ldr_word | (uint32_t)(id & 4095) / 4 << 10);
	load_go(&g, word);
	add(&g, jump_there);
	return finish(&g, out);
}

/* Not told: the way back is in x30 or on the stack, by the kind of glue. */
int fl_arch_glue_pushed(uintptr_t lo, uintptr_t hi, uintptr_t at, bool (*keeps)(uint32_t id))
{
	(void)lo;
	(void)hi;
	(void)at;
	(void)keeps;
	return -1;
}
