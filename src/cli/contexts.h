/*
 * contexts.h - private to cli/: a tree of who called whom, as samples saw it (contexts.c,
 * callers.c).
 */
#ifndef FL_CONTEXTS_H
#define FL_CONTEXTS_H

#include "cli/profile.h"

/* A context is a function as called from the context above. */
struct fl_contexts {
	struct fl_context {
		uint32_t above;			/* 1 + index, a lower one; 0: none */
		uint32_t function;		/* FLICK_NO_FUNCTION: not known */
		uint64_t ns, samples;		/* that stood in it itself */
	} *of;
	uint32_t n;
	struct fl_hash by_function;
};
/* 1 + the context of a function in context `above` - 1, or, for 0, in none; 0: no memory. */
uint32_t fl_contexts_of(struct fl_contexts *, uint32_t above, uint32_t function);
/* A row for each context; the cells are then the caller's. 0 or -ENOMEM. */
int fl_contexts_rows(const struct fl_contexts *, struct flick_rows *);
void fl_contexts_free(struct fl_contexts *);

/* A place is in a function's code: in its own, or where the function was inlined. */
struct fl_stand {
	uint32_t place, noted, function;
};
/* What samples stood in. */
struct fl_stood {
	const struct fl_chains *chains;
	const struct fl_stand *of;	/* by place, the innermost of each first */
	const uint32_t *first;		/* index: place; where its rows begin */
};
/* The tree of a recording; self is known. 0 or -ENOMEM. */
int fl_contexts_gather(struct fl_profile *, const struct fl_stood *);
/* Why a recording has no tree, as a sentence for people; NULL: it has one. */
const char *fl_contexts_lack(const struct fl_session *);

#endif
