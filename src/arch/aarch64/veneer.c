/*
 * veneer.c - what leads from a site to a glue that no branch of 128 MiB reaches.
 *
 * The glue's address is 8 bytes of data in the veneer: these lie in the same page, and do not
 * change once the veneer is executed. The register that leads there is dead at the site,
 * because a glue loads its id into it (glue.c). The function is out of the glue's reach, too.
 * So the veneer goes back there, and its glue is one that is called.
 *
 * At a call, or where a jump leaves the function:
 *
 *	ldr x16, 1f
 *	br x16
 * 1:	.quad glue
 *	brk, brk, brk
 *	ret				A64_GLUE_RET: a jump that is off leads here
 *
 * Out of a pad or sled, to one that returns here:
 *
 *	str x30, [sp, #-16]!
 *	ldr x17, 1f
 *	blr x17
 *	ldr x30, [sp], #16
 *	b back
 *	brk
 * 1:	.quad glue
 *
 * Called in a body, where x16 and x17 are live:
 *
 *	str x30, [sp, #8]
 *	stp x16, x17, [sp, #-16]!
 *	ldr x17, 1f
 *	blr x17
 *	ldp x16, x17, [sp], #16
 *	ldr x30, [sp, #8]
 *	ret
 *	brk
 * 1:	.quad glue
 *
 * No page of veneers and glues is guarded (BTI), so br and blr may lead anywhere; each way back
 * into the program is a return, or a direct branch.
 */
#include "arch/arch.h"
#include "decode.h"
#include "emit.h"
#include "glue.h"

enum { JUMPS = 16, CALLS = 17, WORDS = FL_ARCH_VENEER_MAX / 4 };

struct words {
	uint32_t w[WORDS];
	size_t n;
};

static void add(struct words *v, uint32_t w)
{
	v->w[v->n++] = w;
}

/* Load what lies at offset `literal` of the veneer, behind this word. */
static void add_load(struct words *v, unsigned int reg, size_t literal)
{
	uint32_t w;

	a64_ldr_literal(&w, reg, 4 * v->n, literal);
	add(v, w);
}

/* The glue's address, at the next multiple of 8. */
static void add_glue(struct words *v, uintptr_t glue)
{
	if (v->n % 2)
		add(v, A64_W_BRK);
	add(v, (uint32_t)glue);
	add(v, (uint32_t)(glue >> 32));
}

static void put_way(struct words *v, const struct fl_veneer *in)
{
	add_load(v, JUMPS, 8);
	add(v, a64_br(JUMPS));
	add_glue(v, in->glue);
	if (in->form == FL_FORM_CALL)		/* when off, the site is a NOP */
		return;
	while (v->n < A64_GLUE_RET / 4)
		add(v, A64_W_BRK);
	add(v, A64_W_RET);
}

static bool put_pad(struct words *v, const struct fl_veneer *in)
{
	bool in_reach;
	uint32_t w;

	add(v, A64_W_PUSH_LINK);
	add_load(v, CALLS, 24);
	add(v, a64_blr(CALLS));
	add(v, A64_W_POP_LINK);
	in_reach = a64_branch(&w, A64_W_B, in->at + 4 * v->n, in->back);
	add(v, w);
	add_glue(v, in->glue);
	return in_reach;
}

static void put_keeping(struct words *v, const struct fl_veneer *in)
{
	add(v, a64_str(A64_LINK, A64_SP, 8));
	add(v, a64_push(JUMPS, CALLS, -16));
	add_load(v, CALLS, 32);
	add(v, a64_blr(CALLS));
	add(v, a64_pop(JUMPS, CALLS, 16));
	add(v, a64_ldr(A64_LINK, A64_SP, 8));
	add(v, A64_W_RET);
	add_glue(v, in->glue);
}

size_t fl_arch_put_veneer(unsigned char *out, const struct fl_veneer *in)
{
	struct words v = { .n = 0 };
	bool in_reach = true;

	if (in->back == FL_GLUE_KEEPS)
		put_keeping(&v, in);
	else if (in->back)
		in_reach = put_pad(&v, in);
	else
		put_way(&v, in);
	__builtin_memcpy(out, v.w, 4 * v.n);
	return in_reach ? 4 * v.n : 0;
}
