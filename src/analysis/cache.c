/*
 * cache.c - which accesses miss in caches of a given geometry.
 *
 * A set is its lines, with the line that was used last in front. So most accesses take one
 * compare, and a line further behind moves to the front while the others are passed.
 *
 * An access that lies in two lines is one access: both lines are looked up, and the access
 * misses where either is not there. An access that misses in a level is looked up in the
 * next, with both lines. These are cachegrind's rules; where levels are independent, as
 * cachegrind's are, its misses come out to the last one.
 *
 * INVARIANT	No line stands in a set twice; in each set NO_LINE stands behind all lines.
 *		With FL_CACHE_INCLUSIVE each line of a level is in all levels below it.
 * WHY		A level is given a line (touch) before the next level is, and keeps the line
 *		only until the next level gives it up (give_way). Nobody looks in between.
 */
#include "analysis/cache.h"

#include <stdlib.h>
#include <string.h>

#define NO_LINE UINT64_MAX		/* no address is in it: lines have 2 bytes or more */

/* ---- one level --------------------------------------------------------------------- */

static uint64_t *set_of(const struct level *l, uint64_t line)
{
	return &l->sets[(l->mask ? line & l->mask : line % l->n_sets) * l->ways];
}

static void give_way(const struct level *l, uint64_t line)
{
	uint64_t *set = set_of(l, line);
	uint32_t i = 0;

	while (i < l->ways && set[i] != line)
		i++;
	if (i == l->ways)
		return;
	memmove(&set[i], &set[i + 1], (l->ways - i - 1) * sizeof(*set));
	set[l->ways - 1] = NO_LINE;
}

/* ---- all of them -------------------------------------------------------------------- */

/* Was the line in data's level k, which is not the first? */
static bool look_below(const struct fl_cache *c, uint32_t k, uint64_t line)
{
	uint64_t gone;

	if (fl_touch(set_of(&c->data[k], line), c->data[k].ways, line, &gone))
		return true;
	if (c->policy != FL_CACHE_INCLUSIVE || gone == NO_LINE)
		return false;
	for (uint32_t above = 0; above < k; above++)
		give_way(&c->data[above], gone);
	if (c->first[FL_ACCESS_FETCH].sets)
		give_way(&c->first[FL_ACCESS_FETCH], gone);
	return false;
}

/* An access to these lines, which may be one line, has missed in its first level. */
static uint32_t miss(struct fl_cache *c, uint64_t first, uint64_t last, uint32_t kind)
{
	uint32_t missed = 1;

	c->counts.misses[0][kind]++;
	for (uint32_t k = 1; k < c->n_data; k++) {
		bool is_there = look_below(c, k, first);

		if (last != first)
			is_there = look_below(c, k, last) && is_there;
		if (is_there)
			break;
		c->counts.misses[k][kind]++;
		missed |= 1u << k;
	}
	return missed;
}

__attribute__((noinline))
uint32_t fl_cache_miss(struct fl_cache *c, uint64_t line, enum fl_access_kind kind)
{
	return miss(c, line, line, kind);
}

__attribute__((noinline)) uint32_t fl_cache_look(struct fl_cache *c, const struct fl_access *a)
{
	const struct level *l = &c->first[a->kind];
	uint64_t first = a->at >> c->shift, last = fl_last_line(a, c->line, c->shift), gone;
	bool is_there = fl_touch(fl_first_set_of(l, first), l->ways, first, &gone);

	if (last != first)
		is_there = fl_touch(fl_first_set_of(l, last), l->ways, last, &gone) && is_there;
	return is_there ? 0 : miss(c, first, last, a->kind);
}

/* fl_cache_feed() counts by the bits of a kind. */
_Static_assert(FL_ACCESS_STORE == 1 && FL_ACCESS_FETCH == 2, "");

void fl_cache_feed(struct fl_cache *c, const struct fl_access *a, size_t n)
{
	const struct fl_front f = fl_front_of(c);
	uint64_t stores = 0, fetches = 0;

	if (c->split) {
		fl_split_feed(c->split, c, a, n);
		return;
	}
	for (const struct fl_access *end = a + n; a < end; a++) {
		__builtin_prefetch(a + FL_AHEAD, 0, 2);
		stores += a->kind & 1;
		if (fl_is_further(&f, a)) {
			fetches += a->kind >> 1;
			fl_cache_look(c, a);
		}
	}
	c->counts.accesses[FL_ACCESS_STORE] += stores;
	c->counts.accesses[FL_ACCESS_FETCH] += fetches;
	c->counts.accesses[FL_ACCESS_LOAD] += n - stores - fetches;
}

const struct fl_cache_counts *fl_cache_counts(struct fl_cache *c)
{
	if (c->split)
		fl_split_settle(c->split, c);
	return &c->counts;
}

/* ---- open and close ------------------------------------------------------------------- */

static uint64_t lines_of(const struct fl_cache_level *l)
{
	return l->size / l->line;
}

static bool is_fitting(const struct fl_cache_geometry *g)
{
	bool fits = g->n_data && g->n_data <= FL_CACHE_LEVELS;

	for (uint32_t k = 1; fits && k < g->n_data; k++)
		fits = g->data[k].line == g->data[0].line;
	return fits && (!g->code.size || g->code.line == g->data[0].line);
}

/* The level gets the next sets at `sets`. Returns the place behind them. */
static uint64_t *take_sets(struct level *to, const struct fl_cache_level *l, uint64_t *sets)
{
	uint64_t n = lines_of(l) / l->ways;

	*to = (struct level){ sets, n, n & (n - 1) ? 0 : n - 1, l->ways };
	return sets + lines_of(l);
}

int fl_cache_open(struct fl_cache **cache, const struct fl_cache_geometry *g)
{
	uint64_t lines = 0, *sets;
	struct fl_cache *c;
	int err;

	if (!is_fitting(g))
		return -EINVAL;
	for (uint32_t k = 0; k < g->n_data; k++)
		lines += lines_of(&g->data[k]);
	if (g->code.size)
		lines += lines_of(&g->code);
	c = calloc(1, sizeof(*c));
	if (c)
		c->sets = malloc(lines * sizeof(*c->sets));
	if (!c || !c->sets) {
		free(c);
		return -ENOMEM;
	}
	memset(c->sets, 0xff, lines * sizeof(*c->sets));	/* NO_LINE */
	c->n_data = g->n_data;
	c->line = g->data[0].line;
	c->shift = (unsigned)__builtin_ctz(c->line);
	c->policy = g->policy;
	sets = c->sets;
	for (uint32_t k = 0; k < g->n_data; k++)
		sets = take_sets(&c->data[k], &g->data[k], sets);
	if (g->code.size)
		take_sets(&c->first[FL_ACCESS_FETCH], &g->code, sets);
	c->first[FL_ACCESS_LOAD] = c->first[FL_ACCESS_STORE] = c->data[0];
	err = fl_split_open(&c->split, c, g->threads);
	if (err)
		fl_cache_close(c);
	else
		*cache = c;
	return err;
}

void fl_cache_close(struct fl_cache *c)
{
	if (!c)
		return;
	fl_split_close(c->split);
	free(c->sets);
	free(c);
}
