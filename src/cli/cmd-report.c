/*
 * cmd-report.c - flick report: show a recording.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "cli/cli.h"

struct wish {
	const char *dir, *before, *fields, *sort, *analysis, *callers;
	const char *by[FL_N_BYS];	/* --program, --thread */
	const char *annotate;
	struct fl_only only;
	unsigned format;		/* of fl_exporters */
	uint32_t rows;
	uint32_t number;		/* of a path; FL_NO_PATH: none */
	bool lines, raw, info;
	struct fl_part part;
	enum fl_demangle demangle;
	struct fl_screen screen;
};

static const char *each_format(size_t i)
{
	return fl_exporters[i] ? fl_exporters[i]->name : NULL;
}

static const char *each_key(size_t i);

/* NULL: of a third party's. */
static bool is_stacks(const char *analysis)
{
	return analysis && !strcmp(analysis, FL_STACKS);
}

static const char *each_result(size_t i)
{
	size_t n = 0;

	while (fl_analysis_each(n))
		n++;
	return i < n ? fl_analysis_each(i) :
	       i - n < FL_N_SAMPLED ? fl_sampled_results[i - n].name : NULL;
}

static int take_pattern(void *to, const struct fl_option *o, const char *value)
{
	struct fl_only *only = to;

	(void)o;
	if (only->n == ARRAY_LEN(only->patterns)) {
		fl_say("at most %zu times -P", ARRAY_LEN(only->patterns));
		return -1;
	}
	only->patterns[only->n++] = value;
	return 0;
}

#define AT(field) .at = offsetof(struct wish, field)

static const struct fl_option options[] = {
	{ 'a', "analysis", "NAME", "show this result (the first one recorded)",
	  fl_take_text, AT(analysis), .each = each_result },
	{ 'f', "fields", "KEY,...", "show these columns; +KEY,... also these; all, none",
	  fl_take_text, AT(fields), .each = each_key },
	{ 's', "sort", "KEY,...", "sort by columns: total, self, calls, p99, function, ...",
	  fl_take_text, AT(sort), .each = each_key },
	{ 'P', "only", "PATTERN", "show only functions [MODULE!]NAME, a glob; may be repeated",
	  take_pattern, AT(only) },
	{ 'n', "rows", "N", "show the first N rows",
	  fl_take_number, AT(rows), 1, UINT32_MAX },
	{ 0, "lines", NULL, "show the source lines of functions", fl_take_flag, AT(lines) },
	{ 0, "raw", NULL, "times as measured, with what the probes took",
	  fl_take_flag, AT(raw) },
	FL_PART_OPTION(struct wish, part),
	{ 0, "path", "N", "show the instructions of path N, of who has it most often",
	  fl_take_number, AT(number), 0, FL_PATHS_MOST },
	{ 0, "callers", "FUNCTION", "show who called FUNCTION, a glob, by samples of stacks",
	  fl_take_text, AT(callers) },
	{ 0, "program", "PROGRAM", "show the functions of a tree's PROGRAM, a glob, by samples",
	  fl_take_text, AT(by[FL_BY_PROGRAM]) },
	{ 0, "thread", "THREAD", "show the functions of THREAD, a glob or number, by samples",
	  fl_take_text, AT(by[FL_BY_TID]) },
	{ 0, "annotate", "FUNCTION", "show the source lines of FUNCTION, a glob, by samples",
	  fl_take_text, AT(annotate) },
	{ 0, "info", NULL, "show what was recorded, when and how, and no table",
	  fl_take_flag, AT(info) },
	{ 0, "diff", "DIR", "compare with DIR, which was recorded before",
	  fl_take_text, AT(before) },
	{ 0, "format", "FORMAT", "output format (text), see below",
	  fl_take_choice, AT(format), .each = each_format },
	FL_DEMANGLE_OPTION(struct wish, demangle),
	FL_SCREEN_OPTIONS(struct wish, screen),
	{ 0 }
};

/* What the numbers of a result are of. */
enum basis { EVERY_CALL, SAMPLES, WINDOWS };

/* A result with the recording that it is from. */
struct source {
	struct fl_store *store;
	struct flick_rows rows;
	struct fl_sheet sheet;
	enum basis basis;
	char rate[256];			/* of windows: percent of the time */
	bool raw;			/* times have what probes took */
	char note[1024];
};

static bool is_text(const struct wish *w)
{
	return !strcmp(fl_exporters[w->format]->name, "text");
}

#define MAX_KEYS 8
#define MAX_DIFFERENCES 4

/* ---- columns and order ------------------------------------------------------------ */

