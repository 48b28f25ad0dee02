/*
 * callers.c - whose code a call returns to.
 *
 * INVARIANT	A place has one caller, as an exhaustive recording has it (the
 *		nearest open call of a wanted function), or none that is said.
 * WHY		A call instruction is in one machine function S, told by the symbol
 *		around it, and there in S's own body or in a body inlined into S.
 *		1. S has a wanted entry, or calls from it may be anybody's whom S
 *		   was called by: none is said.
 *		2. All wanted sites within S are S's own: S it is. Bodies without
 *		   wanted sites are not seen in any recording.
 *		3. Else it is S or one that has sites within S: as the code has it
 *		   (nest.h), if no site within S was refused, so that all are there.
 *		4. Where the code does not tell, it was seen: by a call from there
 *		   whose caller began in the window, or ended in it
 *		   (fl_callers_learn). A function without sites within S cannot
 *		   have made it; two that have and disagree mean that one of them
 *		   was left without an exit: none is said, ever.
 *		An inlined body is entered at its own site: that is the place then,
 *		wherever the function around it returns to.
 *		A module that takes the place of another brings sites of a new
 *		module there: the places in between are given up.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/callers.h"
#include "analysis/nest.h"

#define NOBODY FLICK_NO_FUNCTION

struct place {
	uint64_t ret;			/* 0: the probe's own site is the place */
	uint64_t at, lo, hi;		/* of the call, of S around it */
	uint32_t probe;
	uint32_t owner;			/* S's function; NOBODY: rule 1 */
	uint32_t learnt;		/* NOBODY: not yet */
	bool told;			/* owner it is, by rule 2 or 3 */
	bool spoilt;			/* none is said, ever */
};

struct where {		/* a site */
	uint64_t at;
	uint32_t probe;
};

#define NO_SITE UINT32_MAX

enum { MOST_RUNS = 64 };

enum body { BODY_UNKNOWN, BODY_OWN, BODY_INLINED };

/*
 * Sites come one by one, or a module's at once, between calls from any place. So they lie in
 * runs, each sorted, the first sites [0, end[0]) and so on, and what is new is a run.
 *
 * INVARIANT	n_places * 2 <= n_hash, a power of two.
 *		A run is at least twice as long as the next.
 * WHY		A run that is not is merged with the next. So a site is moved as often
 *		as its run doubles, and there are as many runs as doublings.
 */
struct fl_callers {
	const struct fl_view *view;
	struct place *places;
	size_t n_places;
	uint32_t *hash;			/* index + 1 of a place; 0: empty */
	uint32_t n_hash;
	struct where *sites, *spare;	/* room for as many; to merge */
	uint32_t n_sites, n_room;	/* n_sites: of the view that were taken in */
	uint32_t end[MOST_RUNS], n_runs;
	uint32_t n_modules;
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
	free(c->places);
	free(c->hash);
	free(c->sites);
	free(c->spare);
	free(c->bodies);
	free(c);
}

/* ---- sites by address ---------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
	const struct where *a = x, *b = y;

	return (a->at > b->at) - (a->at < b->at);
}

/* Places that a new module's sites [lo, hi] lie around. */
static void spoil(struct fl_callers *c, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < c->n_places; i++)
		c->places[i].spoilt |= c->places[i].at >= lo && c->places[i].at <= hi;
}

static void spoil_new_modules(struct fl_callers *c)
{
	const struct fl_shm_site *s = c->view->sites;
	uint32_t n = c->view->n_sites;

	for (uint32_t i = c->n_sites; i < n;) {
		uint32_t module = s[i].module;
		uint64_t lo = s[i].at, hi = s[i].at;

		for (; i < n && s[i].module == module; i++) {
			lo = s[i].at < lo ? s[i].at : lo;
			hi = s[i].at > hi ? s[i].at : hi;
		}
		if (module >= c->n_modules)
			spoil(c, lo, hi);
		c->n_modules = module >= c->n_modules ? module + 1 : c->n_modules;
	}
}

static bool is_seen(const struct fl_view *v, uint32_t probe)
{
	const struct fl_shm_site *now = fl_view_live(v, probe);

	return v->sites[probe].wanted && !load_relaxed(&now->refusal) &&
	       load_relaxed(&now->state) != FL_SITE_GONE;
}

static uint32_t begin_of(const struct fl_callers *c, uint32_t run)
{
	return run ? c->end[run - 1] : 0;
}

