/*
 * node.c - lists and trees of functions.
 *
 * Trees may be as deep as a target's stack, so nothing here calls itself: what
 * is still to be done stands in a list through `work`.
 */
#include "analysis/callers.h"
#include "analysis/node.h"

#include <stdlib.h>

#define CHUNK 512

struct fl_chunk {
	struct fl_chunk *next;
	struct fl_node nodes[CHUNK];
};

static bool add_chunk(struct fl_nodes *pool)
{
	struct fl_chunk *c = malloc(sizeof(*c));

	if (!c)
		return false;
	c->next = pool->chunks;
	pool->chunks = c;
	for (size_t i = 0; i < CHUNK; i++)
		fl_node_give(pool, &c->nodes[i]);
	return true;
}

static struct fl_node *take(struct fl_nodes *pool, uint32_t function)
{
	struct fl_node *n;

	if (!pool->free && !add_chunk(pool))
		return NULL;
	n = pool->free;
	pool->free = n->next;
	*n = (struct fl_node){ .function = function };
	return n;
}

void fl_node_give(struct fl_nodes *pool, struct fl_node *n)
{
	n->next = pool->free;
	pool->free = n;
}

void fl_node_give_list(struct fl_nodes *pool, struct fl_node **list)
{
	struct fl_node *next;

	for (struct fl_node *n = *list; n; n = next) {
		next = n->next;
		fl_node_give(pool, n);
	}
	*list = NULL;
}

void fl_nodes_adopt(struct fl_nodes *pool, struct fl_nodes *from)
{
	struct fl_chunk **last = &from->chunks;

	while (*last)
		last = &(*last)->next;
	*last = pool->chunks;
	pool->chunks = from->chunks;
	*from = (struct fl_nodes){ 0 };
}

void fl_nodes_free(struct fl_nodes *pool)
{
	struct fl_chunk *next;

	for (struct fl_chunk *c = pool->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	*pool = (struct fl_nodes){ 0 };
}

/* The node of a function, taken to the front; NULL: there is none. */
static struct fl_node *find(struct fl_node **list, uint32_t function)
{
	struct fl_node **at = list, *n;

	while (*at && (*at)->function != function)
		at = &(*at)->next;
	n = *at;
	if (n && n != *list) {
		*at = n->next;
		n->next = *list;
		*list = n;
	}
	return n;
}

struct fl_node *fl_node_seek(struct fl_nodes *pool, struct fl_node **list,
			     uint32_t function)
{
	struct fl_node *n = find(list, function);

	if (n)
		return n;
	n = take(pool, function);
	if (n) {
		n->next = *list;
		*list = n;
	}
	return n;
}

void fl_node_add_up(struct fl_node *to, const struct fl_node *from)
{
	to->calls += from->calls;
	to->weight += from->weight;
	to->unknown += from->unknown;
	to->unsure += from->unsure;
	to->total += from->total;
	to->self += from->self;
	to->raw_total += from->raw_total;
	to->raw_self += from->raw_self;
	to->outer += from->outer;
	to->raw_outer += from->raw_outer;
	to->open += from->open;
	to->open_total += from->open_total;
	to->open_raw += from->open_raw;
}

/* Move the nodes of one list; those that are there already and have lists of
 * their own are put on `work`, with where their lists go. */
static void merge_list(struct fl_nodes *pool, struct fl_node **to, struct fl_node *from,
		       struct fl_node **work)
{
	struct fl_node *next, *n;

	for (; from; from = next) {
		next = from->next;
		n = find(to, from->function);
		if (!n) {
			from->next = *to;
			*to = from;
			continue;
		}
		fl_node_add_up(n, from);
		if (!n->first)
			n->first = from->first;
		else if (from->first) {
			from->to = n;
			from->work = *work;
			*work = from;
			continue;
		}
		fl_node_give(pool, from);
	}
}

void fl_node_merge_both(struct fl_nodes *pool, struct fl_node **to, struct fl_node **from)
{
	struct fl_node *work = NULL, *n;

	merge_list(pool, to, *from, &work);
	*from = NULL;
	while ((n = work)) {
		work = n->work;
		merge_list(pool, &((struct fl_node *)n->to)->first, n->first, &work);
		fl_node_give(pool, n);
	}
}

void fl_node_doubt(struct fl_node *list)
{
	struct fl_node *work = NULL, *n;

	for (;;) {
		for (n = list; n; n = n->next) {
			if (n->unsure == n->calls)
				continue;	/* as is all below */
			n->unsure = n->calls;
			n->work = work;
			work = n;
		}
		if (!work)
			return;
		list = work->first;
		work = work->work;
	}
}

/* What each of its calls is an estimate for. */
static double scale_of(const struct fl_node *n, const struct flick_view *view)
{
	if (!(view->flags & FLICK_VIEW_WINDOWS) || !n->calls ||
	    n->function >= view->n_functions)
		return 1;
	return view->scales[n->function] * (double)n->weight / (double)n->calls;
}

uint64_t fl_node_stands(const struct fl_node *n, const struct flick_view *view, uint64_t of)
{
	return (uint64_t)((double)of * scale_of(n, view) + 0.5);
}

uint64_t fl_node_ns(const struct fl_node *n, const struct flick_view *view, uint64_t ticks)
{
	bool windows = view->flags & FLICK_VIEW_WINDOWS;

	if (n->calls == n->unknown - n->open || (windows && n->unknown > n->calls / 2))
		return FLICK_NONE;
	return (uint64_t)((double)ticks * scale_of(n, view) * view->ns_per_tick + 0.5);
}

uint64_t fl_node_raw_ns(const struct fl_node *n, const struct flick_view *view, uint64_t ticks)
{
	return view->flags & FLICK_VIEW_WINDOWS ? FLICK_NONE : fl_node_ns(n, view, ticks);
}

uint64_t fl_node_total_ns(const struct fl_node *n, const struct flick_view *view,
			  uint64_t ticks)
{
	return fl_run_recurses(view, n->function) ? FLICK_NONE : fl_node_ns(n, view, ticks);
}

uint64_t fl_node_average(const struct fl_node *n, const struct flick_view *view, uint64_t ticks)
{
	const bool windows = view->flags & FLICK_VIEW_WINDOWS;
	const uint64_t of = windows ? n->calls : n->calls - n->unknown;

	return !of || fl_node_ns(n, view, ticks) == FLICK_NONE ? FLICK_NONE :
	       (uint64_t)((double)ticks * view->ns_per_tick / (double)of + 0.5);
}
