/*
 * cmd-replay.c - flick replay: the calls of a trace, one after another.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define MAX_TIDS 64
#define MAX_DEPTH 0xfffffe

struct wish {
	const char *dir;
	struct fl_calls calls;
	struct fl_selection *roots, *hidden;
	bool hides;			/* there is one of -N */
	int32_t tids[MAX_TIDS];
	enum fl_demangle demangle;
	struct fl_screen screen;
};

/* `none` comes last: it names no field. */
static const char *each_field(size_t i)
{
	static const char *const names[] = {
		[FL_CALLS_DURATION] = "duration", [FL_CALLS_TID] = "tid",
		[FL_CALLS_ELAPSED] = "elapsed", [FL_CALLS_TASK] = "task", "none",
	};

	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

static int take_fields(void *wish, const struct fl_option *o, const char *keys)
{
	struct wish *w = wish;

	(void)o;
	w->calls.n_fields = 0;
	while (*keys) {
		size_t n = strcspn(keys, ",");
		char key[32];
		int f;

		snprintf(key, sizeof(key), "%.*s", (int)n, keys);
		f = fl_choose("a field", each_field, key);
		if (f < 0)
			return -1;
		if (each_field((size_t)f + 1) && w->calls.n_fields < FL_CALLS_FIELDS)
			w->calls.fields[w->calls.n_fields++] = (enum fl_calls_field)f;
		keys += n + (keys[n] == ',');
	}
	return 0;
}

static int take_tids(void *wish, const struct fl_option *o, const char *text)
{
	struct wish *w = wish;

	while (*text) {
		char word[16];
		size_t n = strcspn(text, ",");
		uint64_t tid;

		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		if (!fl_parse_number(o, word, 1, INT32_MAX, &tid))
			return -1;
		if (w->calls.n_tids == MAX_TIDS) {
			fl_say("--tid takes up to %d threads", MAX_TIDS);
			return -1;
		}
		w->tids[w->calls.n_tids++] = (int32_t)tid;
		text += n + (text[n] == ',');
	}
	return 0;
}

static int take_match(void *wish, const struct fl_option *o, const char *how)
{
	struct wish *w = wish;

	return fl_selection_take_match(&w->roots, o, how) ? -1 :
	       fl_selection_take_match(&w->hidden, o, how);
}

static int take_filter(void *wish, const struct fl_option *o, const char *pattern)
{
	struct wish *w = wish;

	w->calls.has_roots = true;
	return fl_selection_take_on(&w->roots, o, pattern);
}

static int take_hidden(void *wish, const struct fl_option *o, const char *pattern)
{
	struct wish *w = wish;

	w->hides = true;
	return fl_selection_take_on(&w->hidden, o, pattern);
}

static int take_time(void *to, const struct fl_option *o, const char *text)
{
	size_t n = fl_parse_time(text, to);

	if (n && !text[n])
		return 0;
	fl_say("--%s takes a time, as in 10us, not `%s`", o->name, text);
	return -1;
}

#define AT(field) .at = offsetof(struct wish, field)

static const struct fl_option options[] = {
	{ 'f', "fields", "KEY,...", "fields of each line: duration, tid, elapsed, task; none",
	  take_fields, .each = each_field },
	{ 'F', "filter", "PATTERN", "show only matching functions, and what they call",
	  .take = take_filter },
	{ 'N', "notrace", "PATTERN", "hide matching functions, and what they call",
	  .take = take_hidden },
	{ 0, "match", "HOW", "patterns are glob (default) or regex",
	  take_match, .each = fl_match_each },
	{ 'D', "depth", "N", "show at most N levels of calls",
	  fl_take_number, AT(calls.depth), 1, MAX_DEPTH },
	{ 't', "time-filter", "TIME", "hide calls that took less, as in 10us",
	  take_time, AT(calls.least_ns) },
	FL_PART_OPTION(struct wish, calls.part),
	{ 0, "tid", "TID,...", "show only these threads", .take = take_tids },
	{ 0, "raw", NULL, "times as measured, with what the probes took",
	  fl_take_flag, AT(calls.raw) },
	FL_DEMANGLE_OPTION(struct wish, demangle),
	FL_SCREEN_OPTIONS(struct wish, screen),
	{ 0 }
};

/* ---- functions ------------------------------------------------------------------------ */

/* A pattern that takes nothing is a mistake; 0, or -1 and a line printed. */
static int say_idle_patterns(const struct fl_selection *s, const struct fl_scope *in)
{
	size_t at = 0, module;
	const char *text = fl_selection_idle(s, &at, &module);

	if (text)
		fl_selection_say_idle(s, text, module, in);
	return text ? -1 : 0;
}

/* Match as recordings do, by any name of a function. */
static int mark_one(struct wish *w, struct fl_candidate *c, unsigned char *mark)
{
	char *simple = fl_name_simple(c->names[0]);

	if (!simple)
		return -1;
	c->names[2] = strcmp(c->names[0], c->names[1]) ? simple : NULL;
	if (w->calls.has_roots && fl_selection_wants(w->roots, c))
		*mark |= FL_CALLS_ROOT;
	if (w->hides && fl_selection_wants(w->hidden, c))
		*mark |= FL_CALLS_HIDDEN;
	free(simple);
	return 0;
}

static unsigned char *mark_functions(struct wish *w, struct fl_store *store)
{
	size_t n;
	const char *const *names = fl_store_functions(store, &n);
	const char *const *full = fl_store_full_names(store);
	const char *const *linkages = fl_store_linkages(store);
	unsigned char *marks = calloc(n + 1, 1);
	const char **paths = calloc(n + 1, sizeof(*paths));
	const struct fl_scope all = { .names = names, .paths = paths, .n = n };
	const struct fl_home *homes;
	char why[FL_WHY] = "out of memory";
	int err = marks && paths ? fl_store_homes(store, &homes, why) : -1;

	for (size_t f = 0; !err && f < n; f++) {
		struct fl_candidate c = {
			.path = homes[f].path, .home = homes[f].path,
			.names = { full[f], linkages[f] },
			.function = homes[f].at, .site = homes[f].at,
		};

		paths[f] = homes[f].path;
		err = mark_one(w, &c, &marks[f]);
	}
	if (err)
		fl_say("%s", why);
	else
		err = say_idle_patterns(w->roots, &all) || say_idle_patterns(w->hidden, &all);
	free(paths);
	if (!err)
		return marks;
	free(marks);
	return NULL;
}

/* ---- threads ---------------------------------------------------------------------------- */

static bool is_thread(const struct fl_thread *t, uint32_t n, int32_t tid)
{
	for (uint32_t i = 0; i < n; i++)
		if (t[i].tid == tid)
			return true;
	return false;
}

static void say_no_thread(const struct fl_thread *t, uint32_t n, int32_t tid)
{
	enum { MOST = 4 };
	char list[512] = "";
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++) {
		size_t at = strlen(list);

		if (!t[i].tid || !t[i].delivered || found++ >= MOST)
			continue;
		snprintf(list + at, sizeof(list) - at, "%s %d (%s)", at ? "," : "", t[i].tid,
			 t[i].name);
	}
	fl_say("this recording has no thread %d; there %s%s%s", tid, found == 1 ? "is" : "are",
	       found ? list : " none", found > MOST ? ", ..." : "");
}

