/*
 * text.c - tables for a terminal: uftrace's, funccount's and funclatency's look.
 */
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

	if (ns == FL_NONE) {
		snprintf(out, 32, "%10s", "-");
		return;
	}
	while (ns >= units[u].below)
		u++;
	snprintf(out, 32, "%3u.%03u %s", (unsigned)(ns / units[u].unit),
		 (unsigned)(ns % units[u].unit * 1000 / units[u].unit),
		 units[u].name);
}

/* ---- the table of a report ---------------------------------------------------- */

struct heading {
	const char *column, *title, *title_sampled;	/* NULL: not shown */
};

/* Known columns in the order of the screen; others are shown by their names. */
static const struct heading latency_shown[] = {
	{ "total_ns", "Total time", NULL },
	{ "self_ns", "Self time", NULL },
	{ "avg_ns", NULL, "Avg time" },
	{ "p50_ns", NULL, "P50 time" },
	{ "p99_ns", NULL, "P99 time" },
	{ "max_ns", NULL, "Max time" },
	{ "calls", "Calls", "Samples" },
	{ "function", "Function", "Function" },
	{ 0 }
};
static const struct heading other_shown[] = {
	{ "from_ns", "From", "From" },
	{ "below_ns", "Below", "Below" },
	{ "calls", "Calls", "Samples" },
	{ "function", "Function", "Function" },
	{ 0 }
};

static const struct heading *headings_of(const struct fl_result *r)
{
	return fl_sheet_column(r, "total_ns") < 0 ? other_shown : latency_shown;
}

static void print_title(FILE *to, const char *title, bool is_function)
{
	if (is_function)
		fprintf(to, "  %s", title);
	else
		fprintf(to, "  %10s", title);
}

static void print_cell(FILE *to, const struct fl_sheet *s, size_t column,
		       uint64_t v)
{
	char text[32];

	switch (s->result->columns[column].type) {
	case FL_COL_FUNCTION:
		fprintf(to, "  %s", fl_sheet_function(s, v));
		break;
	case FL_COL_NS:
		fl_text_time(text, v);
		fprintf(to, "  %s", text);
		break;
	case FL_COL_COUNT:
		fprintf(to, "  %10llu", (unsigned long long)v);
		break;
	}
}

/* Visit the columns that are shown; row NULL prints the titles, `rule` a rule. */
static void print_line(FILE *to, const struct fl_sheet *s, const uint64_t *row,
		       const char *rule)
{
	for (const struct heading *h = headings_of(s->result); h->column; h++) {
		int c = fl_sheet_column(s->result, h->column);
		const char *title = s->sampled ? h->title_sampled : h->title;
		bool is_function;

		if (c < 0 || !title)
			continue;
		is_function = s->result->columns[c].type == FL_COL_FUNCTION;
		if (row)
			print_cell(to, s, (size_t)c, row[c]);
		else if (rule)
			fprintf(to, "  %s", is_function ? "====================" : rule);
		else
			print_title(to, title, is_function);
	}
	fputc('\n', to);
}

static void write_text(FILE *to, const struct fl_sheet *s)
{
	const struct fl_result *r = s->result;

	print_line(to, s, NULL, NULL);
	print_line(to, s, NULL, "==========");
	for (size_t i = 0; i < r->n_rows; i++)
		print_line(to, s, r->cells + i * r->n_columns, NULL);
}

const struct fl_exporter fl_exporter_text = {
	.name = "text",
	.about = "a table to read",
	.write = write_text,
};

/* ---- flick count ---------------------------------------------------------------- */

void fl_text_counts(FILE *to, const struct fl_sheet *s)
{
	const struct fl_result *r = s->result;
	int calls = fl_sheet_column(r, "calls");

	fprintf(to, "%-36s %8s\n", "FUNC", "COUNT");
	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		fprintf(to, "%-36s %8llu\n", fl_sheet_function(s, row[0]),
			(unsigned long long)row[calls]);
	}
}

/* ---- flick latency: one histogram a function ------------------------------------- */

#define STARS 40
#define BUCKETS 64			/* of spread: [0, 1), [1, 2), [2, 4), ... */

static int bucket_of(uint64_t from)
{
	return from ? 64 - __builtin_clzll(from) : 0;
}

/* The counts of one function's rows; returns how many rows they are. */
static size_t gather(const struct fl_result *r, size_t first, uint64_t n[BUCKETS])
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
	const struct fl_result *r = s->result;
	int avg = fl_sheet_column(r, "avg_ns"), total = fl_sheet_column(r, "total_ns");
	int calls = fl_sheet_column(r, "calls");

	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[0] == function && row[avg] != FL_NONE)
			fprintf(to, "\navg = %llu nsecs, total: %llu nsecs, count: %llu\n",
				(unsigned long long)row[avg],
				(unsigned long long)row[total],
				(unsigned long long)row[calls]);
	}
}

void fl_text_spread(FILE *to, const struct fl_sheet *spread,
		    const struct fl_sheet *latency)
{
	const struct fl_result *r = spread->result;
	uint64_t n[BUCKETS];

	for (size_t i = 0; i < r->n_rows;) {
		uint64_t function = r->cells[i * r->n_columns];

		fprintf(to, "\nFunction = %s\n", fl_sheet_function(spread, function));
		i += gather(r, i, n);
		print_buckets(to, n);
		print_summary(to, latency, function);
	}
}
