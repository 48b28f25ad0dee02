/*
 * tree.c - calls, total and self time of each calling context.
 *
 * A context is a row of functions, each called by the one before it. Each open
 * call's mark is the list of contexts below it; it is charged with them when it
 * ends (see struct flick_call). What an unwound call seems to have made goes to
 * the roots, as its context is not known; what a call that never ended made
 * stays in its place; both count as `unsure`.
 *
 * Of windows the context above a call whose caller began before is not known. It
 * stands below a row without a function, and there below its caller, if that is:
 * until rows are made, below the place it was called from (callers.h).
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/callers.h"
#include "analysis/node.h"

struct tree {
	const struct flick_view *view;
	struct fl_nodes nodes;
	struct fl_node *roots;
};

static int open_tree(void **state, const struct flick_view *view, const char *arg)
{
	struct tree *t = arg ? NULL : calloc(1, sizeof(*t));

	if (!t)
		return arg ? -EINVAL : -ENOMEM;
	t->view = view;
	*state = t;
	return 0;
}

/* Where a call stands whose context is not known. */
static struct fl_node **cut_off(struct tree *t, const struct flick_call *call)
{
	uint32_t above = call->flags & FLICK_CALL_FROM ? call->from : FLICK_NO_FUNCTION;
	struct fl_node *n = fl_node_of(&t->nodes, &t->roots, above);

	return n ? &n->first : NULL;
}

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct tree *t = state;
	struct fl_node **below = (struct fl_node **)mark;
	struct fl_node **place = (struct fl_node **)caller;
	bool orphan = call->flags & FLICK_CALL_ORPHAN;
	struct fl_node *node;

	if (orphan && t->view->flags & FLICK_VIEW_WINDOWS) {
		place = cut_off(t, call);
		orphan = false;
	}
	if (!place)
		return -ENOMEM;
	if (call->how != FLICK_ENDED || orphan)
		fl_node_doubt(*below);
	if (call->how == FLICK_UNWOUND)
		fl_node_merge(&t->nodes, &t->roots, below);
	node = fl_node_of(&t->nodes, orphan ? &t->roots : place, call->function);
	if (!node)
		return -ENOMEM;
	fl_node_add(node, call, orphan);
	fl_node_merge(&t->nodes, &node->first, below);
	return 0;
}

/* A call that was not seen to begin has ended: what was thought to have no
 * caller so far may have been called by it. */
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
	struct tree *t = state;

	(void)thread;
	fl_node_merge(&t->nodes, &t->roots, (struct fl_node **)root);
	return 0;
}

static int merge(void *into, void *from)
{
	struct tree *t = into, *other = from;

	for (struct fl_node *n = other->roots; n; n = n->next)
		n->function = fl_run_renamed(other->view, n->function);
	fl_nodes_adopt(&t->nodes, &other->nodes);
	fl_node_merge(&t->nodes, &t->roots, &other->roots);
	return 0;
}

/* ---- rows ---------------------------------------------------------------------- */

enum { ID, PARENT, FUNCTION, CALLS, TOTAL, SELF, AVG, UNKNOWN, UNSURE, RAW_TOTAL,
       RAW_SELF, RAW_AVG, OPEN, SAMPLED };

static const struct flick_column columns[] = {
	[ID] = { "id", FLICK_COL_ID },
	[PARENT] = { "parent", FLICK_COL_PARENT },
	[FUNCTION] = { "function", FLICK_COL_FUNCTION },
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
	[SAMPLED] = { "sampled", FLICK_COL_COUNT },	/* of windows only */
};

struct writer {
	const struct tree *tree;
	struct flick_rows *rows;
	struct fl_node *work;		/* to be written, with their lists */
};

/* A list is put off with the row its nodes stand below. */
static int write_node(struct writer *w, struct fl_node *n, uint64_t parent)
{
	const struct flick_view *view = w->tree->view;
	const size_t row_bytes = w->rows->n_columns * sizeof(uint64_t);
	uint64_t *cell;

	if (fl_array_room(&w->rows->cells, w->rows->n_rows, row_bytes))
		return -ENOMEM;
	cell = w->rows->cells + w->rows->n_rows * w->rows->n_columns;
	cell[ID] = w->rows->n_rows++;
	cell[PARENT] = parent;
	cell[FUNCTION] = n->function == FLICK_NO_FUNCTION ? FLICK_NONE : n->function;
	cell[CALLS] = fl_node_stands(n, view, n->calls);
	cell[TOTAL] = fl_node_total_ns(n, view, n->total);
	cell[SELF] = fl_node_ns(n, view, n->self);
	cell[AVG] = fl_node_average(n, view, n->total - n->open_total);
	cell[OPEN] = n->open;
	cell[UNKNOWN] = fl_node_stands(n, view, n->unknown);
	cell[UNSURE] = fl_node_stands(n, view, n->unsure);
	cell[RAW_TOTAL] = fl_node_raw_ns(n, view, n->raw_total);
	cell[RAW_SELF] = fl_node_raw_ns(n, view, n->raw_self);
	cell[RAW_AVG] = fl_node_average(n, view, n->raw_total - n->open_raw);
	if (view->flags & FLICK_VIEW_WINDOWS)
		cell[SAMPLED] = n->calls;
	if (!n->first)
		return 0;
	n->to = (void *)(uintptr_t)cell[ID];
	n->work = w->work;
	w->work = n;
	return 0;
}

/* A root that is a place becomes its function, or nothing, below the row without
 * a function. */
static int settle_root(struct tree *t, struct fl_node *root)
{
	struct fl_node *none = fl_node_of(&t->nodes, &t->roots, FLICK_NO_FUNCTION);
	uint32_t f = t->view->caller(t->view, root->function);
	struct fl_node *above = none;

	if (none && f != FLICK_NO_FUNCTION)
		above = fl_node_of(&t->nodes, &none->first, f);
	if (!above)
		return -ENOMEM;
	fl_node_merge(&t->nodes, &above->first, &root->first);
	fl_node_give(&t->nodes, root);
	return 0;
}

static int settle(struct tree *t)
{
	struct fl_node *places = NULL, **at = &t->roots, *n;
	int err = 0;

	while ((n = *at)) {
		if (!fl_is_place(n->function)) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		n->next = places;
		places = n;
	}
	while (!err && (n = places)) {
		places = n->next;
		err = settle_root(t, n);
	}
	return err;
}

static int rows(void *state, struct flick_rows *r)
{
	struct tree *t = state;
	struct writer w = { .tree = t, .rows = r };
	uint64_t parent = FLICK_NONE;
	int err = settle(t);
	struct fl_node *list = t->roots;

	*r = (struct flick_rows){ columns, fl_node_columns(t->view, ARRAY_LEN(columns)),
				  NULL, 0 };
	for (;;) {
		for (struct fl_node *n = list; !err && n; n = n->next)
			err = write_node(&w, n, parent);
		if (err || !w.work)
			break;
		list = w.work->first;
		parent = (uintptr_t)w.work->to;
		w.work = w.work->work;
	}
	if (err)
		free(r->cells);
	return err;
}

static void close_tree(void *state)
{
	struct tree *t = state;

	fl_nodes_free(&t->nodes);
	free(t);
}

const struct flick_analysis fl_analysis_tree = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_CALLS,
	.name = "tree",
	.about = "calls and time of each calling context",
	.open = open_tree,
	.leave = leave,
	.stray = stray,
	.thread_end = thread_end,
	.merge = merge,
	.rows = rows,
	.close = close_tree,
};
