/*
 * subtrees.c - how often each subtree of depth two was executed.
 *
 * Paper 2, section 5 (call tree profiling): a call's signature is its function
 * and the set of functions that it called. The counts of all signatures show what
 * the program does. A call's mark is the list of the functions that it called.
 * The signature of a call that did not end, or that caught an unwinding, is not
 * known, because nobody knows which calls after that were its own.
 */
#include <stdio.h>

#include <stdlib.h>
#include <string.h>

#include "analysis/node.h"

#define DOUBT FLICK_NO_FUNCTION		/* in a call's list: its set is not known */

struct signature {
	uint32_t function, n;		/* n callees; DOUBT: not known */
	uint64_t calls;
	uint64_t weight;		/* what they stand for: see flick_view.scales */
	uint32_t *callees;		/* ascending */
	char *text;			/* made for rows, once: it lives until close */
};

struct subtrees {
	const struct flick_view *view;
	struct fl_nodes nodes;
	struct signature *all;
	size_t n;
	struct fl_hash by_set;		/* of function and callees */
	uint32_t *set;			/* of the call that just ended */
	size_t n_set;
};

static int open_subtrees(void **state, const struct flick_view *view, const char *arg)
{
	return fl_state_open(state, sizeof(struct subtrees), view, arg);
}

/* ---- signatures ------------------------------------------------------------------- */

static bool is_same(const struct signature *a, const struct signature *b)
{
	if (a->function != b->function || a->n != b->n)
		return false;
	return a->n == DOUBT || a->n == 0 ||
	       !memcmp(a->callees, b->callees, a->n * sizeof(*a->callees));
}

static uint32_t hash_of(const struct signature *s)
{
	uint32_t h = fl_hash_of(s->function, s->n);

	for (uint32_t i = 0; s->n != DOUBT && i < s->n; i++)
		h = fl_hash_of(h, s->callees[i]);
	return h;
}

/* Count a signature; its array of callees is copied if it is new. */
static int add(struct subtrees *s, const struct signature *sig)
{
	size_t bytes = sig->n == DOUBT ? 0 : sig->n * sizeof(uint32_t);
	uint32_t hash = hash_of(sig), *callees;

	for (uint32_t at = hash, i; (i = fl_hash_next(&s->by_set, hash, &at));) {
		struct signature *known = &s->all[i - 1];

		if (is_same(known, sig)) {
			known->calls += sig->calls;
			known->weight += sig->weight;
			return 0;
		}
	}
	callees = malloc(bytes + 1);
	if (!callees || fl_array_room(&s->all, s->n, sizeof(*s->all)) ||
	    fl_hash_put(&s->by_set, hash, (uint32_t)s->n + 1)) {
		free(callees);
		return -ENOMEM;
	}
	if (bytes)
		memcpy(callees, sig->callees, bytes);
	s->all[s->n] = *sig;
	s->all[s->n].callees = callees;
	s->all[s->n++].text = NULL;
	return 0;
}

/* ---- calls ------------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static int gather(struct subtrees *s, const struct fl_node *list)
{
	s->n_set = 0;
	for (const struct fl_node *n = list; n; n = n->next) {
		if (fl_array_room(&s->set, s->n_set, sizeof(*s->set)))
			return -ENOMEM;
		s->set[s->n_set++] = n->function;
	}
	if (s->n_set)
		qsort(s->set, s->n_set, sizeof(*s->set), compare);
	return 0;
}

static int tell_caller(struct subtrees *s, const struct flick_call *call, void **caller)
{
	struct fl_node **list = (struct fl_node **)caller;

	if (call->flags & FLICK_CALL_ORPHAN)
		return 0;
	if (!fl_node_of(&s->nodes, list, call->function))
		return -ENOMEM;
	if (call->how == FLICK_UNWOUND && !fl_node_of(&s->nodes, list, DOUBT))
		return -ENOMEM;
	return 0;
}

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct subtrees *s = state;
	struct signature sig = { .function = call->function, .calls = 1,
				 .weight = call->weight };
	int err = gather(s, *mark);

	fl_node_give_list(&s->nodes, (struct fl_node **)mark);
	if (err)
		return err;
	sig.callees = s->set;
	sig.n = (uint32_t)s->n_set;
	if (call->how != FLICK_ENDED || (sig.n && s->set[sig.n - 1] == DOUBT))
		sig.n = DOUBT;
	err = add(s, &sig);
	return err ? err : tell_caller(s, call, caller);
}

static int thread_end(void *state, uint32_t thread, void **root)
{
	struct subtrees *s = state;

	(void)thread;
	fl_node_give_list(&s->nodes, (struct fl_node **)root);
	return 0;
}

static int merge(void *into, void *from)
{
	struct subtrees *other = from;
	int err = 0;

	for (size_t i = 0; !err && i < other->n; i++)
		err = add(into, &other->all[i]);
	return err;
}

/* ---- rows --------------------------------------------------------------------------- */

