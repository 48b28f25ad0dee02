/*
 * probes.h - what an analysis keeps of each probe: eight bytes in a row.
 *
 * A site's line in shared memory is a cache line long and says more than a
 * feed wants to read for every record; these are made from it, once a probe.
 */
#ifndef FL_ANALYSIS_PROBES_H
#define FL_ANALYSIS_PROBES_H

#include "analysis/analysis.h"

struct fl_tag {
	uint32_t function;		/* index */
	uint8_t kind;			/* enum fl_kind; FL_TAIL reads as FL_EXIT */
	uint8_t jump;			/* of fl_shm_site */
};

struct fl_tags {
	const struct fl_view *view;
	struct fl_tag *tags;
	uint32_t n;
};

/* Take in the probes of the view that are new. 0 or -ENOMEM. */
int fl_tags_extend(struct fl_tags *);

/* An array of `n` elements of `size` bytes becomes `want`, new ones zero. */
int fl_array_extend(void **array, uint32_t *n, uint32_t want, size_t size);

#endif
