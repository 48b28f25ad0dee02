/*
 * edge.h - private to probe/: the edges of windows (edge.c). One
 * thread at a time, with the switches' lock.
 */
#ifndef FL_EDGE_H
#define FL_EDGE_H

#include "table.h"

struct fl_edge {
	uint64_t ns, ran_ns;		/* monotonic; time of the program */
	uint64_t ticks[FL_HANDS];	/* of those that are counted always */
};

/* What may the calling thread run on? Once, before all else. */
void fl_edge_open(void);
/* Hands are from here on what the reader wishes now. */
void fl_edge_hands(void);
void fl_edge_read(struct fl_edge *);
/* What was switched since went on or off on average in the middle. */
void fl_edge_half_way(struct fl_edge *);
/* A window ends now; the one before it had ended at `closed`. */
void fl_edge_tell(const struct fl_edge *closed, const struct fl_edge *opened,
		    const struct fl_edge *now);
/* The program has ended: open or not, or NULL. */
void fl_edge_tell_end(const struct fl_edge *closed, const struct fl_edge *opened);

#endif
