/*
 * latency.c - how long the calls of each function take.
 *
 * Exhaustive streams go through a stack per thread (stack.h); samples arrive
 * as finished pairs. Times are kept in ticks and become nanoseconds in the
 * result, so a rate that is known better at the end counts for all.
 */
#include <stdlib.h>

#include "analysis/histogram.h"
#include "analysis/probes.h"
#include "analysis/stack.h"

/*
 * INVARIANT	calls = hist.n + calls without a known end (+ those still open)
 *		unknown = calls without a known end + exits without a known start
 */
struct row {
	uint64_t calls, total, self, unknown;
	struct fl_histogram hist;	/* of the calls whose both ends are known */
};

struct latency {
	struct fl_tags tags;
	struct row *rows;		/* index: function */
	uint32_t n_rows;
	struct fl_stack **stacks;	/* index: thread; NULL: not seen or ended */
	uint32_t n_stacks;
	struct flick_record *halves;	/* sampled; index: thread; tsc 0: none */
	uint32_t n_halves;
};

static int open_latency(void **state, const struct fl_view *view)
{
	struct latency *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->tags.view = view;
	*state = l;
	return 0;
}

static void drop(void *arg, uint32_t function)
{
	struct latency *l = arg;

	l->rows[function].unknown++;
}

static struct fl_stack *stack_of(struct latency *l, uint32_t thread)
{
	struct fl_stack *s;

	if (fl_array_extend((void **)&l->stacks, &l->n_stacks, thread + 1,
			    sizeof(struct fl_stack *)))
		return NULL;
	if (l->stacks[thread])
		return l->stacks[thread];
	s = malloc(sizeof(*s));
	if (!s || fl_stack_init(s, drop, l)) {
		free(s);
		return NULL;
	}
	return l->stacks[thread] = s;
}

static int note(struct row *row, uint64_t total, uint64_t self)
{
	row->total += total;
	row->self += self;
	return fl_hist_add(&row->hist, total) ? 0 : -ENOMEM;
}

static int end_call(struct latency *l, struct fl_stack *s,
		    const struct fl_open *exit, uint8_t jump)
{
	struct row *row = &l->rows[exit->function];
	struct fl_closed closed;
	enum fl_match match = fl_stack_exit(s, exit, jump ? FL_LEAVE_JUMP :
					    FL_LEAVE_CALL, &closed);

	if (match == FL_MATCH_CLOSED)
		return note(row, closed.total, closed.self);
	if (match == FL_MATCH_NONE)
		row->unknown++;
	return 0;
}

static int feed_calls(struct latency *l, const struct fl_batch *b)
{
	struct fl_stack *s = stack_of(l, b->thread);
	const struct flick_record *r = b->records;
	int err = s ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < b->n; i++) {
		struct fl_tag tag;
		struct fl_open call;

		if (r[i].probe >= l->tags.n)
			continue;		/* not a probe of this session */
		tag = l->tags.tags[r[i].probe];
		call = (struct fl_open){ r[i].tsc, 0, tag.function, r[i].sp };
		if (tag.kind == FL_ENTRY) {
			l->rows[tag.function].calls++;
			err = fl_stack_enter(s, &call);
		} else if (tag.kind == FL_EXIT) {
			err = end_call(l, s, &call, tag.jump);
		}
	}
	return err;
}

static int end_sample(struct latency *l, struct flick_record *half,
		      const struct flick_record *exit)
{
	uint32_t function = l->tags.tags[half->probe].function;
	uint64_t begin = half->tsc;

	half->tsc = 0;
	if (l->tags.tags[exit->probe].function != function)
		return 0;			/* its other half was lost */
	l->rows[function].calls++;
	return note(&l->rows[function],
		    exit->tsc > begin ? exit->tsc - begin : 0, 0);
}

/* A pair may come in two batches, so its first half waits by thread. */
static int feed_samples(struct latency *l, const struct fl_batch *b)
{
	struct flick_record *half;
	int err = fl_array_extend((void **)&l->halves, &l->n_halves, b->thread + 1,
				  sizeof(*l->halves));

	for (size_t i = 0; !err && i < b->n; i++) {
		const struct flick_record *r = &b->records[i];

		half = &l->halves[b->thread];
		if (r->probe >= l->tags.n)
			continue;
		if (l->tags.tags[r->probe].kind == FL_ENTRY)
			*half = *r;
		else if (half->tsc)
			err = end_sample(l, half, r);
	}
	return err;
}

static int feed(void *state, const struct fl_batch *b)
{
	struct latency *l = state;
	int err = fl_tags_extend(&l->tags);

	if (!err)
		err = fl_array_extend((void **)&l->rows, &l->n_rows,
				      l->tags.view->n_functions, sizeof(*l->rows));
	if (err)
		return err;
	return l->tags.view->sampled ? feed_samples(l, b) : feed_calls(l, b);
}

/* Counters carry no time: nothing to add. */
static void count(void *state, uint32_t thread, uint32_t probe, uint64_t n)
{
	(void)state;
	(void)thread;
	(void)probe;
	(void)n;
}

static void thread_end(void *state, uint32_t thread)
{
	struct latency *l = state;

	if (thread >= l->n_stacks || !l->stacks[thread])
		return;
	fl_stack_end(l->stacks[thread]);
	fl_stack_free(l->stacks[thread]);
	free(l->stacks[thread]);
	l->stacks[thread] = NULL;
}