static int no_such_key(const struct fl_sheet *s, const char *key, const char *what)
{
	char keys[512];

	fl_sheet_keys(s, keys, sizeof(keys));
	fl_say("there is no column `%.*s` to %s; there are %s", (int)strcspn(key, ","), key,
	       what, keys);
	return -1;
}

/* The columns of a list of keys, at most as many as there is room for; how many, or -1
 * and a line printed. */
static int columns_of(const struct fl_sheet *s, const char *keys, size_t room,
		      const char **names)
{
	size_t n = 0;

	while (*keys && n < room) {
		size_t length = strcspn(keys, ",");
		int c = fl_sheet_key(s, keys, length);

		if (c == FL_SHOWN_SHARE)
			c = fl_sheet_column(s->result, fl_sheet_shared(s));
		if (c < 0)
			return no_such_key(s, keys, "sort by");
		names[n++] = s->result->columns[c].name;
		keys += length + (keys[length] == ',');
	}
	return (int)n;
}

static int sort(struct fl_sheet *sheet, const char *keys)
{
	const char *names[MAX_KEYS] = { fl_usual_order(sheet) };
	int n = keys && *keys ? columns_of(sheet, keys, MAX_KEYS, names) : 1;
	char list[MAX_KEYS * 65] = "";

	for (int i = 0; i < n; i++)
		strcat(strcat(list, i ? "," : ""), names[i]);
	if (n > 0 && fl_sheet_sort(sheet, list))
		return 0;
	if (n > 0)
		fl_say("out of memory for %zu rows", sheet->result->n_rows);
	return -1;
}

/* What rows are sorted by is seen. */
static int choose(const struct wish *w, struct fl_sheet *s, const char *sorted_by)
{
	const char *names[MAX_KEYS], *unknown = NULL;
	int n = sorted_by ? columns_of(s, sorted_by, MAX_KEYS, names) : 0;

	if (w->fields)
		unknown = fl_sheet_choose(s, w->fields);
	else if (is_text(w))
		fl_sheet_show(s);
	else
		fl_sheet_show_all(s);
	if (unknown)
		return no_such_key(s, unknown, "show");
	for (int i = 0; i < n; i++)
		fl_sheet_show_also(s, (size_t)fl_sheet_column(s->result, names[i]));
	return n < 0 ? -1 : 0;
}

/* ---- one recording ---------------------------------------------------------------- */

/* Of a third party's result nobody knows which numbers are of calls; counts are
 * of every call, however it was recorded. */
static void find_basis(struct source *from, const char *analysis)
{
	char mode[256];

	from->sheet.name = fl_analysis_find(analysis) || fl_is_of_samples(analysis) ?
			   analysis : NULL;
	if (!strcmp(analysis, "counts") || fl_is_of_samples(analysis) ||
	    !fl_store_value(from->store, "mode", mode, sizeof(mode)))
		return;
	if (!strcmp(mode, "sampled"))
		from->basis = SAMPLES;
	if (!strcmp(mode, "windows") &&
	    fl_store_value(from->store, "rate", from->rate, sizeof(from->rate)))
		from->basis = WINDOWS;
	from->sheet.sampled = from->basis == SAMPLES;
	from->sheet.estimated = from->basis == WINDOWS;
}

/* Of a part of its trace. 0 or -1 and a line printed. */
static int load_part(struct source *from, const char *dir, struct wish *w)
{
	static const char *const able[] = { "latency", "graph", "tree", "spread" };
	char mode[256] = "", why[FL_WHY];
	bool is_able = false;
	int status;

	for (size_t i = 0; w->analysis && i < ARRAY_LEN(able); i++)
		is_able |= !strcmp(w->analysis, able[i]);
	if (w->analysis && !is_able) {
		fl_say("--time-range has latency, graph, tree and spread, not %s", w->analysis);
		return -1;
	}
	w->analysis = w->analysis ? w->analysis : able[0];
	if (fl_trace_check(dir, why)) {
		fl_say("%s", why);
		return -1;
	}
	if (!fl_store_value(from->store, "mode", mode, sizeof(mode)) ||
	    strcmp(mode, "exhaustive")) {
		fl_say("%s: its trace has not every call; record --trace without --rate", dir);
		return -1;
	}
	status = fl_trace_rows(from->store, dir, w->analysis, &w->part, &from->rows, why);
	if (status)
		fl_say("%s", why);
	return status < 0 ? -1 : 0;
}

