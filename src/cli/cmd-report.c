/*
 * cmd-report.c - flick report: show a recording.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const struct fl_option options[] = {
	{ 'a', "analysis", "NAME", "which result (the first one recorded)" },
	{ 's', "sort", "KEY", "by a column: total, self, calls, avg, p99, function, ..." },
	{ 'n', "lines", "N", "show the first N rows" },
	{ 0, "diff", "DIR", "compare: DIR is before, the other directory after" },
	{ 0, "format", "FORMAT", "text (default), csv or json" },
	{ 0 }
};
enum { ANALYSIS, SORT, LINES, DIFF, FORMAT };

struct wish {
	const char *dir, *before, *sort;
	char analysis[256];
	const struct fl_exporter *exporter;
	uint64_t lines;
};

/* A result with the recording that it is from. */
struct source {
	struct fl_store *store;
	struct flick_rows rows;
	struct fl_sheet sheet;
	char rate[256];
};

static const struct fl_exporter *find_exporter(const char *name)
{
	for (size_t i = 0; fl_exporters[i]; i++)
		if (!strcmp(fl_exporters[i]->name, name))
			return fl_exporters[i];
	fl_say("there is no format `%s`; there are text, csv and json", name);
	return NULL;
}

static int take(void *wish, const struct fl_option *o, const char *value)
{
	struct wish *w = wish;

	switch (o - options) {
	case ANALYSIS:
		snprintf(w->analysis, sizeof(w->analysis), "%s", value);
		return 0;
	case SORT:
		w->sort = value;
		return 0;
	case LINES:
		return fl_parse_number(o, value, 1, UINT32_MAX, &w->lines) ? 0 : -1;
	case DIFF:
		w->before = value;
		return 0;
	default:
		w->exporter = find_exporter(value);
		return w->exporter ? 0 : -1;
	}
}

/* ---- order ------------------------------------------------------------------- */

/* As keys: without their unit. */
static void name_columns(const struct flick_rows *r, char *out, size_t room)
{
	size_t n = 0;

	for (size_t c = 0; c < r->n_columns && n < room; c++) {
		const char *name = r->columns[c].name, *unit = strstr(name, "_ns");

		n += (size_t)snprintf(out + n, room - n, "%s%.*s", c ? ", " : "",
				      unit ? (int)(unit - name) : 64, name);
	}
}

/* The column of a key, which is its name, with or without its unit; NULL and a
 * line printed. */
static const char *column_of(const struct flick_rows *r, const char *key)
{
	char with_unit[64], columns[256];
	int c = fl_sheet_column(r, key);

	snprintf(with_unit, sizeof(with_unit), "%.60s_ns", key);
	if (c < 0)
		c = fl_sheet_column(r, with_unit);
	if (c < 0 && (!strcmp(key, "call") || !strcmp(key, "samples")))
		c = fl_sheet_column(r, "calls");
	if (c >= 0)
		return r->columns[c].name;
	name_columns(r, columns, sizeof(columns));
	fl_say("there is no column `%s` to sort by; there are %s", key, columns);
	return NULL;
}

/* Without a key: by time, else by calls, else by the first column; a spread as
 * it is drawn. */
static const char *default_column(const struct flick_rows *r)
{
	static const char *const keys[] = { "from_ns", "total_ns", "calls" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (fl_sheet_column(r, keys[i]) >= 0)
			return i ? keys[i] : "function";
	return r->columns[0].name;
}

static int sort(struct fl_sheet *sheet, const char *key)
{
	const char *column = key ? column_of(sheet->result, key) :
			     default_column(sheet->result);

	if (column && fl_sheet_sort(sheet, column))
		return 0;
	if (column)
		fl_say("out of memory for %zu rows", sheet->result->n_rows);
	return -1;
}

/* ---- one recording, or two ------------------------------------------------------ */

static void note_mode(struct source *from)
{
	char mode[256];

	if (!fl_store_value(from->store, "mode", mode))
		return;
	from->sheet.sampled = !strcmp(mode, "sampled");
	if (!strcmp(mode, "windows") && fl_store_value(from->store, "rate", from->rate))
		from->sheet.rate = from->rate;
}

static int load(struct source *from, const char *dir, char analysis[256])
{
	char why[FL_WHY] = "";

	if (fl_store_open(&from->store, dir, why)) {
		fl_say("%s", why);
		return -1;
	}
	if (!*analysis && !fl_store_value(from->store, "analysis", analysis))
		strcpy(analysis, "latency");
	if (fl_store_load(from->store, analysis, &from->rows, why)) {
		fl_say("%s", why);
		return -1;
	}
	from->sheet = (struct fl_sheet){ .result = &from->rows };
	from->sheet.functions = fl_store_functions(from->store, &from->sheet.n_functions);
	note_mode(from);
	return 0;
}

static void unload(struct source *from)
{
	if (from->sheet.result)
		fl_sheet_free(&from->sheet);
	fl_store_close(from->store);
}

static void write_sheet(const struct wish *w, struct fl_sheet *sheet)
{
	if (w->lines && sheet->result->n_rows > w->lines)
		sheet->result->n_rows = w->lines;
	w->exporter->write(stdout, sheet);
}

static int show(struct source *from, const struct wish *w)
{
	if (sort(&from->sheet, w->sort))
		return FL_EXIT_USAGE;
	write_sheet(w, &from->sheet);
	return FL_EXIT_WELL;
}

/* With a key that column alone, else time and calls. */
static int compare(struct source *before, struct source *after, const struct wish *w)
{
	const char *keys[] = { "total_ns", "calls", NULL };
	struct fl_diff *diff;

	if (w->sort) {
		keys[0] = column_of(&after->rows, w->sort);
		keys[1] = NULL;
		if (!keys[0])
			return FL_EXIT_USAGE;
	}
	if (before->sheet.sampled != after->sheet.sampled ||
	    !before->sheet.rate != !after->sheet.rate)
		fl_say("one of these is sampled, the other is not: their numbers differ for "
		       "that");
	if (fl_diff_make(&diff, &before->sheet, &after->sheet, keys)) {
		fl_say("there is nothing to compare in %s of %s and %s", w->analysis,
		       w->before, w->dir);
		return FL_EXIT_FAILED;
	}
	write_sheet(w, fl_diff_sheet(diff));
	fl_diff_free(diff);
	return FL_EXIT_WELL;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct wish w = { .dir = "flick.data", .exporter = fl_exporters[0] };
	struct source from = { 0 }, before = { 0 };
	int status = FL_EXIT_FAILED;

	if (fl_args_directory(cmd, argc, argv, &w.dir, take, &w))
		return FL_EXIT_USAGE;
	if (!load(&from, w.dir, w.analysis) &&
	    (!w.before || !load(&before, w.before, w.analysis)))
		status = w.before ? compare(&before, &from, &w) : show(&from, &w);
	if (status == FL_EXIT_WELL)
		*account = fl_store_account(from.store);
	unload(&before);
	unload(&from);
	return status;
}

const struct fl_cmd fl_cmd_report = {
	.name = "report",
	.args = "[OPTION...] [DIR]",
	.about = "Show what `flick record` kept in DIR (flick.data)",
	.more = "Total time counts what a function called, self time does not. Of a "
		"sampled\nrecording only the calls that were timed are shown. `--diff OLD NEW` "
		"compares the\nfunctions of two recordings by name.",
	.options = options,
	.run = run,
};
