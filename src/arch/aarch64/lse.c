/*
 * lse.c - a load-exclusive and its store-exclusive as one atomic instruction (LSE).
 *
 *	1: ldaxr w1, [x0]		mov w3, #5; ldaddal w3, w1, [x0]
 *	add w2, w1, #5			add w2, w1, #5
 *	stlxr w3, w2, [x0]		mov w3, #0
 *	cbnz w3, 1b			cbnz w3, 1b
 *
 *	1: ldaxr w1, [x0]		mov w1, w4; casa w1, w2, [x0]
 *	cmp w1, w4			cmp w1, w4
 *	b.ne 2f				b.ne 2f
 *	stxr w3, w2, [x0]		mov w3, #0
 *	cbnz w3, 1b			cbnz w3, 1b
 *
 * The atomic stands for the load. The store's status is 0, because the atomic never fails. The
 * instructions between stay, so every register and flag is what it was behind a pair that did
 * not fail. The number that the atomic adds, sets or clears is made in the status register,
 * which nobody reads. Nothing is lost: not even a change of the word that is
 * undone (ABA), which the way of swap.c cannot see.
 *
 * This is done for a pair in a straight line that no branch leads into, with one instruction
 * between at most, or a comparison and its way out. Other pairs stay as they are.
 */
#include "arch/arch.h"
#include "decode.h"
#include "emit.h"
#include "excl.h"

enum { ADD, CLEAR, FLIP, SET, SWAP = 8, COMPARE };
enum { MOST_WORDS = 4, IMMEDIATE = 32, BITS = 33 };

struct join {
	uint32_t load, store;		/* words */
	uint32_t middle;		/* what stands between, or the comparison */
	unsigned int what, size, t, s, base;
	unsigned int operand;		/* a register; IMMEDIATE, BITS: as in the middle */
	bool is_opposite;		/* the operand's negative, or all its other bits */
	bool commutes;
	uint32_t words;
};

static bool is_of_64(uint32_t w)
{
	return w >> 31;
}

/* The middle combines what was loaded with a register: take that operand. */
static bool take_register(struct join *j)
{
	unsigned int n = a64_rn(j->middle), m = a64_rm(j->middle);

	if (n == m || (n != j->t && (m != j->t || !j->commutes)))
		return false;
	j->operand = n == j->t ? m : n;
	return j->operand != j->s;
}

static bool take_sum(struct join *j)
{
	bool is_sub = j->middle >> 30 & 1;

	j->what = ADD;
	j->is_opposite = is_sub;
	j->commutes = !is_sub;
	if ((j->middle & 0x1fe0fc00) == 0x0b000000)
		return take_register(j);
	j->operand = IMMEDIATE;
	return (j->middle & 0x1f800000) == 0x11000000 && a64_rn(j->middle) == j->t;
}

static bool take_logic(struct join *j)
{
	static const uint8_t does[] = { CLEAR, SET, FLIP, CLEAR };
	bool of_bits = (j->middle & 0x1f800000) == 0x12000000;
	bool is_inverted = !of_bits && j->middle >> 21 & 1;

	j->what = does[j->middle >> 29 & 3];
	j->is_opposite = is_inverted != (j->what == CLEAR);
	j->commutes = !is_inverted;
	if ((j->middle & 0x1fc0fc00) == 0x0a000000)
		return take_register(j);
	j->operand = BITS;
	return of_bits && a64_rn(j->middle) == j->t;
}

/* The middle's result is what is stored. */
static bool take_middle(struct join *j)
{
	unsigned int d = a64_rd(j->middle);

	return d != A64_ZERO && d == a64_rd(j->store) && d != j->base &&
	       (j->size < 3 || is_of_64(j->middle)) && (take_sum(j) || take_logic(j));
}

/* cmp of all bits that were loaded. */
static bool take_comparison(struct join *j)
{
	uint32_t w = j->middle;

	j->what = COMPARE;
	if (a64_rd(w) != A64_ZERO || a64_rn(w) != j->t || is_of_64(w) != (j->size == 3))
		return false;
	if ((w & 0x7fe0fc00) == 0x6b000000) {
		j->operand = a64_rm(w);
		return j->size >= 2 && j->operand != j->t && j->operand != j->s;
	}
	j->operand = IMMEDIATE;
	return (w & 0x7fc00000) == 0x71000000 &&
	       (j->size >= 1 || (w >> 10 & 4095) <= UINT8_MAX);
}

/* cbnz of all bits that were loaded. */
static bool take_zero_test(struct join *j)
{
	uint32_t w = j->middle;

	j->what = COMPARE;
	j->is_opposite = false;
	j->operand = A64_ZERO;
	return (w & 0x7f000000) == 0x35000000 && a64_rd(w) == j->t &&
	       (j->size < 3 || is_of_64(w));
}

static bool is_load(struct join *j, uint32_t w)
{
	struct a64 a;

	a64_read(&a, w);
	j->load = w;
	j->t = a64_rd(w);
	j->base = a64_rn(w);
	j->size = a64_size(w);
	return a.kind == A64_LDX && !a64_is_pair(w) && j->t != A64_ZERO && j->t != j->base;
}

