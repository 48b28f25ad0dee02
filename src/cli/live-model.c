/*
 * live-model.c - what flick live shows: rows, their order, the cursor. Pure.
 *
 * Knows no session and no terminal. Rates and shares are differences between two looks,
 * made here once; so are totals. The cursor is a function, not a line: rows that change
 * places take it along.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live.h"

const char *const fl_live_keys[FL_LIVE_N_KEYS] = {
	[FL_LIVE_BY_TOTAL] = "total", [FL_LIVE_BY_SELF] = "self", [FL_LIVE_BY_RATE] = "calls",
	[FL_LIVE_BY_AVG] = "avg", [FL_LIVE_BY_P99] = "p99", [FL_LIVE_BY_NAME] = "name",
};

/* ---- looks -------------------------------------------------------------------------- */

/* By how much a counter that may wrap has moved. An estimate that is less now has not. */
static uint64_t by_how_much(uint64_t from, uint64_t to)
{
	uint64_t by = to - from;

	return by >> 63 ? 0 : by;
}

static uint64_t total_of(const struct fl_live_seen *s)
{
	double total = (double)s->calls * (double)s->avg_ns;

	if (!s->calls)
		return 0;
	return s->recurses || s->avg_ns == FLICK_NONE || total >= 0x1p63 ? FLICK_NONE :
	       (uint64_t)total;
}

/* There are some hundred samples a look: those of four looks back count half. */
#define FADES 0.84

static void take_one(struct fl_live_row *row, const struct fl_live_seen *seen, double seconds)
{
	uint64_t calls = by_how_much(row->seen.calls, seen->calls);
	uint64_t samples = by_how_much(row->seen.samples, seen->samples);

	if (row->seen.state == FL_LIVE_ABSENT)
		for (size_t i = 0; i < FL_LIVE_RECENT; i++)
			row->recent[i] = FLICK_NONE;
	row->rate = seconds > 0 ? (double)calls / seconds : 0;
	row->part = row->part * FADES + (double)samples;
	memmove(row->recent, row->recent + 1, sizeof(row->recent) - sizeof(row->recent[0]));
	row->recent[FL_LIVE_RECENT - 1] = seen->recent_ns;
	row->seen = *seen;
	row->total_ns = total_of(seen);
}

int fl_live_take(struct fl_live_model *m, const struct fl_live_seen *seen, uint32_t n,
		 double seconds, double samples)
{
	if (fl_array_extend(&m->rows, &m->n, n, sizeof(*m->rows)))
		return -ENOMEM;
	m->samples = m->samples * FADES + samples;
	for (uint32_t f = 0; f < n; f++)
		if (seen[f].state != FL_LIVE_ABSENT)
			take_one(&m->rows[f], &seen[f], seconds);
	for (uint32_t f = 0; f < n; f++)
		m->rows[f].self = m->samples > 0 ? 100 * m->rows[f].part / m->samples : -1;
	return 0;
}

/* ---- order -------------------------------------------------------------------------- */

/* An unknown value is less than all known ones, and more than that of a function that was never
 * called. */
static double value_of(const struct fl_live_row *row, enum fl_live_key key)
{
	enum { UNKNOWN = -1, NEVER = -2 };
	bool is_total = key == FL_LIVE_BY_TOTAL || (key == FL_LIVE_BY_SELF && row->self < 0);
	uint64_t ns = is_total ? row->total_ns :
		      key == FL_LIVE_BY_AVG ? row->seen.avg_ns : row->seen.p99_ns;

	switch (is_total ? FL_LIVE_BY_TOTAL : key) {
	case FL_LIVE_BY_SELF: return row->self;
	case FL_LIVE_BY_RATE: return row->rate;
	default: return ns == FLICK_NONE ? UNKNOWN :
			ns || row->seen.calls ? (double)ns : NEVER;
	}
}

static int compare_values(double a, double b)
{
	return (a < b) - (a > b);
}

/* Functions that are equal by the key are ordered by calls, then by function: so they stay
 * where they are. */
static int compare_functions(const void *x, const void *y, void *model)
{
	const struct fl_live_model *m = model;
	uint32_t f = *(const uint32_t *)x, g = *(const uint32_t *)y;
	const struct fl_live_row *a = &m->rows[f], *b = &m->rows[g];
	int order;

	if (m->key == FL_LIVE_BY_NAME)
		order = strcmp(m->name(m->owner, f), m->name(m->owner, g));
	else
		order = compare_values(value_of(a, m->key), value_of(b, m->key));
	if (!order && m->key != FL_LIVE_BY_NAME)
		order = compare_values((double)a->seen.calls, (double)b->seen.calls);
	if (m->is_reversed)
		order = -order;
	return order ? order : f < g ? -1 : f > g;
}

static bool has_part(const char *name, const char *part)
{
	size_t n = strlen(part);

	for (; *name; name++)
		if (!strncasecmp(name, part, n))
			return true;
	return !n;
}

