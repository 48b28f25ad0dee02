/*
 * swap.c - a load-exclusive and its store-exclusive as compare-and-swap.
 *
 * The load keeps three things in memory of the thread's own: where it stood (the stack pointer
 * and the load's size, in one word), the address, and what it has loaded. The store looks at
 * these, and stores if memory is as it was loaded. It does so by a pair of its own, within
 * which nothing else is done.
 *
 *	ldaxr w1, [x0]		stp a, b, [sp, #-48]!; stp c, d; stp e, f
 *				mrs a, tpidr_el0; add a, a, own
 *				ldr b, [a, #32]; tbz b, #6, 1f		how often in a row
 *				str xzr, [a]				nothing is kept
 *				ldp ...; ldaxr w1, [x0]; b 2f		as it was
 *			1:	ldar w1, [x0]; clrex
 *				add b, sp, #48 + shape; str b, [a]	first
 *				str x0, [a, #8]; str x1, [a, #16]
 *				ldp ...
 *			2:
 *	stxr w2, w3, [x0]	stxr w2, w3, [x0]; cbz w2, 2f		as it was
 *				stp ...; mrs a; add a
 *				ldr b, [a, #8]; sub b, b, x0
 *				ldr c, [a, #16]
 *				ldr d, [a]; str xzr, [a]		last; nothing is kept
 *				cbnz b, 1f
 *				sub d, d, #48 + shape; sub d, sp, d; cbnz d, 1f
 *				ldaxr b, [x0]; eor b, b, c; cbnz b, 3f
 *				stxr w2, w3, [x0]; cbnz w2, 1f
 *				str xzr, [a, #32]; b 4f
 *			3:	clrex
 *			1:	ldr b, [a, #32]; add b, b, #1; str b, [a, #32]
 *			4:	ldp ...
 *			2:
 *	clrex			clrex; str xzr of the thread's
 *
 * INVARIANT  A store stores only if memory has the value that the load before it, of the same
 *	call, has loaded, at that address and of that size.
 * WHY	A signal handler may come between any two of these instructions. What it loads is
 *	kept with a stack pointer of its own. The word with the stack pointer is stored first
 *	and read last. So if it is the function's own, all that was read before is, too; the
 *	handler's store leaves a 0 there. What was kept is gone behind each store. A thread that
 *	comes to a store has come to a load before (whole.c). The load of the store's own pair
 *	acquires, always: between the two loads the word may have been given away and back
 *	(ABA), and what was done under it meanwhile is to be seen.
 * PROGRESS  When a thread has failed 64 times in a row, its pairs do what they did originally,
 *	until it has failed 64 times more: stores that the architecture does not promise, at
 *	another address than the load's, succeed on some processors. The original store stands
 *	first, so it finds the monitor of an original load. Where a status is thrown away (wzr)
 *	failures cannot be counted, and no pair does what it did originally.
 *
 * A load of two registers stays exclusive: no plain load is sure to load both at once. No flag
 * is touched, and nothing is kept below the stack pointer.
 */
#include "arch/arch.h"
#include "decode.h"
#include "emit.h"
#include "excl.h"

enum { KEY, ADDRESS = 8, VALUE = 16, SECOND = 24, FAILED = 32 };
enum { KEPT = 48, LEFT_BIT = 6, SCRATCH = 6, HIGHEST = 17, OWN_REACH = 1 << 24 };
enum { LOAD_PLAIN = 0x39400000, LOAD_ACQUIRES = 0x08dffc00, MASK_BASE = 31 << 5 };
enum { RECORD, TMP, FIRST, MORE, OTHER, BASE };	/* scratch registers */

struct swapping {
	unsigned char *out;
	size_t n;
	uint32_t word;			/* of the original */
	unsigned int t, t2, base, s;
	bool is_pair;
	unsigned int r[SCRATCH];
	struct fl_exclusive_code *of;
};

static void put(struct swapping *m, uint32_t word)
{
	a64_put(m->out + m->n, word);
	m->n += 4;
}

/* A branch that leads on to where lead_here() is called with what this returns. */
static size_t put_ahead(struct swapping *m, uint32_t branch)
{
	put(m, branch);
	return m->n - 4;
}

static void lead_here(struct swapping *m, size_t at)
{
	uint32_t w = a64_word(m->out + at), words = (uint32_t)(m->n - at) / 4;

	a64_put(m->out + at, w | ((w & 0x7c000000) == A64_W_B ? words : words << 5));
}

static uint32_t cbnz(unsigned int reg)
{
	return 0xb5000000 | reg;
}

static uint32_t sub(unsigned int rd, unsigned int rn, unsigned int rm)
{
	return 0xcb000000 | rm << 16 | rn << 5 | rd;
}

