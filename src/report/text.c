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

const char *fl_colour_of(uint64_t ns)
{
	if (ns == FLICK_NONE || ns < 1000000)
		return "";
	return ns < 1000000000 ? "\x1b[33m" : "\x1b[31m";
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
	{ "sum_ns", "Sum of times" },
	{ "from_ns", "From" }, { "below_ns", "Below" },
	{ "calls", "Calls" }, { "estimated_calls", "Est. calls" },
	{ "unknown", "Unknown" }, { "unsure", "Unsure" },
	{ "function", "Function" }, { "caller", "Caller" }, { "callees", "Callees" },
	{ "line", "Source" }, { FL_SHARE, "Self %" },
};

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

#define MAX_WIDTH 40
#define MAX_INDENT 40			/* levels of a tree that are indented */

struct layout {
	const struct fl_sheet *sheet;
	int width[FL_MAX_SHOWN];	/* of s->shown; 0: as it comes */
	size_t left;			/* columns for the last one, a text; 0: any */
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

/* What a line of the terminal leaves for the last column: at least one. */
static size_t columns_left(const struct layout *l)
{
	size_t used = 0;

	for (size_t i = 0; i < l->sheet->n_shown; i++)
		used += 2 + (size_t)l->width[i];
	return !l->sheet->width ? 0 : l->sheet->width > used ? l->sheet->width - used : 1;
}

static void lay_out(struct layout *l, const struct fl_sheet *s)
{
	l->sheet = s;
	for (size_t i = 0; i < s->n_shown; i++)
		l->width[i] = s->shown[i] == FL_SHOWN_SHARE ? 7 : width_of(s, s->shown[i]);
	if (s->n_shown && s->shown[s->n_shown - 1] != FL_SHOWN_SHARE &&
	    fl_sheet_is_text(s->result, s->shown[s->n_shown - 1]))
		l->width[s->n_shown - 1] = 0;
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
	size_t left = i + 1 == l->sheet->n_shown ? l->left :
		      l->sheet->width ? (size_t)l->width[i] : 0;
	size_t indent = 2 * (size_t)depth;

	fputs("  ", to);
	if (depth > MAX_INDENT)
		indent = (size_t)fprintf(to, "%*s(%u) ", 2 * MAX_INDENT, "", depth);
	else
		fprintf(to, "%*s", (int)indent, "");
	print_padded(to, text, l->width[i], left > indent ? left - indent : left != 0);
}

static void print_cell(FILE *to, const struct layout *l, size_t i, size_t row)
{
	const struct flick_rows *r = l->sheet->result;
	size_t column = l->sheet->shown[i];
	uint64_t v = r->cells[row * r->n_columns + column];
	const char *colour = "";
	char text[32];

	switch ((int)r->columns[column].type) {
	case FLICK_COL_FUNCTION:
	case FLICK_COL_TEXT:
		print_text(to, l, i, row, fl_sheet_text(l->sheet, column, v));
		return;
	case FLICK_COL_NS:
		fl_text_time(text, v);
		colour = l->sheet->colour ? fl_colour_of(v) : "";
		break;
	case FL_COL_CHANGE:
	case FL_COL_CHANGE_NS:
		print_change(text, v, (int)r->columns[column].type == FL_COL_CHANGE_NS);
		break;
	default:
		if (v == FLICK_NONE)
			snprintf(text, sizeof(text), "-");
		else if (fl_sheet_is_estimate(l->sheet, row, column))
			snprintf(text, sizeof(text), "~%llu", (unsigned long long)v);
		else
			snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	}
	fprintf(to, "  %s%*s%s", colour, l->width[i], text, *colour ? FL_PLAIN : "");
}

static void print_share(FILE *to, const struct layout *l, size_t i, size_t row)
{
	double share = fl_sheet_share(l->sheet, row);

	if (share < 0)
		fprintf(to, "  %*s", l->width[i], "-");
	else
		fprintf(to, "  %*.2f", l->width[i], share);
}

static void print_titles(FILE *to, const struct layout *l)
{
	static const char rule[] = "========================================";
	const struct fl_sheet *s = l->sheet;

	fputs(s->colour ? FL_BOLD : "", to);
	for (size_t i = 0; i < s->n_shown; i++) {
		bool is_share = s->shown[i] == FL_SHOWN_SHARE;
		bool is_text = !is_share && fl_sheet_is_text(s->result, s->shown[i]);
		char title[64];

		title_of(s, s->shown[i], title);
		fprintf(to, is_text ? "  %-*s" : "  %*s", l->width[i], title);
	}
	fprintf(to, "%s\n", s->colour ? FL_PLAIN : "");
	for (size_t i = 0; i < s->n_shown; i++)
		fprintf(to, "  %.*s", l->width[i] ? l->width[i] : 20, rule);
	fputc('\n', to);
}

static void print_row(FILE *to, const struct layout *l, size_t row)
{
	for (size_t i = 0; i < l->sheet->n_shown; i++)
		if (l->sheet->shown[i] == FL_SHOWN_SHARE)
			print_share(to, l, i, row);
		else
			print_cell(to, l, i, row);
	fputc('\n', to);
}

static void write_text(FILE *to, const struct fl_sheet *sheet)
{
	struct fl_sheet s = *sheet;
	struct layout l;

	if (!s.n_shown)
		fl_sheet_show(&s, true);
	lay_out(&l, &s);
	if (s.note) {
		fputs(s.colour ? "  " FL_DIM : "  ", to);
		fl_print_plain(to, s.note);
		fputs(s.colour ? FL_PLAIN "\n\n" : "\n\n", to);
	}
	print_titles(to, &l);
	for (size_t row = 0; row < s.result->n_rows; row++)
		print_row(to, &l, row);
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

static uint64_t print_buckets(FILE *to, uint64_t n[BUCKETS])
{
	uint64_t max = 0, all = 0;
	int last = 0;

	n[1] += n[0];
	for (int b = 1; b < BUCKETS; b++) {
		all += n[b];
		if (n[b])
			last = b;
		if (n[b] > max)
			max = n[b];
	}
	fprintf(to, "     %-19s : count     distribution\n", "nsecs");
	for (int b = 1; b <= last; b++)
		print_bucket(to, b, n[b], max);
	return all;
}

/* As funclatency: of all calls that ended, so that average times count is the total,
 * also where they lay in one another. */
static void print_summary(FILE *to, const struct fl_sheet *s, uint64_t function, uint64_t n)
{
	const struct flick_rows *r = s->result;
	int avg = fl_sheet_column(r, "avg_ns"), sum = fl_sheet_column(r, "sum_ns");

	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[0] == function && row[avg] != FLICK_NONE)
			fprintf(to, "\navg = %llu nsecs, total: %llu nsecs, count: %llu\n",
				(unsigned long long)row[avg],
				(unsigned long long)row[sum], (unsigned long long)n);
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
		print_summary(to, latency, function, print_buckets(to, n));
	}
}
