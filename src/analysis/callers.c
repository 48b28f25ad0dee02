/*
 * callers.c - the caller of a call, where the caller began before the window.
 *
 * A window is open for a short time. Most calls in it were made by a call that began before
 * the window, and has no record. The record behind an entry says where the call returns to:
 * into the code of its caller. Here is the stack of a thread at the entry of c, in a window
 * that began after b did:
 *
 *	 higher	+---------------------------+
 *		| frame of a                |	a began before the window
 *		+---------------------------+
 *		| frame of b                |	b, too: no record says that b runs
 *		| return address: b + 0x31  | -->  the record behind c's entry: the *origin*
 *		+---------------------------+
 *		| frame of c                |	c's entry is in the window
 *	 lower	+---------------------------+
 *
 * S is the machine function that the symbol table has around the origin, here b's. Most
 * often S is the caller. But a compiler may put bodies of other functions into S, each with
 * sites of its own, and such a body may be the caller:
 *
 *	S:	entry of S ... entry of d ... call c ... exit of d ... exit of S
 *
 * INVARIANT	The caller that is told for an origin is the caller in a recording of all
 *		calls: the function of the nearest open call that has probes. Or no caller
 *		is told.
 * WHY		1. S has no wanted entry: its callers are not known, and a call from S is
 *		   made by the caller of S. No caller is told.
 *		2. All wanted sites within S are S's own: the caller is S. A body without
 *		   wanted sites is seen in no recording.
 *		3. Other functions have sites within S. The code of S says in which body
 *		   the origin lies (nest.c), if no site within S was refused.
 *		4. The code does not say it. Then the caller is learnt from a call of the
 *		   same origin whose caller was seen (fl_callers_learn), because that caller
 *		   began in the window, or ended in it. A function without a site within S
 *		   cannot have called from there. Where two callers were seen, one of them
 *		   had been left without an exit, and nobody knows which: no caller is told,
 *		   ever.
 *		An inlined body has no return address of its own. Its origin is its own
 *		entry, wherever the function around it returns to.
 *		A module that is loaded in the place of another has other functions at the
 *		same addresses: origins between its sites are spoilt.
 */
#include "analysis/callers.h"

#include <stdlib.h>

#define NOBODY FLICK_NO_FUNCTION
#define NO_SITE UINT32_MAX
#define BLOCK 256u			/* bytes of text: see by_block */
#define LONGEST (16u << 20)		/* bytes of a function */

struct origin {
	uint64_t ret;			/* 0: the probe's own site is the origin */
	uint64_t at, lo, hi;		/* the call; S around it */
	uint32_t probe;			/* of the entries of its calls */
	uint32_t owner;			/* the function of S, or the body in it by rule 3;
					 * NOBODY: rule 1 */
	uint32_t learnt;		/* the caller by rule 4; NOBODY: not yet */
	bool told;			/* the owner is the caller, by rule 2 or 3 */
	bool spoilt;			/* no caller is told, ever */
};

enum body { BODY_UNKNOWN, BODY_OWN, BODY_INLINED };

struct fl_callers {
	const struct fl_view *view;
	struct origin *origins;
	size_t n_origins;
	struct fl_hash by_call;		/* origins, by probe and return address */
	struct fl_hash by_block;	/* sites, by the block of text that they are in */
	uint32_t n_sites;		/* of the view's sites, how many are in by_block */
	uint32_t n_modules;		/* of these sites */
	uint8_t *bodies;		/* index: probe; enum body */
	uint32_t n_bodies;
};

int fl_callers_open(struct fl_callers **out, const struct fl_view *view)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->view = view;
	return 0;
}

void fl_callers_close(struct fl_callers *c)
{
	if (!c)
		return;
	free(c->origins);
	fl_hash_free(&c->by_call);
	fl_hash_free(&c->by_block);
	free(c->bodies);
	free(c);
}

/* ---- sites by address ---------------------------------------------------------- */

/* Spoil the origins among the sites of a new module, from site `first` on. */
static void spoil(struct fl_callers *c, uint32_t first)
{
	const struct fl_shm_site *s = c->view->sites;
	uint64_t lo = s[first].at, hi = lo;

	for (uint32_t i = first; i < c->view->n_sites; i++) {
		if (s[i].module != s[first].module)
			break;
		lo = s[i].at < lo ? s[i].at : lo;
		hi = s[i].at > hi ? s[i].at : hi;
	}
	for (size_t i = 0; i < c->n_origins; i++)
		c->origins[i].spoilt |= c->origins[i].at >= lo && c->origins[i].at <= hi;
}