static int load_result(struct source *from, const char *dir, struct wish *w)
{
	const char **analysis = &w->analysis;
	const struct fl_sampled_result *sampled;
	char why[FL_WHY];

	if (w->part.is_given)
		return load_part(from, dir, w);
	if (!*analysis)
		*analysis = fl_store_result(from->store, 0);
	if (!*analysis)
		*analysis = "latency";
	sampled = fl_sampled_result(*analysis);
	if (sampled && sampled->had_by && !fl_store_has(from->store, *analysis))
		fl_why(why, dir, "has no result `%s`: %s", *analysis, sampled->had_by);
	else if (!(is_stacks(*analysis) ?
		   fl_stacks_load(from->store, dir, &from->rows, why) :
		   fl_store_load(from->store, *analysis, &from->rows, why)))
		return 0;
	fl_say("%s", why);
	return -1;
}

/* The first result, if none is wished for, or of what is compared the same. */
static int load(struct source *from, const char *dir, struct wish *w)
{
	char why[FL_WHY] = "";

	if (fl_store_open(&from->store, dir, why) ||
	    fl_store_demangle(from->store, w->demangle, why)) {
		fl_say("%s", why);
		return -1;
	}
	if (load_result(from, dir, w))
		return -1;
	from->sheet = (struct fl_sheet){ .result = &from->rows };
	if (fl_store_warn(from->store))
		return -1;
	from->raw = w->raw && fl_rows_make_raw(&from->rows);
	if (w->raw && fl_is_of_samples(w->analysis))
		fl_say("--raw is of calls that were timed; %s has CPU time, of samples",
		       w->analysis);
	else if (w->raw && !from->raw)
		fl_say("%s has no times as they were measured: record again",
		       w->analysis);
	from->sheet.functions = fl_store_functions(from->store, &from->sheet.n_functions);
	from->sheet.full = fl_store_full_names(from->store);
	find_basis(from, w->analysis);
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
	sheet->width = fl_terminal_width();
	sheet->colour = fl_screen_open(&w->screen);
	if (w->rows && sheet->result->n_rows > w->rows)
		sheet->result->n_rows = w->rows;
	fl_exporters[w->format]->write(stdout, sheet);
}

/* A line more above the table. */
__attribute__((format(printf, 2, 3)))
static void add_note(struct source *from, const char *format, ...)
{
	size_t n = strlen(from->note);
	va_list ap;

	if (n && n < sizeof(from->note) - 1)
		from->note[n++] = '\n';
	va_start(ap, format);
	vsnprintf(from->note + n, sizeof(from->note) - n, format, ap);
	va_end(ap);
	from->sheet.note = from->note;
}

/* Does a median say of some function that to be timed is a good part of its calls? */
static bool has_short(const struct flick_rows *r)
{
	enum { SHORT_NS = 500 };
	int p50 = fl_sheet_column(r, "p50_ns"), total = fl_sheet_column(r, "total_ns");

	for (size_t i = 0; p50 >= 0 && total >= 0 && i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[p50] < SHORT_NS && row[total] != FLICK_NONE)
			return true;
	}
	return false;
}

/* What self times rest on. */
static void note_samples(struct source *from)
{
	char n[256] = "", by[256] = "", preempted[256] = "";
	const char *but, *stacks = "", *other = "", *brief;

	if (strcmp(from->sheet.name, "latency"))
		return;
	if (fl_sheet_sum(&from->rows, "stack_samples")) {
		stacks = "\ntotals are, too, of calls of less than 0.5 us, of functions that "
			 "call themselves, and where timed calls tell less";
		other = "other ";
	}
	fl_store_value(from->store, "self", by, sizeof(by));
	fl_store_value(from->store, "preempted", preempted, sizeof(preempted));
	but = strcmp(preempted, "out") ? "" : "without what the scheduler took, ";
	brief = has_short(&from->rows) ?
		"of calls of less than 0.5 us totals may be several times too high, as to be "
		"timed makes them longer\n" : "";
	if (!fl_sheet_sum(&from->rows, "calls") && !strcmp(by, "samples") &&
	    fl_store_value(from->store, "pc_samples", n, sizeof(n)))
		snprintf(from->note, sizeof(from->note), "times are CPU time, from %.20s "
			 "samples of the program counter\nno calls were counted", n);
	else if (!fl_sheet_sum(&from->rows, "sampled"))
		snprintf(from->note, sizeof(from->note), "none of these calls ended, so no "
			 "time is known");
	else if (fl_store_value(from->store, "pc_samples", n, sizeof(n)) &&
		 strcmp(by, "samples"))
		snprintf(from->note, sizeof(from->note), "times are elapsed time, %sof the "
			 "calls that were timed (sampled)\n%s%.20s samples of the program "
			 "counter are too few to tell self times from (run it longer, or "
			 "record --all)", but, brief, n);
	else if (*n)
		snprintf(from->note, sizeof(from->note), "self times are CPU time, from %.20s "
			 "samples of the program counter%s\n%stotals are elapsed time, %sof "
			 "the calls that were timed (sampled)", n, stacks, other, but);
	else
		snprintf(from->note, sizeof(from->note), "times are elapsed time, %sof the "
			 "calls that were timed (sampled)\n%sthe system gave no samples to "
			 "tell self times from", but, brief);
	from->sheet.note = from->note;
}

