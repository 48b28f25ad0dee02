/*
 * histogram.h - how often each value came, within 1/32 of the value.
 *
 * Log-linear: 32 equal buckets between one power of two and the next, so a
 * bucket is never wider than 1/32 of its smallest value; a quantile is read at
 * the middle of its bucket and is off by at most 1/64. Values below 64 and the
 * smallest and largest value are exact. Buckets exist once they are needed,
 * one octave at a time.
 */
#ifndef FL_ANALYSIS_HISTOGRAM_H
#define FL_ANALYSIS_HISTOGRAM_H

#include "base/base.h"

#define FL_HIST_SUB 32			/* buckets an octave */
#define FL_HIST_OCTAVES 60		/* [0, 32), [32, 64), ... [2^63, 2^64) */

/* INVARIANT  n = sum of all buckets; min <= max when n > 0. */
struct fl_histogram {
	uint64_t n, min, max;
	uint64_t **octave;		/* FL_HIST_OCTAVES pointers, to FL_HIST_SUB counts or
				 * NULL; NULL itself while nothing is noted, because
				 * most functions are never called */
};

static inline unsigned fl_hist_octave(uint64_t v)
{
	return v < FL_HIST_SUB ? 0 : 59u - (unsigned)__builtin_clzll(v);
}

static inline unsigned fl_hist_sub(uint64_t v, unsigned octave)
{
	return (octave ? v >> (octave - 1) : v) & (FL_HIST_SUB - 1);
}

/* Make the buckets of an octave. False: no memory. */
bool fl_hist_grow(struct fl_histogram *, unsigned octave);

/* Note the value `v`, so many times. False: no memory. */
static inline bool fl_hist_add(struct fl_histogram *h, uint64_t v, uint64_t times)
{
	unsigned o = fl_hist_octave(v);

	if ((!h->octave || !h->octave[o]) && !fl_hist_grow(h, o))
		return false;
	h->octave[o][fl_hist_sub(v, o)] += times;
	if (!h->n || v < h->min)
		h->min = v;
	h->n += times;
	if (v > h->max)
		h->max = v;
	return true;
}

/* The value that a share `q` (0..1) of all values does not exceed; 0 when empty. */
uint64_t fl_hist_quantile(const struct fl_histogram *, double q);
/* Add what `from` holds. False: no memory. */
bool fl_hist_merge(struct fl_histogram *, const struct fl_histogram *from);
void fl_hist_free(struct fl_histogram *);

#endif
