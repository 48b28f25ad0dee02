/*
 * graph.c - who calls whom: calls and time of each pair of caller and callee.
 *
 * Each open call's mark is the list of the functions that it called; when the call ends the
 * list goes to its edges (see struct flick_call). Calls that an unwound call seems to have
 * made have no known caller; calls of a call that never ended keep it as caller; both count
 * as `unsure`. In recursion each level is a call with its own time, which is in `sum_ns`; the
 * time of a call that lies in another call of its function is not in `total_ns`.
 *
 * In windows most calls' callers began before: an edge's caller is then the origin of the
 * call (callers.h). When rows are made the origin becomes a function, or no function. Counts
 * and times are estimates there; `sampled` is how many calls were seen.
 */
#include "analysis/callers.h"
#include "analysis/node.h"

#include <stdlib.h>

struct edge {
	uint32_t caller;		/* FLICK_NO_FUNCTION: none */
	uint32_t function;
	struct fl_sums sums;
};

struct graph {
	const struct flick_view *view;
	struct fl_nodes nodes;
	struct edge *edges;
	size_t n;
	struct fl_hash by_pair;		/* of caller and function */
};

static int open_graph(void **state, const struct flick_view *view, const char *arg)
{
	return fl_state_open(state, sizeof(struct graph), view, arg);
}

static int add_edge(struct graph *g, uint32_t caller, uint32_t function,
		    const struct fl_sums *sums)
{
	uint32_t hash = fl_hash_of(0, (uint64_t)caller << 32 | function);

	for (uint32_t at = hash, i; (i = fl_hash_next(&g->by_pair, hash, &at));) {
		struct edge *e = &g->edges[i - 1];

		if (e->caller == caller && e->function == function) {
			fl_sums_add_up(&e->sums, sums);
			return 0;
		}
	}
	if (fl_array_room(&g->edges, g->n, sizeof(*g->edges)) ||
	    fl_hash_put(&g->by_pair, hash, (uint32_t)g->n + 1))
		return -ENOMEM;
	g->edges[g->n++] = (struct edge){ caller, function, *sums };
	return 0;
}

/* All of a list, which becomes empty, was called by `caller`. */
static int charge(struct graph *g, uint32_t caller, struct fl_node **list)
{
	int err = 0;

	for (struct fl_node *n = *list; !err && n; n = n->next)
		err = add_edge(g, caller, n->function, &n->sums);
	fl_node_give_list(&g->nodes, list);
	return err;
}

/* ---- calls ------------------------------------------------------------------------ */

/* A call with an origin, or without a known caller, is an edge by itself. */
static int note_call(struct graph *g, const struct flick_call *call, void **caller)
{
	struct fl_sums alone = { 0 };
	struct fl_node *n;

	if (call->flags & (FLICK_CALL_ORPHAN | FLICK_CALL_FROM)) {
		bool tells = call->flags & FLICK_CALL_FROM;

		fl_sums_add(&alone, call);
		alone.unsure = alone.calls && !tells;
		return add_edge(g, tells ? call->from : FLICK_NO_FUNCTION, call->function,
				&alone);
	}
	n = fl_node_of(&g->nodes, (struct fl_node **)caller, call->function);
	if (!n)
		return -ENOMEM;
	fl_sums_add(&n->sums, call);
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

/* Calls that so far seemed to have no caller may have been made by the stray call. */
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

	for (size_t i = 0; !err && i < other->n; i++) {
		const struct edge *e = &other->edges[i];

		err = add_edge(into, fl_run_renamed(other->view, e->caller), e->function,
			       &e->sums);
	}
	return err;
}

/* ---- rows -------------------------------------------------------------------------- */

static const struct flick_column columns[] = {
	{ "caller", FLICK_COL_FUNCTION },
	FL_SUM_COLUMNS,
	{ "sum_ns", FLICK_COL_NS },
	{ "raw_sum_ns", FLICK_COL_NS },
	{ "sampled", FLICK_COL_COUNT },	/* of windows only */
};

/* Origins become functions: several origins may become one function. */
static int settle(struct graph *to, const struct graph *g)
{
	int err = 0;

	for (size_t i = 0; !err && i < g->n; i++) {
		struct edge e = g->edges[i];

		if (fl_is_origin(e.caller)) {
			e.caller = g->view->caller(g->view, e.caller);
			if (e.caller == FLICK_NO_FUNCTION)
				e.sums.unsure = e.sums.calls;
		}
		err = add_edge(to, e.caller, e.function, &e.sums);
	}
	return err;
}

static int write_edges(const struct graph *g, struct flick_rows *r)
{
	size_t width = fl_columns(g->view, ARRAY_LEN(columns));
	uint64_t *cell = calloc(g->n * width + 1, sizeof(*cell));

	if (!cell)
		return -ENOMEM;
	*r = (struct flick_rows){ columns, width, cell, 0 };
	for (size_t i = 0; i < g->n; i++) {
		const struct edge *e = &g->edges[i];
		const struct fl_sums *s = &e->sums;
		struct fl_told told = { g->view, e->function, s };

		if (!s->calls)			/* all were behind the part */
			continue;
		r->n_rows++;
		*cell++ = e->caller == FLICK_NO_FUNCTION ? FLICK_NONE : e->caller;
		cell = fl_told_row(&told, s->outer, s->raw_outer, cell);
		*cell++ = fl_told_ns(&told, s->total);
		*cell++ = fl_told_raw_ns(&told, s->raw_total);
		if (width == ARRAY_LEN(columns))
			*cell++ = s->calls;
	}
	return 0;
}

/* More may be known of an origin later: the graph's own edges stay as they are. */
static int rows(void *state, struct flick_rows *r)
{
	struct graph *g = state, settled = { .view = g->view };
	int err = 0;

	if (!(g->view->flags & FLICK_VIEW_WINDOWS))
		return write_edges(g, r);
	err = settle(&settled, g);
	if (!err)
		err = write_edges(&settled, r);
	free(settled.edges);
	fl_hash_free(&settled.by_pair);
	return err;
}

static void close_graph(void *state)
{
	struct graph *g = state;

	fl_nodes_free(&g->nodes);
	free(g->edges);
	fl_hash_free(&g->by_pair);
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
