/*
 * named-result.c - what a session beside the recording's own has seen.
 *
 * All that is recorded is looked at when a session begins, and when its result is asked for:
 * the difference is told, of functions that it wants. A look has all calls that ended before
 * it, also those in chunks that are being filled. Where calls are counted and few are timed it
 * has the counts of the budget's last look (budget.c), for which who asks has waited.
 *
 * What sums up calls for it joins the recording's analyses with the first session, so nobody
 * pays for it before (recent.c).
 */
#include <stdlib.h>
#include <string.h>

#include "cli/budget.h"
#include "cli/named.h"
#include "os/os.h"

/* ---- a look --------------------------------------------------------------------------- */

struct looking {
	const struct fl_session *s;
	struct fl_sum *of;		/* index: function */
	uint32_t n;
	const uint8_t *points;		/* likewise: it is an instruction, which is counted */
};

static void add_timed(void *to, const struct flick_rows *r)
{
	struct looking *l = to;

	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;
		struct fl_sum *sum = &l->of[row[FL_RECENT_FUNCTION]];

		sum->timed += row[FL_RECENT_TIMED];
		sum->ticks += row[FL_RECENT_TICKS];
	}
}

/* Where calls are timed, who sums them up has no points: these are counted. */
static void add_counted(void *to, const struct flick_rows *r)
{
	const struct looking *l = to;
	int function = fl_sheet_column(r, "function"), calls = fl_sheet_column(r, "calls");

	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (l->s->o->action == FL_ACT_COUNT || l->points[row[function]])
			l->of[row[function]].calls += row[calls];
	}
}

static int index_of(const struct fl_session *s, const char *name)
{
	for (size_t i = 0; i < s->o->n_analyses; i++)
		if (!strcmp(s->o->analyses[i].name, name))
			return (int)i;
	return -1;
}

static void add_analyses(struct fl_session *s, struct looking *l)
{
	int recent = index_of(s, fl_recent_analysis.name);
	int counts = index_of(s, s->o->action == FL_ACT_COUNT ? "counts" : "latency");

	fl_readers_rows(s, recent < 0 ? s->o->n_analyses : (size_t)recent, add_timed, l);
	if (counts >= 0)
		fl_readers_rows(s, (size_t)counts, add_counted, l);
}

static void add_others(const struct fl_session *s, struct looking *l)
{
	for (uint32_t f = 0; f < l->n; f++) {
		struct fl_sum *sum = &l->of[f];

		if (s->budget && !l->points[f])
			fl_budget_tell(s->budget, f, sum);
		else if (s->o->action == FL_ACT_TIME && !l->points[f])
			sum->calls = sum->timed;
		if (!s->budget)
			sum->counted = sum->calls;
	}
}

/* NULL: no memory. */
static struct fl_sum *look(struct fl_session *s, uint32_t *n)
{
	uint8_t *points = calloc(s->functions.n + 1, 1);
	struct looking l = { .s = s, .n = s->functions.n, .points = points,
			     .of = calloc(s->functions.n + 1, sizeof(*l.of)) };

	if (points && l.of) {
		for (uint32_t i = 0; i < s->n_selected; i++)
			points[s->functions.function_of[i]] |=
				s->functions.sites[i].kind == FL_AT_POINT;
		fl_readers_gather(s);
		add_analyses(s, &l);
		add_others(s, &l);
	} else {
		free(l.of);
		l.of = NULL;
	}
	free(points);
	*n = l.n;
	return l.of;
}

int fl_named_begin(struct fl_beside *t, struct fl_named *d, struct fl_session *s)
{
	struct fl_use use = { .analysis = &fl_recent_analysis };
	int err = 0;

	if (!t->has_joined && index_of(s, fl_recent_analysis.name) < 0)
		err = fl_readers_join(s, &use);
	t->has_joined |= !err;
	d->before = err ? NULL : look(s, &d->n_before);
	return d->before ? 0 : -ENOMEM;
}

bool fl_named_can_tell(const struct fl_session *s, uint64_t since_ns)
{
	return fl_budget_looked_ns(s->budget) > since_ns;
}

/* ---- a table --------------------------------------------------------------------------- */

enum { FUNCTION, SUM, CALLS, COUNTED, AVG, COLUMNS };
static const struct flick_column columns[COLUMNS] = {
	[FUNCTION] = { "function", FLICK_COL_FUNCTION },
	[SUM] = { "sum_ns", FLICK_COL_NS },
	[CALLS] = { "calls", FLICK_COL_COUNT },
	[COUNTED] = { "counted", FLICK_COL_COUNT },	/* fewer: calls are an estimate */
	[AVG] = { "avg_ns", FLICK_COL_NS },
};

/* Of one function; false: nobody has called it. */
static bool fill_seen(const struct fl_session *s, uint32_t f, struct fl_sum was,
		     struct fl_sum is, uint64_t *cell)
{
	uint64_t timed = is.timed - was.timed;
	double avg = timed ? (double)(is.ticks - was.ticks) * s->view.ns_per_tick /
			     (double)timed : 0;

	cell[FUNCTION] = f;
	cell[CALLS] = is.calls > was.calls ? is.calls - was.calls : timed;
	cell[COUNTED] = is.counted > was.counted ? is.counted - was.counted : 0;
	cell[AVG] = timed ? (uint64_t)(avg + 0.5) : FLICK_NONE;
	cell[SUM] = timed ? (uint64_t)(avg * (double)cell[CALLS] + 0.5) : FLICK_NONE;
	return cell[CALLS] != 0;
}

/* Functions that it wants, and that were called. NULL cells: no memory. */
static struct flick_rows rows_of(const struct fl_named *d, struct fl_session *s)
{
	uint32_t n;
	struct fl_sum *is = look(s, &n);
	uint8_t *wants = calloc(n + 1, 1);
	struct flick_rows r = { columns, COLUMNS, calloc(COLUMNS, (n + 1) * sizeof(*r.cells)),
				0 };

	for (uint32_t i = 0; wants && i < s->n_selected; i++)
		wants[s->functions.function_of[i]] |= d->wants[i] != FL_STAGE_NONE;
	for (uint32_t f = 0; r.cells && is && wants && f < n; f++) {
		struct fl_sum was = f < d->n_before ? d->before[f] : (struct fl_sum){ 0 };

		if (wants[f])
			r.n_rows += fill_seen(s, f, was, is[f],
					     r.cells + r.n_rows * COLUMNS);
	}
	free(wants);
	free(is);
	return r;
}

void fl_named_write(FILE *to, const struct fl_named *d, struct fl_session *s)
{
	struct flick_rows rows;
	struct fl_names *names = fl_session_names(s);
	struct fl_sheet sheet = { .result = &rows, .functions = fl_names_shown(names),
				  .n_functions = s->functions.n, .name = "latency" };
	const char *keys = s->o->action == FL_ACT_COUNT ? "calls,function" :
			   "sum,calls,avg,function";

	fl_session_measure_tick(s);
	rows = rows_of(d, s);
	if (!rows.n_rows)
		fprintf(to, "no call of its functions was recorded\n");
	else if (names && !fl_sheet_choose(&sheet, keys) && fl_sheet_sort(&sheet, "sum_ns"))
		fl_exporters[0]->write(to, &sheet);
	fl_sheet_free(&sheet);
	fl_names_free(names);
}
