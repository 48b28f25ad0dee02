/*
 * graph.c - who calls whom: calls and time of each pair of caller and callee.
 *
 * Each open call's mark is the list of what it called; when it ends the list
 * goes to its edges (see struct flick_call). Calls that an unwound one seems to
 * have made have no known caller; those of a call that never ended keep it;
 * both count as `unsure`. In recursion each level is a call with its own time, which is in
 * `sum_ns`; what lies in another call of its function is not in `total_ns`.
 *
 * Of windows most calls' callers began before: an edge's caller is then the place
 * of the call, for which there is a name, or none, when rows are made. Counts and
 * times are estimates there, `sampled` is what was seen.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/callers.h"
#include "analysis/node.h"

struct edge {
	uint32_t caller;		/* FLICK_NO_FUNCTION: none */
	struct fl_node sum;		/* sum.calls 0: an empty place */
};

/* INVARIANT	n_edges * 2 <= places, a power of two. */
struct graph {
	const struct flick_view *view;
	struct fl_nodes nodes;
	struct edge *edges;		/* a hash table, open addressing */
	uint32_t places, n_edges;
};

static int open_graph(void **state, const struct flick_view *view, const char *arg)
{
	struct graph *g = arg ? NULL : calloc(1, sizeof(*g));

	if (!g)
		return arg ? -EINVAL : -ENOMEM;
	g->view = view;
	*state = g;
	return 0;
}

/* ---- edges ----------------------------------------------------------------------- */

static struct edge *place_of(const struct graph *g, uint32_t caller, uint32_t callee)
{
	uint64_t h = ((uint64_t)caller << 32 | callee) * 0x9e3779b97f4a7c15ull;
	uint32_t i = (uint32_t)(h >> 32);

	for (;; i++) {
		struct edge *e = &g->edges[i & (g->places - 1)];

		if (!e->sum.calls ||
		    (e->caller == caller && e->sum.function == callee))
			return e;
	}
}

static int grow(struct graph *g)
{
	struct graph old = *g;

	g->places = old.places ? old.places * 2 : 256;
	g->edges = calloc(g->places, sizeof(*g->edges));
	if (!g->edges) {
		*g = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old.places; i++)
		if (old.edges[i].sum.calls)
			*place_of(g, old.edges[i].caller, old.edges[i].sum.function) =
				old.edges[i];
	free(old.edges);
	return 0;
}

static int add_edge(struct graph *g, uint32_t caller, const struct fl_node *n)
{
	struct edge *e;

	if (g->n_edges * 2 >= g->places && grow(g))
		return -ENOMEM;
	e = place_of(g, caller, n->function);
	g->n_edges += !e->sum.calls;
	e->caller = caller;
	e->sum.function = n->function;
	fl_node_add_up(&e->sum, n);
	return 0;
}

/* All of a list, which becomes empty, was called by `caller`. */
static int charge(struct graph *g, uint32_t caller, struct fl_node **list)
{
	int err = 0;

	for (struct fl_node *n = *list; !err && n; n = n->next)
		err = add_edge(g, caller, n);
	fl_node_give_list(&g->nodes, list);
	return err;
}

/* ---- calls ------------------------------------------------------------------------ */

/* A call that no open call, or none that is known, made. */
static int note_alone(struct graph *g, const struct flick_call *call)
{
	bool tells = call->flags & FLICK_CALL_FROM;
	struct fl_node alone = { .function = call->function };

	fl_node_add(&alone, call, !tells);
	return add_edge(g, tells ? call->from : FLICK_NO_FUNCTION, &alone);
}

static int note_call(struct graph *g, const struct flick_call *call, void **caller)
{
	struct fl_node *n;

	if (call->flags & (FLICK_CALL_ORPHAN | FLICK_CALL_FROM))
		return note_alone(g, call);
	n = fl_node_of(&g->nodes, (struct fl_node **)caller, call->function);
	if (!n)
		return -ENOMEM;
	fl_node_add(n, call, false);
	return 0;
}

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct graph *g = state;
	struct fl_node **called = (struct fl_node **)mark;
	int err = 0;

	if (call->how != FLICK_ENDED)
		fl_node_doubt(*called);
	if (*called)
		err = charge(g, call->how == FLICK_UNWOUND ? FLICK_NO_FUNCTION :
				call->function, called);
	return err ? err : note_call(g, call, caller);
}

/* What was thought to have no caller so far may have had the stray one. */
static int stray(void *state, uint32_t thread, uint32_t function, void **root)
{
	(void)state;
	(void)thread;
	(void)function;
	fl_node_doubt(*root);
	return 0;
}

static int thread_end(void *state, uint32_t thread, void **root)
{
	(void)thread;
	return charge(state, FLICK_NO_FUNCTION, (struct fl_node **)root);
}