static uint32_t eor(unsigned int rd, unsigned int rn, unsigned int rm)
{
	return 0xca000000 | rm << 16 | rn << 5 | rd;
}

/* stp, ldp rt, rt2, [sp, #offset], a multiple of 8 */
static uint32_t stp(unsigned int rt, unsigned int rt2, unsigned int offset)
{
	return 0xa90003e0 | offset / 8 << 15 | rt2 << 10 | rt;
}
static uint32_t ldp(unsigned int rt, unsigned int rt2, unsigned int offset)
{
	return stp(rt, rt2, offset) | 1u << 22;
}

static void tell_depth(struct swapping *m, uint16_t depth)
{
	m->of->depths[m->of->n_depths++] = (struct fl_depth){ (uint16_t)m->n, depth };
}

static void keep_scratch(struct swapping *m)
{
	put(m, a64_push(m->r[0], m->r[1], -KEPT));
	tell_depth(m, KEPT);
	put(m, stp(m->r[2], m->r[3], 16));
	put(m, stp(m->r[4], m->r[5], 32));
}

static void restore_scratch(struct swapping *m)
{
	put(m, ldp(m->r[4], m->r[5], 32));
	put(m, ldp(m->r[2], m->r[3], 16));
	put(m, a64_pop(m->r[0], m->r[1], KEPT));
	tell_depth(m, 0);
}

/* The address of the thread's own memory. */
static void find_own(struct swapping *m)
{
	uint32_t at = (uint32_t)m->of->own_at;

	put(m, 0xd53bd040 | m->r[RECORD]);		/* mrs, tpidr_el0 */
	put(m, a64_add(m->r[RECORD], m->r[RECORD], at & 4095));
	put(m, a64_add(m->r[RECORD], m->r[RECORD], at >> 12) | 1u << 22);
}

/* What is added to the stack pointer in its word: sp is a multiple of 16, and no word is 0. */
static unsigned int key_above(const struct swapping *m)
{
	return KEPT + 8 + a64_shape_of(m->word);
}

/* ---- the load ---------------------------------------------------------------------- */

/* A plain load of the same order, or the exclusive load of two registers, through FIRST. */
static uint32_t load_of(const struct swapping *m, unsigned int t, unsigned int t2)
{
	if (m->is_pair)
		return (m->word & ~0x7fffu) | t2 << 10 | m->r[FIRST] << 5 | t;
	return m->word >> 30 << 30 | m->r[FIRST] << 5 | t |
	       (a64_is_ordered(m->word) ? LOAD_ACQUIRES : LOAD_PLAIN);
}

/* The address in a register that no load overwrites. */
static void put_base(struct swapping *m, unsigned int reg)
{
	put(m, m->base == A64_SP ? a64_add(reg, A64_SP, KEPT) : a64_mov(reg, m->base));
}

static void put_left(struct swapping *m, size_t *over)
{
	size_t swaps;

	put(m, a64_ldr(m->r[TMP], m->r[RECORD], FAILED));
	swaps = put_ahead(m, 0x36000000 | LEFT_BIT << 19 | m->r[TMP]);	/* tbz */
	put(m, a64_str(A64_ZERO, m->r[RECORD], KEY));
	restore_scratch(m);
	put(m, m->word);
	*over = put_ahead(m, A64_W_B);
	lead_here(m, swaps);
	tell_depth(m, KEPT);
}

static void put_load(struct swapping *m)
{
	unsigned int t = m->t == A64_ZERO ? m->r[MORE] : m->t;
	unsigned int t2 = m->t2 == A64_ZERO ? m->r[OTHER] : m->t2;
	bool may_leave = m->of->part == A64_PART_LOAD;
	size_t over = 0;

	keep_scratch(m);
	find_own(m);
	if (may_leave)
		put_left(m, &over);
	put_base(m, m->r[FIRST]);
	put(m, load_of(m, t, t2));
	put(m, A64_W_CLREX);
	put(m, a64_add(m->r[TMP], A64_SP, key_above(m)));
	put(m, a64_str(m->r[TMP], m->r[RECORD], KEY));
	put(m, a64_str(m->r[FIRST], m->r[RECORD], ADDRESS));
	put(m, a64_str(t, m->r[RECORD], VALUE));
	if (m->is_pair)
		put(m, a64_str(t2, m->r[RECORD], SECOND));
	restore_scratch(m);
	if (may_leave)
		lead_here(m, over);
}

/* ---- the store --------------------------------------------------------------------- */