/* 0, or -1 and a line printed. */
static int check_tids(const struct wish *w, struct fl_store *store)
{
	const struct fl_thread *t;
	char why[FL_WHY];
	uint32_t n;

	if (!w->calls.n_tids)
		return 0;
	if (fl_store_threads(store, &t, &n, why)) {
		fl_say("%s", why);
		return -1;
	}
	for (size_t i = 0; i < w->calls.n_tids; i++) {
		if (is_thread(t, n, w->tids[i]))
			continue;
		say_no_thread(t, n, w->tids[i]);
		return -1;
	}
	return 0;
}

/* ---- the command ---------------------------------------------------------------------- */

static int print_calls(struct wish *w, struct fl_store *store)
{
	char why[FL_WHY] = "";
	int status;

	if (fl_trace_check(w->dir, why)) {
		fl_say("%s", why);
		return FL_EXIT_FAILED;
	}
	w->calls.tids = w->tids;
	w->calls.colour = fl_screen_open(&w->screen);
	w->calls.to = stdout;
	status = fl_calls_print(&w->calls, store, w->dir, why);
	if (!status && !w->calls.any)
		fl_say("no calls match: nothing to show");
	if (!status || ferror(stdout))	/* that is told when it is flushed */
		return FL_EXIT_WELL;
	fl_say("%s", why);
	return FL_EXIT_FAILED;
}

static int replay(struct wish *w, struct fl_store *store)
{
	unsigned char *marks = check_tids(w, store) ? NULL : mark_functions(w, store);
	int status = FL_EXIT_FAILED;

	w->calls.marks = marks;
	if (marks)
		status = print_calls(w, store);
	free(marks);
	return status;
}

static int replay_directory(struct wish *w)
{
	struct fl_store *store = NULL;
	char why[FL_WHY] = "";
	int status = FL_EXIT_FAILED;

	if (fl_store_open(&store, w->dir, why) || fl_store_demangle(store, w->demangle, why)) {
		fl_say("%s", why);
	} else if (!fl_store_warn(store)) {
		status = replay(w, store);
	}
	fl_store_close(store);
	return status;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct wish w = {
		.dir = "flick.data", .roots = fl_selection_new(), .hidden = fl_selection_new(),
		.calls = { .fields = { FL_CALLS_DURATION, FL_CALLS_TID }, .n_fields = 2,
			   .depth = MAX_DEPTH, .part = { 0, UINT64_MAX, false } },
	};
	int status = FL_EXIT_USAGE;

	(void)account;			/* nothing is recorded here */
	if (w.roots && w.hidden && !fl_args_directory(cmd, argc, argv, &w.dir, &w) &&
	    !fl_selection_ready(w.roots) && !fl_selection_ready(w.hidden))
		status = replay_directory(&w);
	fl_selection_free(w.roots);
	fl_selection_free(w.hidden);
	return status;
}

const struct fl_cmd fl_cmd_replay = {
	.name = "replay",
	.args = "[OPTION...] [DIR]",
	.about = "Print the calls of a trace, one after another",
	.more = "The trace is what `flick record --trace` kept in DIR (flick.data). Calls are "
		"indented\nby depth, threads merged by time. A TIME has a unit: ns (without "
		"one, too), us,\nms, s or m.",
	.options = options,
	.run = run,
};