bool fl_live_matches(const char *name, const char *filter)
{
	if (strpbrk(filter, "*?["))
		return fl_glob(filter, strlen(filter), name);
	return has_part(name, filter);
}

int fl_live_arrange(struct fl_live_model *m)
{
	uint32_t line = fl_live_line(m);

	if (fl_array_extend(&m->order, &m->n_order, m->n, sizeof(*m->order)))
		return -ENOMEM;
	m->n_shown = m->n_known = 0;
	for (uint32_t f = 0; f < m->n; f++) {
		if (m->rows[f].seen.state == FL_LIVE_ABSENT)
			continue;
		m->n_known++;
		if (!*m->filter || fl_live_matches(m->name(m->owner, f), m->filter))
			m->order[m->n_shown++] = f;
	}
	qsort_r(m->order, m->n_shown, sizeof(*m->order), compare_functions, m);
	if (!m->is_moved)
		m->cursor = m->n_shown ? m->order[0] : FL_LIVE_NOBODY;
	if (fl_live_line(m) == m->n_shown) {	/* not shown any more: take what is there now */
		line = line < m->n_shown ? line : m->n_shown ? m->n_shown - 1 : 0;
		m->cursor = m->n_shown ? m->order[line] : FL_LIVE_NOBODY;
	}
	fl_live_fit(m, m->height);
	return 0;
}

/* ---- the cursor ----------------------------------------------------------------------- */

uint32_t fl_live_line(const struct fl_live_model *m)
{
	uint32_t i = 0;

	while (i < m->n_shown && m->order[i] != m->cursor)
		i++;
	return i;
}

void fl_live_fit(struct fl_live_model *m, uint32_t height)
{
	uint32_t line = fl_live_line(m), most = m->n_shown > height ? m->n_shown - height : 0;

	m->height = height;
	if (line < m->n_shown && line < m->top)
		m->top = line;
	else if (line < m->n_shown && height && line >= m->top + height)
		m->top = line - height + 1;
	m->top = m->top < most ? m->top : most;
}

void fl_live_move(struct fl_live_model *m, int64_t by)
{
	int64_t line = (int64_t)fl_live_line(m) + by, last = (int64_t)m->n_shown - 1;

	if (last < 0)
		return;
	line = line < 0 ? 0 : line > last ? last : line;
	m->cursor = m->order[line];
	m->is_moved = true;
	fl_live_fit(m, m->height);
}

bool fl_live_search(struct fl_live_model *m, const char *text)
{
	uint32_t line = fl_live_line(m);

	for (uint32_t i = 1; i <= m->n_shown; i++) {
		uint32_t f = m->order[(line + i) % m->n_shown];

		if (!fl_live_matches(m->name(m->owner, f), text))
			continue;
		m->cursor = f;
		m->is_moved = true;
		fl_live_fit(m, m->height);
		return true;
	}
	return false;
}

void fl_live_free(struct fl_live_model *m)
{
	free(m->rows);
	free(m->order);
	*m = (struct fl_live_model){ .cursor = FL_LIVE_NOBODY };
}

/* ---- figures --------------------------------------------------------------------------- */

/* Three digits, and the unit that makes them enough. */
static void write_scaled(char *out, double v, const char *const *units, double step)
{
	size_t u = 0;

	for (; v >= 999.5 && units[u + 1]; u++)
		v /= step;
	if (u == 0 && v == (double)(uint64_t)v)
		snprintf(out, FL_LIVE_FIGURE, "%.0f%s", v, units[u]);
	else
		snprintf(out, FL_LIVE_FIGURE, "%.*f%s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0,
			 v > 9999 ? 9999 : v, units[u]);
}

void fl_live_count(char out[FL_LIVE_FIGURE], double n)
{
	static const char *const units[] = { "", "k", "M", "G", "T", NULL };

	write_scaled(out, n < 0 ? 0 : n < 10 ? n : (double)(uint64_t)(n + 0.5), units, 1000);
}

void fl_live_time(char out[FL_LIVE_FIGURE], uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s", "ks", NULL };

	if (ns == FLICK_NONE)
		snprintf(out, FL_LIVE_FIGURE, "-");
	else
		write_scaled(out, (double)ns, units, 1000);
}

void fl_live_heights(const struct fl_live_row *row, uint8_t out[FL_LIVE_RECENT])
{
	uint64_t most = 0;

	for (size_t i = 0; i < FL_LIVE_RECENT; i++)
		if (row->recent[i] != FLICK_NONE && row->recent[i] > most)
			most = row->recent[i];
	for (size_t i = 0; i < FL_LIVE_RECENT; i++) {
		double part = most ? (double)row->recent[i] / (double)most : 0;

		out[i] = row->recent[i] == FLICK_NONE ? 0 : (uint8_t)(1 + part * 7);
	}
}
