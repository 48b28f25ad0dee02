/*
 * count.c - a glue that counts by itself.
 *
 * The way to the routine and back takes longer than the count. So the glue counts by itself
 * while its mask says so. It does so in a restartable sequence, because three instructions on
 * memory are not one (routines.h, COUNT). It uses x16 and x17 and touches no flags, so all
 * conventions have the same glue; where these two are live they are put on the stack first.
 *
 * The mask says which word of the thread's own leads to its slot: fl_tls_slot where the glue
 * counts, otherwise a word that leads to no slot in any thread (rseq.c). So a glue that does
 * not count behaves as in a thread without a slot, and no instruction is needed for the mask
 * alone.
 *
 *	[stp x16, x17, [sp, #-16]!]
 *	mrs x17, tpidr_el0
 *	adr x16, cs			adrp, add, where that is far
 *	str x16, [x17, rseq_cs]		arms the sequence
 *	ldr x16, mask			its start; adrp, ldr
 *	ldr x17, [x17, x16]
 *	ldr x17, [x17, own]		the slot's counters, or 0
 *	cbz x17, cold
 *	[add x17, x17, counter & ~4095]	for a probe with a high number
 *	ldr w16, [x17, counter]		the counter's upper half
 *	add w16, w16, #1 << 21
 *	str w16, [x17, counter]		its end: the commit
 *	tbnz w16, #31, full		the block is full
 *	[ldp x16, x17, [sp], #16]
 *	ret
 *	signature			where an interrupted sequence goes on:
 * cold: adrp x17, go			as a plain glue
 *	ldr x17, [x17, go]
 *	b 1f
 * full: adrp x17, full
 *	ldr x17, [x17, full]
 * 1:	movz w16, #id			movk
 *	br x17
 *
 * With these two on the stack the glue goes on in the way of a glue that keeps them (glue.c):
 *
 * 1:	str x30, [sp, #24]
 *	movz w16, #id			movk
 *	blr x17
 *	ldp x16, x17, [sp], #16
 *	ldr x30, [sp, #8]
 *	ret
 *
 * No call leads to the glue of a pad or sled. In place of the ret above it has b back, and
 *
 * 1:	str x30, [sp, #-16]!
 *	movz w16, #id			movk
 *	blr x17
 *	ldr x30, [sp], #16
 *	b back
 *
 * The other part of the glue is the descriptor, cs, and nothing else.
 *
 * Where no sequence can be armed, and one instruction adds to memory (FEAT_LSE), the glue is:
 *
 *	mrs x17, tpidr_el0
 *	ldr x16, mask			adrp, ldr
 *	ldr x17, [x17, x16]
 *	ldp x17, x16, [x17, own]	the slot's counters, or 0; what one count adds
 *	cbz x17, cold
 *	[add x17, x17, counter & ~4095]	for a probe with a high number
 *	add x17, x17, counter		the counter's upper half
 *	ldadd w16, w16, [x17]		the commit; w16 is what the counter was
 *	tbnz w16, #31, full		the block was full
 *	ret
 *
 * WHY	A handler comes before the commit or behind it, so its own counts, and those of
 *	other ways, are neither lost nor taken back. The mark of a full block is found by the
 *	count after the one that made the mark: that block has one more, and until then the
 *	sum is the same (fl_count_of()). A thread that is closed meanwhile, or whose slot is,
 *	adds to memory that stays mapped. A handler that forks between the load of `own` and
 *	the commit leaves its child the slot of the parent: that call is counted twice there.
 *	The routine that serves where there is no sequence does the same (OS5, way out). So a
 *	sequence is armed wherever one can be.
 */
#include "arch/arch.h"
#include "arch/layout.h"
#include "decode.h"
#include "emit.h"
#include "glue.h"

enum { A = 16, B = 17, WORDS = FL_ARCH_COUNTING_BYTES / 4, RSEQ_BRK = (int)0xd428bc00 };
enum { PAGE = 4096, DIRECT = 4 * PAGE, PAGES = 1 << 24 };	/* add takes, a load, both */

_Static_assert(FL_COUNT_ONE >> 32 == 1 << 21, "what is added to the upper half");

struct code {
	uint32_t w[WORDS];
	size_t n;
	uintptr_t at;
	bool in_reach;
};

struct descriptor {			/* struct rseq_cs of the kernel's */
	uint32_t version, flags;
	uint64_t start, length, abort;
};
_Static_assert(sizeof(struct descriptor) <= FL_ARCH_COUNTING_REST_BYTES, "");

static void add(struct code *c, uint32_t w)
{
	c->w[c->n++] = w;
}

static uintptr_t here(const struct code *c)
{
	return c->at + 4 * c->n;
}

static void load_page(struct code *c, unsigned int reg, uintptr_t to)
{
	uint32_t w;

	c->in_reach &= a64_adrp(&w, reg, here(c), to);
	add(c, w);
}

static void add_address(struct code *c, unsigned int reg, uintptr_t to)
{
	uint32_t w;

	if (a64_adr(&w, reg, here(c), to)) {
		add(c, w);
		return;
	}
	load_page(c, reg, to);
	add(c, a64_add(reg, reg, to & 4095));
}

static void add_word(struct code *c, unsigned int reg, uintptr_t from)
{
	uint32_t w;

	if (a64_ldr_literal(&w, reg, here(c), from)) {
		add(c, w);
		return;
	}
	load_page(c, reg, from);
	add(c, a64_ldr(reg, reg, from & 4095));
}

/* x16 is stored to a word of the thread's own. */
static void store_own(struct code *c, intptr_t offset)
{
	bool near = offset >= -256 && offset < 256;

	c->in_reach &= near || (offset >= 0 && offset < 32768 && offset % 8 == 0);
	add(c, near ? a64_stur(A, B, (int)offset) : a64_str(A, B, (unsigned int)offset));
}

