/*
 * contexts.h - private to session/: a tree of who called whom, as samples saw it (contexts.c,
 * callers.c).
 */
#ifndef FL_CONTEXTS_H
#define FL_CONTEXTS_H

#include "session/samples/profile.h"

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
