/*
 * node.c - lists and trees of functions.
 *
 * Trees may be as deep as a target's stack, so nothing here calls itself: nodes
 * that are still to be done stand in a list through `work`.
 */
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

/* The node of a function, moved to the front; NULL: there is none. */
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

/* Move the nodes of one list. If a node is in `to` already, and both have lists of
 * their own, the node is put on `work`; its `next` says where its list goes. */
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
		fl_sums_add_up(&n->sums, &from->sums);
		if (!n->first)
			n->first = from->first;
		else if (from->first) {
			from->next = n;
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
		merge_list(pool, &n->next->first, n->first, &work);
		fl_node_give(pool, n);
	}
}

void fl_node_doubt(struct fl_node *list)
{
	struct fl_node *work = NULL, *n;

	for (;;) {
		for (n = list; n; n = n->next) {
			if (n->sums.unsure == n->sums.calls)
				continue;	/* and so is all below it */
			n->sums.unsure = n->sums.calls;
			n->work = work;
			work = n;
		}
		if (!work)
			return;
		list = work->first;
		work = work->work;
	}
}

/* Until a copy's list is copied, its `first` is the list of the original. */
int fl_node_copy(struct fl_nodes *pool, struct fl_node **to, const struct fl_node *from)
{
	struct fl_node *work = NULL, *n;

	for (;;) {
		for (; from; from = from->next) {
			n = take(pool, from->function);
			if (!n)
				return -ENOMEM;
			n->sums = from->sums;
			n->first = from->first;
			n->next = *to;
			*to = n;
			n->work = work;
			work = n;
		}
		if (!work)
			return 0;
		from = work->first;
		to = &work->first;
		*to = NULL;
		work = work->work;
	}
}
