/*
 * node.h - lists of the functions that a call has called, one node a function.
 *
 * Every open call has such a list. The call is charged with its list when it
 * ends, because only then is it certain that it made these calls; see the
 * INVARIANT of struct flick_call. Merging lists costs little: each node that is
 * merged away was at least one call.
 */
#ifndef FL_ANALYSIS_NODE_H
#define FL_ANALYSIS_NODE_H

#include "analysis/sums.h"

/* INVARIANT	A node has unsure = calls only if every node below it has. */
struct fl_node {
	struct fl_node *next;		/* in the same list */
	struct fl_node *first;		/* list of the functions that it called */
	uint32_t function;
	uint32_t row;			/* while rows are made: its number */
	struct fl_sums sums;
	struct fl_node *work;		/* while lists are merged, copied or walked */
};

struct fl_nodes {	/* where nodes come from; zero at first */
	struct fl_node *free;
	struct fl_chunk *chunks;
};

/* The parts of fl_node_of() and fl_node_merge() that are seldom needed. */
struct fl_node *fl_node_seek(struct fl_nodes *, struct fl_node **list, uint32_t function);
void fl_node_merge_both(struct fl_nodes *, struct fl_node **to, struct fl_node **from);

/* The node of `function` in a list, which is made if there is none, and becomes the list's
 * first; most often it was the first already. NULL: no memory. */
static inline struct fl_node *fl_node_of(struct fl_nodes *pool, struct fl_node **list,
					 uint32_t function)
{
	return *list && (*list)->function == function ? *list :
	       fl_node_seek(pool, list, function);
}

/* Move everything of `from`, which becomes empty, into `to`. Both are of `pool`. */
static inline void fl_node_merge(struct fl_nodes *pool, struct fl_node **to,
				 struct fl_node **from)
{
	if (*from && *to) {
		fl_node_merge_both(pool, to, from);
	} else if (*from) {
		*to = *from;
		*from = NULL;
	}
}

/* Note that nobody knows where the calls of a list, and of all below it, belong. */
void fl_node_doubt(struct fl_node *list);
/* Copy a list and all below it into an empty list. 0 or -ENOMEM: a part is copied. */
int fl_node_copy(struct fl_nodes *, struct fl_node **to, const struct fl_node *from);
/* Give back one node, or a list of nodes that have called nothing. */
void fl_node_give(struct fl_nodes *, struct fl_node *);
void fl_node_give_list(struct fl_nodes *, struct fl_node **list);
/* Take over all nodes of another pool. */
void fl_nodes_adopt(struct fl_nodes *, struct fl_nodes *from);
/* Free all nodes, in whatever list they are. */
void fl_nodes_free(struct fl_nodes *);

#endif
