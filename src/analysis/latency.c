/*
 * latency.c - how long the calls of each function take.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/histogram.h"
#include "analysis/sums.h"

/*
 * INVARIANT	Without samples, sums.calls = hist.n + sums.unknown.
 * WHY		`sums.outer` leaves out calls that ran inside another call of the same
 *		function whose time is counted: recursion does not make time pass twice.
 *		A sample does not show which calls it ran in. So a function has no total
 *		if one of its samples lay in another.
 *		What probes took is taken out of each call, whose time is then 0 or more. A
 *		call that took less than its probes are said to take makes self times too
 *		large, and the time around it too small. So self times of a recursion may
 *		add up to more than the total, from which all was taken at once: then the
 *		total is nearer to the truth.
 */
struct row {
	struct fl_sums sums;
	uint64_t strays;		/* exits without a known start, but for `left` ones */
	uint64_t left;			/* calls that seemed to be left, and may end yet */
	uint64_t given_up;		/* of samples: timed for a part, as if that were all */
	double stands, stands_sum, stands_raw;	/* how many calls those in hist stand
					 * for, their ticks, and with what probes took */
	double squares[3];		/* the squares of what each stands for, times its
					 * ticks to the power of 0, 1, 2: how sure a mean is */
	uint32_t open_in;		/* the thread of the last open call, + 1 */
	uint64_t began;			/* of samples: when the last one began, ... */
	uint32_t thread;		/* ... and its thread, + 1; 0: none */
	bool recurses;			/* a call lay in another one */
	struct fl_histogram hist;	/* of the calls whose both ends are known */
	uint64_t *spans;		/* (spread) these, by powers of two; NULL: none yet */
};

struct latency {
	const struct flick_view *view;
	struct row *rows;		/* index: function */
	uint32_t n_rows;
	bool is_spread;
};

static int open_latency(void **state, const struct flick_view *view, const char *arg)
{
	return fl_state_open(state, sizeof(struct latency), view, arg);
}

static int open_spread(void **state, const struct flick_view *view, const char *arg)
{
	int err = open_latency(state, view, arg);

	if (!err)
		((struct latency *)*state)->is_spread = true;
	return err;
}

static uint64_t to_ns(const struct latency *l, double ticks)
{
	return (uint64_t)(ticks * l->view->ns_per_tick + 0.5);
}

/* [0, 1), [1, 2), [2, 4), ... A bucket of `hist` may lie on both sides of a power of two, as
 * its ends are ticks: so calls are told apart when they end. How long a tick is is known then,
 * to some millionths. */
enum { N_SPANS = 65 };

static int span_of(uint64_t ns)
{
	return ns ? 64 - __builtin_clzll(ns) : 0;
}

static bool add_to_span(struct row *row, int span, uint64_t n)
{
	if (!row->spans)
		row->spans = calloc(N_SPANS, sizeof *row->spans);
	if (row->spans)
		row->spans[span] += n;
	return row->spans;
}

static int extend(struct latency *l, uint32_t n)
{
	return fl_array_extend(&l->rows, &l->n_rows, n, sizeof(*l->rows));
}

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct latency *l = state;
	double ticks = (double)call->total, square;
	uint32_t stands = 1;
	struct row *row;

	(void)mark;
	(void)caller;
	if (call->function >= l->n_rows && extend(l, l->view->n_functions))
		return -ENOMEM;
	row = &l->rows[call->function];
	fl_sums_add(&row->sums, call);
	if (call->flags & FL_CALL_BEHIND)
		return 0;
	row->left += call->how == FLICK_UNWOUND;
	if (call->flags & FLICK_CALL_ALIVE) {
		row->recurses |= row->open_in == call->thread + 1;
		row->open_in = call->thread + 1;
	}
	row->given_up += !!(call->flags & FLICK_CALL_GIVEN_UP);
	if (call->how != FLICK_ENDED && !(call->flags & FLICK_CALL_GIVEN_UP))
		return 0;
	if (call->flags & FLICK_CALL_SAMPLED) {
		/* Samples come as they end: one that began before the last contained it. */
		row->recurses |= row->thread == call->thread + 1 && call->begin < row->began;
		row->thread = call->thread + 1;
		row->began = call->begin;
		stands = call->weight / FLICK_WEIGHT_ONE;
	}
	row->stands += stands;
	row->stands_sum += (double)stands * ticks;
	row->stands_raw += (double)stands * (double)call->raw_total;
	square = (double)stands * (double)stands;
	for (size_t i = 0; i < ARRAY_LEN(row->squares); i++, square *= ticks)
		row->squares[i] += square;
	if (l->is_spread && !add_to_span(row, span_of(to_ns(l, ticks)), stands))
		return -ENOMEM;
	return fl_hist_add(&row->hist, call->total, stands) ? 0 : -ENOMEM;
}

