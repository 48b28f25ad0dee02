/*
 * gauge.c - what recording costs the recorded, learnt as it runs.
 *
 * READER code: it stays out of the target.
 *
 * In a window a program does less than in as much time without probes. By how
 * much decides what the window stands for, and no experiment beforehand tells:
 * it depends on caches and on who else runs. So a few entries stay on between
 * windows: the rarest, as many as make BUDGET events a second, too few to be
 * felt. How many of them come in a second of windows, and of gaps, is the ratio
 * of what the program does in either:
 *
 *	on / (on_ns - bytes * cost) = off / off_ns
 *
 * Windows and gaps alternate, so what the program does meanwhile cancels out. Of
 * gaps such events are filtered like all others. A probe that turns out not to be
 * rare, as the program goes on to something else, is steady no more. Where windows
 * came late the ratio is not to be trusted, and steady entries may come in bursts:
 * what is learnt counts the more the more windows there were, and against what the
 * target measured at its start.
 */
#include <stdlib.h>
#include <string.h>

#include "channel/channel.h"
#include "channel/sieve.h"

enum {
	BUDGET = 200000,		/* steady entries a second */
	ENOUGH = 5000,			/* entries seen before the choice */
	WINDOWS = 8,			/* and windows */
	CERTAIN = 100,			/* steady entries in windows to learn from */
	TRUST = 2000,			/* edges after which it counts for half */
	BURST = BUDGET / 10		/* of one probe between two turns: not rare */
};

static bool make_room(struct fl_gauge *g, uint32_t n)
{
	uint32_t *seen;

	if (n <= g->n_seen)
		return true;
	seen = realloc(g->seen, n * sizeof(*seen));
	if (!seen)
		return false;
	memset(seen + g->n_seen, 0, (n - g->n_seen) * sizeof(*seen));
	g->seen = seen;
	g->n_seen = n;
	return true;
}

static void note_seen(struct fl_gauge *g, struct fl_shm *m, const struct flick_record *r,
		      size_t n)
{
	const struct fl_shm_site *sites = fl_shm_sites(m);
	uint32_t n_sites = m->n_sites < m->max_sites ? m->n_sites : m->max_sites;

	if (!make_room(g, n_sites))
		return;
	for (size_t i = 0; i < n; i++) {
		if (r[i].probe >= g->n_seen || sites[r[i].probe].kind != FL_ENTRY)
			continue;
		g->seen[r[i].probe]++;
		g->sum++;
	}
}

void fl_gauge_note(struct fl_gauge *g, struct fl_shm *m, const struct fl_place *p,
		   const struct flick_record *r, size_t n)
{
	const struct fl_shm_site *sites = fl_shm_sites(m);
	uint64_t from = load_relaxed(&m->windows.steady_from), steady = 0;

	if (!g->chosen && p->is_in)
		note_seen(g, m, r, n);
	if (!from || p->edge < from)
		return;
	for (size_t i = 0; i < n; i++) {
		if (r[i].probe >= g->n_seen || !sites[r[i].probe].steady)
			continue;
		g->seen[r[i].probe]++;
		steady++;
	}
	if (p->is_in)
		g->on += steady;
	else
		g->off += steady;
}

/* ---- the choice ------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* The highest count with which all that are not above it are within `most`. */
static uint32_t highest(const struct fl_gauge *g, uint64_t most)
{
	uint32_t *counts = malloc((g->n_seen + 1) * sizeof(*counts)), found = 0;
	uint64_t sum = 0;

	if (!counts)
		return 0;
	memcpy(counts, g->seen, g->n_seen * sizeof(*counts));
	qsort(counts, g->n_seen, sizeof(*counts), compare);
	for (uint32_t i = 0; i < g->n_seen; i++) {
		uint32_t next = i + 1 < g->n_seen ? counts[i + 1] : 0;

		sum += counts[i];
		if (sum > most)
			break;
		if (next != counts[i])
			found = counts[i];
	}
	free(counts);
	return found;
}

static void choose(struct fl_gauge *g, struct fl_shm *m)
{
	const struct fl_windows *w = &m->windows;
	uint64_t own_ns = w->on_ns - w->cost_ns;
	uint32_t most = highest(g, (uint64_t)((double)own_ns * BUDGET / 1e9));

	g->chosen = true;
	for (uint32_t i = 0; most && i < g->n_seen; i++)
		fl_shm_sites(m)[i].steady = g->seen[i] && g->seen[i] <= most;
	memset(g->seen, 0, g->n_seen * sizeof(*g->seen));
	g->measured = w->byte_cost;
	store_relaxed(&m->windows.steady, most != 0);
}

/* From now on `seen` counts the steady ones since the last turn. */
static void drop_frequent(struct fl_gauge *g, struct fl_shm *m)
{
	for (uint32_t i = 0; i < g->n_seen; i++) {
		if (g->seen[i] > BURST)
			store_relaxed(&fl_shm_sites(m)[i].steady, 0);
		g->seen[i] = 0;
	}
}

/* ---- what is learnt ----------------------------------------------------------------- */

static double within(double v, double lo, double hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

static void learn(const struct fl_gauge *g, struct fl_windows *w)
{
	double on_ns = (double)w->steady_on_ns;
	double off_ns = (double)w->steady_all_ns - on_ns;
	double trust, cost = on_ns - off_ns * (double)g->on / (double)g->off;

	if (off_ns <= 0 || !w->steady_bytes)
		return;
	cost = within(cost * 65536 / (double)w->steady_bytes, 0.5 * (double)g->measured,
		      5 * (double)g->measured);
	trust = (double)w->published / (double)(w->published + TRUST);
	cost = trust * cost + (1 - trust) * (double)g->measured;
	store_relaxed(&w->byte_cost, (uint64_t)cost);
}

void fl_gauge_tick(struct fl_gauge *g, struct fl_shm *m)
{
	if (g->chosen)
		drop_frequent(g, m);
}

void fl_gauge_turn(struct fl_gauge *g, struct fl_shm *m)
{
	if (m->windows.published == g->turned)
		return;
	g->turned = m->windows.published;

	if (!g->chosen && g->sum >= ENOUGH && m->windows.published >= 2 * WINDOWS)
		choose(g, m);
	if (g->on >= CERTAIN && g->off)
		learn(g, &m->windows);
}

void fl_gauge_free(struct fl_gauge *g)
{
	free(g->seen);
	*g = (struct fl_gauge){ 0 };
}
