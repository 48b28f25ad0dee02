/*
 * cmd-dump.c - flick dump: a recording for other programs' eyes.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct wish {
	const char *dir, *output;
	unsigned format;		/* of fl_dumpers */
	uint64_t limit;
	bool raw;
	struct fl_part part;
	enum fl_demangle demangle;
};

static const char *each_format(size_t i)
{
	return fl_dumpers[i] ? fl_dumpers[i]->name : NULL;
}

/* Bytes; K, M, G and T are powers of 1,000. */
static int take_size(void *to, const struct fl_option *o, const char *text)
{
	static const char units[] = "KMGT";
	char *end;
	double v = strtod(text, &end);
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;

	for (long i = 0; unit && i <= unit - units; i++)
		v *= 1000;
	end += unit != NULL;
	if (*text >= '0' && *text <= '9' && !*end && v >= 1 && v < 1e18) {
		*(uint64_t *)to = (uint64_t)v;
		return 0;
	}
	fl_say("--%s takes a size, as in 500M or 2G, not `%s`", o->name, text);
	return -1;
}

#define AT(field) .at = offsetof(struct wish, field)

static const struct fl_option options[] = {
	{ 0, "format", "FORMAT", "output format (folded), see below",
	  fl_take_choice, AT(format), .each = each_format },
	{ 'o', "output", "FILE", "write to FILE, not to standard output",
	  fl_take_text, AT(output) },
	{ 0, "limit", "SIZE", "of chrome, end near SIZE, as in 500M or 2G",
	  take_size, AT(limit) },
	{ 0, "raw", NULL, "times as measured, with what the probes took",
	  fl_take_flag, AT(raw) },
	FL_PART_OPTION(struct wish, part),
	FL_DEMANGLE_OPTION(struct wish, demangle),
	{ 0 }
};

/* ---- the tree --------------------------------------------------------------------- */

/* The tree as it was recorded, else made from the trace, else of samples of stacks. Returns as
 * a dumper's write does. */
static int load_tree(struct fl_dump *d, struct flick_rows *rows)
{
	d->tree->name = "tree";
	if (!d->part && fl_store_has(d->store, "tree"))
		return fl_store_load(d->store, "tree", rows, d->why);
	if (d->part && fl_trace_check(d->dir, d->why))
		return -1;
	if (d->part || fl_trace_exists(d->dir))
		return fl_trace_rows(d->store, d->dir, "tree", d->part, rows, d->why);
	d->tree->name = FL_STACKS;
	return fl_stacks_load(d->store, d->dir, rows, d->why);
}

/* Arrange the tree as dumpers take for granted. 0 or -1 with `why` filled. */
static int arrange_tree(struct fl_dump *d)
{
	const struct flick_rows *r = d->tree->result;
	const bool is_stacks = !strcmp(d->tree->name, FL_STACKS);
	const char *const numbers[] = { "self_ns", is_stacks ? "samples" : "calls" };
	bool sound = fl_sheet_column(r, "function") >= 0;

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		sound = sound && fl_sheet_has_numbers(r, numbers[i]);
	if (sound && r->n_rows == 0)
		return *d->why ? -1 : fl_why(d->why, d->dir, "its call tree is empty");
	if (sound && !fl_sheet_sort(d->tree, "function"))
		return fl_why(d->why, d->dir, "out of memory");
	if (!sound || !d->tree->depth || r->n_rows == 0)
		return fl_why(d->why, d->dir, "damaged: record again");
	return 0;
}

static int dump_tree(struct fl_dump *d, const struct fl_dumper *dumper)
{
	struct flick_rows rows = { 0 };
	struct fl_sheet sheet = { .result = &rows };
	int status, err;

	d->tree = &sheet;
	status = load_tree(d, &rows);
	if (status < 0)
		return status;
	if (d->raw)
		fl_rows_make_raw(&rows);
	sheet.functions = fl_store_functions(d->store, &sheet.n_functions);
	err = arrange_tree(d);
	if (!err)
		err = dumper->write(d);
	fl_sheet_free(&sheet);
	return err ? err : status;
}

/* ---- the command --------------------------------------------------------------------- */

static int close_output(struct fl_dump *d)
{
	bool failed;

	if (!d->to || d->to == stdout)
		return 0;
	failed = ferror(d->to);
	if (!fclose(d->to) && !failed)
		return 0;
	fl_say("%s: %s", d->output, strerror(errno ? errno : EIO));
	return -1;
}

/* A small output needs no word. */
static void say_size(uint64_t bytes)
{
	const bool is_large = bytes >= 1000000000;

	if (bytes >= 100000000)
		fl_say("the output will be about %.1f %s; --limit=SIZE writes the first part",
		       (double)bytes / (is_large ? 1e9 : 1e6), is_large ? "GB" : "MB");
}

static int dump(const struct wish *w, struct fl_store *store)
{
	const struct fl_dumper *dumper = fl_dumpers[w->format];
	struct fl_dump d = { .output = w->output, .store = store, .dir = w->dir,
			     .raw = w->raw, .limit = w->limit,
			     .part = w->part.is_given ? &w->part : NULL,
			     .about_to_write = w->limit ? NULL : say_size };
	char title[256];
	int status;

	if (!fl_store_value(store, "command", title, sizeof(title)))
		snprintf(title, sizeof(title), "flick");
	d.title = title;
	status = dumper->from == FL_FROM_TREE ? dump_tree(&d, dumper) : dumper->write(&d);
	if (status && !(d.to && ferror(d.to)))	/* that is told when it is closed */
		fl_say("%s", d.why);
	if (d.cut)
		fl_say("some stacks are too deep to be shown, and were cut");
	if (d.limited)
		fl_say("this is the first part: --limit leaves out later calls");
	return close_output(&d) || status ? FL_EXIT_FAILED : FL_EXIT_WELL;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct wish w = { .dir = "flick.data" };
	struct fl_store *store = NULL;
	char why[FL_WHY] = "";
	int status;

	(void)account;			/* nothing is recorded here */
	if (fl_args_directory(cmd, argc, argv, &w.dir, &w))
		return FL_EXIT_USAGE;
	if (w.limit && fl_dumpers[w.format]->from != FL_FROM_TRACE) {
		fl_say("--limit is used with --format=chrome only");
		return FL_EXIT_USAGE;
	}
	if (fl_store_open(&store, w.dir, why) || fl_store_demangle(store, w.demangle, why)) {
		fl_store_close(store);
		fl_say("%s", why);
		return FL_EXIT_FAILED;
	}
	status = fl_store_warn(store) ? FL_EXIT_FAILED : dump(&w, store);
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
		"kept in\nDIR (flick.data), else of the samples of a recording without "
		"options; chrome of\nwhat --trace kept.",
	.options = options,
	.list = list_formats,
	.run = run,
};