/* The load of the store's own pair, which acquires, and has the same size: ldaxr, ldaxp. */
static void put_compare(struct swapping *m)
{
	uint32_t load = (m->word & 0xc0200000) | 0x085f8000 | m->r[BASE] << 5 | m->r[TMP];

	put(m, load | (m->is_pair ? m->r[MORE] : A64_ZERO) << 10);
	put(m, eor(m->r[TMP], m->r[TMP], m->r[FIRST]));
	if (!m->is_pair)
		return;
	put(m, eor(m->r[MORE], m->r[MORE], m->r[OTHER]));
	put(m, 0xaa000000 | m->r[MORE] << 16 | m->r[TMP] << 5 | m->r[TMP]);	/* orr */
}

/* Look at what was kept; away[]: the branches that lead away where it does not fit. */
static void put_ask(struct swapping *m, size_t away[2])
{
	put_base(m, m->r[BASE]);
	put(m, a64_ldr(m->r[TMP], m->r[RECORD], ADDRESS));
	put(m, sub(m->r[TMP], m->r[TMP], m->r[BASE]));
	put(m, a64_ldr(m->r[FIRST], m->r[RECORD], VALUE));
	if (m->is_pair)
		put(m, a64_ldr(m->r[OTHER], m->r[RECORD], SECOND));
	put(m, a64_ldr(m->r[MORE], m->r[RECORD], KEY));
	put(m, a64_str(A64_ZERO, m->r[RECORD], KEY));
	away[0] = put_ahead(m, cbnz(m->r[TMP]));
	put(m, 0xd1000000 | key_above(m) << 10 | m->r[MORE] << 5 | m->r[MORE]);
	/* sub rd, sp, rm, uxtx */
	put(m, 0xcb206000 | m->r[MORE] << 16 | A64_SP << 5 | m->r[MORE]);
	away[1] = put_ahead(m, cbnz(m->r[MORE]));
}

static void put_store(struct swapping *m)
{
	bool is_seen = m->s != A64_ZERO;
	size_t over = 0, away[3], unlike, done = 0;

	put(m, m->word);
	if (is_seen)
		over = put_ahead(m, 0x34000000 | m->s);		/* cbz */
	keep_scratch(m);
	find_own(m);
	put_ask(m, away);
	put_compare(m);
	unlike = put_ahead(m, cbnz(m->r[TMP]));
	put(m, (m->word & ~(uint32_t)MASK_BASE) | m->r[BASE] << 5);
	if (is_seen) {
		away[2] = put_ahead(m, 0x35000000 | m->s);	/* cbnz */
		put(m, a64_str(A64_ZERO, m->r[RECORD], FAILED));
	}
	done = put_ahead(m, A64_W_B);
	lead_here(m, unlike);
	put(m, A64_W_CLREX);
	for (unsigned int k = 0; k < (is_seen ? 3 : 2); k++)
		lead_here(m, away[k]);
	if (is_seen) {
		put(m, a64_ldr(m->r[TMP], m->r[RECORD], FAILED));
		put(m, a64_add(m->r[TMP], m->r[TMP], 1));
		put(m, a64_str(m->r[TMP], m->r[RECORD], FAILED));
	}
	lead_here(m, done);
	restore_scratch(m);
	if (is_seen)
		lead_here(m, over);
}

static void put_clear(struct swapping *m)
{
	put(m, m->word);
	keep_scratch(m);
	find_own(m);
	put(m, a64_str(A64_ZERO, m->r[RECORD], KEY));
	restore_scratch(m);
}

/* ---- which --------------------------------------------------------------------------- */

/* From x17 down, those that the instruction does not name. */
static void choose_scratch(struct swapping *m)
{
	uint32_t used = 1u << m->t | 1u << m->t2 | 1u << m->base | 1u << m->s;
	unsigned int n = 0;

	for (unsigned int r = HIGHEST; n < SCRATCH; r--)
		if (!(used >> r & 1))
			m->r[n++] = r;
}

size_t a64_put_swap(unsigned char *out, struct fl_exclusive_code *p)
{
	uint32_t w = a64_word(p->code);
	struct swapping m = { .out = out, .word = w, .of = p, .is_pair = a64_is_pair(w),
			   .t = a64_rd(w), .base = a64_rn(w), .s = A64_ZERO };

	if (p->own_at < 0 || p->own_at >= OWN_REACH)
		return 0;
	m.t2 = m.is_pair ? a64_ra(w) : m.t;
	if (p->part == A64_PART_STORE)
		m.s = a64_rm(w);
	if (p->part == A64_PART_CLEAR)
		m.t = m.t2 = m.base = A64_ZERO;
	choose_scratch(&m);
	if (p->part == A64_PART_STORE)
		put_store(&m);
	else if (p->part == A64_PART_CLEAR)
		put_clear(&m);
	else
		put_load(&m);
	return m.n;
}