/* Accesses and paths are of functions that have second bodies. */
static void note_watched(struct source *from)
{
	const char *name = from->sheet.name;
	char watched[256];

	if (!name || (strncmp(name, "cache", 5) && strcmp(name, "paths")) ||
	    !fl_store_value(from->store, "watched", watched, sizeof(watched)))
		return;
	snprintf(from->note, sizeof(from->note), "%s", watched);
	from->sheet.note = from->note;
}

/* Which times are the processor's, and which the clock's. */
static void note_calls(struct source *from, const struct wish *w)
{
	char by[256], n[256];

	if (w->part.is_given) {
		snprintf(from->note, sizeof(from->note), "calls that ended in this part, or "
			 "were open at its end; all times are elapsed");
		from->sheet.note = from->note;
		return;
	}
	if (strcmp(from->sheet.name, "latency") ||
	    !fl_store_value(from->store, "self", by, sizeof(by)))
		return;
	if (from->raw)
		snprintf(from->note, sizeof(from->note), "all times are elapsed, with what "
			 "probes took, but for quantiles");
	else if (!strcmp(by, "samples") &&
		 fl_store_value(from->store, "pc_samples", n, sizeof(n)))
		snprintf(from->note, sizeof(from->note), "self times are CPU time, from %.20s "
			 "samples of the program counter\nother times are elapsed time, "
			 "without what probes took", n);
	else
		snprintf(from->note, sizeof(from->note), "all times are elapsed, %s what "
			 "probes took", strcmp(by, "raw") ? "without" : "with");
	from->sheet.note = from->note;
}

/* Self times of samples have none of it, and a program may be there for most of its time. Those
 * of the clock have it: of every call where samples are few, and with --raw. */
static void note_kernel(struct source *from)
{
	uint64_t ns = 0, user = 0;
	char why[FL_WHY], by[256] = "";

	fl_store_value(from->store, "self", by, sizeof(by));
	if (from->basis == EVERY_CALL && (from->raw || strcmp(by, "samples")))
		return;
	if (fl_store_number(from->store, "kernel_ns", &ns, why) || !ns ||
	    fl_store_number(from->store, "user_ns", &user, why))
		return;
	add_note(from, "no self time has the kernel's part: %.2f s, %.0f %% of the program's "
		 "CPU time", (double)ns / 1e9, 100 * (double)ns / (double)(ns + user));
}

/* Where rows have no mark of it, as those of samples have. */
static void note_switched(struct source *from)
{
	char which[256];

	if (fl_sheet_column(&from->rows, "calls") >= 0 && !fl_is_of_samples(from->sheet.name) &&
	    fl_sheet_column(&from->rows, "switched") < 0 &&
	    fl_store_value(from->store, "switched", which, sizeof(which)))
		add_note(from, "calls and times of %s are of a part of the run: flick ctl "
			 "switched their probes meanwhile", which);
}

/* What the times of programs and threads are, and are not. */
static void note_by(struct source *from, const struct wish *w, const struct fl_by *by)
{
	const bool is_program = by == &fl_bys[FL_BY_PROGRAM];
	const char *one = w->by[by - fl_bys];
	char lost[256] = "0", whose[256];

	if (is_program)
		snprintf(whose, sizeof(whose), "in code of %.200s and %s libraries",
			 one ? one : "programs", one ? "its" : "their");
	else
		snprintf(whose, sizeof(whose), "of %.200s", one ? one : "threads");
	fl_store_value(from->store, "pc_lost", lost, sizeof(lost));
	add_note(from, "CPU time %s, from %" PRIu64 " samples of the program counter", whose,
		 fl_sheet_sum(&from->rows, "samples"));
	add_note(from, "time in the kernel, and in probes, is in none");
	if (!strcmp(from->sheet.name, by->all))
		add_note(from, "--%s NAME shows the functions of one", by->what);
	if (is_program && strcmp(lost, "0"))
		add_note(from, "%.20s samples were lost, and with them may be who executed "
			 "what", lost);
}

