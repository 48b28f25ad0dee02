/*
 * cmd-report.c - flick report: show a recording.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const struct fl_option options[] = {
	{ 'a', "analysis", "NAME", "which result (the first one recorded)" },
	{ 's', "sort", "KEY", "total, self, calls, avg, min, max, p50, p90, p99, function" },
	{ 'n', "lines", "N", "show the first N rows" },
	{ 0, "format", "FORMAT", "text (default), csv or json" },
	{ 0 }
};
enum { ANALYSIS, SORT, LINES, FORMAT };

struct wish {
	const char *dir, *sort;
	char analysis[256];
	const struct fl_exporter *exporter;
	uint64_t lines;
};

static const struct fl_exporter *find_exporter(const char *name)
{
	for (size_t i = 0; fl_exporters[i]; i++)
		if (!strcmp(fl_exporters[i]->name, name))
			return fl_exporters[i];
	fl_say("there is no format `%s`; there are text, csv and json", name);
	return NULL;
}

static int take(struct wish *w, const struct fl_option *o, const char *value)
{
	switch (o - options) {
	case ANALYSIS:
		snprintf(w->analysis, sizeof(w->analysis), "%s", value);
		return 0;
	case SORT:
		w->sort = value;
		return 0;
	case LINES:
		return fl_parse_number(o, value, 1, UINT32_MAX, &w->lines) ? 0 : -1;
	default:
		w->exporter = find_exporter(value);
		return w->exporter ? 0 : -1;
	}
}

/* Options may stand before and behind the directory. */
static int parse(const struct fl_cmd *cmd, int argc, char **argv, struct wish *w)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	const struct fl_option *o;
	bool failed = false;
	int words = 0;

	do {
		while ((o = fl_args_next(&a, &failed)))
			if (take(w, o, a.value))
				return -1;
		if (failed)
			return -1;
		if (a.at < argc) {
			w->dir = argv[a.at++];
			words++;
		}
	} while (a.at < argc);
	if (words < 2)
		return 0;
	fl_say("one directory, please: flick report %s", cmd->args);
	return -1;
}

/* As keys: without their unit. */
static void name_columns(const struct fl_result *r, char *out, size_t room)
{
	size_t n = 0;

	for (size_t c = 0; c < r->n_columns && n < room; c++) {
		const char *name = r->columns[c].name, *unit = strstr(name, "_ns");

		n += (size_t)snprintf(out + n, room - n, "%s%.*s", c ? ", " : "",
				      unit ? (int)(unit - name) : 64, name);
	}
}

/* A key is a column's name, with or without its unit. */
static int sort(const struct fl_sheet *sheet, const char *key)
{
	char column[64], columns[256];

	if (!key)
		key = fl_sheet_column(sheet->result, "total_ns") < 0 ? "calls" : "total_ns";
	if (fl_sheet_sort(sheet, key))
		return 0;
	snprintf(column, sizeof(column), "%s_ns", key);
	if (fl_sheet_sort(sheet, column))
		return 0;
	if (!strcmp(key, "call") || !strcmp(key, "samples"))
		return fl_sheet_sort(sheet, "calls") ? 0 : -1;
	name_columns(sheet->result, columns, sizeof(columns));
	fl_say("there is no column `%s` to sort by; there are %s", key, columns);
	return -1;
}

static int show(struct fl_store *store, struct wish *w)
{
	struct fl_result result = { 0 };
	struct fl_sheet sheet = { .result = &result };
	char why[FL_WHY] = "", mode[256];
	int status = FL_EXIT_WELL;

	if (!*w->analysis && !fl_store_value(store, "analysis", w->analysis))
		strcpy(w->analysis, "latency");
	if (fl_store_load(store, w->analysis, &result, why)) {
		fl_say("%s", why);
		return FL_EXIT_FAILED;
	}
	sheet.functions = fl_store_functions(store, &sheet.n_functions);
	sheet.sampled = fl_store_value(store, "mode", mode) && !strcmp(mode, "sampled");
	if (sort(&sheet, strcmp(w->analysis, "spread") || w->sort ? w->sort : "function"))
		status = FL_EXIT_USAGE;
	if (w->lines && result.n_rows > w->lines)
		result.n_rows = w->lines;
	if (status == FL_EXIT_WELL)
		w->exporter->write(stdout, &sheet);
	free(result.cells);
	return status;
}

static uint64_t number(struct fl_store *store, const char *key)
{
	char value[256];

	return fl_store_value(store, key, value) ? strtoull(value, NULL, 10) : 0;
}

static struct fl_account read_account(struct fl_store *store)
{
	return (struct fl_account){
		.produced = number(store, "produced"),
		.delivered = number(store, "delivered"), .lost = number(store, "lost"),
		.active = number(store, "active"), .refused = number(store, "refused"),
		.due = true,
	};
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct wish w = { .dir = "flick.data", .exporter = fl_exporters[0] };
	struct fl_store *store = NULL;
	char why[FL_WHY] = "";
	int status;

	if (parse(cmd, argc, argv, &w))
		return FL_EXIT_USAGE;
	if (fl_store_open(&store, w.dir, why)) {
		fl_say("%s", why);
		return FL_EXIT_FAILED;
	}
	status = show(store, &w);
	if (status == FL_EXIT_WELL)
		*account = read_account(store);
	fl_store_close(store);
	return status;
}

const struct fl_cmd fl_cmd_report = {
	.name = "report",
	.args = "[OPTION...] [DIR]",
	.about = "Show what `flick record` kept in DIR (flick.data)",
	.more = "Total time counts what a function called, self time does not. Of a "
		"sampled\nrecording only the calls that were timed are shown.",
	.options = options,
	.run = run,
};
