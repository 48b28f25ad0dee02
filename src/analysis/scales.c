/*
 * scales.c - what the calls that windows saw stand for.
 *
 * Between windows every entry is counted, so how often a function was called is
 * known. What windows saw of its calls is divided by that: a ratio, in which the
 * length of windows, and what recording cost in them, does not appear.
 */
#include <string.h>
#include <stdlib.h>

#include "analysis/scales.h"

static int have(struct fl_scales *s, uint32_t n)
{
	int err = fl_array_extend(&s->exact, &s->n_exact, n, sizeof(*s->exact));

	return err ? err : fl_array_extend(&s->counted, &s->n_counted, n,
					   sizeof(*s->counted));
}

int fl_scales_count(struct fl_scales *s, uint32_t function, uint64_t n)
{
	int err = have(s, function + 1);

	if (!err) {
		s->exact[function] += n;
		s->counted[function] += n;
	}
	return err;
}

int fl_scales_estimate(struct fl_scales *s, uint32_t function, uint64_t calls,
		       uint64_t counted)
{
	int err = have(s, function + 1);

	if (!err) {
		s->exact[function] = calls;
		s->counted[function] = counted;
	}
	return err;
}

int fl_scales_see(struct fl_scales *s, const struct flick_view *view,
		  const struct fl_batch *b)
{
	int err = fl_array_extend(&s->seen, &s->n_seen, view->n_functions,
				  sizeof(*s->seen));

	if (!err)
		err = fl_array_extend(&s->recurses, &s->n_recurses,
				      view->n_functions, 1);
	for (size_t i = 0; !err && i < b->n; i++) {
		uint32_t probe = b->records[i].probe;

		if (probe < view->n_tags && view->tags[probe].kind == FLICK_TAG_ENTRY)
			s->seen[view->tags[probe].function] += view->weight;
	}
	return err;
}

static int add_all(uint64_t **to, uint32_t *n_to, const uint64_t *from, uint32_t n)
{
	int err = fl_array_extend(to, n_to, n, sizeof(**to));

	for (uint32_t f = 0; !err && f < n; f++)
		(*to)[f] += from[f];
	return err;
}

int fl_scales_merge(struct fl_scales *s, const struct fl_scales *from)
{
	int err = add_all(&s->exact, &s->n_exact, from->exact, from->n_exact);

	if (!err)
		err = add_all(&s->counted, &s->n_counted, from->counted, from->n_counted);
	if (!err)
		err = add_all(&s->seen, &s->n_seen, from->seen, from->n_seen);
	if (!err)
		err = fl_array_extend(&s->recurses, &s->n_recurses, from->n_recurses,
				      1);
	for (uint32_t f = 0; !err && f < from->n_recurses; f++)
		s->recurses[f] |= from->recurses[f];
	return err;
}

/* There may be fewer counters than probes; beyond, weights must do. */
static double scale_of(const struct fl_scales *s, uint32_t function)
{
	if (!s->exact[function] || !s->seen[function])
		return 1.0 / FLICK_WEIGHT_ONE;
	return (double)s->exact[function] / (double)s->seen[function];
}

static void estimate(struct fl_scales *s, uint32_t function)
{
	if (!s->exact[function])
		s->exact[function] = s->seen[function] / FLICK_WEIGHT_ONE;
}

int fl_scales_make(struct fl_scales *s, struct flick_view *view)
{
	uint32_t n = view->n_functions;
	int err = have(s, n);

	if (!err)
		err = fl_array_extend(&s->seen, &s->n_seen, n, sizeof(*s->seen));
	if (!err)
		err = fl_array_extend(&s->scales, &s->n_scales, n,
				      sizeof(*s->scales));
	for (uint32_t f = 0; !err && f < n; f++) {
		s->scales[f] = scale_of(s, f);
		estimate(s, f);
	}
	view->scales = s->scales;
	view->exact = s->exact;
	view->counted = s->counted;
	return err;
}

void fl_scales_free(struct fl_scales *s)
{
	free(s->exact);
	free(s->counted);
	free(s->seen);
	free(s->scales);
	free(s->recurses);
}
