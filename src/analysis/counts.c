/*
 * counts.c - how often each function was called.
 *
 * Takes records (one entry, one call) as well as the counters of FL_ACT_COUNT:
 * so this analysis can share a stream with one that needs time.
 */
#include "analysis/run.h"
#include "analysis/sums.h"

#include <stdlib.h>

struct counts {
	const struct flick_view *view;
	uint64_t *calls;		/* index: function */
	uint32_t n_calls;
};

static int open_counts(void **state, const struct flick_view *view, const char *arg)
{
	return fl_state_open(state, sizeof(struct counts), view, arg);
}

static int extend(struct counts *c, uint32_t n)
{
	return fl_array_extend(&c->calls, &c->n_calls, n, sizeof(*c->calls));
}

static int batch(void *state, uint32_t thread, const struct flick_record *r, size_t n)
{
	struct counts *c = state;
	const struct flick_tag *tags = c->view->tags;
	int err = extend(c, c->view->n_functions);

	(void)thread;
	for (size_t i = 0; !err && i < n; i++)
		if (r[i].probe < c->view->n_tags && fl_tag_counts(&tags[r[i].probe]))
			c->calls[tags[r[i].probe].function]++;
	return err;
}

static int count(void *state, uint32_t thread, uint32_t function, uint64_t n)
{
	struct counts *c = state;
	int err = extend(c, c->view->n_functions);

	(void)thread;
	if (!err)
		c->calls[function] += n;
	return err;
}

static int merge(void *into, void *from)
{
	struct counts *c = into, *other = from;
	int err = extend(c, other->n_calls);

	for (uint32_t f = 0; !err && f < other->n_calls; f++)
		c->calls[f] += other->calls[f];
	return err;
}

static const struct flick_column columns[] = {
	{ "function", FLICK_COL_FUNCTION },
	{ "calls", FLICK_COL_COUNT },
	{ "sampled", FLICK_COL_COUNT },	/* of windows only */
};

static int rows(void *state, struct flick_rows *r)
{
	struct counts *c = state;
	bool windows = c->view->flags & FLICK_VIEW_WINDOWS;
	size_t width = fl_columns(c->view, ARRAY_LEN(columns));
	int err = windows ? extend(c, c->view->n_functions) : 0;
	uint64_t *cell = err ? NULL : calloc(c->n_calls * width + 1, sizeof(*cell));

	if (!cell)
		return -ENOMEM;
	*r = (struct flick_rows){ columns, width, cell, 0 };
	for (uint32_t f = 0; f < c->n_calls; f++) {
		uint64_t calls = windows ? c->view->exact[f] : c->calls[f];

		if (!calls)
			continue;
		*cell++ = f;
		*cell++ = calls;
		if (windows)
			*cell++ = c->calls[f];
		r->n_rows++;
	}
	return 0;
}

static void close_counts(void *state)
{
	struct counts *c = state;

	free(c->calls);
	free(c);
}

const struct flick_analysis fl_analysis_counts = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_COUNTS,
	.name = "counts",
	.about = "calls of each function",
	.open = open_counts,
	.batch = batch,
	.count = count,
	.merge = merge,
	.rows = rows,
	.close = close_counts,
};
