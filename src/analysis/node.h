/*
 * node.h - what calls made, as it is gathered: a node a function, in lists.
 *
 * Every open call has a list of what it called. It is charged with it when it
 * ends, for only then it is certain that it made these calls; see the INVARIANT
 * of struct flick_call. Merging lists costs little: each node that is merged
 * away was at least one call.
 */
#ifndef FL_ANALYSIS_NODE_H
#define FL_ANALYSIS_NODE_H

#include "analysis/analysis.h"

/*
 * INVARIANT	unknown <= calls; unsure <= calls; unsure = calls only if that
 *		holds for every node below.
 */
struct fl_node {
	struct fl_node *next;		/* of the same list */
	struct fl_node *first;		/* list of what it called */
	uint32_t function;
	uint32_t open;			/* of `unknown`: alive at the end, with a time */
	uint64_t calls;
	uint64_t unknown;		/* of them: without a known end, so no time */
	uint64_t unsure;		/* of them: whether they belong here is not known */
	uint64_t total, self;		/* ticks, of the calls whose time is known */
	uint64_t raw_total, raw_self;	/* likewise, with what probes took */
	uint64_t outer, raw_outer;	/* of the totals, those of calls in no other of their
					 * function */
	uint64_t open_total, open_raw;	/* of these, that of calls alive at the end */
	uint64_t weight;		/* what `calls` stand for: see flick_view.scale */
	struct fl_node *work;		/* while lists are merged or walked */
	void *to;			/* likewise */
};

struct fl_nodes {	/* where nodes come from; zero at first */
	struct fl_node *free;
	struct fl_chunk *chunks;
};

/* The parts of fl_node_of() and fl_node_merge() that are seldom needed. */
struct fl_node *fl_node_seek(struct fl_nodes *, struct fl_node **list, uint32_t function);
void fl_node_merge_both(struct fl_nodes *, struct fl_node **to, struct fl_node **from);

/* The node of `function` in a list, made if there is none, and now its first; most
 * often it was. NULL: no memory. */
static inline struct fl_node *fl_node_of(struct fl_nodes *pool, struct fl_node **list,
					 uint32_t function)
{
	return *list && (*list)->function == function ? *list :
	       fl_node_seek(pool, list, function);
}

/* Add a call that is over, and where it belongs may be unsure. */
static inline void fl_node_add(struct fl_node *n, const struct flick_call *call, bool unsure)
{
	n->calls++;
	n->weight += call->weight;
	n->unsure += unsure;
	n->unknown += call->how != FLICK_ENDED;
	n->total += call->total;
	n->self += call->self;
	n->raw_total += call->raw_total;
	n->raw_self += call->raw_self;
	if (!(call->flags & FLICK_CALL_NESTED)) {
		n->outer += call->total + call->inside;
		n->raw_outer += call->raw_total + call->inside;
	}
	if (call->flags & FLICK_CALL_ALIVE) {
		n->open++;
		n->open_total += call->total;
		n->open_raw += call->raw_total;
	}
}

/* Add another's calls and times. */
void fl_node_add_up(struct fl_node *, const struct fl_node *from);
/* Everything of `from`, which becomes empty, into `to`, of the same nodes. */
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

/* Where the calls of a list and all below it belong is not known. */
void fl_node_doubt(struct fl_node *list);
/* Give back one node, or a list of nodes that have called nothing. */
void fl_node_give(struct fl_nodes *, struct fl_node *);
void fl_node_give_list(struct fl_nodes *, struct fl_node **list);
/* Take over all nodes of another. */
void fl_nodes_adopt(struct fl_nodes *, struct fl_nodes *from);
/* All of them, wherever they are. */
void fl_nodes_free(struct fl_nodes *);

/* Of windows: what `n` of a node's calls are an estimate for; else n. */
uint64_t fl_node_stands(const struct fl_node *, const struct flick_view *, uint64_t n);
/* Of `n` columns the last, `sampled`, is for windows. */
static inline size_t fl_node_columns(const struct flick_view *view, size_t n)
{
	return view->flags & FLICK_VIEW_WINDOWS ? n : n - 1;
}

/* A node's `ticks`, self or total, for a row: of windows, an estimate for all its
 * calls; FLICK_NONE when no call has a time, or most were cut off by their windows. No
 * total has what windows saw in itself: how deep it lay, nobody knows. */
uint64_t fl_node_ns(const struct fl_node *, const struct flick_view *, uint64_t ticks);
uint64_t fl_node_total_ns(const struct fl_node *, const struct flick_view *, uint64_t ticks);
/* Likewise, with what probes took: of windows none, as most calls had no such probes. */
uint64_t fl_node_raw_ns(const struct fl_node *, const struct flick_view *, uint64_t ticks);
/* Of a call: `ticks`, a total, by the calls that ended, or by all of those in windows. */
uint64_t fl_node_average(const struct fl_node *, const struct flick_view *, uint64_t ticks);

#endif
