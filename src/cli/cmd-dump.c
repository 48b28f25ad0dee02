/*
 * cmd-dump.c - flick dump: a recording for other programs' eyes.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const struct fl_option options[] = {
	{ 0, "format", "FORMAT", "which of those below (folded)" },
	{ 'o', "output", "FILE", "write to FILE, not to standard output" },
	{ 0 }
};
enum { FORMAT, OUTPUT };

struct wish {
	const char *dir, *output;
	const struct fl_dumper *dumper;
};

static const struct fl_dumper *find_dumper(const char *name)
{
	const char *names[16], *near;
	size_t n = 0;

	for (; fl_dumpers[n] && n < ARRAY_LEN(names); n++) {
		if (!strcmp(fl_dumpers[n]->name, name))
			return fl_dumpers[n];
		names[n] = fl_dumpers[n]->name;
	}
	near = fl_nearest(name, names, n);
	fl_say("there is no format `%s`; %s", name, near ? near :
	       "`flick dump --help` lists them");
	return NULL;
}

static int take(void *wish, const struct fl_option *o, const char *value)
{
	struct wish *w = wish;

	if (o - options == OUTPUT) {
		w->output = value;
		return 0;
	}
	w->dumper = find_dumper(value);
	return w->dumper ? 0 : -1;
}

/* ---- the tree --------------------------------------------------------------------- */

/* As it was recorded, else made from the trace. As a dumper's write. */
static int load_tree(struct fl_dump *d, struct flick_rows *rows)
{
	char why[FL_WHY] = "";
	int status;

	if (!fl_store_load(d->store, "tree", rows, why))
		return 0;
	status = fl_trace_tree(d->store, d->dir, rows, d->why);
	if (status < 0)
		snprintf(d->why, FL_WHY, "%s: holds no tree, nor a trace to make one of; "
			 "record with -a tree or --trace", d->dir);
	return status;
}

static int dump_tree(struct fl_dump *d, const struct fl_dumper *dumper)
{
	struct flick_rows rows = { 0 };
	struct fl_sheet sheet = { .result = &rows };
	int status = load_tree(d, &rows), err;

	if (status < 0)
		return status;
	sheet.functions = fl_store_functions(d->store, &sheet.n_functions);
	d->tree = &sheet;
	if (!rows.n_rows || !fl_sheet_sort(&sheet, "function")) {
		snprintf(d->why, FL_WHY, "%s: its tree is empty", d->dir);
		status = -1;
	} else {
		err = dumper->write(d);
		status = err ? err : status;
	}
	fl_sheet_free(&sheet);
	return status;
}

/* ---- the command --------------------------------------------------------------------- */

/* What was there is said even when it is not all. */
static int dump(const struct wish *w, struct fl_store *store, FILE *to)
{
	struct fl_dump d = { .to = to, .store = store, .dir = w->dir };
	char title[256];
	int status;

	if (!fl_store_value(store, "command", title))
		snprintf(title, sizeof(title), "flick");
	d.title = title;
	status = w->dumper->from == FL_FROM_TREE ? dump_tree(&d, w->dumper) :
		 w->dumper->write(&d);
	if (status && !ferror(to))		/* that is told when it is closed */
		fl_say("%s", d.why);
	if (d.cut)
		fl_say("some of it is too deep to be shown and was cut");
	return status ? FL_EXIT_FAILED : FL_EXIT_WELL;
}

static int close_output(const char *name, FILE *to)
{
	bool failed;

	if (to == stdout)
		return 0;
	failed = ferror(to);
	if (!fclose(to) && !failed)
		return 0;
	fl_say("%s: %s", name, strerror(errno ? errno : EIO));
	return -1;
}

static int run_on(const struct wish *w, struct fl_store *store)
{
	FILE *to = w->output ? fopen(w->output, "we") : stdout;
	int status;

	if (!to) {
		fl_say("%s: %s", w->output, strerror(errno));
		return FL_EXIT_FAILED;
	}
	status = dump(w, store, to);
	return close_output(w->output, to) ? FL_EXIT_FAILED : status;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct wish w = { .dir = "flick.data", .dumper = fl_dumpers[0] };
	struct fl_store *store = NULL;
	char why[FL_WHY] = "";
	int status;

	if (fl_args_directory(cmd, argc, argv, &w.dir, take, &w))
		return FL_EXIT_USAGE;
	if (fl_store_open(&store, w.dir, why)) {
		fl_say("%s", why);
		return FL_EXIT_FAILED;
	}
	status = run_on(&w, store);
	if (status == FL_EXIT_WELL)
		*account = fl_store_account(store);
	fl_store_close(store);
	return status;
}

static void list_formats(FILE *to)
{
	fputs("\nFormats:\n", to);
	for (size_t i = 0; fl_dumpers[i]; i++)
		fprintf(to, "  %-26s %s\n", fl_dumpers[i]->name, fl_dumpers[i]->about);
}

const struct fl_cmd fl_cmd_dump = {
	.name = "dump",
	.args = "[OPTION...] [DIR]",
	.about = "Write a recording as a flame graph or for other viewers",
	.more = "folded and flame are made of what `record -a tree` or `record --trace` "
		"kept in\nDIR (flick.data), chrome of what --trace kept.",
	.options = options,
	.list = list_formats,
	.run = run,
};
