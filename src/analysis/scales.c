/*
 * scales.c - how many calls a call that windows saw stands for.
 *
 * Between windows every entry is counted, so the number of a function's calls is
 * known. It is divided by how many calls windows saw: in this ratio the length of
 * windows, and the cost of recording in them, do not appear.
 */
#include <stdlib.h>

#include "analysis/scales.h"

int fl_scales_extend(struct fl_scales *s, uint32_t n)
{
	return fl_array_extend(&s->of, &s->n, n, sizeof(*s->of));
}

int fl_scales_merge(struct fl_scales *s, const struct fl_scales *from)
{
	int err = fl_scales_extend(s, from->n);

	for (uint32_t f = 0; !err && f < from->n; f++) {
		s->of[f].calls += from->of[f].calls;
		s->of[f].counted += from->of[f].counted;
		s->of[f].error += from->of[f].error;
		s->of[f].seen += from->of[f].seen;
		s->of[f].recurses |= from->of[f].recurses;
	}
	return err;
}

/* There may be fewer counters than probes. For a function without counters weights must do. */
int fl_scales_tell(struct fl_scales *s, struct flick_view *view)
{
	uint32_t n = view->n_functions;
	int err = fl_scales_extend(s, n);

	if (!err)
		err = fl_array_extend(&s->exact, &s->n_exact, n, sizeof(*s->exact));
	if (!err)
		err = fl_array_extend(&s->counted, &s->n_counted, n, sizeof(*s->counted));
	if (!err)
		err = fl_array_extend(&s->error, &s->n_error, n, sizeof(*s->error));
	if (!err)
		err = fl_array_extend(&s->scales, &s->n_scales, n, sizeof(*s->scales));
	for (uint32_t f = 0; !err && f < n; f++) {
		const struct fl_seen *of = &s->of[f];

		s->exact[f] = of->calls ? of->calls : of->seen / FLICK_WEIGHT_ONE;
		s->counted[f] = of->counted;
		s->error[f] = of->error;
		s->scales[f] = of->calls && of->seen ? (double)of->calls / (double)of->seen :
			       1.0 / FLICK_WEIGHT_ONE;
	}
	view->scales = s->scales;
	view->exact = s->exact;
	view->counted = s->counted;
	view->exact_error = s->error;
	return err;
}

void fl_scales_free(struct fl_scales *s)
{
	free(s->of);
	free(s->exact);
	free(s->counted);
	free(s->error);
	free(s->scales);
}