static void close_latency(void *state)
{
	struct latency *l = state;

	if (!l)
		return;
	for (uint32_t t = 0; t < l->n_stacks; t++)
		thread_end(l, t);
	for (uint32_t f = 0; f < l->n_rows; f++)
		fl_hist_free(&l->rows[f].hist);
	free(l->stacks);
	free(l->halves);
	free(l->rows);
	free(l->tags.tags);
	free(l);
}

/* ---- results ------------------------------------------------------------- */

enum { FUNCTION, CALLS, TOTAL, SELF, MIN, AVG, P50, P90, P99, MAX, UNKNOWN };

static const struct fl_column latency_columns[] = {
	[FUNCTION] = { "function", FL_COL_FUNCTION },
	[CALLS] = { "calls", FL_COL_COUNT },
	[TOTAL] = { "total_ns", FL_COL_NS },
	[SELF] = { "self_ns", FL_COL_NS },
	[MIN] = { "min_ns", FL_COL_NS },
	[AVG] = { "avg_ns", FL_COL_NS },
	[P50] = { "p50_ns", FL_COL_NS },
	[P90] = { "p90_ns", FL_COL_NS },
	[P99] = { "p99_ns", FL_COL_NS },
	[MAX] = { "max_ns", FL_COL_NS },
	[UNKNOWN] = { "unknown", FL_COL_COUNT },
};

static uint64_t to_ns(const struct latency *l, double ticks)
{
	return (uint64_t)(ticks * l->tags.view->ns_per_tick + 0.5);
}

static void fill_times(const struct latency *l, const struct row *row,
		       uint64_t *cell)
{
	const struct fl_histogram *h = &row->hist;

	if (h->n == 0) {
		for (int c = TOTAL; c <= MAX; c++)
			cell[c] = FL_NONE;
		return;
	}
	cell[TOTAL] = to_ns(l, (double)row->total);
	cell[SELF] = l->tags.view->sampled ? FL_NONE : to_ns(l, (double)row->self);
	cell[MIN] = to_ns(l, (double)h->min);
	cell[AVG] = to_ns(l, (double)row->total / (double)h->n);
	cell[P50] = to_ns(l, (double)fl_hist_quantile(h, 0.50));
	cell[P90] = to_ns(l, (double)fl_hist_quantile(h, 0.90));
	cell[P99] = to_ns(l, (double)fl_hist_quantile(h, 0.99));
	cell[MAX] = to_ns(l, (double)h->max);
}

static int latency_result(void *state, struct fl_result *r)
{
	struct latency *l = state;
	const size_t n = ARRAY_LEN(latency_columns);
	uint64_t *cell = calloc(l->n_rows * n + 1, sizeof(*cell));

	if (!cell)
		return -ENOMEM;
	*r = (struct fl_result){ latency_columns, n, cell, 0 };
	for (uint32_t f = 0; f < l->n_rows; f++) {
		const struct row *row = &l->rows[f];

		if (!row->calls && !row->unknown)
			continue;
		cell[FUNCTION] = f;
		cell[CALLS] = row->calls;
		cell[UNKNOWN] = row->unknown;
		fill_times(l, row, cell);
		cell += n;
		r->n_rows++;
	}
	return 0;
}

static const struct fl_column spread_columns[] = {
	{ "function", FL_COL_FUNCTION },
	{ "from_ns", FL_COL_NS },
	{ "below_ns", FL_COL_NS },
	{ "calls", FL_COL_COUNT },
};

struct spread {
	const struct latency *l;
	uint64_t n[65];			/* [0, 1), [1, 2), [2, 4), ... */
};

static void add_to_spread(void *arg, uint64_t middle, uint64_t n)
{
	struct spread *s = arg;
	uint64_t ns = to_ns(s->l, (double)middle);

	s->n[ns ? 64 - __builtin_clzll(ns) : 0] += n;
}

static size_t write_spread(const struct spread *s, uint32_t function,
			   uint64_t *cell)
{
	size_t rows = 0;

	for (int i = 0; i < 64; i++) {
		if (!s->n[i])
			continue;
		*cell++ = function;
		*cell++ = i ? 1ull << (i - 1) : 0;
		*cell++ = 1ull << i;
		*cell++ = s->n[i];
		rows++;
	}
	return rows;
}

static int spread_result(void *state, struct fl_result *r)
{
	struct latency *l = state;
	const size_t n = ARRAY_LEN(spread_columns);
	uint64_t *cells = malloc((l->n_rows * 64 * n + 1) * sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	*r = (struct fl_result){ spread_columns, n, cells, 0 };
	for (uint32_t f = 0; f < l->n_rows; f++) {
		struct spread s = { .l = l };

		fl_hist_each(&l->rows[f].hist, add_to_spread, &s);
		r->n_rows += write_spread(&s, f, cells + r->n_rows * n);
	}
	return 0;
}

const struct fl_analysis fl_analysis_latency = {
	.name = "latency",
	.about = "time in each function and its quantiles",
	.action = FL_ACT_TIME,
	.open = open_latency,
	.feed = feed,
	.count = count,
	.thread_end = thread_end,
	.result = latency_result,
	.close = close_latency,
};

const struct fl_analysis fl_analysis_spread = {
	.name = "spread",
	.about = "how many calls took how long, by powers of two",
	.action = FL_ACT_TIME,
	.open = open_latency,
	.feed = feed,
	.count = count,
	.thread_end = thread_end,
	.result = spread_result,
	.close = close_latency,
};