/* The branch at index `from` leads to what is written next. */
static void lead_here(struct code *c, size_t from, unsigned int bits)
{
	c->in_reach &= a64_field(&c->w[from], 4 * (int64_t)(c->n - from), bits, 5);
}

/* Go back to where the function goes on. */
static void add_end(struct code *c, const struct fl_doing_glue *g)
{
	uint32_t w = A64_W_RET;

	if (g->back)
		c->in_reach &= a64_branch(&w, A64_W_B, here(c), g->back);
	add(c, w);
}

/* Where `hot` branches, by index. */
struct hot {
	size_t start, end, cold, full;
};

/* x17 is where the counters are. Move it so near to this counter that an instruction with
 * offsets below `takes` reaches it; returns the offset that is left. */
static uint32_t come_near(struct code *c, uint32_t counter, uint32_t takes)
{
	c->in_reach &= counter < PAGES;
	if (counter < takes)
		return counter;
	add(c, a64_add(B, B, counter >> 12) | 1u << 22);	/* lsl #12 */
	return counter & 4095;
}

/* Where the counter's upper half is, from a slot's counters on. */
static uint32_t counter_of(const struct fl_doing_glue *g)
{
	return g->counter - FL_SLOT_COUNTERS + 4;
}

static void put_look(struct code *c, const struct fl_doing_glue *g)
{
	add_word(c, A, g->mask);
	add(c, a64_ldr_by(B, B, A));
}

static void put_sequence(struct code *c, const struct fl_doing_glue *g, struct a64_own own,
			 struct hot *h)
{
	uint32_t counter;

	add_address(c, A, g->rest_at);
	store_own(c, own.rseq_at);
	h->start = c->n;
	put_look(c, g);
	add(c, a64_ldr(B, B, FL_POINTEE_OWN));
	h->cold = c->n;
	add(c, 0xb4000000 | B);			/* cbz x17, cold */
	counter = come_near(c, counter_of(g), DIRECT);
	add(c, 0xb9400000 | counter / 4 << 10 | B << 5 | A);
	add(c, 0x11400000 | 1u << 9 << 10 | A << 5 | A);	/* add w16, w16, #1 << 21 */
	add(c, 0xb9000000 | counter / 4 << 10 | B << 5 | A);
	h->end = c->n;
}

static void put_atomic(struct code *c, const struct fl_doing_glue *g, struct hot *h)
{
	put_look(c, g);
	add(c, a64_ldp(B, A, B, FL_POINTEE_OWN));
	h->cold = c->n;
	add(c, 0xb4000000 | B);			/* cbz x17, cold */
	add(c, a64_add(B, B, come_near(c, counter_of(g), PAGE)));
	add(c, 0xb8200000 | A << 16 | B << 5 | A);	/* ldadd w16, w16, [x17] */
	h->start = h->end = c->n;		/* nothing is armed */
}

static struct hot put_hot(struct code *c, const struct fl_doing_glue *g, struct a64_own own)
{
	struct hot h;

	if (g->keeps)
		add(c, a64_push(A, B, -16));
	add(c, 0xd53bd040 | B);			/* mrs x17, tpidr_el0 */
	if (own.rseq_at)
		put_sequence(c, g, own, &h);
	else
		put_atomic(c, g, &h);
	h.full = c->n;
	add(c, 0x37f80000 | A);			/* tbnz w16, #31, full */
	if (g->keeps)
		add(c, a64_pop(A, B, 16));
	add_end(c, g);
	return h;
}

static void add_id(struct code *c, uint32_t id)
{
	add(c, a64_movz(A, (uint16_t)id, 0));
	if (id >> 16)
		add(c, a64_movk(A, (uint16_t)(id >> 16), 1));
}

static void way_on(struct code *c, const struct fl_doing_glue *g)
{
	if (g->keeps)
		add(c, a64_str(A64_LINK, A64_SP, 24));
	else if (g->back)
		add(c, A64_W_PUSH_LINK);
	add_id(c, g->id);
	if (!g->keeps && !g->back) {
		add(c, a64_br(B));
		return;
	}
	add(c, a64_blr(B));
	if (g->keeps) {
		add(c, a64_pop(A, B, 16));
		add(c, a64_ldr(A64_LINK, A64_SP, 8));
	} else {
		add(c, A64_W_POP_LINK);
	}
	add_end(c, g);
}

/* The ways to where two words of data say. */
static void put_ways(struct code *c, const struct fl_doing_glue *g, const struct hot *h)
{
	size_t over;

	lead_here(c, h->cold, 19);
	load_page(c, B, g->go);
	add(c, a64_ldr(B, B, g->go & 4095));
	over = c->n;
	add(c, A64_W_B);
	lead_here(c, h->full, 14);
	load_page(c, B, g->full);
	add(c, a64_ldr(B, B, g->full & 4095));
	c->in_reach &= a64_field(&c->w[over], 4 * (int64_t)(c->n - over), 26, 0);
	way_on(c, g);
}

bool a64_glue_counting(const struct fl_doing_glue *g, struct a64_own own)
{
	struct code c = { .at = g->at, .in_reach = true };
	struct descriptor cs = { 0 };
	struct hot h = put_hot(&c, g, own);

	add(&c, RSEQ_BRK);
	cs.start = g->at + 4 * h.start;
	cs.length = 4 * (h.end - h.start);
	cs.abort = here(&c);
	put_ways(&c, g, &h);
	while (c.n < WORDS)
		add(&c, A64_W_BRK);
	__builtin_memcpy(g->out, c.w, sizeof c.w);
	__builtin_memcpy(g->rest, &cs, sizeof cs);
	return c.in_reach;
}