/* Take in the sites that were found since. A row without an address is no site: a program that
 * writes over its table may claim a million such rows, all at one place of the hash table. */
static int refresh(struct fl_callers *c)
{
	const struct fl_shm_site *s = c->view->sites;

	for (; c->n_sites < c->view->n_sites; c->n_sites++) {
		uint32_t i = c->n_sites;
		uint64_t block = s[i].at / BLOCK;

		if (s[i].module >= c->n_modules) {
			spoil(c, i);
			c->n_modules = s[i].module + 1u;
		}
		if (block && fl_hash_put(&c->by_block, fl_hash_of(0, block), i + 1))
			return -ENOMEM;
	}
	return 0;
}

/* The sites within [lo, hi), in no order. */
struct within {
	uint64_t lo, hi, block;
	uint32_t at;			/* in the hash table */
};

static struct within within(uint64_t lo, uint64_t hi)
{
	return (struct within){ lo, hi, lo / BLOCK, fl_hash_of(0, lo / BLOCK) };
}

/* NO_SITE: there are no more. */
static uint32_t next_site(const struct fl_callers *c, struct within *w)
{
	for (;;) {
		uint32_t i = fl_hash_next(&c->by_block, fl_hash_of(0, w->block), &w->at);
		uint64_t at = i ? c->view->sites[i - 1].at : 0;

		FL_POINT("callers.step");
		if (i && at / BLOCK == w->block && at >= w->lo && at < w->hi)
			return i - 1;
		if (i)
			continue;
		if (++w->block > (w->hi - 1) / BLOCK)
			return NO_SITE;
		w->at = fl_hash_of(0, w->block);
	}
}

/* Likewise, but only sites that are wanted, not refused and not gone. */
static uint32_t next_seen(const struct fl_callers *c, struct within *w)
{
	const struct fl_view *v = c->view;
	uint32_t probe;

	while ((probe = next_site(c, w)) != NO_SITE) {
		const struct fl_shm_site *now = fl_view_live(v, probe);

		if (v->sites[probe].wanted && !load_relaxed(&now->refusal) &&
		    load_relaxed(&now->state) != FL_SITE_GONE)
			break;
	}
	return probe;
}

/* ---- a new origin ----------------------------------------------------------------- */

static bool find_symbol(const struct fl_callers *c, uint64_t at, uint64_t *lo,
			uint64_t *hi)
{
	const struct fl_view *v = c->view;

	return v->symbol && v->symbol(v->owner, at, lo, hi) && *lo < *hi &&
	       *hi - *lo <= LONGEST;
}

/* Does the probe stand in a machine function that is not its own function's? */
static bool is_inlined(struct fl_callers *c, uint32_t probe)
{
	const struct fl_shm_site *s = &c->view->sites[probe];
	uint64_t lo, hi;

	if (c->view->framed >> s->provider & 1 ||
	    fl_array_extend(&c->bodies, &c->n_bodies, c->view->n_sites, 1))
		return false;
	if (c->bodies[probe] == BODY_UNKNOWN)
		c->bodies[probe] = find_symbol(c, s->at, &lo, &hi) && s->function >= lo &&
				   s->function < hi ? BODY_OWN : BODY_INLINED;
	return c->bodies[probe] == BODY_INLINED;
}

static int site_at(const void *arg, uint64_t at, uint32_t *function)
{
	const struct fl_callers *c = arg;
	struct within w = within(at, at + 1);
	uint32_t probe = next_seen(c, &w);

	if (probe == NO_SITE)
		return -1;
	*function = c->view->function_of[probe];
	return c->view->sites[probe].kind;
}

/* Rule 3. For an inlined body the search begins at its entry: the body has to end first. */
static void look_inside(const struct fl_callers *c, struct origin *o)
{
	struct fl_nest n = { .lo = o->lo, .hi = o->hi, .site = site_at, .arg = c };
	struct within w = within(o->lo, o->hi);
	uint32_t probe, function;

	while ((probe = next_site(c, &w)) != NO_SITE)
		if (load_relaxed(&fl_view_live(c->view, probe)->refusal))
			return;
	if (c->view->code)
		n.code = c->view->code(c->view->owner, o->lo, o->hi - o->lo);
	function = n.code ? fl_nest_find(&n, o->ret ? o->ret : o->at) : NOBODY;
	if (function == NOBODY)
		return;
	o->owner = function;
	o->told = true;
}

