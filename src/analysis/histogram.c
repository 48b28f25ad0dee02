/*
 * histogram.c - the slow half of histogram.h: new octaves, quantiles.
 */
#include "analysis/histogram.h"

#include <math.h>
#include <stdlib.h>

bool fl_hist_grow(struct fl_histogram *h, unsigned octave)
{
	if (!h->octave)
		h->octave = calloc(FL_HIST_OCTAVES, sizeof(*h->octave));
	if (h->octave)
		h->octave[octave] = calloc(FL_HIST_SUB, sizeof(uint64_t));
	return h->octave && h->octave[octave];
}

/* Octave o > 0 holds [32 << (o - 1), 64 << (o - 1)) in steps of 1 << (o - 1). */
static uint64_t bucket_middle(unsigned octave, unsigned sub)
{
	uint64_t step;

	if (octave == 0)
		return sub;
	step = 1ull << (octave - 1);
	return (FL_HIST_SUB + sub) * step + step / 2;
}

static uint64_t clamp_to_range(const struct fl_histogram *h, uint64_t v)
{
	if (v < h->min)
		return h->min;
	return v > h->max ? h->max : v;
}

uint64_t fl_hist_quantile(const struct fl_histogram *h, double q)
{
	uint64_t rank = (uint64_t)ceil(q * (double)h->n), seen = 0;

	if (rank <= 1)
		return h->min;
	if (rank >= h->n)
		return h->max;
	for (unsigned o = 0; o < FL_HIST_OCTAVES; o++) {
		for (unsigned s = 0; h->octave[o] && s < FL_HIST_SUB; s++) {
			seen += h->octave[o][s];
			if (seen >= rank)
				return clamp_to_range(h, bucket_middle(o, s));
		}
	}
	return h->max;
}

void fl_hist_free(struct fl_histogram *h)
{
	for (unsigned o = 0; h->octave && o < FL_HIST_OCTAVES; o++)
		if (h->octave[o])
			free(h->octave[o]);
	free(h->octave);
	*h = (struct fl_histogram){ 0 };
}

bool fl_hist_merge(struct fl_histogram *h, const struct fl_histogram *from)
{
	for (unsigned o = 0; from->octave && o < FL_HIST_OCTAVES; o++) {
		if (from->octave[o] && (!h->octave || !h->octave[o]) && !fl_hist_grow(h, o))
			return false;
		for (unsigned s = 0; from->octave[o] && s < FL_HIST_SUB; s++)
			h->octave[o][s] += from->octave[o][s];
	}
	if (from->n && (!h->n || from->min < h->min))
		h->min = from->min;
	if (from->max > h->max)
		h->max = from->max;
	h->n += from->n;
	return true;
}
