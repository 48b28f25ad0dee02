/*
 * misses.c - which functions' accesses to memory miss in simulated caches.
 *
 * Paper 2 section 5. Second bodies tell each access (copy/plan-memory.c), the caches are those
 * of cache.c. An access is its instruction's: of an inlined function it is the caller's.
 *
 * All threads have the same caches, as if they ran on one core in turn: what a thread enqueues
 * comes a chunk at a time. So of several threads the misses are an estimate, of one thread they
 * are those that the same accesses have in cachegrind.
 */
#include "analysis/cache.h"

#include <stdio.h>
#include <stdlib.h>

struct missed {
	uint64_t n[2];			/* loads, stores: enum fl_access_kind */
	uint64_t misses[FL_CACHE_LEVELS];
};
struct misses {
	const struct flick_view *view;
	struct fl_cache *cache;
	uint32_t levels;
	struct missed *of;		/* by place, later by function */
	uint32_t n;
	int error;
};

enum { FIXED = 3 };			/* columns; then one a level */

static const struct flick_column columns[] = {
	{ "function", FLICK_COL_FUNCTION },
	{ "accesses", FLICK_COL_COUNT },
	{ "stores", FLICK_COL_COUNT },
	{ "l1_misses", FLICK_COL_COUNT },
	{ "l2_misses", FLICK_COL_COUNT },
	{ "l3_misses", FLICK_COL_COUNT },
	{ "l4_misses", FLICK_COL_COUNT },
};
_Static_assert(ARRAY_LEN(columns) == FIXED + FL_CACHE_LEVELS, "one a level");

static void close_misses(void *state)
{
	struct misses *m = state;

	fl_cache_close(m->cache);
	free(m->of);
	free(m);
}

/* `arg`: the geometry of data's levels. */
static int open_misses(void **state, const struct flick_view *view, const char *arg)
{
	struct fl_cache_geometry g = { .policy = FL_CACHE_INCLUSIVE };
	struct misses *m;
	char why[FL_USE_WHY];
	int n = fl_cache_parse(g.data, FL_CACHE_LEVELS, arg ? arg : FL_CACHE_PRESET, why), err;

	if (n < 0)
		return -EINVAL;
	m = calloc(1, sizeof *m);
	if (!m)
		return -ENOMEM;
	g.n_data = m->levels = (uint32_t)n;
	m->view = view;
	err = fl_cache_open(&m->cache, &g);
	if (err)
		close_misses(m);
	else
		*state = m;
	return err;
}

/* Room for `n`; what is new is 0. */
static int extend(struct misses *m, uint32_t n)
{
	uint32_t room = n < 1024 ? 1024 : n + n / 2;
	struct missed *of;

	if (n <= m->n)
		return 0;
	of = realloc(m->of, room * sizeof *of);
	if (!of)
		return -ENOMEM;
	for (uint32_t i = m->n; i < room; i++)
		of[i] = (struct missed){ .n[0] = 0 };
	m->of = of;
	m->n = room;
	return 0;
}

static void note_misses(struct missed *to, uint32_t missed)
{
	for (uint32_t k = 0; missed; k++, missed >>= 1)
		to->misses[k] += missed & 1;
}

static inline struct fl_access access_of(const struct flick_record *r)
{
	return (struct fl_access){
		.at = r->tsc, .size = r->sp & FLICK_ACCESS_SIZE,
		.kind = r->sp & FLICK_ACCESS_LOAD ? FL_ACCESS_LOAD : FL_ACCESS_STORE,
	};
}

/* Of a place that was not met before, or no access. False: nothing is to be counted. */
static __attribute__((noinline)) bool meet(struct misses *m, const struct flick_record *r)
{
	uint32_t place = fl_record_probe(r);

	if (fl_record_type(r) != FLICK_TYPE_ACCESS || place >= FL_MAX_PLACES)
		return false;
	if (extend(m, place + 1))
		m->error = -ENOMEM;
	return place < m->n;
}

/* Most accesses are to the line in front of its set: of these nothing is to be done. */
static int batch(void *state, uint32_t thread, const struct flick_record *r, size_t n)
{
	struct misses *m = state;
	const struct fl_front f = fl_front_of(m->cache);

	(void)thread;
	for (const struct flick_record *end = r + n; r < end; r++) {
		const struct fl_access a = access_of(r);
		uint32_t place = r->probe - fl_typed(FLICK_TYPE_ACCESS, 0);

		if (place >= m->n && !meet(m, r))
			continue;
		m->of[place].n[a.kind]++;
		if (fl_is_further(&f, &a))
			note_misses(&m->of[place], fl_cache_look(m->cache, &a));
	}
	return m->error;
}

_Static_assert(FL_ACCESS_LOAD < 2 && FL_ACCESS_STORE < 2, "");

/* ---- what came of it ------------------------------------------------------------------ */

static uint64_t accesses_of(const struct missed *m)
{
	return m->n[FL_ACCESS_LOAD] + m->n[FL_ACCESS_STORE];
}

/* The last one is of places that are in no function. */
static struct missed *sum_up(const struct misses *m, uint32_t n_functions)
{
	struct missed *by = calloc(n_functions + 1ul, sizeof *by);

	for (uint32_t i = 0; by && i < m->n; i++) {
		uint32_t f = accesses_of(&m->of[i]) ? m->view->place(m->view, i) : 0;
		struct missed *to = &by[f < n_functions ? f : n_functions];

		for (uint32_t k = 0; k < 2; k++)
			to->n[k] += m->of[i].n[k];
		for (uint32_t k = 0; k < m->levels; k++)
			to->misses[k] += m->of[i].misses[k];
	}
	return by;
}

static int rows(void *state, struct flick_rows *r)
{
	struct misses *m = state;
	uint32_t n = m->view->n_functions;
	size_t n_columns = FIXED + m->levels;
	struct missed *by = sum_up(m, n);
	uint64_t *cell = by ? calloc((n + 1) * n_columns, sizeof *cell) : NULL;

	if (!cell) {
		free(by);
		return -ENOMEM;
	}
	*r = (struct flick_rows){ columns, n_columns, cell, 0 };
	for (uint32_t i = 0; i <= n; i++) {
		if (!accesses_of(&by[i]))
			continue;
		*cell++ = i < n ? i : FLICK_NONE;
		*cell++ = accesses_of(&by[i]);
		*cell++ = by[i].n[FL_ACCESS_STORE];
		for (uint32_t k = 0; k < m->levels; k++)
			*cell++ = by[i].misses[k];
		r->n_rows++;
	}
	free(by);
	return 0;
}

const struct flick_analysis fl_analysis_cache = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_ACCESSES,
	.name = "cache",
	.about = "which functions' accesses to memory miss in simulated caches",
	.args = "SIZE,WAYS,LINE of each level, or host",
	.open = open_misses,
	.batch = batch,
	.rows = rows,
	.close = close_misses,
};
