/*
 * excl.c - between a load-exclusive and its store-exclusive nothing may be woven in.
 *
 * The monitor that a load sets may be lost with any access to memory before the store. An
 * access that is added makes the store fail each time, and the program try again for ever. So
 * for each moment in a function it must be known whether the monitor may be held then, and
 * matter.
 *
 * A region is found on the function's flow graph of instructions, not by looking around in a
 * straight line: a region may have several blocks, ways in and ways out. Two questions are
 * asked about the moment before each instruction:
 *
 *	open	on some path to it a load-exclusive was met, and behind that no
 *		store-exclusive, clrex, svc, or other load-exclusive
 *	ahead	on some path from it a store-exclusive is met, and before that no clrex, svc,
 *		load-exclusive, and no end of the function
 *
 * INVARIANT  At a moment that is not inside a region any access to memory can be woven in: no
 *	store-exclusive of the function fails because of it.
 * WHY	Inside are the moments that are open and have a store ahead. On a way out of a loop
 *	without clrex the monitor is held, but no store asks for it. A monitor that is open at
 *	a call stays open. A load that no store follows on any path may have its store in a
 *	caller: all is inside up to the function's end. A store that is met without a load may
 *	have its load in a caller: all is inside from the function's start. Where a monitor is
 *	held at a jump through a register the ways from there are not known, and all of the
 *	function is inside.
 *
 * Something may be done before the load in place of inside, if it is done as often there: no
 * branch lies between, and none leads there. LSE's atomics are one instruction each and no
 * region. The helpers __aarch64_* of -moutline-atomics have atomics or regions; these regions
 * are found as everywhere.
 */
#include "arch/arch.h"
#include "excl.h"

uintptr_t a64_point_at(const struct a64_part *p, uint32_t k)
{
	while (k >= p->n)
		k -= p++->n;
	return p->start + 4 * (uintptr_t)k;
}

static uint32_t count_to(const struct a64_part *parts, uint32_t n_parts, uintptr_t at)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < n_parts; before += parts[i++].n)
		if (at - parts[i].start < 4 * (uintptr_t)parts[i].n && !(at & 3))
			return before + (uint32_t)((at - parts[i].start) / 4);
	return A64_NOWHERE;
}

/* ---- the graph ------------------------------------------------------------- */

struct a64_flow {
	struct a64_point *p;
	uint32_t n;
	bool has_any;			/* an exclusive */
};

static void read_words(struct a64_flow *g, const struct a64_part *parts, uint32_t n_parts,
		      const struct a64_part *part)
{
	for (uint32_t k = 0; k < part->n; k++) {
		uint32_t word = a64_word(part->code + 4 * k);
		struct a64_point *p = &g->p[g->n++];
		struct a64 a;

		a64_read(&a, word);
		*p = (struct a64_point){
			.load = A64_NOWHERE, .store = A64_NOWHERE, .hoist = A64_NOWHERE,
			.to = A64_NOWHERE, .kind = a.kind,
			.costs = a.kind == A64_LITERAL && a64_is_vector(word),
			.open = { A64_NOWHERE, A64_NOWHERE, A64_NOWHERE },
		};
		g->has_any |= a.kind == A64_LDX || a.kind == A64_STX;
		if (a.kind == A64_B || (a.kind >= A64_BCOND && a.kind <= A64_TBZ))
			p->to = count_to(parts, n_parts,
					 a64_target(word, a.kind, part->start + 4 * k));
	}
	/* Parts do not lead into one another. */
	if (part->n && g->p[g->n - 1].kind == A64_PLAIN)
		g->p[g->n - 1].kind = A64_STOP;
}

bool a64_falls_on(const struct a64_point *p, uint32_t n, uint32_t k)
{
	uint8_t kind = p[k].kind;

	return k + 1 < n && kind != A64_B && kind != A64_BR && kind != A64_RET &&
	       kind != A64_STOP && kind != A64_NONE;
}

static bool falls_on(const struct a64_flow *g, uint32_t k)
{
	return a64_falls_on(g->p, g->n, k);
}

/* ---- ahead ----------------------------------------------------------------- */

static bool ends_region(uint8_t kind)
{
	return kind == A64_LDX || kind == A64_CLREX || kind == A64_SVC;
}

/* The store that is met from here on; NOWHERE: none. */
static uint32_t store_from(const struct a64_flow *g, uint32_t k)
{
	const struct a64_point *p = &g->p[k];

	if (p->kind == A64_STX)
		return k;
	if (ends_region(p->kind))
		return A64_NOWHERE;
	if (falls_on(g, k) && p[1].store != A64_NOWHERE)
		return p[1].store;
	return p->to != A64_NOWHERE ? g->p[p->to].store : A64_NOWHERE;
}