static const struct flick_column columns[] = {
	{ "calls", FLICK_COL_COUNT },
	{ "function", FLICK_COL_FUNCTION },
	{ "callees", FLICK_COL_TEXT },
	{ "sampled", FLICK_COL_COUNT },	/* of windows only: `calls` are estimates */
};

static int compare_names(const void *x, const void *y, void *arg)
{
	const struct flick_view *view = arg;
	int order = strcmp(view->name(view, *(const uint32_t *)x),
			   view->name(view, *(const uint32_t *)y));

	return order ? order : compare(x, y);
}

/* Functions have other numbers in another recording: so a set is written in the order of names.
 * Names are separated by what no name holds (a comma is in `f(int, int)`). -ENOMEM: the text is
 * as it was. */
static int write_callees(const struct subtrees *s, struct signature *sig)
{
	uint32_t *set = malloc(sig->n * sizeof(*set) + 1);
	char *text = NULL;
	size_t length;
	FILE *f = set ? open_memstream(&text, &length) : NULL;

	if (f && sig->n) {
		memcpy(set, sig->callees, sig->n * sizeof(*set));
		qsort_r(set, sig->n, sizeof(*set), compare_names, (void *)s->view);
	}
	for (uint32_t i = 0; f && i < sig->n; i++)
		fprintf(f, "%s%s", i ? "; " : "", s->view->name(s->view, set[i]));
	free(set);
	if (!f || fclose(f)) {
		free(text);
		return -ENOMEM;
	}
	sig->text = text;
	return 0;
}

static int rows(void *state, struct flick_rows *r)
{
	struct subtrees *s = state;
	bool windows = s->view->flags & FLICK_VIEW_WINDOWS;
	size_t width = fl_columns(s->view, ARRAY_LEN(columns));
	uint64_t *cell = calloc(s->n * width + 1, sizeof(*cell));
	int err = cell ? 0 : -ENOMEM;

	*r = (struct flick_rows){ columns, width, cell, s->n };
	for (size_t i = 0; !err && i < s->n; i++) {
		struct signature *sig = &s->all[i];

		if (!sig->text && sig->n != DOUBT)
			err = write_callees(s, sig);
		*cell++ = windows ? (uint64_t)((double)sig->weight *
				     s->view->scales[sig->function] + 0.5) :
			  sig->calls;
		*cell++ = sig->function;
		*cell++ = sig->text ? (uintptr_t)sig->text : FLICK_NONE;
		if (windows)
			*cell++ = sig->calls;
	}
	if (err)
		free(r->cells);
	return err;
}

static void close_subtrees(void *state)
{
	struct subtrees *s = state;

	for (size_t i = 0; i < s->n; i++) {
		free(s->all[i].callees);
		free(s->all[i].text);
	}
	fl_nodes_free(&s->nodes);
	fl_hash_free(&s->by_set);
	free(s->all);
	free(s->set);
	free(s);
}

const struct flick_analysis fl_analysis_subtrees = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_CALLS,
	.name = "subtrees",
	.about = "how often which function called which set of others",
	.open = open_subtrees,
	.leave = leave,
	.thread_end = thread_end,
	.merge = merge,
	.rows = rows,
	.close = close_subtrees,
};
