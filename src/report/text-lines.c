/*
 * text-lines.c - what `flick count` and `flick latency` print: funccount's and
 * funclatency's look.
 */
#include <string.h>

#include "report/table.h"

/* Print the function's module, if functions of the sheet look alike. */
static void print_module(FILE *to, const struct fl_sheet *s, uint64_t function,
			 const char *before, const char *behind)
{
	const char *module = s->modules && function < s->n_functions ?
			     fl_modules_texts(s->modules)[function] : NULL;

	if (module) {
		fputs(before, to);
		fl_print_plain(to, module);
		fputs(behind, to);
	}
}

/* ---- flick count ---------------------------------------------------------------- */

void fl_text_counts(FILE *to, const struct fl_sheet *s)
{
	enum { NAME = 36, NUMBER = 9 };		/* columns */
	const struct flick_rows *r = s->result;
	int calls = fl_sheet_column(r, "calls");

	fprintf(to, "%-*s %8s%s\n", NAME, "FUNC", "COUNT", s->modules ? "  MODULE" : "");
	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		fl_print_padded(to, fl_sheet_function(s, row[0]), NAME,
			     s->width ? s->width > NUMBER ? s->width - NUMBER : 1 : 0);
		fprintf(to, " %8llu", (unsigned long long)row[calls]);
		print_module(to, s, row[0], "  ", "");
		fputc('\n', to);
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

/* Add up the counts of one function's rows. Returns how many rows these are. */
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

static uint64_t number_in(const struct flick_rows *r, size_t i, const char *column)
{
	int c = fl_sheet_column(r, column);

	return c < 0 ? FLICK_NONE : r->cells[i * r->n_columns + (size_t)c];
}

/* As funclatency does, take all calls that ended, also calls inside one another: so average
 * times count is the total. The sum has the time of open calls, too. What has not ended, or was
 * left by longjmp() or an exception, is in no histogram. */
static void print_summary(FILE *to, const struct flick_rows *r, size_t i, uint64_t n)
{
	uint64_t avg = number_in(r, i, "avg_ns"), sum = number_in(r, i, "sum_ns");
	uint64_t open = number_in(r, i, "open"), unknown = number_in(r, i, "unknown");

	if (open && open != FLICK_NONE)
		sum = avg * n;
	if (n && avg != FLICK_NONE)
		fprintf(to, "\navg = %llu nsecs, total: %llu nsecs, count: %llu\n",
			(unsigned long long)avg, (unsigned long long)sum,
			(unsigned long long)n);
	if (unknown && unknown != FLICK_NONE)
		fprintf(to, "not timed: %llu, open at the begin or the end, or left by longjmp "
			"or an exception\n", (unsigned long long)unknown);
}

static void print_function(FILE *to, const struct fl_sheet *s, uint64_t function)
{
	fputs(FUNCTION, to);
	fl_print_cut(to, fl_sheet_function(s, function), s->width > strlen(FUNCTION) ?
		     s->width - strlen(FUNCTION) + 1 : s->width);
	print_module(to, s, function, " [", "]");
	fputc('\n', to);
}

/* The row of a function; n_rows: it has none. */
static size_t find_own_row(const struct flick_rows *r, uint64_t function)
{
	size_t i = 0;

	while (i < r->n_rows && r->cells[i * r->n_columns] != function)
		i++;
	return i;
}

void fl_text_spread(FILE *to, const struct fl_sheet *spread,
		    const struct fl_sheet *latency)
{
	const struct flick_rows *r = spread->result, *times = latency->result;
	uint64_t n[BUCKETS], all;

	for (size_t i = 0, at; i < r->n_rows;) {
		uint64_t function = r->cells[i * r->n_columns];

		print_function(to, spread, function);
		i += gather(r, i, n);
		all = print_buckets(to, n);
		at = find_own_row(times, function);
		if (at < times->n_rows)
			print_summary(to, times, at, all);
	}
	for (size_t i = 0; i < times->n_rows; i++) {
		uint64_t function = times->cells[i * times->n_columns];
		uint64_t unknown = number_in(times, i, "unknown");

		if (!unknown || unknown == FLICK_NONE || find_own_row(r, function) < r->n_rows)
			continue;
		print_function(to, latency, function);
		print_summary(to, times, i, 0);
	}
}
