/*
 * text.c - tables for a terminal: uftrace's, funccount's and funclatency's look.
 */
#include <ctype.h>
#include <string.h>

#include "report/table.h"

/* ---- times ------------------------------------------------------------------- */

void fl_text_time(char out[32], uint64_t ns)
{
	static const struct {
		uint64_t below, unit;
		const char *name;
	} units[] = {
		{ 1000000, 1000, "us" },
		{ 1000000000, 1000000, "ms" },
		{ 60000000000, 1000000000, " s" },
		{ 3600000000000, 60000000000, " m" },
		{ UINT64_MAX, 3600000000000, " h" },
	};
	size_t u = 0;

	if (ns == FLICK_NONE) {
		snprintf(out, 32, "%10s", "-");
		return;
	}
	while (ns >= units[u].below)
		u++;
	snprintf(out, 32, "%3u.%03u %s", (unsigned)(ns / units[u].unit),
		 (unsigned)(ns % units[u].unit * 1000 / units[u].unit),
		 units[u].name);
}

static void print_change(char out[32], uint64_t cell, bool is_time)
{
	int64_t v = fl_change_value(cell);
	char time[32];

	if (cell == FLICK_NONE) {
		snprintf(out, 32, "-");
	} else if (!is_time) {
		snprintf(out, 32, "%+lld", (long long)v);
	} else {
		fl_text_time(time, v < 0 ? -(uint64_t)v : (uint64_t)v);
		snprintf(out, 32, "%c%.30s", v < 0 ? '-' : '+', time + strspn(time, " "));
	}
}

/* ---- the table of a report ---------------------------------------------------- */

/* What a column is called; those that are not here go by their own names. */
static const struct {
	const char *column, *title;
} titles[] = {
	{ "total_ns", "Total time" }, { "self_ns", "Self time" },
	{ "avg_ns", "Avg time" }, { "p50_ns", "P50 time" }, { "p90_ns", "P90 time" },
	{ "p99_ns", "P99 time" }, { "min_ns", "Min time" }, { "max_ns", "Max time" },
	{ "from_ns", "From" }, { "below_ns", "Below" },
	{ "calls", "Calls" }, { "estimated_calls", "Est. calls" },
	{ "unknown", "Unknown" }, { "unsure", "Unsure" },
	{ "function", "Function" }, { "caller", "Caller" }, { "callees", "Callees" },
};

/* Of a latency these are for the eye, in this order; SHARE is made of self_ns. */
#define SHARE "self %"
static const char *const latency_shown[] = { "total_ns", "self_ns", SHARE, "calls", "avg_ns",
					     "p50_ns", "p99_ns", "unknown", "sampled",
					     "counted", "function", NULL };
/* Of every result of flick's own, where there are any. */
static const char *const shown_if_any[] = { "unknown", "unsure", "sampled" };