/* Processes that had no probes. Where samples are too few nothing tells of their calls. */
static void note_bare(struct source *from)
{
	char which[256], by[256] = "";

	if (strcmp(from->sheet.name, "latency") ||
	    !fl_store_value(from->store, "bare", which, sizeof(which)))
		return;
	fl_store_value(from->store, "self", by, sizeof(by));
	from->sheet.bare = !strcmp(by, "samples");
	add_note(from, "calls of processes without probes are %s: %s",
		 from->sheet.bare ? "estimated, by samples" : "not counted", which);
	if (from->sheet.bare)
		add_note(from, "where these have most samples totals are CPU time, too");
}

/* Total, average and calls do not multiply then. */
static void note_recursion(struct source *from)
{
	const struct flick_rows *r = &from->rows;
	int total = fl_sheet_column(r, "total_ns"), sum = fl_sheet_column(r, "sum_ns");

	for (size_t i = 0; total >= 0 && sum >= 0 && i < r->n_rows; i++) {
		uint64_t outermost = r->cells[i * r->n_columns + (size_t)total];
		uint64_t all = r->cells[i * r->n_columns + (size_t)sum];

		if (outermost == FLICK_NONE || all == FLICK_NONE || all <= outermost)
			continue;
		add_note(from, "of a function that calls itself Total is of the outermost "
			 "calls, Avg of all (-f +sum)");
		return;
	}
}

/* What windows do not tell. */
static void note_windows(struct source *from)
{
	const char *rate = from->rate;
	char by[256] = "", samples[256];
	int total = fl_sheet_column(&from->rows, "total_ns");
	size_t n = 0;

	for (size_t i = 0; total >= 0 && i < from->rows.n_rows; i++)
		n += from->rows.cells[i * from->rows.n_columns + (size_t)total] == FLICK_NONE;
	add_note(from,
		 "sampled %.16s %%: %s %.16s %% of the time, with what the scheduler took",
		 rate, !from->sheet.name ? "made of the calls in" :
		 strcmp(from->sheet.name, "latency") ? "calls and times are estimated from" :
		 "calls are exact, times are estimated from", rate);
	if (from->sheet.name && n)
		add_note(from, "%zu rows have no total: "
			 "calls outlast a window, lie in one another, or were in none", n);
	if (from->sheet.name && fl_sheet_column(&from->rows, "self_ns") >= 0 &&
	    fl_store_value(from->store, "self", by, sizeof(by)) && !strcmp(by, "samples") &&
	    fl_store_value(from->store, "pc_samples", samples, sizeof(samples)))
		add_note(from, "self times are CPU time, from %.20s samples of the program "
			 "counter", samples);
}

static int add_lines(struct source *from)
{
	const char *const *lines;
	char why[FL_WHY];

	if (fl_store_lines(from->store, &lines, why))
		fl_say("%s", why);
	else if (fl_sheet_add_texts(&from->sheet, "line",
				    fl_sheet_column(&from->rows, "function"), lines))
		return 0;
	else
		fl_say("--lines needs a result with functions");
	return -1;
}

/* For programs always, for people where rows would look alike. */
static int add_modules(struct source *from, const struct wish *w)
{
	const bool for_eyes = is_text(w);
	const struct fl_home *homes;
	struct fl_modules *modules;
	char why[FL_WHY] = "out of memory";

	if (for_eyes && !w->fields && !w->sort && !fl_sheet_has_twins(&from->sheet))
		return 0;
	if (!fl_store_homes(from->store, &homes, why)) {
		modules = fl_modules_make(&from->sheet, homes, for_eyes ?
					  FL_BY_BASE_NAME : FL_BY_PATH);
		if (modules && fl_sheet_add_modules(&from->sheet, modules))
			return 0;
	}
	fl_say("%s", why);
	return -1;
}

static void fit_stacks(struct source *from, const struct wish *w)
{
	const char *name = from->sheet.name;

	if (!is_stacks(name) && (!name || strcmp(name, FL_CALLERS)))
		return;
	fl_stacks_note(from->store, &from->sheet,
		       is_text(w) && !w->rows ? fl_stacks_fit(&from->sheet) : 0,
		       from->note, sizeof(from->note));
	from->sheet.note = from->note;
}