/* A call on a coroutine's stack may seem to be left when one ends that stands above it. Where
 * its own end comes it is the same call, whose end is not known in either case. */
static int stray(void *state, uint32_t thread, uint32_t function, void **root)
{
	struct latency *l = state;
	int err = extend(l, l->view->n_functions);
	struct row *row = err ? NULL : &l->rows[function];

	(void)thread;
	(void)root;
	if (row && row->left)
		row->left--;
	else if (row)
		row->strays++;
	return err;
}

static int merge(void *into, void *from)
{
	struct latency *l = into, *other = from;
	int err = extend(l, other->n_rows);

	for (uint32_t f = 0; !err && f < other->n_rows; f++) {
		struct row *to = &l->rows[f], *r = &other->rows[f];

		fl_sums_add_up(&to->sums, &r->sums);
		to->strays += r->strays;
		to->given_up += r->given_up;
		to->stands += r->stands;
		to->stands_sum += r->stands_sum;
		to->stands_raw += r->stands_raw;
		for (size_t i = 0; i < ARRAY_LEN(r->squares); i++)
			to->squares[i] += r->squares[i];
		to->recurses |= r->recurses;
		err = fl_hist_merge(&to->hist, &r->hist) ? 0 : -ENOMEM;
		for (int i = 0; !err && r->spans && i < N_SPANS; i++)
			err = add_to_span(to, i, r->spans[i]) ? 0 : -ENOMEM;
	}
	return err;
}

static void close_latency(void *state)
{
	struct latency *l = state;

	for (uint32_t f = 0; f < l->n_rows; f++) {
		fl_hist_free(&l->rows[f].hist);
		free(l->rows[f].spans);
	}
	free(l->rows);
	free(l);
}

/* ---- results ------------------------------------------------------------- */

enum { FUNCTION, CALLS, TOTAL, SELF, MIN, AVG, P50, P90, P99, MAX, SUM, RAW_TOTAL, RAW_SELF,
       RAW_AVG, RAW_SUM, UNKNOWN, OPEN, SEEN, COUNTED, AVG_ERROR, CALLS_ERROR, GIVEN_UP,
       STACKS, SWITCHED };

static const struct flick_column latency_columns[] = {
	[FUNCTION] = { "function", FLICK_COL_FUNCTION },
	[CALLS] = { "calls", FLICK_COL_COUNT },
	[TOTAL] = { "total_ns", FLICK_COL_NS },
	[SELF] = { "self_ns", FLICK_COL_NS },
	[MIN] = { "min_ns", FLICK_COL_NS },
	[AVG] = { "avg_ns", FLICK_COL_NS },
	[P50] = { "p50_ns", FLICK_COL_NS },
	[P90] = { "p90_ns", FLICK_COL_NS },
	[P99] = { "p99_ns", FLICK_COL_NS },
	[MAX] = { "max_ns", FLICK_COL_NS },
	[SUM] = { "sum_ns", FLICK_COL_NS },	/* of each call, also in one another */
	[RAW_TOTAL] = { "raw_total_ns", FLICK_COL_NS },	/* with what probes took */
	[RAW_SELF] = { "raw_self_ns", FLICK_COL_NS },
	[RAW_AVG] = { "raw_avg_ns", FLICK_COL_NS },
	[RAW_SUM] = { "raw_sum_ns", FLICK_COL_NS },
	[UNKNOWN] = { "unknown", FLICK_COL_COUNT },
	[OPEN] = { "open", FLICK_COL_COUNT },	/* at the end: sums have their time */
	[SEEN] = { "sampled", FLICK_COL_COUNT },	/* of samples and windows only */
	[COUNTED] = { "counted", FLICK_COL_COUNT },	/* of samples only */
	[AVG_ERROR] = { "avg_error_ns", FLICK_COL_NS },	/* likewise */
	[CALLS_ERROR] = { "calls_error", FLICK_COL_COUNT },	/* likewise */
	[GIVEN_UP] = { "given_up", FLICK_COL_COUNT },	/* likewise */
	[STACKS] = { "stack_samples", FLICK_COL_COUNT },	/* likewise; the reader's */
	[SWITCHED] = { "switched", FLICK_COL_COUNT },	/* as the last */
};

/* All calls are counted, and some of them are timed. */
static bool are_counted(const struct latency *l)
{
	return l->view->flags & (FLICK_VIEW_WINDOWS | FLICK_VIEW_SAMPLED);
}

