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
	{ 0, "format", "FORMAT", "which of those below (text)" },
	FL_DEMANGLE_OPTION,
	{ 0 }
};
enum { ANALYSIS, SORT, LINES, DIFF, FORMAT, DEMANGLE };

struct wish {
	const char *dir, *before, *sort, *analysis;
	const struct fl_exporter *exporter;
	uint64_t lines;
	enum fl_demangle demangle;
};

/* What the numbers of a result are of. */
enum basis { EVERY_CALL, SAMPLES, WINDOWS };

/* A result with the recording that it is from. */
struct source {
	struct fl_store *store;
	struct flick_rows rows;
	struct fl_sheet sheet;
	struct fl_account account;
	enum basis basis;
	char rate[256];			/* of windows: percent of the time */
	char note[384];
};

static const struct fl_exporter *find_exporter(const char *name)
{
	char names[256] = "";
	size_t n = 0;

	for (size_t i = 0; fl_exporters[i] && n < sizeof(names); i++) {
		if (!strcmp(fl_exporters[i]->name, name))
			return fl_exporters[i];
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "",
				      fl_exporters[i]->name);
	}
	fl_say("there is no format `%s`; there are %s", name, names);
	return NULL;
}

static int take(void *wish, const struct fl_option *o, const char *value)
{
	struct wish *w = wish;

	switch (o - options) {
	case ANALYSIS:
		w->analysis = value;
		return 0;
	case SORT:
		w->sort = value;
		return 0;
	case LINES:
		return fl_parse_number(o, value, 1, UINT32_MAX, &w->lines) ? 0 : -1;
	case DIFF:
		w->before = value;
		return 0;
	case DEMANGLE:
		return fl_demangle_take(&w->demangle, value);
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
 * it is drawn. Of samples the self time is what is known. */
static const char *default_column(const struct fl_sheet *s)
{
	static const char *const keys[] = { "total_ns", "calls" };
	const bool is_latency = s->name && !strcmp(s->name, "latency");
	const bool is_spread = s->name && !strcmp(s->name, "spread");

	if (is_spread && fl_sheet_column(s->result, "function") >= 0)
		return "function";
	if (is_latency && s->sampled && fl_sheet_sum(s->result, "self_ns"))
		return "self_ns";
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (fl_sheet_column(s->result, keys[i]) >= 0)
			return keys[i];
	return s->result->columns[0].name;
}

static int sort(struct fl_sheet *sheet, const char *key)
{
	const char *column = key ? column_of(sheet->result, key) :
			     default_column(sheet);

	if (column && fl_sheet_sort(sheet, column))
		return 0;
	if (column)
		fl_say("out of memory for %zu rows", sheet->result->n_rows);
	return -1;
}

/* ---- one recording ---------------------------------------------------------------- */

/* Of a third party's result nobody knows which numbers are of calls; counts are
 * of every call, however it was recorded. */
static void find_basis(struct source *from, const char *analysis)
{
	char mode[256];

	from->sheet.name = fl_analysis_find(analysis) ? analysis : NULL;
	if (!strcmp(analysis, "counts") || !fl_store_value(from->store, "mode", mode))
		return;
	if (!strcmp(mode, "sampled"))
		from->basis = SAMPLES;
	if (!strcmp(mode, "windows") && fl_store_value(from->store, "rate", from->rate))
		from->basis = WINDOWS;
	from->sheet.sampled = from->basis == SAMPLES;
	from->sheet.estimated = from->basis == WINDOWS;
}

/* The first result, if none is wished for, or of what is compared the same. */
static int load(struct source *from, const char *dir, struct wish *w)
{
	const char **analysis = &w->analysis;
	char why[FL_WHY] = "";

	if (fl_store_open(&from->store, dir, why) ||
	    fl_store_demangle(from->store, w->demangle, why)) {
		fl_say("%s", why);
		return -1;
	}
	if (!*analysis)
		*analysis = fl_store_result(from->store, 0);
	if (!*analysis)
		*analysis = "latency";
	if (fl_store_account(from->store, &from->account, why) ||
	    fl_store_load(from->store, *analysis, &from->rows, why)) {
		fl_say("%s", why);
		return -1;
	}
	from->sheet = (struct fl_sheet){ .result = &from->rows };
	from->sheet.functions = fl_store_functions(from->store, &from->sheet.n_functions);
	from->sheet.full = fl_store_full_names(from->store);
	find_basis(from, *analysis);
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
	sheet->self_ns = fl_sheet_sum(sheet->result, "self_ns");
	sheet->width = fl_terminal_width();
	if (w->lines && sheet->result->n_rows > w->lines)
		sheet->result->n_rows = w->lines;
	w->exporter->write(stdout, sheet);
}

static bool has_estimates(const struct flick_rows *r)
{
	int calls = fl_sheet_column(r, "calls"), counted = fl_sheet_column(r, "counted");

	for (size_t i = 0; calls >= 0 && counted >= 0 && i < r->n_rows; i++)
		if (r->cells[i * r->n_columns + (size_t)counted] <
		    r->cells[i * r->n_columns + (size_t)calls])
			return true;
	return false;
}

/* What self times rest on. */
static void note_samples(struct source *from)
{
	char n[256] = "", by[256] = "";

	if (strcmp(from->sheet.name, "latency"))
		return;
	fl_store_value(from->store, "self", by);
	if (fl_store_value(from->store, "pc_samples", n) && strcmp(by, "samples"))
		snprintf(from->note, sizeof(from->note), "times are of the calls that were "
			 "timed; %.20s samples of the program counter are too few to tell self "
			 "times from (run it longer, or record --all)", n);
	else if (*n)
		snprintf(from->note, sizeof(from->note), "self times are CPU time, from %.20s "
			 "samples of the program counter; totals are elapsed, from the calls "
			 "that were timed (sampled)", n);
	else
		snprintf(from->note, sizeof(from->note), "times are of the calls that were "
			 "timed; the system gave no samples to tell self times from");
	if (has_estimates(&from->rows))
		strncat(from->note, "; calls marked ~ cost too much to count, and are "
			"estimated from some of them (counted)",
			sizeof(from->note) - strlen(from->note) - 1);
	from->sheet.note = from->note;
}

/* Which times are the processor's, and which the clock's. */
static void note_calls(struct source *from)
{
	char by[256], n[256];

	if (strcmp(from->sheet.name, "latency") || !fl_store_value(from->store, "self", by))
		return;
	if (!strcmp(by, "samples") && fl_store_value(from->store, "pc_samples", n))
		snprintf(from->note, sizeof(from->note), "self times are CPU time, from %.20s "
			 "samples of the program counter; others are elapsed, without what "
			 "probes took", n);
	else
		snprintf(from->note, sizeof(from->note), "all times are elapsed, %s what "
			 "probes took", strcmp(by, "raw") ? "without" : "with");
	from->sheet.note = from->note;
}

static int show(struct source *from, const struct wish *w)
{
	if (sort(&from->sheet, w->sort))
		return FL_EXIT_USAGE;
	if (from->basis == WINDOWS) {
		snprintf(from->note, sizeof(from->note), from->sheet.name ?
			 "sampled %.16s %%: calls and times are estimated from %.16s %% of "
			 "the time" : "sampled %.16s %%: made of the calls in %.16s %% of the "
			 "time", from->rate, from->rate);
		from->sheet.note = from->note;
	}
	if (from->basis == SAMPLES && from->sheet.name)
		note_samples(from);
	if (from->basis == EVERY_CALL && from->sheet.name)
		note_calls(from);
	write_sheet(w, &from->sheet);
	return FL_EXIT_WELL;
}

/* ---- two recordings -------------------------------------------------------------- */

/* What is compared: what -s names, if these are numbers. By a name's column, and
 * without -s, it is time and calls; samples say nothing of either, but of one call. */
static int choose_keys(const struct wish *w, const struct source *before,
		       const struct source *after, const char *keys[3])
{
	const bool sampled = before->basis == SAMPLES || after->basis == SAMPLES;
	const bool is_latency = !strcmp(w->analysis, "latency");
	const char *column = w->sort ? column_of(&after->rows, w->sort) : "function";

	if (!column)
		return -1;
	keys[0] = sampled && is_latency ? "avg_ns" : "total_ns";
	keys[1] = sampled && is_latency ? "p50_ns" : "calls";
	keys[2] = NULL;
	if (!strcmp(column, "function"))
		return 0;
	keys[0] = column;
	keys[1] = NULL;
	if (fl_sheet_has_numbers(&after->rows, column))
		return 0;
	fl_say("column `%s` holds no numbers to compare", column);
	return -1;
}

static const char *name_basis(const struct source *s, char out[64])
{
	if (s->basis == WINDOWS)
		snprintf(out, 64, "estimates from %.16s %% of the time", s->rate);
	else
		snprintf(out, 64, "%s", s->basis == SAMPLES ? "samples" : "every call");
	return out;
}

/* The note of a comparison; what cannot be compared is told as well. */
static void note_bases(const struct wish *w, const struct source *before,
		       struct source *after)
{
	char was[64], is[64];

	if (before->basis != after->basis)
		fl_say("%s is made of %s, %s of %s: their numbers differ for that",
		       w->before, name_basis(before, was), w->dir, name_basis(after, is));
	else if (after->basis == SAMPLES)
		snprintf(after->note, sizeof(after->note), "both are sampled: these are the "
			 "calls that were timed");
	else if (after->basis == WINDOWS)
		snprintf(after->note, sizeof(after->note), "both are sampled: before is made "
			 "of %s, after of %s", name_basis(before, was), name_basis(after, is));
}

static int compare(struct source *before, struct source *after, const struct wish *w)
{
	const char *keys[3];
	struct fl_diff *diff;
	struct fl_sheet *sheet;

	if (choose_keys(w, before, after, keys))
		return FL_EXIT_USAGE;
	if (fl_diff_make(&diff, &before->sheet, &after->sheet, keys)) {
		fl_say("there is nothing to compare in %s of %s and %s", w->analysis,
		       w->before, w->dir);
		return FL_EXIT_FAILED;
	}
	note_bases(w, before, after);
	sheet = fl_diff_sheet(diff);
	sheet->note = *after->note ? after->note : NULL;
	if (!w->sort || strcmp(w->sort, "function") || !sort(sheet, w->sort))
		write_sheet(w, sheet);
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
	if (!load(&from, w.dir, &w) && (!w.before || !load(&before, w.before, &w)))
		status = w.before ? compare(&before, &from, &w) : show(&from, &w);
	if (status == FL_EXIT_WELL)
		*account = from.account;
	unload(&before);
	unload(&from);
	return status;
}

static void list_formats(FILE *to)
{
	fputs("\nFormats:\n", to);
	for (size_t i = 0; fl_exporters[i]; i++)
		fprintf(to, "  %-26s %s\n", fl_exporters[i]->name, fl_exporters[i]->about);
}

const struct fl_cmd fl_cmd_report = {
	.name = "report",
	.args = "[OPTION...] [DIR]",
	.about = "Show what `flick record` kept in DIR (flick.data)",
	.more = "Total time counts what a function called, self time does not. Of a "
		"sampled\nrecording only the calls that were timed are shown. `--diff OLD NEW` "
		"compares the\nfunctions of two recordings by name.",
	.options = options,
	.list = list_formats,
	.run = run,
};