static bool is_store(struct join *j, uint32_t w)
{
	struct a64 a;

	a64_read(&a, w);
	j->store = w;
	j->s = a64_rm(w);
	return a.kind == A64_STX && !a64_is_pair(w) && a64_size(w) == j->size &&
	       a64_rn(w) == j->base && j->s != A64_ZERO && j->s != a64_rd(w) &&
	       j->s != j->base;
}

/* Is another register stored than the one that was loaded? */
static bool stores_another(const struct join *j)
{
	return a64_rd(j->store) != j->t;
}

static bool find_joined(struct join *j, const unsigned char *code, uint32_t n)
{
	if (n < 2 || !is_load(j, a64_word(code)))
		return false;
	j->words = 2;
	j->middle = a64_word(code + 4);
	if (is_store(j, j->middle))
		return stores_another(j);
	if (n < 3)
		return false;
	j->words = 3;
	if (is_store(j, a64_word(code + 8)))
		return take_middle(j) || (stores_another(j) && take_zero_test(j));
	j->words = MOST_WORDS;
	return n >= MOST_WORDS &&
	       (a64_word(code + 8) & 0xff00001f) == 0x54000001 &&	/* b.ne */
	       is_store(j, a64_word(code + 12)) && stores_another(j) && take_comparison(j);
}

/* ---- code ------------------------------------------------------------------------------ */

static void put(unsigned char **out, uint32_t word)
{
	a64_put(*out, word);
	*out += 4;
}

static void put_operand(unsigned char **out, const struct join *j, unsigned int to)
{
	uint32_t v = (j->middle >> 10 & 4095) << (j->middle >> 22 & 1) * 12;

	if (j->operand == IMMEDIATE) {
		put(out, a64_movz(to, (uint16_t)v, 0));
		put(out, a64_movk(to, (uint16_t)(v >> 16), 1));
	} else if (j->operand == BITS) {	/* orr to, zr, #bits */
		put(out, (j->middle & 0x807ffc00) | 0x32000000 | A64_ZERO << 5 | to);
	} else {
		put(out, a64_mov(to, j->operand));
	}
	if (j->is_opposite)			/* neg, mvn */
		put(out, (j->what == ADD ? 0xcb0003e0 : 0xaa2003e0) | to << 16 | to);
}

/* The atomic's order is that of the load and the store together. */
static uint32_t atomic_of(const struct join *j, unsigned int operand)
{
	uint32_t acquires = a64_is_ordered(j->load), releases = a64_is_ordered(j->store);

	if (j->what == COMPARE)
		return 0x08a07c00 | j->size << 30 | acquires << 22 | releases << 15 |
		       j->t << 16 | j->base << 5 | a64_rd(j->store);
	return 0x38200000 | j->size << 30 | acquires << 23 | releases << 22 | operand << 16 |
	       j->what << 12 | j->base << 5 | j->t;
}

size_t a64_put_atomic(unsigned char *out, const unsigned char *code, uint32_t n,
		      uint32_t *words)
{
	unsigned char *start = out;
	struct join j = { .what = SWAP };

	if (!find_joined(&j, code, n))
		return 0;
	*words = j.words;
	if (j.what == SWAP) {
		put(&out, atomic_of(&j, a64_rd(j.store)));
	} else if (j.what == COMPARE) {
		put_operand(&out, &j, j.t);
		put(&out, atomic_of(&j, 0));
	} else if (j.operand < A64_ZERO && !j.is_opposite) {
		put(&out, atomic_of(&j, j.operand));
	} else {
		put_operand(&out, &j, j.s);
		put(&out, atomic_of(&j, j.s));
	}
	return (size_t)(out - start);
}

/* ---- a function's ----------------------------------------------------------------------- */

/* Does every way into the middle come from the load, and does no way out of it lead to another
 * store? */
static bool stands_alone(const struct a64_point *points, const struct a64_point *p,
			 uint32_t words)
{
	for (uint32_t k = 1; k < words; k++) {
		bool leaves = p[k].kind == A64_BCOND || p[k].kind == A64_CBZ;

		if (p[k].is_label || (leaves && (p[k].to == A64_NOWHERE ||
						 points[p[k].to].inside)))
			return false;
	}
	return !p->inside;
}

static bool stands_at(const struct a64_part *part, uint32_t k, uint32_t *words)
{
	unsigned char out[FL_ARCH_PAIR_MAX];

	return a64_put_atomic(out, part->code + 4 * k, part->n - k, words) != 0;
}

static void join_at(const struct a64_part *part, uint32_t k, const struct a64_point *points,
		    struct a64_point *p)
{
	uint32_t words;

	if (p->kind != A64_LDX || !stands_at(part, k, &words) ||
	    !stands_alone(points, p, words))
		return;
	p->part = A64_PART_ATOMIC;
	p[words - 1].part = A64_PART_DONE;
	for (uint32_t i = 1; i < words; i++)
		p[i].inside = false;
}

void a64_join_pairs(const struct a64_part *parts, uint32_t n_parts, struct a64_point *points)
{
	struct a64_point *p = points;

	for (uint32_t i = 0; i < n_parts; p += parts[i++].n)
		for (uint32_t k = 0; k < parts[i].n; k++)
			join_at(&parts[i], k, points, &p[k]);
}