/* Against the flow, until nothing is new: once found, a store stays. */
static void find_stores(struct a64_flow *g)
{
	for (bool more = true; more;) {
		more = false;
		for (uint32_t k = g->n; k--;) {
			struct a64_point *p = &g->p[k];

			if (p->store != A64_NOWHERE)
				continue;
			p->store = store_from(g, k);
			more |= p->store != A64_NOWHERE;
		}
	}
}

/* The store that is met behind instruction `k`. */
static uint32_t store_behind(const struct a64_flow *g, uint32_t k)
{
	return falls_on(g, k) ? g->p[k + 1].store : A64_NOWHERE;
}

/* ---- open ------------------------------------------------------------------ */

/* The load that may be open before `k`; true: that is new. */
static bool hold_at(struct a64_flow *g, uint32_t k, enum a64_holder sort, uint32_t load)
{
	if (load == A64_NOWHERE || g->p[k].open[sort] != A64_NOWHERE)
		return false;
	g->p[k].open[sort] = load;
	return true;
}

/* The load that instruction `k` leaves open. */
static uint32_t load_behind(const struct a64_flow *g, uint32_t k, enum a64_holder sort)
{
	const struct a64_point *p = &g->p[k];

	if (p->kind == A64_LDX)
		return sort == (store_behind(g, k) == A64_NOWHERE ? A64_LONELY : A64_PAIRED) ?
			k : A64_NOWHERE;
	return p->kind == A64_STX || ends_region(p->kind) ? A64_NOWHERE : p->open[sort];
}

/* With the flow, until nothing is new: once found, a load stays. */
static void find_loads(struct a64_flow *g, enum a64_holder sort)
{
	for (bool more = true; more;) {
		more = false;
		for (uint32_t k = 0; k < g->n; k++) {
			uint32_t load = load_behind(g, k, sort);

			if (falls_on(g, k))
				more |= hold_at(g, k + 1, sort, load);
			if (g->p[k].to != A64_NOWHERE)
				more |= hold_at(g, g->p[k].to, sort, load);
		}
	}
}

/* ---- inside ---------------------------------------------------------------- */

static bool is_held_at_switch(const struct a64_flow *g)
{
	for (uint32_t k = 0; k < g->n; k++)
		if (g->p[k].kind == A64_BR && (g->p[k].open[A64_PAIRED] != A64_NOWHERE ||
					       g->p[k].open[A64_LONELY] != A64_NOWHERE))
			return true;
	return false;
}

static void set_inside(struct a64_point *p)
{
	bool is_ahead = p->store != A64_NOWHERE;

	if (p->open[A64_PAIRED] != A64_NOWHERE && is_ahead)
		p->load = p->open[A64_PAIRED];
	else if (p->open[A64_LONELY] != A64_NOWHERE)
		p->load = p->open[A64_LONELY];
	p->inside = p->load != A64_NOWHERE ||
		    (p->open[A64_CALLERS] != A64_NOWHERE && is_ahead);
	if (!p->inside)
		p->store = A64_NOWHERE;
}

static bool goes_straight(uint8_t kind)
{
	return kind == A64_PLAIN || kind == A64_NOP || kind == A64_LDX || kind == A64_ADR ||
	       kind == A64_ADRP || kind == A64_LITERAL;
}

/* Does every thread that comes to the load come to `k`, as often, and no other thread? */
static bool can_hoist(const struct a64_flow *g, uint32_t k)
{
	uint32_t load = g->p[k].load;

	if (load == A64_NOWHERE || load >= k || g->p[load].inside)
		return false;
	for (; k > load; k--)
		if (g->p[k].is_label || !goes_straight(g->p[k - 1].kind))
			return false;
	return true;
}

static void mark_labels(struct a64_flow *g)
{
	for (uint32_t k = 0; k < g->n; k++)
		if (g->p[k].to != A64_NOWHERE)
			g->p[g->p[k].to].is_label = true;
}

uint32_t a64_regions(const struct a64_part *parts, uint32_t n_parts, struct a64_point *points)
{
	struct a64_flow g = { .p = points };
	uint32_t n = 0;
	bool all;

	for (uint32_t i = 0; i < n_parts; i++)
		read_words(&g, parts, n_parts, &parts[i]);
	if (!g.has_any)
		return 0;
	mark_labels(&g);
	find_stores(&g);
	hold_at(&g, 0, A64_CALLERS, g.p[0].store);
	for (enum a64_holder sort = A64_PAIRED; sort < A64_HOLDERS; sort++)
		find_loads(&g, sort);
	all = is_held_at_switch(&g);
	for (uint32_t k = 0; k < g.n; k++) {
		set_inside(&g.p[k]);
		g.p[k].inside |= all;
		n += g.p[k].inside;
	}
	for (uint32_t k = 0; k < g.n; k++)
		if (g.p[k].inside && !all && can_hoist(&g, k))
			g.p[k].hoist = g.p[k].load;
	return n;
}