static struct fl_told told_of(const struct latency *l, const struct row *row)
{
	return (struct fl_told){ l->view, (uint32_t)(row - l->rows), &row->sums };
}

/* The average over the calls that ended; in windows over all calls, if their sum is known. */
static uint64_t average(const struct latency *l, const struct row *row, uint64_t known,
			uint64_t sum, double stands_sum)
{
	bool windows = l->view->flags & FLICK_VIEW_WINDOWS;

	if (l->view->flags & FLICK_VIEW_SAMPLED)
		return to_ns(l, stands_sum / row->stands);
	return windows && known == FLICK_NONE ? FLICK_NONE :
	       to_ns(l, (double)sum / (double)(windows ? row->sums.calls : row->hist.n));
}

/* The standard error of the average: how far it may be off by the chance that chose which of
 * `calls` were timed. One timed call does not tell; where all were timed there is no error. */
static uint64_t error_of(const struct latency *l, const struct row *row, uint64_t calls)
{
	const double timed = (double)(row->sums.calls - row->sums.open);
	const double of = (double)(calls - row->sums.open), *sq = row->squares;
	const double mean = row->stands_sum / row->stands;
	double variance = sq[2] - 2 * mean * sq[1] + mean * mean * sq[0];

	if (timed >= of)
		return 0;
	if (timed < 2)
		return FLICK_NONE;
	variance *= timed / (timed - 1) * (1 - timed / of);
	return variance > 0 ? to_ns(l, sqrt(variance) / row->stands) : 0;
}

/* Calls times the average of those that ended, plus the time of open calls. Where no call has
 * ended, and not all are open, the true sum is larger. */
static double sum_of_samples(const struct row *row, uint64_t calls)
{
	double ended = calls > row->sums.open ? (double)(calls - row->sums.open) : 0;

	return (row->stands > 0 ? ended * row->stands_sum / row->stands : 0) +
	       (double)row->sums.open_total;
}

static void fill_times(const struct latency *l, const struct row *row, uint64_t *cell)
{
	const struct fl_told told = told_of(l, row);
	const struct fl_histogram *h = &row->hist;
	const struct fl_sums *s = &row->sums;

	for (int c = TOTAL; c <= RAW_SUM; c++)
		cell[c] = FLICK_NONE;
	if (h->n == 0 && !s->open)
		return;
	if (l->view->flags & FLICK_VIEW_SAMPLED) {
		cell[SUM] = to_ns(l, sum_of_samples(row, cell[CALLS]));
		cell[TOTAL] = row->recurses ? FLICK_NONE : cell[SUM];
	} else {
		cell[SUM] = fl_told_ns(&told, s->total);
		cell[TOTAL] = fl_told_total_ns(&told, s->outer);
		cell[SELF] = fl_told_ns(&told, s->self < s->outer ? s->self : s->outer);
		cell[RAW_TOTAL] = fl_told_raw_ns(&told, s->raw_outer);
		cell[RAW_SELF] = fl_told_raw_ns(&told, s->raw_self);
		cell[RAW_SUM] = fl_told_raw_ns(&told, s->raw_total);
	}
	if (h->n == 0)
		return;
	cell[MIN] = to_ns(l, (double)h->min);
	cell[AVG] = average(l, row, cell[SUM], s->total - s->open_total, row->stands_sum);
	cell[RAW_AVG] = average(l, row, cell[SUM], s->raw_total - s->open_raw,
				row->stands_raw);
	if (l->view->flags & FLICK_VIEW_SAMPLED)
		cell[AVG_ERROR] = error_of(l, row, cell[CALLS]);
	cell[P50] = to_ns(l, (double)fl_hist_quantile(h, 0.50));
	cell[P90] = to_ns(l, (double)fl_hist_quantile(h, 0.90));
	cell[P99] = to_ns(l, (double)fl_hist_quantile(h, 0.99));
	cell[MAX] = to_ns(l, (double)h->max);
}

/* Where every call is timed only points, which are no calls, are counted besides. */
static bool has_points(const struct latency *l)
{
	return !are_counted(l) && l->view->exact;
}

static uint64_t points_of(const struct latency *l, uint32_t function)
{
	return has_points(l) ? l->view->exact[function] : 0;
}

/* False: the function was never called. A function that no window met has calls only. There may
 * be more samples than counted calls: a thread without a slot does not count, and a thread may
 * end while it updates a counter. */
