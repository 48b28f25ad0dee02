/*
 * tree.c - calls, total and self time of each calling context.
 *
 * A context is a row of functions, each called by the one before it. Each open
 * call's mark is the list of contexts below it; the call is charged with them
 * when it ends (see struct flick_call). Calls that an unwound call seems to have
 * made go to the roots, because their context is not known; calls that a call
 * without an end made stay in their place; both count as `unsure`.
 *
 * In windows the context of a call whose caller began before the window is not
 * known. The call stands below a row without a function, and there below its
 * caller, if this is known. Until rows are made the call stands below its origin
 * (callers.h).
 */
#include "analysis/callers.h"
#include "analysis/node.h"

#include <stdlib.h>

struct tree {
	const struct flick_view *view;
	struct fl_nodes nodes;
	struct fl_node *roots;
};

static int open_tree(void **state, const struct flick_view *view, const char *arg)
{
	return fl_state_open(state, sizeof(struct tree), view, arg);
}

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct tree *t = state;
	struct fl_node **below = (struct fl_node **)mark;
	struct fl_node **list = (struct fl_node **)caller;
	bool orphan = call->flags & FLICK_CALL_ORPHAN;
	struct fl_node *node;

	if (orphan && t->view->flags & FLICK_VIEW_WINDOWS) {
		node = fl_node_of(&t->nodes, &t->roots, call->flags & FLICK_CALL_FROM ?
				  call->from : FLICK_NO_FUNCTION);
		if (!node)
			return -ENOMEM;
		list = &node->first;
		orphan = false;
	}
	if (call->how != FLICK_ENDED || orphan)
		fl_node_doubt(*below);
	if (call->how == FLICK_UNWOUND)
		fl_node_merge(&t->nodes, &t->roots, below);
	if (call->flags & FL_CALL_BEHIND)
		return 0;
	node = fl_node_of(&t->nodes, orphan ? &t->roots : list, call->function);
	if (!node)
		return -ENOMEM;
	fl_sums_add(&node->sums, call);
	node->sums.unsure += orphan;
	fl_node_merge(&t->nodes, &node->first, below);
	return 0;
}

/* A call that was not seen to begin has ended: calls that so far seemed to have
 * no caller may have been made by this one. */
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

static const struct flick_column columns[] = {
	{ "id", FLICK_COL_ID },
	{ "parent", FLICK_COL_PARENT },
	FL_SUM_COLUMNS,
	{ "sampled", FLICK_COL_COUNT },	/* of windows only */
};

/* A root that is an origin: its list goes below the row without a function, and there below the
 * origin's function, if this is known. */
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

/* More may be known of an origin later: so this makes a copy. */
static int settle(struct tree *to, const struct tree *t)
{
	struct fl_node *origins = NULL, **at = &to->roots, *n;
	int err = fl_node_copy(&to->nodes, &to->roots, t->roots);

	while (!err && (n = *at)) {
		if (!fl_is_origin(n->function)) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		n->next = origins;
		origins = n;
	}
	while (!err && (n = origins)) {
		origins = n->next;
		err = settle_root(to, n);
	}
	return err;
}

struct writer {
	const struct flick_view *view;
	struct flick_rows *rows;
	struct fl_node *work;		/* nodes whose lists are to be written */
};

/* Write a node's row. The node's list is put off: it stands below this row. */
static int write_node(struct writer *w, struct fl_node *n, uint64_t parent)
{
	struct flick_rows *r = w->rows;
	struct fl_told told = { w->view, n->function, &n->sums };
	uint64_t *cell;

	if (fl_array_room(&r->cells, r->n_rows, r->n_columns * sizeof(*cell)))
		return -ENOMEM;
	cell = r->cells + r->n_rows * r->n_columns;
	n->row = (uint32_t)r->n_rows;
	*cell++ = r->n_rows++;
	*cell++ = parent;
	cell = fl_told_row(&told, n->sums.total, n->sums.raw_total, cell);
	if (r->n_columns == ARRAY_LEN(columns))
		*cell = n->sums.calls;
	if (n->first) {
		n->work = w->work;
		w->work = n;
	}
	return 0;
}

static int write_nodes(const struct tree *t, struct flick_rows *r)
{
	struct writer w = { .view = t->view, .rows = r };
	struct fl_node *list = t->roots;
	uint64_t parent = FLICK_NONE;
	int err = 0;

	*r = (struct flick_rows){ columns, fl_columns(t->view, ARRAY_LEN(columns)), NULL, 0 };
	for (;;) {
		for (struct fl_node *n = list; !err && n; n = n->next)
			err = write_node(&w, n, parent);
		if (err || !w.work)
			break;
		list = w.work->first;
		parent = w.work->row;
		w.work = w.work->work;
	}
	if (err)
		free(r->cells);
	return err;
}

static int rows(void *state, struct flick_rows *r)
{
	struct tree *t = state, settled = { .view = t->view };
	int err;

	if (!(t->view->flags & FLICK_VIEW_WINDOWS))
		return write_nodes(t, r);
	err = settle(&settled, t);
	if (!err)
		err = write_nodes(&settled, r);
	fl_nodes_free(&settled.nodes);
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
