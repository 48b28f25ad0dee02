/*
 * scales.h - private to analysis/: what the calls that were seen stand for.
 */
#ifndef FL_ANALYSIS_SCALES_H
#define FL_ANALYSIS_SCALES_H

#include "analysis/analysis.h"

struct fl_seen {		/* of a function */
	uint64_t calls;			/* all of them, as far as they are counted */
	uint64_t counted;		/* of `calls`; the others are estimated, ... */
	uint64_t error;			/* ... and may be off by this by chance */
	uint64_t seen;			/* of those in windows: the sum of their weights */
	bool recurses;			/* one of those in windows lay in another */
};

struct fl_scales {		/* by function; zero at first */
	struct fl_seen *of;
	uint32_t n;
	/* What the view was told last. */
	uint64_t *exact, *counted, *error;
	double *scales;
	uint32_t n_exact, n_counted, n_error, n_scales;
};

/* Functions [0, n) may come. 0 or -ENOMEM, as both below. */
int fl_scales_extend(struct fl_scales *, uint32_t n);
/* Tell the view what was counted and seen so far. */
int fl_scales_tell(struct fl_scales *, struct flick_view *);
/* What another run counted and saw is added. */
int fl_scales_merge(struct fl_scales *, const struct fl_scales *from);
void fl_scales_free(struct fl_scales *);

#endif