static bool fill_row(const struct latency *l, const struct row *row, uint64_t *cell)
{
	const struct fl_told told = told_of(l, row);
	const uint64_t seen = row->sums.calls;
	uint64_t exact = are_counted(l) ? l->view->exact[told.function] : 0;

	cell[FUNCTION] = told.function;
	cell[OPEN] = row->sums.open;
	if (l->view->flags & FLICK_VIEW_SAMPLED) {
		uint64_t counted = l->view->counted[told.function];

		cell[CALLS] = exact > seen ? exact : seen;
		cell[UNKNOWN] = 0;
		cell[SEEN] = seen;
		cell[COUNTED] = counted < cell[CALLS] ? counted : cell[CALLS];
		cell[AVG_ERROR] = FLICK_NONE;
		cell[GIVEN_UP] = row->given_up;
		cell[STACKS] = FLICK_NONE;
		cell[SWITCHED] = 0;
		cell[CALLS_ERROR] = cell[CALLS] > cell[COUNTED] ?
				    l->view->exact_error[cell[FUNCTION]] : 0;
	} else if (are_counted(l)) {
		cell[CALLS] = seen ? fl_told_calls(&told, seen) : exact;
		cell[UNKNOWN] = seen ? fl_told_calls(&told, row->sums.unknown + row->strays) :
				FLICK_NONE;
		cell[SEEN] = seen;
	} else {
		cell[CALLS] = seen + points_of(l, told.function);
		cell[UNKNOWN] = row->sums.unknown + row->strays;
	}
	fill_times(l, row, cell);
	return cell[CALLS] || row->sums.unknown || row->strays;
}

static int latency_rows(void *state, struct flick_rows *r)
{
	struct latency *l = state;
	const bool counted = are_counted(l);
	const size_t n = ARRAY_LEN(latency_columns) - !counted -
			 6 * !(l->view->flags & FLICK_VIEW_SAMPLED);
	int err = counted || has_points(l) ? extend(l, l->view->n_functions) : 0;
	uint64_t *cell = err ? NULL : calloc((l->n_rows + 1) * n, sizeof(*cell));

	if (!cell)
		return -ENOMEM;
	*r = (struct flick_rows){ latency_columns, n, cell, 0 };
	for (uint32_t f = 0; f < l->n_rows; f++) {
		if (!fill_row(l, &l->rows[f], cell))
			continue;
		cell += n;
		r->n_rows++;
	}
	return 0;
}

static const struct flick_column spread_columns[] = {
	{ "function", FLICK_COL_FUNCTION },
	{ "from_ns", FLICK_COL_NS },
	{ "below_ns", FLICK_COL_NS },
	{ "calls", FLICK_COL_COUNT },
};

/* Samples stand for more calls: scale them so that together they are the calls that were
 * timed. */
static size_t write_spread(const struct latency *l, const struct row *row, uint64_t *cell)
{
	const struct fl_told told = told_of(l, row);
	const bool sampled = l->view->flags & FLICK_VIEW_SAMPLED;
	size_t rows = 0;

	for (int i = 0; row->spans && i < 64; i++) {
		double timed = (double)row->spans[i] * (double)row->sums.calls /
			       (double)row->hist.n;

		if (!row->spans[i])
			continue;
		*cell++ = told.function;
		*cell++ = i ? 1ull << (i - 1) : 0;
		*cell++ = 1ull << i;
		*cell++ = !sampled ? fl_told_calls(&told, row->spans[i]) :
			  timed < 1 ? 1 : (uint64_t)(timed + 0.5);
		rows++;
	}
	return rows;
}

static int spread_rows(void *state, struct flick_rows *r)
{
	struct latency *l = state;
	const size_t n = ARRAY_LEN(spread_columns);
	uint64_t *cells = malloc((l->n_rows * 64 * n + 1) * sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	*r = (struct flick_rows){ spread_columns, n, cells, 0 };
	for (uint32_t f = 0; f < l->n_rows; f++)
		r->n_rows += write_spread(l, &l->rows[f], cells + r->n_rows * n);
	return 0;
}

const struct flick_analysis fl_analysis_latency = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_SAMPLES,
	.name = "latency",
	.about = "time in each function and its quantiles",
	.open = open_latency,
	.leave = leave,
	.stray = stray,
	.merge = merge,
	.rows = latency_rows,
	.close = close_latency,
};

const struct flick_analysis fl_analysis_spread = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_SAMPLES,
	.name = "spread",
	.about = "how many calls took how long, by powers of two",
	.open = open_spread,
	.leave = leave,
	.stray = stray,
	.merge = merge,
	.rows = spread_rows,
	.close = close_latency,
};