/* The last run but one, and the last. */
static void merge(struct fl_callers *c)
{
	uint32_t from = begin_of(c, c->n_runs - 2), i = c->end[c->n_runs - 2];
	uint32_t to = c->end[c->n_runs - 1], n = to - i;

	memcpy(c->spare, c->sites + i, n * sizeof(*c->spare));
	while (n) {
		FL_POINT("callers.step");
		if (i > from && c->sites[i - 1].at > c->spare[n - 1].at)
			c->sites[--to] = c->sites[--i];
		else
			c->sites[--to] = c->spare[--n];
	}
	c->n_runs--;
	c->end[c->n_runs - 1] = c->end[c->n_runs];
}

static bool is_to_merge(const struct fl_callers *c)
{
	uint32_t last = c->n_runs - 1;

	return last && c->end[last - 1] - begin_of(c, last - 1) <
		       2 * (c->end[last] - c->end[last - 1]);
}

static int make_room(struct fl_callers *c, uint32_t n)
{
	uint32_t room = n < c->n_room ? c->n_room : n + n / 2;
	struct where *sites = NULL, *spare = NULL;

	if (room == c->n_room)
		return 0;
	sites = realloc(c->sites, room * sizeof(*sites));
	c->sites = sites ? sites : c->sites;
	spare = realloc(c->spare, room * sizeof(*spare));
	c->spare = spare ? spare : c->spare;
	if (!sites || !spare)
		return -ENOMEM;
	c->n_room = room;
	return 0;
}

/* Take in sites that were found since. */
static int refresh(struct fl_callers *c)
{
	const struct fl_view *v = c->view;
	uint32_t from = c->n_sites;

	if (from == v->n_sites)
		return 0;
	if (make_room(c, v->n_sites))
		return -ENOMEM;
	spoil_new_modules(c);
	for (; c->n_sites < v->n_sites; c->n_sites++)
		c->sites[c->n_sites] = (struct where){ v->sites[c->n_sites].at, c->n_sites };
	qsort(c->sites + from, c->n_sites - from, sizeof(*c->sites), compare);
	c->end[c->n_runs++] = c->n_sites;
	while (is_to_merge(c))
		merge(c);
	return 0;
}