static int merge(void *into, void *from)
{
	struct graph *other = from;
	int err = 0;

	for (uint32_t i = 0; !err && i < other->places; i++)
		if (other->edges[i].sum.calls)
			err = add_edge(into, fl_run_renamed(other->view,
							    other->edges[i].caller),
				       &other->edges[i].sum);
	return err;
}

/* ---- rows -------------------------------------------------------------------------- */

enum { CALLER, CALLEE, CALLS, TOTAL, SELF, AVG, UNKNOWN, UNSURE, RAW_TOTAL,
       RAW_SELF, RAW_AVG, OPEN, SUM, RAW_SUM, SAMPLED };

static const struct flick_column columns[] = {
	[CALLER] = { "caller", FLICK_COL_FUNCTION },
	[CALLEE] = { "function", FLICK_COL_FUNCTION },
	[CALLS] = { "calls", FLICK_COL_COUNT },
	[TOTAL] = { "total_ns", FLICK_COL_NS },
	[SELF] = { "self_ns", FLICK_COL_NS },
	[AVG] = { "avg_ns", FLICK_COL_NS },
	[UNKNOWN] = { "unknown", FLICK_COL_COUNT },
	[UNSURE] = { "unsure", FLICK_COL_COUNT },
	[RAW_TOTAL] = { "raw_total_ns", FLICK_COL_NS },
	[RAW_SELF] = { "raw_self_ns", FLICK_COL_NS },
	[RAW_AVG] = { "raw_avg_ns", FLICK_COL_NS },
	[OPEN] = { "open", FLICK_COL_COUNT },
	[SUM] = { "sum_ns", FLICK_COL_NS },
	[RAW_SUM] = { "raw_sum_ns", FLICK_COL_NS },
	[SAMPLED] = { "sampled", FLICK_COL_COUNT },	/* of windows only */
};

/* Places become functions: several may be one. */
static int settle(struct graph *to, const struct graph *g)
{
	int err = 0;

	to->view = g->view;
	for (uint32_t i = 0; !err && i < g->places; i++) {
		struct edge e = g->edges[i];

		if (!e.sum.calls)
			continue;
		if (fl_is_place(e.caller)) {
			e.caller = g->view->caller(g->view, e.caller);
			if (e.caller == FLICK_NO_FUNCTION)
				e.sum.unsure = e.sum.calls;
		}
		err = add_edge(to, e.caller, &e.sum);
	}
	return err;
}

static void write_edge(const struct graph *g, const struct edge *e, uint64_t *cell)
{
	const struct fl_node *n = &e->sum;

	cell[CALLER] = e->caller == FLICK_NO_FUNCTION ? FLICK_NONE : e->caller;
	cell[CALLEE] = n->function;
	cell[CALLS] = fl_node_stands(n, g->view, n->calls);
	cell[TOTAL] = fl_node_total_ns(n, g->view, n->outer);
	cell[SELF] = fl_node_ns(n, g->view, n->self);
	cell[AVG] = fl_node_average(n, g->view, n->total - n->open_total);
	cell[OPEN] = n->open;
	cell[UNKNOWN] = fl_node_stands(n, g->view, n->unknown);
	cell[UNSURE] = fl_node_stands(n, g->view, n->unsure);
	cell[SUM] = fl_node_ns(n, g->view, n->total);
	cell[RAW_SUM] = fl_node_raw_ns(n, g->view, n->raw_total);
	cell[RAW_TOTAL] = fl_node_raw_ns(n, g->view, n->raw_outer);
	cell[RAW_SELF] = fl_node_raw_ns(n, g->view, n->raw_self);
	cell[RAW_AVG] = fl_node_average(n, g->view, n->raw_total - n->open_raw);
	if (g->view->flags & FLICK_VIEW_WINDOWS)
		cell[SAMPLED] = n->calls;
}

static int write_edges(const struct graph *g, struct flick_rows *r)
{
	size_t width = fl_node_columns(g->view, ARRAY_LEN(columns));
	uint64_t *cell = calloc(g->n_edges * width + 1, sizeof(*cell));

	if (!cell)
		return -ENOMEM;
	*r = (struct flick_rows){ columns, width, cell, g->n_edges };
	for (uint32_t i = 0; i < g->places; i++) {
		if (!g->edges[i].sum.calls)
			continue;
		write_edge(g, &g->edges[i], cell);
		cell += width;
	}
	return 0;
}

static int rows(void *state, struct flick_rows *r)
{
	struct graph settled = { 0 };
	int err = settle(&settled, state);

	if (!err)
		err = write_edges(&settled, r);
	free(settled.edges);
	return err;
}

static void close_graph(void *state)
{
	struct graph *g = state;

	fl_nodes_free(&g->nodes);
	free(g->edges);
	free(g);
}

const struct flick_analysis fl_analysis_graph = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_CALLS,
	.name = "graph",
	.about = "calls and time of each caller and callee",
	.open = open_graph,
	.leave = leave,
	.stray = stray,
	.thread_end = thread_end,
	.merge = merge,
	.rows = rows,
	.close = close_graph,
};