/* Find the owner of the code around the origin: rules 1 to 3. */
static void look_around(const struct fl_callers *c, struct origin *o)
{
	struct within w;
	uint32_t probe;

	if (!find_symbol(c, o->at, &o->lo, &o->hi))
		return;
	w = within(o->lo, o->hi);
	while ((probe = next_seen(c, &w)) != NO_SITE) {
		const struct fl_shm_site *s = &c->view->sites[probe];

		if (s->kind == FL_ENTRY && s->function == o->lo)
			o->owner = c->view->function_of[probe];
	}
	if (o->owner == NOBODY)
		return;
	o->told = true;
	w = within(o->lo, o->hi);
	while ((probe = next_seen(c, &w)) != NO_SITE)
		o->told &= c->view->function_of[probe] == o->owner;
	if (!o->told)
		look_inside(c, o);
}

/* ---- the table of origins ------------------------------------------------------------ */

static uint32_t find(const struct fl_callers *c, uint32_t probe, uint64_t ret, uint32_t hash)
{
	for (uint32_t at = hash, i; (i = fl_hash_next(&c->by_call, hash, &at));)
		if (c->origins[i - 1].probe == probe && c->origins[i - 1].ret == ret)
			return i;
	return 0;
}

static uint32_t add(struct fl_callers *c, const struct origin *o, uint32_t hash)
{
	if (fl_array_room(&c->origins, c->n_origins, sizeof(*o)) ||
	    fl_hash_put(&c->by_call, hash, (uint32_t)c->n_origins + 1))
		return 0;
	c->origins[c->n_origins++] = *o;
	return (uint32_t)c->n_origins;
}

uint32_t fl_callers_origin(struct fl_callers *c, uint32_t probe, uint64_t ret)
{
	struct origin o = { .ret = ret, .at = ret - 1, .probe = probe, .owner = NOBODY,
			    .learnt = NOBODY };
	uint32_t hash, found;

	if (refresh(c))
		return 0;
	if (is_inlined(c, probe)) {
		o.ret = 0;
		o.at = c->view->sites[probe].at;
	}
	hash = fl_hash_of(probe, o.ret);
	found = find(c, probe, o.ret, hash);
	if (found)
		return found;
	look_around(c, &o);
	return add(c, &o, hash);
}

/* ---- the caller ------------------------------------------------------------------ */

bool fl_callers_tells(const struct fl_callers *c, uint32_t origin)
{
	return origin && c->origins[origin - 1].owner != NOBODY;
}

static void learn(struct origin *o, uint32_t function)
{
	if (o->learnt == NOBODY)
		o->learnt = function;
	o->spoilt |= o->learnt != function;
}

void fl_callers_learn(struct fl_callers *c, uint32_t origin, uint32_t function)
{
	struct origin *o = origin ? &c->origins[origin - 1] : NULL;
	struct within w;
	uint32_t probe;

	if (!o || o->owner == NOBODY || o->told || o->learnt == function)
		return;
	w = within(o->lo, o->hi);
	while ((probe = next_seen(c, &w)) != NO_SITE &&
	       c->view->function_of[probe] != function)
		;
	if (probe != NO_SITE)
		learn(o, function);
}

uint32_t fl_callers_of(const struct fl_callers *c, uint32_t origin)
{
	const struct origin *o = origin ? &c->origins[origin - 1] : NULL;

	if (!o || o->spoilt)
		return NOBODY;
	return o->told ? o->owner : o->learnt;
}

uint32_t fl_callers_adopt(struct fl_callers *into, const struct fl_callers *from,
			  uint32_t origin)
{
	const struct origin *o = &from->origins[origin - 1];
	uint32_t hash = fl_hash_of(o->probe, o->ret);
	uint32_t at = find(into, o->probe, o->ret, hash);

	if (!at)
		return add(into, o, hash);
	into->origins[at - 1].spoilt |= o->spoilt;
	if (o->learnt != NOBODY)
		learn(&into->origins[at - 1], o->learnt);
	return at;
}