/* Addresses become lines. */
static int annotate(struct source *from, const char *functions)
{
	struct fl_annotated lines;
	char why[FL_WHY];

	if (fl_store_annotate(from->store, &from->sheet, &lines, why)) {
		fl_say("%s", why);
		return -1;
	}
	add_note(from, "CPU time of lines of %.200s, from %" PRIu64 " samples of the program "
		 "counter", functions, fl_sheet_sum(&from->rows, "samples"));
	if (lines.unknown)
		add_note(from, "of %" PRIu64 " the line is not known: they stood in code of no "
			 "file, or in second bodies of processes that had ended",
			 lines.unknown);
	if (lines.bare)
		add_note(from, "of %" PRIu64 " the file tells no line, but an address (compile "
			 "with -g)", lines.bare);
	if (lines.changed)
		add_note(from, "%.400s has changed since, or is gone: of its lines addresses "
			 "are left", lines.changed);
	if (lines.newer)
		add_note(from, "%.400s is newer than the program: lines may have moved in it",
			 lines.newer);
	from->sheet.whole = fl_sheet_sum(&from->rows, "self_ns");
	return 0;
}

static int show(struct source *from, const struct wish *w)
{
	const struct fl_by *by = fl_by_of(from->sheet.name);
	char active[256];

	if (by && w->by[by - fl_bys] && fl_report_by(&from->sheet, by, w->by[by - fl_bys]))
		return FL_EXIT_FAILED;
	/* Samples of stacks are in as many totals as they have calls. */
	from->sheet.whole = fl_sheet_sum(&from->rows, is_stacks(from->sheet.name) ? "self_ns" :
					 fl_sheet_shared(&from->sheet));
	if (w->callers && fl_stacks_callers(from->store, &from->sheet, w->callers))
		return FL_EXIT_FAILED;
	if (from->basis == WINDOWS)
		note_windows(from);
	if (from->basis == SAMPLES && from->sheet.name) {
		note_samples(from);
		note_bare(from);
	}
	if (from->basis == EVERY_CALL && from->sheet.name)
		note_calls(from, w);
	if (from->raw && from->basis != EVERY_CALL)
		add_note(from, "averages have what probes took");
	if (from->sheet.name && !strcmp(from->sheet.name, "latency") && !w->part.is_given)
		note_kernel(from);
	if (by)
		note_by(from, w, by);
	note_recursion(from);
	if (from->sheet.name)
		note_switched(from);
	note_watched(from);
	/* what stands above is of all */
	if (w->only.n && fl_report_only(from->store, &from->sheet, &w->only))
		return FL_EXIT_FAILED;
	if (w->annotate && annotate(from, w->annotate))
		return FL_EXIT_FAILED;
	if ((w->lines && add_lines(from)) || add_modules(from, w))
		return FL_EXIT_FAILED;
	if (sort(&from->sheet, w->sort) || choose(w, &from->sheet, w->sort))
		return FL_EXIT_USAGE;
	fit_stacks(from, w);
	if (w->number != FL_NO_PATH)
		return fl_report_path(from->store, &from->sheet, w->number, w->rows);
	if (from->rows.n_rows || !is_text(w))
		write_sheet(w, &from->sheet);
	else if (fl_store_value(from->store, "active", active, sizeof(active)) &&
		 !strcmp(active, "0"))
		puts("no function had a probe, and samples of the program's own code are too "
		     "few to tell");
	else
		puts(w->part.is_given ? "no function with a probe was called in that time" :
					"no function with a probe was called");
	return FL_EXIT_WELL;
}

/* ---- two recordings -------------------------------------------------------------- */

/* What rows are called by: functions, pairs of them and functions of a program by these, others
 * by the first text that they have. */
static const char *naming_column(const struct source *s)
{
	const struct flick_rows *r = &s->rows;

	for (size_t c = 0; fl_sheet_column(r, "function") < 0 && c < r->n_columns; c++)
		if (r->columns[c].type == FLICK_COL_TEXT)
			return r->columns[c].name;
	return "function";
}

/* Does -s name that? */
static bool is_by_name(const struct wish *w, const struct source *s)
{
	const char *sort = w->sort ? w->sort : "";
	int c = fl_sheet_key(&s->sheet, sort, strcspn(sort, ","));

	return c >= 0 && c == fl_sheet_column(&s->rows, naming_column(s));
}

