/*
 * filter.c - the records that lie in a window, and in which.
 *
 * READER code: it stays out of the target.
 *
 * The protocol is in probe/window.c. All edges are kept, two numbers a window,
 * because a thread that enqueues little leaves records of long ago in a chunk that
 * is not full. A record may be older than its thread's last edge, where a signal
 * handler interrupted the glue and enqueued first. Such a record is taken for one
 * outside of windows: its thread has gone on to a later window, and the analysis
 * with it.
 */
#include <stdlib.h>

#include "channel/channel.h"
#include "channel/filter.h"

static bool make_room(struct fl_filter *v, size_t n)
{
	size_t room = n * 2 + FL_EDGES;
	uint64_t *edges;
	uint32_t *rates;

	if (n <= v->room)
		return true;
	edges = realloc(v->edges, room * sizeof(*edges));
	if (edges)
		v->edges = edges;
	rates = edges ? realloc(v->rates, room / 2 * sizeof(*rates)) : NULL;
	if (!rates)
		return false;
	v->rates = rates;
	v->room = room;
	return true;
}

/* Edges of [from, upto) whose place the target has used again make empty windows. Both edges
 * of such a window are blanked, because a window that ends must have begun. */
static void blank(struct fl_filter *v, uint64_t from, uint64_t upto, uint64_t announced)
{
	uint64_t had = announced > FL_EDGES ? fl_round_up(announced - FL_EDGES, 2) : 0;

	for (uint64_t k = from; k < upto && k < had; k++)
		v->edges[k] = k ? v->edges[k - 1] : 0;
}

/* A number of edges that is too large is not believed: nobody draws more than MOST between two
 * looks. */
static void copy(struct fl_filter *v, const struct fl_windows *w, uint64_t upto)
{
	enum { MOST = 1 << 20 };
	uint64_t from = v->n;

	if (upto - from > MOST || !make_room(v, upto))
		return;
	for (; v->n < upto; v->n++) {
		v->edges[v->n] = load_relaxed(&w->edges[v->n % FL_EDGES]);
		v->rates[v->n / 2] = load_relaxed(&w->rates[v->n / 2 % (FL_EDGES / 2)]);
	}
	/* (I) pairs with (A) in probe/window.c */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	blank(v, from, upto, load_relaxed(&w->announced));
}

bool fl_filter_look(struct fl_filter *v, struct fl_region *m, bool target_gone)
{
	struct fl_windows *w = &m->session[0].windows;
	uint64_t published, announced;

	/* (D) pairs with (C) in probe/window.c */
	published = load_acquire(&w->published);
	/* (B) pairs with (A) in probe/window.c */
	announced = load_acquire(&w->announced);
	copy(v, w, published);
	store_release(&w->taken, v->n);		/* (G) pairs with (H) in probe/window.c */
	return target_gone || (announced == published && v->n == published);
}

/* ---- records --------------------------------------------------------------------- */

static void move_on(const struct fl_filter *v, struct fl_cursor *p, uint64_t tsc)
{
	while (p->edge < v->n && v->edges[p->edge] <= tsc)
		p->edge++;
	p->is_in = p->edge % 2 && v->edges[p->edge - 1] <= tsc;
}

static struct fl_window window_at(const struct fl_filter *v, size_t edge)
{
	uint32_t mark = v->rates[edge / 2], rate = mark & ~FL_WINDOW_FRESH;

	if (rate < FL_RATE_LEAST || rate > FL_RATE_ALL)
		rate = FL_RATE_ALL;
	return (struct fl_window){
		.number = edge / 2 + 1, .fresh = mark & FL_WINDOW_FRESH,
		.weight = (uint32_t)((uint64_t)FL_RATE_ALL * FL_WEIGHT_ONE / rate),
		.edges = v->edges, .n_edges = v->n,
	};
}

struct fl_sifted fl_filter_next(const struct fl_filter *v, struct fl_cursor *p,
			       const struct flick_record *r, size_t n)
{
	struct fl_sifted s = { 0 };
	size_t edge = p->edge;

	for (; s.n < n; s.n++) {
		struct fl_cursor here = *p;

		if (fl_is_event(&r[s.n]))
			move_on(v, &here, r[s.n].tsc);
		if (s.n && (here.is_in != s.is_in || (s.is_in && here.edge != edge)))
			break;
		*p = here;
		s.is_in = here.is_in;
		edge = here.edge;
		s.events += fl_is_event(&r[s.n]);
	}
	if (s.is_in)
		s.window = window_at(v, edge - 1);
	return s;
}

void fl_filter_free(struct fl_filter *v)
{
	free(v->edges);
	free(v->rates);
	*v = (struct fl_filter){ 0 };
}