static bool is_in(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

static bool is_all(const struct flick_rows *r, size_t c, uint64_t cell)
{
	for (size_t i = 0; i < r->n_rows; i++)
		if (r->cells[i * r->n_columns + c] != cell)
			return false;
	return true;
}

/* Calls of a row that are more than were counted. */
static bool is_estimated(const struct flick_rows *r, size_t row, int calls, int counted)
{
	const uint64_t *cell = r->cells + row * r->n_columns;

	return calls >= 0 && counted >= 0 && cell[counted] != FLICK_NONE &&
	       cell[calls] > cell[counted];
}

static bool are_estimated(const struct flick_rows *r, size_t counted)
{
	int calls = fl_sheet_column(r, "calls");

	for (size_t i = 0; i < r->n_rows; i++)
		if (is_estimated(r, i, calls, (int)counted))
			return true;
	return false;
}

static bool is_shown(const struct fl_sheet *s, size_t c)
{
	const struct flick_rows *r = s->result;
	const char *name = r->columns[c].name;

	if (r->columns[c].type == FLICK_COL_ID || r->columns[c].type == FLICK_COL_PARENT)
		return false;
	if (!s->name)
		return true;
	if (!strcmp(name, "counted"))
		return are_estimated(r, c);
	if (is_in(name, shown_if_any, ARRAY_LEN(shown_if_any)))
		return !is_all(r, c, 0);
	return strcmp(name, "self_ns") || !is_all(r, c, FLICK_NONE);
}

/* A name that is not in the list, as a title: "total_before_ns". */
static void make_title(char out[64], const char *name)
{
	size_t n = strlen(name);

	if (n > 3 && !strcmp(name + n - 3, "_ns"))
		n -= 3;
	snprintf(out, 64, "%.*s", (int)n, name);
	out[0] = (char)toupper((unsigned char)out[0]);
	for (; *out; out++)
		if (*out == '_')
			*out = ' ';
}

static void title_of(const struct fl_sheet *s, size_t c, char out[64])
{
	const char *name = fl_sheet_title(s, c);

	make_title(out, name);
	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		if (!strcmp(titles[i].column, name))
			snprintf(out, 64, "%s", titles[i].title);
}

#define MAX_SHOWN 64
#define MAX_WIDTH 40
#define MAX_INDENT 40			/* levels of a tree that are indented */

struct layout {
	const struct fl_sheet *sheet;
	struct {
		size_t column;
		int width;
		bool is_share;		/* of the sheet's self_ns, in percent */
	} shown[MAX_SHOWN];
	size_t n;
	size_t left;			/* columns for the last one, a text; 0: any */
	int calls, counted;		/* columns of a latency's samples; -1: none */
};

/* Of texts only the last one may be as long as it likes. */
static int width_of(const struct fl_sheet *s, size_t c)
{
	const struct flick_rows *r = s->result;
	char title[64];
	size_t width;

	title_of(s, c, title);
	width = strlen(title);
	if (!fl_sheet_is_text(r, c))
		return width > 10 ? (int)width :
		       10 + ((int)r->columns[c].type >= FL_COL_CHANGE);
	for (size_t i = 0; i < r->n_rows; i++) {
		size_t n = fl_print_plain(NULL, fl_sheet_text(s, c,
					  r->cells[i * r->n_columns + c]));

		if (n > width)
			width = n;
	}
	return width > MAX_WIDTH ? MAX_WIDTH : (int)width;
}

/* Times, numbers, texts. */
static int rank_of(const struct flick_rows *r, size_t c)
{
	if (fl_sheet_is_text(r, c))
		return 2;
	return r->columns[c].type == FLICK_COL_COUNT ||
	       (int)r->columns[c].type == FL_COL_CHANGE;
}

static void lay_column(struct layout *l, size_t c)
{
	if (l->n == MAX_SHOWN || !is_shown(l->sheet, c))
		return;
	l->shown[l->n].column = c;
	l->shown[l->n].is_share = false;
	l->shown[l->n++].width = width_of(l->sheet, c);
}

static void lay_share(struct layout *l, int of)
{
	if (l->n == MAX_SHOWN || of < 0 || !l->sheet->self_ns)
		return;
	l->shown[l->n].column = (size_t)of;
	l->shown[l->n].is_share = true;
	l->shown[l->n++].width = 7;
}

static void lay_list(struct layout *l, const char *const *names)
{
	const struct flick_rows *r = l->sheet->result;

	for (; *names; names++) {
		int c = fl_sheet_column(r, strcmp(*names, SHARE) ? *names : "self_ns");

		if (!strcmp(*names, SHARE))
			lay_share(l, c);
		else if (c >= 0)
			lay_column(l, (size_t)c);
	}
}

/* Times, then numbers, then texts, as people know it from other tools. */
static void lay_ranks(struct layout *l)
{
	const struct flick_rows *r = l->sheet->result;

	for (int rank = 0; rank < 3; rank++)
		for (size_t c = 0; c < r->n_columns; c++)
			if (rank_of(r, c) == rank)
				lay_column(l, c);
}

/* What a line of the terminal leaves for the last column: at least one. */
static size_t columns_left(const struct layout *l)
{
	size_t used = 0;

	for (size_t i = 0; i < l->n; i++)
		used += 2 + (size_t)l->shown[i].width;
	return !l->sheet->width ? 0 : l->sheet->width > used ? l->sheet->width - used : 1;
}

static void lay_out(struct layout *l, const struct fl_sheet *s)
{
	const struct flick_rows *r = s->result;

	l->sheet = s;
	l->n = 0;
	l->calls = s->name ? fl_sheet_column(r, "calls") : -1;
	l->counted = s->name ? fl_sheet_column(r, "counted") : -1;
	if (s->name && !strcmp(s->name, "latency"))
		lay_list(l, latency_shown);
	else
		lay_ranks(l);
	if (l->n && rank_of(r, l->shown[l->n - 1].column) == 2)
		l->shown[l->n - 1].width = 0;
	l->left = columns_left(l);
}

/* Cut to `most` columns, 0: not at all; then as wide as `width`. */
static void print_padded(FILE *to, const char *text, int width, size_t most)
{
	size_t n = fl_print_cut(to, text, most);

	if (n < (size_t)width)
		fprintf(to, "%*s", width - (int)n, "");
}

static void print_text(FILE *to, const struct layout *l, size_t i, size_t row,
		       const char *text)
{
	uint32_t depth = l->sheet->depth ? l->sheet->depth[row] : 0;
	size_t left = i + 1 == l->n ? l->left : l->sheet->width ? (size_t)l->shown[i].width : 0;
	size_t indent = 2 * (size_t)depth;

	fputs("  ", to);
	if (depth > MAX_INDENT)
		indent = (size_t)fprintf(to, "%*s(%u) ", 2 * MAX_INDENT, "", depth);
	else
		fprintf(to, "%*s", (int)indent, "");
	print_padded(to, text, l->shown[i].width,
		     left > indent ? left - indent : left != 0);
}

static void print_cell(FILE *to, const struct layout *l, size_t i, size_t row)
{
	const struct flick_rows *r = l->sheet->result;
	size_t column = l->shown[i].column;
	uint64_t v = r->cells[row * r->n_columns + column];
	char text[32];

	switch ((int)r->columns[column].type) {
	case FLICK_COL_FUNCTION:
	case FLICK_COL_TEXT:
		print_text(to, l, i, row, fl_sheet_text(l->sheet, column, v));
		return;
	case FLICK_COL_NS:
		fl_text_time(text, v);
		break;
	case FL_COL_CHANGE:
	case FL_COL_CHANGE_NS:
		print_change(text, v, (int)r->columns[column].type == FL_COL_CHANGE_NS);
		break;
	default:
		if (v == FLICK_NONE)
			snprintf(text, sizeof(text), "-");
		else if (column == (size_t)l->calls &&
			 is_estimated(r, row, l->calls, l->counted))
			snprintf(text, sizeof(text), "~%llu", (unsigned long long)v);
		else
			snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	}
	fprintf(to, "  %*s", l->shown[i].width, text);
}

static void print_share(FILE *to, const struct layout *l, size_t i, size_t row)
{
	const struct flick_rows *r = l->sheet->result;
	uint64_t v = r->cells[row * r->n_columns + l->shown[i].column];
	uint64_t sum = l->sheet->self_ns;

	if (v == FLICK_NONE || !sum)
		fprintf(to, "  %*s", l->shown[i].width, "-");
	else
		fprintf(to, "  %*.2f", l->shown[i].width, 100 * (double)v / (double)sum);
}

static void print_titles(FILE *to, const struct layout *l)
{
	static const char rule[] = "========================================";

	for (size_t i = 0; i < l->n; i++) {
		bool is_text = fl_sheet_is_text(l->sheet->result, l->shown[i].column);
		char title[64];

		title_of(l->sheet, l->shown[i].column, title);
		if (l->shown[i].is_share)
			strcpy(title, "Self %");
		fprintf(to, is_text ? "  %-*s" : "  %*s", l->shown[i].width, title);
	}
	fputc('\n', to);
	for (size_t i = 0; i < l->n; i++)
		fprintf(to, "  %.*s", l->shown[i].width ? l->shown[i].width : 20, rule);
	fputc('\n', to);
}

static void write_text(FILE *to, const struct fl_sheet *s)
{
	struct layout l;

	lay_out(&l, s);
	if (s->note) {
		fputs("  ", to);
		fl_print_plain(to, s->note);
		fputs("\n\n", to);
	}
	print_titles(to, &l);
	for (size_t row = 0; row < s->result->n_rows; row++) {
		for (size_t i = 0; i < l.n; i++)
			(l.shown[i].is_share ? print_share : print_cell)(to, &l, i, row);
		fputc('\n', to);
	}
}

const struct fl_exporter fl_exporter_text = {
	.name = "text",
	.about = "a table to read",
	.write = write_text,
};

/* ---- flick count ---------------------------------------------------------------- */

void fl_text_counts(FILE *to, const struct fl_sheet *s)
{
	enum { NAME = 36, NUMBER = 9 };		/* columns */
	const struct flick_rows *r = s->result;
	int calls = fl_sheet_column(r, "calls");

	fprintf(to, "%-*s %8s\n", NAME, "FUNC", "COUNT");
	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		print_padded(to, fl_sheet_function(s, row[0]), NAME,
			     s->width ? s->width > NUMBER ? s->width - NUMBER : 1 : 0);
		fprintf(to, " %8llu\n", (unsigned long long)row[calls]);
	}
}

