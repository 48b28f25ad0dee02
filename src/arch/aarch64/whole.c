/*
 * whole.c - which functions' pairs can be compare-and-swap.
 *
 * All pairs of a function can be, or none: a load that keeps what it has loaded and a store
 * that asks the monitor do not belong together. So the function must be known to have whole
 * pairs: on every way to a store a load was met, of the same size and number of registers;
 * every load has a store on some way. For each instruction it is noted what the ways to it
 * have met last. This is done with the flow, until nothing is new.
 *
 * A store that is met behind another store fails always, and goes on failing: what was kept is
 * cleared. A store behind a system call fails always, too, but what was kept is not cleared
 * there. So a function that has one is left as it is. So is a function with an exclusive that
 * names one register twice, where the architecture does not say what happens.
 */
#include "decode.h"
#include "excl.h"

struct code {
	const struct a64_part *parts;
	uint32_t n_parts, n;
	struct a64_point *p;
};

static uint32_t word_there(const struct code *c, uint32_t k)
{
	const struct a64_part *part = c->parts;

	while (k >= part->n)
		k -= part++->n;
	return a64_word(part->code + 4 * k);
}

/* What a way has met last when it has passed instruction `k`. */
static unsigned int met_behind(const struct code *c, uint32_t k)
{
	switch (c->p[k].kind) {
	case A64_LDX:
		return 1u << a64_shape_of(word_there(c, k));
	case A64_STX: case A64_CLREX:
		return A64_MET_END;
	case A64_SVC:
		return A64_MET_KERNEL;
	}
	return c->p[k].met;
}

static bool note_way(struct code *c, uint32_t k, unsigned int what)
{
	unsigned int was = c->p[k].met;

	c->p[k].met = (uint16_t)(was | what);
	return c->p[k].met != was;
}

static bool go_from(struct code *c, uint32_t k)
{
	unsigned int what = met_behind(c, k);
	bool is_new = false;

	if (!c->p[k].met)			/* nobody comes here yet */
		return false;
	if (a64_falls_on(c->p, c->n, k))
		is_new = note_way(c, k + 1, what);
	if (c->p[k].to != A64_NOWHERE)
		is_new |= note_way(c, c->p[k].to, what);
	return is_new;
}

static void find_ways(struct code *c)
{
	uint32_t start = 0;

	for (uint32_t k = 0; k < c->n; k++)
		c->p[k].met = 0;
	for (; start < c->n; start++) {
		bool more = !c->p[start].met;

		if (more)
			c->p[start].met = A64_MET_START;
		while (more) {
			more = false;
			for (uint32_t k = 0; k < c->n; k++)
				more |= go_from(c, k);
		}
	}
}

/* Does the exclusive name a register twice that may be named only once? */
static bool is_twice(uint32_t w, unsigned int kind)
{
	unsigned int t = a64_rd(w), t2 = a64_is_pair(w) ? a64_ra(w) : t, s = a64_rm(w);

	if (kind == A64_LDX)
		return a64_is_pair(w) && t == t2;
	return s == t || s == t2 || (s == a64_rn(w) && s != A64_ZERO);
}

static bool is_whole(const struct code *c, uint32_t k)
{
	const struct a64_point *p = &c->p[k];
	uint32_t w = word_there(c, k);

	if (p->kind == A64_BR && p->inside)
		return false;
	if (p->kind != A64_LDX && p->kind != A64_STX)
		return true;
	if (is_twice(w, p->kind))
		return false;
	if (p->kind == A64_LDX)
		return a64_falls_on(c->p, c->n, k) && p[1].store != A64_NOWHERE;
	return !(p->met & ~(A64_MET_END | 1u << a64_shape_of(w)));
}

static bool has_blind_store(const struct code *c)
{
	for (uint32_t k = 0; k < c->n; k++)
		if (c->p[k].kind == A64_STX && a64_rm(word_there(c, k)) == A64_ZERO)
			return true;
	return false;
}

bool a64_swap_pairs(const struct a64_part *parts, uint32_t n_parts, struct a64_point *p)
{
	struct code c = { .parts = parts, .n_parts = n_parts, .p = p };
	uint8_t load;

	for (uint32_t i = 0; i < n_parts; i++)
		c.n += parts[i].n;
	find_ways(&c);
	for (uint32_t k = 0; k < c.n; k++)
		if (!is_whole(&c, k))
			return false;
	load = has_blind_store(&c) ? A64_PART_LOAD_BLIND : A64_PART_LOAD;
	for (uint32_t k = 0; k < c.n; k++) {
		p[k].part = p[k].kind == A64_LDX ? load :
			    p[k].kind == A64_STX ? A64_PART_STORE :
			    p[k].kind == A64_CLREX ? A64_PART_CLEAR : A64_PART_NONE;
		p[k].inside = false;
	}
	return true;
}
