/*
 * scales.h - private to analysis/: what the calls that windows saw stand for.
 */
#ifndef FL_ANALYSIS_SCALES_H
#define FL_ANALYSIS_SCALES_H

#include "analysis/analysis.h"

struct fl_scales {		/* by function; zero at first */
	uint64_t *exact;	/* calls, all of them */
	uint64_t *counted;	/* of `exact`; the others are estimated */
	uint64_t *seen;		/* of those in windows: the sum of their weights */
	double *scales;
	uint8_t *recurses;	/* one of those in windows lay in another */
	uint32_t n_exact, n_counted, n_seen, n_scales, n_recurses;
};

/* Calls that were counted. 0 or -ENOMEM, as all that return int. */
int fl_scales_count(struct fl_scales *, uint32_t function, uint64_t n);
/* What all calls that were counted stand for: `calls` of them. */
int fl_scales_estimate(struct fl_scales *, uint32_t function, uint64_t calls,
		       uint64_t counted);
/* Records of a window. */
int fl_scales_see(struct fl_scales *, const struct flick_view *, const struct fl_batch *);
/* Everything was counted and seen: tell the view. */
int fl_scales_make(struct fl_scales *, struct flick_view *);
/* What another run counted and saw is added. */
int fl_scales_merge(struct fl_scales *, const struct fl_scales *from);
void fl_scales_free(struct fl_scales *);

#endif