/* ---- flick latency: one histogram a function ------------------------------------- */

#define FUNCTION "\nFunction = "
#define STARS 40
#define BUCKETS 64			/* of spread: [0, 1), [1, 2), [2, 4), ... */

static int bucket_of(uint64_t from)
{
	return from ? 64 - __builtin_clzll(from) : 0;
}

/* The counts of one function's rows; returns how many rows they are. */
static size_t gather(const struct flick_rows *r, size_t first, uint64_t n[BUCKETS])
{
	const uint64_t *row = r->cells + first * r->n_columns;
	uint64_t function = row[0];
	size_t rows = 0;

	memset(n, 0, BUCKETS * sizeof(*n));
	while (first + rows < r->n_rows && row[0] == function) {
		int b = bucket_of(row[1]);

		if (b < BUCKETS)
			n[b] += row[3];
		row += r->n_columns;
		rows++;
	}
	return rows;
}

static void print_bucket(FILE *to, int b, uint64_t n, uint64_t max)
{
	static const char stars[] = "****************************************";
	int filled = max ? (int)((double)n / (double)max * STARS + 0.5) : 0;
	unsigned long long lo = b ? 1ull << (b - 1) : 0, hi = (1ull << b) - 1;

	if (b < 2)				/* 0 and 1 share a line */
		lo = 0, hi = 1;
	fprintf(to, "%10llu -> %-10llu : %-8llu |%-*.*s|\n", lo, hi,
		(unsigned long long)n, STARS, filled, stars);
}

