/*
 * counts.c - how often each function was called.
 *
 * Takes records (one entry, one call) as well as the counters of
 * FL_ACT_COUNT, so it can share a stream with an analysis that needs time.
 */
#include <stdlib.h>

#include "analysis/probes.h"

struct counts {
	struct fl_tags tags;
	uint64_t *calls;		/* index: function */
	uint32_t n_calls;
};

static int open_counts(void **state, const struct fl_view *view)
{
	struct counts *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->tags.view = view;
	*state = c;
	return 0;
}

static int extend(struct counts *c)
{
	int err = fl_tags_extend(&c->tags);

	return err ? err : fl_array_extend((void **)&c->calls, &c->n_calls,
					   c->tags.view->n_functions,
					   sizeof(*c->calls));
}

static int feed(void *state, const struct fl_batch *b)
{
	struct counts *c = state;
	int err = extend(c);

	for (size_t i = 0; !err && i < b->n; i++) {
		uint32_t probe = b->records[i].probe;

		if (probe < c->tags.n && c->tags.tags[probe].kind == FL_ENTRY)
			c->calls[c->tags.tags[probe].function]++;
	}
	return err;
}

static void count(void *state, uint32_t thread, uint32_t probe, uint64_t n)
{
	struct counts *c = state;

	(void)thread;
	if (!extend(c) && probe < c->tags.n &&
	    c->tags.tags[probe].kind == FL_ENTRY)
		c->calls[c->tags.tags[probe].function] += n;
}

static void thread_end(void *state, uint32_t thread)
{
	(void)state;
	(void)thread;
}

static const struct fl_column columns[] = {
	{ "function", FL_COL_FUNCTION },
	{ "calls", FL_COL_COUNT },
};

static int result(void *state, struct fl_result *r)
{
	struct counts *c = state;
	uint64_t *cell = calloc(c->n_calls * ARRAY_LEN(columns) + 1, sizeof(*cell));

	if (!cell)
		return -ENOMEM;
	*r = (struct fl_result){ columns, ARRAY_LEN(columns), cell, 0 };
	for (uint32_t f = 0; f < c->n_calls; f++) {
		if (!c->calls[f])
			continue;
		*cell++ = f;
		*cell++ = c->calls[f];
		r->n_rows++;
	}
	return 0;
}

static void close_counts(void *state)
{
	struct counts *c = state;

	if (!c)
		return;
	free(c->tags.tags);
	free(c->calls);
	free(c);
}

const struct fl_analysis fl_analysis_counts = {
	.name = "counts",
	.about = "calls of each function",
	.action = FL_ACT_COUNT,
	.open = open_counts,
	.feed = feed,
	.count = count,
	.thread_end = thread_end,
	.result = result,
	.close = close_counts,
};
