/*
 * subtrees.c - how often each subtree of depth two was executed.
 *
 * Paper 2, section 5 (call tree profiling): a call's signature is its function
 * and the set of functions that it called; how often each signature comes
 * represents what the program does. A call's mark is the list of what it called.
 * The signature of a call that did not end, or that caught an unwinding, is not
 * known: which calls after that were its own cannot be told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/node.h"

#define DOUBT FLICK_NO_FUNCTION		/* in a call's list: its set is not known */

struct signature {
	uint32_t function, n;		/* n callees; DOUBT: not known */
	uint64_t calls;			/* 0: an empty place */
	uint64_t weight;		/* what they stand for: see flick_view.scale */
	uint32_t *callees;		/* ascending */
	char *text;			/* made for rows */
};

/* INVARIANT	n * 2 <= places, a power of two. */
struct subtrees {
	const struct flick_view *view;
	struct fl_nodes nodes;
	struct signature *table;	/* a hash table, open addressing */
	uint32_t places, n;
	uint32_t *set;			/* of the call that just ended */
	size_t n_set;
};

static int open_subtrees(void **state, const struct flick_view *view, const char *arg)
{
	struct subtrees *s = arg ? NULL : calloc(1, sizeof(*s));

	if (!s)
		return arg ? -EINVAL : -ENOMEM;
	s->view = view;
	*state = s;
	return 0;
}

/* ---- the table -------------------------------------------------------------------- */

static bool is_same(const struct signature *a, const struct signature *b)
{
	if (a->function != b->function || a->n != b->n)
		return false;
	return a->n == DOUBT || a->n == 0 ||
	       !memcmp(a->callees, b->callees, a->n * sizeof(*a->callees));
}

static struct signature *place_of(const struct subtrees *s, const struct signature *want)
{
	uint64_t h = want->function * 0x9e3779b97f4a7c15ull + want->n;
	uint32_t i;

	for (i = 0; want->n != DOUBT && i < want->n; i++)
		h = (h ^ want->callees[i]) * 0x100000001b3ull;
	for (i = (uint32_t)(h ^ h >> 32);; i++) {
		struct signature *at = &s->table[i & (s->places - 1)];

		if (!at->calls || is_same(at, want))
			return at;
	}
}

static int grow(struct subtrees *s)
{
	struct subtrees old = *s;

	s->places = old.places ? old.places * 2 : 256;
	s->table = calloc(s->places, sizeof(*s->table));
	if (!s->table) {
		*s = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old.places; i++)
		if (old.table[i].calls)
			*place_of(s, &old.table[i]) = old.table[i];
	free(old.table);
	return 0;
}

/* Count a signature whose callees are somebody else's. */
static int add(struct subtrees *s, const struct signature *sig)
{
	size_t bytes = sig->n == DOUBT ? 0 : sig->n * sizeof(uint32_t);
	struct signature *at;

	if (s->n * 2 >= s->places && grow(s))
		return -ENOMEM;
	at = place_of(s, sig);
	if (!at->calls) {
		uint32_t *callees = malloc(bytes + 1);

		if (!callees)
			return -ENOMEM;
		if (bytes)
			memcpy(callees, sig->callees, bytes);
		*at = (struct signature){ .function = sig->function, .n = sig->n,
					  .callees = callees };
		s->n++;
	}
	at->calls += sig->calls;
	at->weight += sig->weight;
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

	for (uint32_t i = 0; !err && i < other->places; i++)
		if (other->table[i].calls)
			err = add(into, &other->table[i]);
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

/* Functions have other numbers in another recording: a set is written in the order
 * of names, and between them what no name holds (a comma is in `f(int, int)`). */
static void write_names(const struct subtrees *s, uint32_t *set, uint32_t n, FILE *to)
{
	if (n)
		qsort_r(set, n, sizeof(*set), compare_names, (void *)s->view);
	for (uint32_t i = 0; i < n; i++)
		fprintf(to, "%s%s", i ? "; " : "", s->view->name(s->view, set[i]));
}

/* NULL: no memory. */
static char *write_callees(const struct subtrees *s, const struct signature *sig)
{
	char *text = NULL;
	size_t length;
	uint32_t *set = malloc(sig->n * sizeof(*set) + 1);
	FILE *f = set ? open_memstream(&text, &length) : NULL;

	if (f) {
		memcpy(set, sig->callees, sig->n * sizeof(*set));
		write_names(s, set, sig->n, f);
	}
	free(set);
	if (f && fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static int rows(void *state, struct flick_rows *r)
{
	struct subtrees *s = state;
	bool windows = s->view->flags & FLICK_VIEW_WINDOWS;
	size_t width = ARRAY_LEN(columns) - !windows;
	uint64_t *cell = calloc(s->n * width + 1, sizeof(*cell));

	if (!cell)
		return -ENOMEM;
	*r = (struct flick_rows){ columns, width, cell, s->n };
	for (uint32_t i = 0; i < s->places; i++) {
		struct signature *sig = &s->table[i];

		if (!sig->calls)
			continue;
		free(sig->text);
		sig->text = sig->n == DOUBT ? NULL : write_callees(s, sig);
		if (sig->n != DOUBT && !sig->text) {
			free(r->cells);
			return -ENOMEM;
		}
		*cell++ = windows ? (uint64_t)((double)sig->weight *
				     s->view->scales[sig->function] + 0.5) :
			  sig->calls;
		*cell++ = sig->function;
		*cell++ = sig->text ? (uintptr_t)sig->text : FLICK_NONE;
		if (windows)
			*cell++ = sig->calls;
	}
	return 0;
}

static void close_subtrees(void *state)
{
	struct subtrees *s = state;

	for (uint32_t i = 0; i < s->places; i++) {
		free(s->table[i].callees);
		free(s->table[i].text);
	}
	fl_nodes_free(&s->nodes);
	free(s->table);
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
