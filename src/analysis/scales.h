/*
 * scales.h - private to analysis/: how many calls the calls that were seen stand for.
 */
#ifndef FL_ANALYSIS_SCALES_H
#define FL_ANALYSIS_SCALES_H

#include "analysis/analysis.h"

struct fl_seen {		/* of a function */
	uint64_t calls;			/* all of them, as far as they are counted */
	uint64_t counted;		/* of `calls`; the others are estimated, ... */
	uint64_t error;			/* ... and this is their standard error */
	uint64_t seen;			/* the sum of the weights of calls in windows */
	bool recurses;			/* in a window, a call lay in another */
};

struct fl_scales {		/* by function; zero at first */
	struct fl_seen *of;
	uint32_t n;
	/* The arrays that the view was given last. */
	uint64_t *exact, *counted, *error;
	double *scales;
	uint32_t n_exact, n_counted, n_error, n_scales;
};

/* Make room for functions [0, n). 0 or -ENOMEM, as the next two. */
int fl_scales_extend(struct fl_scales *, uint32_t n);
/* Tell the view what was counted and seen so far. */
int fl_scales_tell(struct fl_scales *, struct flick_view *);
/* Add what another run counted and saw. */
int fl_scales_merge(struct fl_scales *, const struct fl_scales *from);
void fl_scales_free(struct fl_scales *);

#endif
