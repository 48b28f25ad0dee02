/*
 * edge.h - private to probe/: the edges of windows (edge.c). One thread at a time, with the
 * switches' lock.
 */
#ifndef FL_EDGE_H
#define FL_EDGE_H

#include "table.h"

struct fl_edge {
	uint64_t ns, ran_ns;		/* monotonic; time of the program */
	uint64_t ticks[FL_HANDS];	/* of those that are counted always */
	uint64_t gauge;			/* calls */
	uint32_t taken, taken_then;	/* counts of so many threads are gone, and of these were
					 * before the others were read */
};

/* What may the calling thread run on? Once, before all else. */
void fl_edge_open(void);
/* Hands are from here on what the reader wishes now. */
void fl_edge_hands(void);
void fl_edge_read(struct fl_edge *);
/* Read, as if it had been read at that tick. */
void fl_edge_read_as_of(struct fl_edge *, uint64_t tsc);
uint64_t fl_edge_ticks_per_us(void);
/* What was switched since went on or off, on average, half way between. */
void fl_edge_half_way(struct fl_edge *);
/* A window ends now; the one before it had ended at `closed`. */
void fl_edge_tell(const struct fl_edge *closed, const struct fl_edge *opened,
		    const struct fl_edge *now);
/* The gauge alone was counted from `from` to `to`, behind that window, which was told. */
void fl_edge_tell_gauge(const struct fl_edge *opened, const struct fl_edge *closed,
			const struct fl_edge *from, const struct fl_edge *to);
/* Whose calls are to go on being counted, if it is seldom and has one entry; or NULL. */
struct fl_function *fl_edge_gauge(void);
/* The program has ended, in a window that was opened, or (NULL) in none. */
void fl_edge_tell_end(const struct fl_edge *closed, const struct fl_edge *opened);

#endif