/* Numbers that both have, whatever -s names of others. */
static bool can_compare(const char *keys, const struct source *before,
			const struct source *after)
{
	const struct flick_rows *r = &after->rows;
	char can[512];
	size_t at = (size_t)snprintf(can, sizeof(can), "%.64s", naming_column(after));

	while (*keys && fl_sheet_key(&after->sheet, keys, strcspn(keys, ",")) >= 0)
		keys += strcspn(keys, ",") + (keys[strcspn(keys, ",")] == ',');
	for (size_t c = 0; *keys && c < r->n_columns && at < sizeof(can); c++) {
		const char *name = r->columns[c].name, *unit = strstr(name, "_ns");

		if (fl_sheet_has_numbers(&after->rows, name) &&
		    fl_sheet_has_numbers(&before->rows, name))
			at += (size_t)snprintf(can + at, sizeof(can) - at, ", %.*s",
					       unit ? (int)(unit - name) : 64, name);
	}
	if (*keys)
		fl_say("there is no column `%.*s` to compare; there are %s",
		       (int)strcspn(keys, ","), keys, can);
	return !*keys;
}

/* Time and calls; where not every call was timed, times of one call. Samples of the program
 * counter tell of no calls. */
static void choose_usual(const char *analysis, const struct source *before,
			 const struct source *after, const char *keys[2])
{
	bool one = (before->basis == SAMPLES || after->basis == SAMPLES) &&
		   !strcmp(analysis, "latency");

	keys[0] = fl_by_of(analysis) ? "self_ns" : one ? "avg_ns" : "total_ns";
	keys[1] = fl_by_of(analysis) ? "samples" : one ? "p50_ns" :
		  is_stacks(analysis) ? "self_ns" : "calls";
}

/* What is compared: what -s names, if these are numbers. By the names of rows, and without
 * -s, it is what is usual. */
static int choose_keys(const struct wish *w, const struct source *before,
		       const struct source *after, const char *keys[MAX_KEYS + 1])
{
	const char *sort = w->sort ? w->sort : "";
	int n;

	if (!can_compare(sort, before, after))
		return -1;
	n = columns_of(&after->sheet, sort, MAX_DIFFERENCES, keys);
	if (n < 0)
		return -1;
	if (n == 0 || is_by_name(w, after)) {
		choose_usual(w->analysis, before, after, keys);
		n = 2;
	} else {
		for (int i = 0; i < n; i++) {
			if (fl_sheet_has_numbers(&after->rows, keys[i]))
				continue;
			fl_say("column `%s` holds no numbers to compare", keys[i]);
			return -1;
		}
	}
	keys[n] = NULL;
	return 0;
}

static const char *name_basis(const struct source *s, char out[64])
{
	if (s->basis == WINDOWS)
		snprintf(out, 64, "estimates from %.16s %% of the time", s->rate);
	else
		snprintf(out, 64, "%s", s->basis == SAMPLES ? "a few calls that were timed" :
			 "times of every call");
	return out;
}

/* The note of a comparison; what cannot be compared is told as well. */
static void note_bases(const struct wish *w, const struct source *before,
		       struct source *after)
{
	char was[256], is[256];

	if (fl_by_of(w->analysis))
		snprintf(after->note, sizeof(after->note), "CPU time %s, from %" PRIu64
			 " samples of the program counter before, and %" PRIu64 " after",
			 fl_by_of(w->analysis) == &fl_bys[FL_BY_PROGRAM] ?
			 "in code of programs and their libraries" : "of threads",
			 fl_sheet_sum(&before->rows, "samples"),
			 fl_sheet_sum(&after->rows, "samples"));
	else if (is_stacks(w->analysis) &&
		 fl_store_value(before->store, "pc_samples", was, sizeof(was)) &&
		 fl_store_value(after->store, "pc_samples", is, sizeof(is)))
		snprintf(after->note, sizeof(after->note), "CPU time, from %.20s samples of "
			 "the program counter before, and %.20s after", was, is);
	if (before->basis != after->basis)
		fl_say("%s has %s and %s has %s: some of the change is due to that",
		       w->before, name_basis(before, was), w->dir, name_basis(after, is));
	else if (after->basis == SAMPLES)
		snprintf(after->note, sizeof(after->note), "both are sampled: times are of the "
			 "calls that were timed, a few of all");
	else if (after->basis == WINDOWS)
		snprintf(after->note, sizeof(after->note), "both are sampled: before has %s, "
			 "after has %s", name_basis(before, was), name_basis(after, is));
}