/* The first site of the run at `at` or behind it. */
static uint32_t first_from(const struct fl_callers *c, uint32_t run, uint64_t at)
{
	uint32_t lo = begin_of(c, run), hi = c->end[run];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		FL_POINT("callers.step");
		if (c->sites[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The sites within [lo, hi), in no order. */
struct within {
	uint64_t lo, hi;
	uint32_t run, next;		/* next: of the run before */
};

/* NO_SITE: there are no more. */
static uint32_t next_site(const struct fl_callers *c, struct within *w)
{
	while (!w->run || w->next == c->end[w->run - 1] || c->sites[w->next].at >= w->hi) {
		if (w->run == c->n_runs)
			return NO_SITE;
		w->next = first_from(c, w->run++, w->lo);
	}
	FL_POINT("callers.step");
	return c->sites[w->next++].probe;
}

/* Likewise, of those that are wanted and there. */
static uint32_t next_seen(const struct fl_callers *c, struct within *w)
{
	uint32_t probe;

	do
		probe = next_site(c, w);
	while (probe != NO_SITE && !is_seen(c->view, probe));
	return probe;
}

static bool has_site_within(const struct fl_callers *c, uint64_t lo, uint64_t hi,
			    uint32_t function)
{
	struct within w = { .lo = lo, .hi = hi };
	uint32_t probe;

	while ((probe = next_seen(c, &w)) != NO_SITE)
		if (c->view->function_of[probe] == function)
			return true;
	return false;
}

/* ---- a new place ------------------------------------------------------------------ */

static bool find_symbol(const struct fl_callers *c, uint64_t at, uint64_t *lo,
			uint64_t *hi)
{
	return c->view->symbol && c->view->symbol(c->view->owner, at, lo, hi);
}

/* Does the probe stand in the machine function that its function names? */
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
	struct within w = { .lo = at, .hi = at + 1 };
	uint32_t probe = next_seen(c, &w);

	if (probe == NO_SITE)
		return -1;
	*function = c->view->function_of[probe];
	return c->view->sites[probe].kind;
}

static bool has_refused_within(const struct fl_callers *c, uint64_t lo, uint64_t hi)
{
	struct within w = { .lo = lo, .hi = hi };
	uint32_t probe;

	while ((probe = next_site(c, &w)) != NO_SITE)
		if (load_relaxed(&fl_view_live(c->view, probe)->refusal))
			return true;
	return false;
}

/* Rule 3. From an inlined body's own entry on, that has to end first. */
static void look_inside(const struct fl_callers *c, struct place *p)
{
	struct fl_nest n = { .lo = p->lo, .hi = p->hi, .site = site_at, .arg = c };
	uint32_t function;

	if (!c->view->code || has_refused_within(c, p->lo, p->hi))
		return;
	n.code = c->view->code(c->view->owner, p->lo, p->hi - p->lo);
	if (!n.code)
		return;
	function = fl_nest_find(&n, p->ret ? p->ret : p->at, 0);
	if (function == NOBODY)
		return;
	p->owner = function;
	p->told = true;
}

/* Whose is the code around it? */
static void look_around(const struct fl_callers *c, struct place *p)
{
	struct within w;
	uint32_t probe;

	if (!find_symbol(c, p->at, &p->lo, &p->hi))
		return;
	w = (struct within){ .lo = p->lo, .hi = p->hi };
	while ((probe = next_seen(c, &w)) != NO_SITE) {
		const struct fl_shm_site *s = &c->view->sites[probe];

		if (s->kind == FL_ENTRY && s->function == p->lo)
			p->owner = c->view->function_of[probe];
	}
	if (p->owner == NOBODY)
		return;
	p->told = true;
	w = (struct within){ .lo = p->lo, .hi = p->hi };
	while ((probe = next_seen(c, &w)) != NO_SITE)
		p->told &= c->view->function_of[probe] == p->owner;
	if (!p->told)
		look_inside(c, p);
}

/* ---- the table of places ------------------------------------------------------------ */

static uint32_t *cell_of(const struct fl_callers *c, uint32_t probe, uint64_t ret)
{
	uint64_t h = (ret ^ (uint64_t)probe << 40 ^ probe) * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = (uint32_t)(h >> 32);; i++) {
		uint32_t *cell = &c->hash[i & (c->n_hash - 1)];

		if (!*cell || (c->places[*cell - 1].probe == probe &&
			       c->places[*cell - 1].ret == ret))
			return cell;
	}
}

static int grow(struct fl_callers *c)
{
	uint32_t n = c->n_hash ? c->n_hash * 2 : 256;
	uint32_t *hash = calloc(n, sizeof(*hash));

	if (!hash)
		return -ENOMEM;
	free(c->hash);
	c->hash = hash;
	c->n_hash = n;
	for (size_t i = 0; i < c->n_places; i++)
		*cell_of(c, c->places[i].probe, c->places[i].ret) = (uint32_t)i + 1;
	return 0;
}

static uint32_t add(struct fl_callers *c, const struct place *p)
{
	if ((c->n_places + 1) * 2 > c->n_hash && grow(c))
		return 0;
	if (fl_array_room(&c->places, c->n_places, sizeof(*p)))
		return 0;
	*cell_of(c, p->probe, p->ret) = (uint32_t)c->n_places + 1;
	c->places[c->n_places++] = *p;
	return (uint32_t)c->n_places;
}

uint32_t fl_callers_place(struct fl_callers *c, uint32_t probe, uint64_t ret)
{
	struct place p = { .ret = ret, .at = ret - 1, .probe = probe, .owner = NOBODY,
			   .learnt = NOBODY };
	uint32_t found;

	if (refresh(c))
		return 0;
	if (is_inlined(c, probe)) {
		p.ret = 0;
		p.at = c->view->sites[probe].at;
	}
	found = c->n_hash ? *cell_of(c, probe, p.ret) : 0;
	if (found)
		return found;
	look_around(c, &p);
	return add(c, &p);
}

/* ---- who ------------------------------------------------------------------------- */

bool fl_callers_tells(const struct fl_callers *c, uint32_t place)
{
	return place && c->places[place - 1].owner != NOBODY;
}

static void learn(struct place *p, uint32_t function)
{
	if (p->learnt == NOBODY)
		p->learnt = function;
	p->spoilt |= p->learnt != function;
}

void fl_callers_learn(struct fl_callers *c, uint32_t place, uint32_t function)
{
	struct place *p = place ? &c->places[place - 1] : NULL;

	if (!p || p->owner == NOBODY || p->told || p->learnt == function)
		return;
	if (has_site_within(c, p->lo, p->hi, function))
		learn(p, function);
}

uint32_t fl_callers_of(const struct fl_callers *c, uint32_t place)
{
	const struct place *p = place ? &c->places[place - 1] : NULL;

	if (!p || p->spoilt)
		return NOBODY;
	return p->told ? p->owner : p->learnt;
}

uint32_t fl_callers_adopt(struct fl_callers *into, const struct fl_callers *from,
			  uint32_t place)
{
	const struct place *p = &from->places[place - 1];
	uint32_t at = into->n_hash ? *cell_of(into, p->probe, p->ret) : 0;

	if (!at)
		return add(into, p);
	into->places[at - 1].spoilt |= p->spoilt;
	if (p->learnt != NOBODY)
		learn(&into->places[at - 1], p->learnt);
	return at;
}