static void print_buckets(FILE *to, uint64_t n[BUCKETS])
{
	uint64_t max = 0;
	int last = 0;

	n[1] += n[0];
	for (int b = 1; b < BUCKETS; b++) {
		if (n[b])
			last = b;
		if (n[b] > max)
			max = n[b];
	}
	fprintf(to, "     %-19s : count     distribution\n", "nsecs");
	for (int b = 1; b <= last; b++)
		print_bucket(to, b, n[b], max);
}

static void print_summary(FILE *to, const struct fl_sheet *s, uint64_t function)
{
	const struct flick_rows *r = s->result;
	int avg = fl_sheet_column(r, "avg_ns"), total = fl_sheet_column(r, "total_ns");
	int calls = fl_sheet_column(r, "calls");

	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[0] == function && row[avg] != FLICK_NONE)
			fprintf(to, "\navg = %llu nsecs, total: %llu nsecs, count: %llu\n",
				(unsigned long long)row[avg],
				(unsigned long long)row[total],
				(unsigned long long)row[calls]);
	}
}

void fl_text_spread(FILE *to, const struct fl_sheet *spread,
		    const struct fl_sheet *latency)
{
	const struct flick_rows *r = spread->result;
	uint64_t n[BUCKETS];

	for (size_t i = 0; i < r->n_rows;) {
		uint64_t function = r->cells[i * r->n_columns];

		fputs(FUNCTION, to);
		fl_print_cut(to, fl_sheet_function(spread, function),
			     spread->width > strlen(FUNCTION) ?
			     spread->width - strlen(FUNCTION) + 1 : spread->width);
		fputc('\n', to);
		i += gather(r, i, n);
		print_buckets(to, n);
		print_summary(to, latency, function);
	}
}