static int compare(struct source *before, struct source *after, const struct wish *w)
{
	const char *keys[MAX_KEYS + 1];
	const char *names = naming_column(after);
	struct fl_diff *diff;
	struct fl_sheet *sheet;
	int err;

	if (choose_keys(w, before, after, keys))
		return FL_EXIT_USAGE;
	if (fl_diff_make(&diff, &before->sheet, &after->sheet, keys, names)) {
		fl_say("results `%s` of %s and %s have nothing to compare", w->analysis,
		       w->before, w->dir);
		return FL_EXIT_FAILED;
	}
	note_bases(w, before, after);
	sheet = fl_diff_sheet(diff);
	sheet->note = *after->note ? after->note : NULL;
	err = (is_by_name(w, after) && sort(sheet, names)) || choose(w, sheet, NULL);
	if (!err)
		write_sheet(w, sheet);
	fl_diff_free(diff);
	return err ? FL_EXIT_USAGE : FL_EXIT_WELL;
}

/* What is of one recording alone. */
static int check_compared(const struct wish *w)
{
	const char *of_one = w->lines ? "lines" : w->part.is_given ? "time-range" :
			     w->number != FL_NO_PATH ? "path" : w->callers ? "callers" :
			     w->only.n ? "only" : w->by[FL_BY_PROGRAM] ? "program" :
			     w->by[FL_BY_TID] ? "thread" : w->annotate ? "annotate" : NULL;

	if (of_one)
		fl_say("--%s cannot be used with --diff", of_one);
	return of_one ? -1 : 0;
}

/* Options that show a result of samples, in place of one that -a names. */
static const struct view {
	const char *option, *result;
	size_t at;			/* of its text in a wish */
	bool names_functions;
} views[] = {
	{ "callers", FL_STACKS, offsetof(struct wish, callers), true },
	{ "program", FL_PROGRAM_FUNCTIONS, offsetof(struct wish, by[FL_BY_PROGRAM]), false },
	{ "thread", FL_THREAD_FUNCTIONS, offsetof(struct wish, by[FL_BY_TID]), false },
	{ "annotate", FL_PLACES, offsetof(struct wish, annotate), true },
};

static int choose_view(struct wish *w)
{
	const struct view *view = NULL;
	const char *with = NULL;

	for (size_t i = 0; i < ARRAY_LEN(views) && !with; i++) {
		if (!*(const char *const *)((const char *)w + views[i].at))
			continue;
		with = view ? views[i].option : NULL;
		view = view ? view : &views[i];
	}
	if (!view)
		return 0;
	with = with ? with : w->part.is_given ? "time-range" :
	       w->analysis && strcmp(w->analysis, view->result) ? "analysis" :
	       view->names_functions && w->only.n ? "only" :
	       w->annotate && w->lines ? "lines" : NULL;
	w->analysis = view->result;
	if (with)
		fl_say("--%s shows what samples tell: it cannot be used with --%s%s",
		       view->option, with, strcmp(with, "only") ? "" :
		       " (-P): name the functions there");
	return with ? -1 : 0;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct wish w = { .dir = "flick.data", .number = FL_NO_PATH };
	struct source from = { 0 }, before = { 0 };
	int status = FL_EXIT_FAILED;

	(void)account;			/* nothing is recorded here */
	if (fl_args_directory(cmd, argc, argv, &w.dir, &w))
		return FL_EXIT_USAGE;
	if (w.info)
		return fl_report_info(w.dir);
	if (w.before && check_compared(&w))
		return FL_EXIT_USAGE;
	if (choose_view(&w))
		return FL_EXIT_USAGE;
	if (w.annotate)
		w.only = (struct fl_only){ .patterns = { w.annotate }, .n = 1 };
	if (!load(&from, w.dir, &w) && (!w.before || !load(&before, w.before, &w)))
		status = w.before ? compare(&before, &from, &w) : show(&from, &w);
	unload(&before);
	unload(&from);
	return status;
}

/* Of the recording that is shown if no other is named. */
static const char *each_key(size_t i)
{
	static char keys[512], key[64];
	struct wish w = { .dir = "flick.data" };
	struct source from = { 0 };
	const char *at = keys;

	if (!i && !load(&from, w.dir, &w))
		fl_sheet_keys(&from.sheet, keys, sizeof(keys));
	unload(&from);
	for (; i && *at; i--)
		at += strcspn(at, " ") + strspn(at + strcspn(at, " "), " ");
	snprintf(key, sizeof(key), "%.*s", (int)strcspn(at, ", "), at);
	return *key ? key : NULL;
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
	.about = "Show a recording as a table, of DIR (flick.data)",
	.more = "Total time includes the functions that a function calls, self time does "
		"not. A KEY\nis a column of the result (see --format=csv), without its unit. "
		"`--diff OLD NEW`\ncompares the functions of two recordings by name.",
	.options = options,
	.list = list_formats,
	.run = run,
};
