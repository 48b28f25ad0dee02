/*
 * cmd-record.c - flick record: run a program and keep what its probes saw.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/budget.h"
#include "cli/cli.h"

#define SAMPLES 10			/* paper 1: K */
#define EPOCH_MS 10
#define BUDGET 0.02

static const struct fl_option options[] = {
	{ 'o', "output", "DIR", "write the results to DIR (flick.data)" },
	{ 'a', "analysis", "NAME,...", "run these analyses (latency), see below" },
	{ 'A', "all", NULL, "time every call, instead of sampling" },
	{ 0, "raw", NULL, "times as measured, with what the probes took" },
	{ 0, "rate", "R%", "record every call in R% of the time; or auto" },
	{ 'P', "patch", "PATTERN", "record matching functions" },
	{ 'U', "unpatch", "PATTERN", "leave out matching functions" },
	{ 0, "match", "HOW", "patterns are glob (default) or regex" },
	{ 'K', "samples", "N", "time N calls of a function in an epoch (10)" },
	{ 0, "epoch", "MS", "length of an epoch, in milliseconds (10)" },
	{ 0, "budget", "PERCENT", "how much CPU time sampling may cost (2)" },
	{ 'd', "duration", "SECONDS", "end the program with SIGTERM after this time" },
	{ 0, "buffer", "KIB", "largest buffer of a thread (512)" },
	{ 0, "sites", "N", "largest number of probe sites (1048576)" },
	{ 0, "threads", "N", "largest number of threads at a time (2048)" },
	{ 0, "readers", "N", "number of threads that read and analyse events (1)" },
	{ 0, "memory", "MIB", "most memory that flick itself uses (half of all)" },
	{ 0, "trace", NULL, "keep every event, for flick replay and dump" },
	{ 0, "allow-loss", NULL, "exit with 0 even if events were lost" },
	{ 0, "exit-code", NULL, "exit with the program's status" },
	{ 0, "wait", NULL, "start even if nothing matches yet: wait for an exec or dlopen" },
	{ 'f', "follow", NULL, "record the processes that it starts as well" },
	{ 0, "text", "HOW", "write code by mprotect or alias (the first that works)" },
	{ 0, "why", NULL, "list refused probes, each with its reason" },
	{ 0, "sync", "NAME", "way to synchronise cores, see `flick doctor`" },
	{ 0, "cpu", "LIST", "run flick itself on these CPUs, as in 0,2-3" },
	{ 0, "target-cpu", "LIST", "run the program on these CPUs" },
	{ 0 }
};

enum { OUTPUT, ANALYSIS, ALL, RAW, RATE, PATCH, UNPATCH, MATCH, SAMPLES_N, EPOCH,
       BUDGET_N, DURATION, BUFFER, SITES, THREADS, READERS, MEMORY, TRACE, ALLOW_LOSS,
       EXIT_CODE, WAIT, FOLLOW, TEXT, WHY, SYNC, CPU, TARGET_CPU };

struct wish {
	struct fl_session_options o;
	bool all, chosen;		/* --all, -a */
	bool profiler;			/* -K, --epoch, --budget */
	const char *budget;		/* as it was asked for, or NULL */
};

static int take_number(const struct fl_option *o, const char *text, uint64_t hi,
		       uint32_t *to)
{
	uint64_t v;

	if (!fl_parse_number(o, text, 1, hi, &v))
		return -1;
	*to = (uint32_t)v;
	return 0;
}

/* Two chunks of a page, or more. */
static int take_buffer(const struct fl_option *o, const char *text, uint32_t *to)
{
	uint64_t n;

	if (!fl_parse_number(o, text, 8, 1 << 20, &n))
		return -1;
	*to = (uint32_t)n;
	return 0;
}

static int take_seconds(const char *text, double *to)
{
	char *end;

	*to = strtod(text, &end);
	if (end != text && !*end && *to > 0 && *to < 1e9)
		return 0;
	fl_say("--duration takes seconds, not `%s`", text);
	return -1;
}

static int take(struct wish *w, const struct fl_option *o, const char *value)
{
	switch (o - options) {
	case OUTPUT:	 w->o.dir = value; return 0;
	case ANALYSIS:	 w->chosen = true; return fl_session_use_all(&w->o, value);
	case ALL:	 w->all = true; return 0;
	case RAW:	 w->o.raw = true; return 0;
	case RATE:	 return fl_rate_take(&w->o, value);
	case PATCH:	 return fl_selection_add(w->o.selection, 1, value);
	case UNPATCH:	 return fl_selection_add(w->o.selection, 0, value);
	case MATCH:	 return fl_selection_match_name(w->o.selection, value);
	case SAMPLES_N:	 w->profiler = true;
			 return take_number(o, value, 1000000, &w->o.samples);
	case EPOCH:	 w->profiler = true;
			 return take_number(o, value, 1000000, &w->o.epoch_ms);
	case BUDGET_N:	 w->profiler = true;
			 w->budget = value;
			 return fl_budget_take(&w->o, value);
	case DURATION:	 return take_seconds(value, &w->o.seconds);
	case BUFFER:	 return take_buffer(o, value, &w->o.buffer_kib);
	case SITES:	 return take_number(o, value, FL_MAX_SITES, &w->o.max_sites);
	case THREADS:	 return take_number(o, value, FL_MAX_SLOTS, &w->o.max_threads);
	case READERS:	 return take_number(o, value, FL_MAX_READERS, &w->o.readers);
	case MEMORY:	 return take_number(o, value, UINT32_MAX, &w->o.memory_mib);
	case TRACE:	 w->o.trace = true; return 0;
	case ALLOW_LOSS: w->o.allow_loss = true; return 0;
	case EXIT_CODE:	 w->o.exit_code = true; return 0;
	case WAIT:	 w->o.wait = true; return 0;
	case FOLLOW:	 w->o.follow = true; return 0;
	case TEXT:	 return fl_launch_take_text(&w->o, value);
	case SYNC:	 w->o.sync = value; return fl_launch_check_sync(value);
	case CPU:
	case TARGET_CPU: return fl_cpus_take(&w->o, o, value);
	default:	 w->o.why = true; return 0;
	}
}

/* What does not go with --rate, and why. */
static int check_rate(const struct wish *w)
{
	if (!w->o.rate)
		return 0;
	if (w->all)
		fl_say("--all cannot be used with --rate=%s: it times every call",
		       w->o.rate_text);
	else if (w->o.trace)
		fl_say("--trace cannot be used with --rate=%s: it keeps every event",
		       w->o.rate_text);
	else if (w->profiler)
		fl_say("-K, --epoch and --budget cannot be used with --rate=%s: it samples in "
		       "another way", w->o.rate_text);
	else if (w->o.follow)
		fl_say("--follow cannot be used with --rate=%s, which is for one process",
		       w->o.rate_text);
	else if (w->o.readers > 1)
		fl_say("--readers cannot be used with --rate=%s: one is enough",
		       w->o.rate_text);
	else
		return 0;
	return -1;
}

/* What probes that are on do. */
static enum fl_action action_of(const struct wish *w)
{
	if (w->o.trace)
		return FL_ACT_TIME;
	if (w->o.rate)
		return FL_ACT_WINDOW;
	return fl_use_action(w->o.analyses, w->o.n_analyses,
			     w->all ? FL_ACT_TIME : FL_ACT_SAMPLE);
}

/* Where every call is recorded there are no samples, and no budget. */
static int check_profiler(const struct wish *w, enum fl_action action)
{
	const char *how = action == FL_ACT_COUNT ? "counted" : "recorded";

	if (!w->profiler || w->o.rate || action == FL_ACT_SAMPLE)
		return 0;
	if (w->budget)
		fl_say("--budget=%s is for sampling: it cannot be used if every call is %s",
		       w->budget, how);
	else
		fl_say("-K and --epoch are for sampling: they cannot be used if every call is "
		       "%s", how);
	return -1;
}

/* What each of several readers found must be brought together. */
static int check_readers(const struct fl_session_options *o)
{
	if (o->readers < 2)
		return 0;
	if (o->trace) {
		fl_say("--readers cannot be used with --trace, which one thread writes");
		return -1;
	}
	for (size_t i = 0; i < o->n_analyses; i++) {
		if (o->analyses[i].analysis->merge)
			continue;
		fl_say("--readers cannot be used with analysis `%s`, which has no `merge`",
		       o->analyses[i].name);
		return -1;
	}
	return 0;
}

static int parse(const struct fl_cmd *cmd, int argc, char **argv, struct wish *w)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	const struct fl_option *o;
	bool failed = false;

	while ((o = fl_args_next(&a, &failed)))
		if (take(w, o, a.value))
			return -1;
	if (failed || fl_selection_ready(w->o.selection) || check_rate(w))
		return -1;
	if (!w->chosen && fl_session_use(&w->o, "latency"))
		return -1;
	if (check_readers(&w->o) || check_profiler(w, action_of(w)))
		return -1;
	w->o.argv = argv + a.at;
	if (a.at < argc)
		return 0;
	fl_say("no program given; usage: flick record %s", cmd->args);
	return -1;
}

static int record(struct fl_session *s, const struct fl_session_options *o)
{
	int status = fl_session_run(s, o);

	return status == FL_EXIT_WELL ? fl_session_finish(s) : status;
}

/* Of its own accord flick times calls; where none can be timed it counts them.
 * The target that was told so has run nothing but its loader: start again. */
static int record_or_count(struct fl_session *s, struct fl_session_options *o)
{
	int status = record(s, o);

	if (!s->all_entry_only || !o->count_instead)
		return status;
	fl_session_close(s);
	fl_session_drop_uses(o);
	o->action = o->rate ? FL_ACT_WINDOW : FL_ACT_COUNT;
	o->entries_only = o->rate;
	return fl_session_use(o, "counts") ? FL_EXIT_FAILED : record(s, o);
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct wish w = { .o = { .dir = "flick.data", .samples = SAMPLES,
				 .epoch_ms = EPOCH_MS, .budget = BUDGET,
				 .selection = fl_selection_new() } };
	struct fl_session s;
	int status = FL_EXIT_USAGE;

	if (w.o.selection && !parse(cmd, argc, argv, &w)) {
		w.o.action = action_of(&w);
		w.o.entries_only = w.o.rate && fl_rate_counts_only(&w.o);
		w.o.count_instead = !w.chosen && !w.all && !w.o.trace;
		status = record_or_count(&s, &w.o);
		*account = s.account;
		fl_session_close(&s);
	}
	fl_selection_free(w.o.selection);
	fl_session_drop_uses(&w.o);
	return status;
}

static void list_analyses(FILE *to)
{
	fputs("\nAnalyses, any number at once:\n", to);
	for (size_t i = 0; fl_analyses[i]; i++)
		fprintf(to, "  %-26s %s\n", fl_analyses[i]->name, fl_analyses[i]->about);
	fprintf(to, "  %-26s %s\n", "FILE.so", "a third party's, see flick/analysis.h");
}

static const struct fl_values values[] = {
	{ "analysis", fl_analysis_each },
	{ "match", fl_match_each },
	{ "text", fl_text_each },
	{ "sync", fl_sync_each },
	{ NULL }
};

const struct fl_cmd fl_cmd_record = {
	.name = "record",
	.args = "[OPTION...] [--] PROGRAM [ARG...]",
	.about = "Run a program and record its function calls",
	.more = "Without options functions are sampled: of each, -K calls in every epoch are "
		"timed, and\nall are counted. Where that would cost more than --budget, calls "
		"are counted in short\nwindows, and estimated. --all times every call; `-a "
		"counts` counts every call and times\nnone; --rate=5% records every call in 5% "
		"of the time, and estimates the rest.\n\n"
		"A PATTERN is [MODULE!]FUNCTION or MODULE!0xOFFSET. The last one that matches "
		"decides;\nwithout -P all functions are recorded.\n\n"
		"Exit status: 0 recorded, whatever the program's own status (but see "
		"--exit-code),\n1 failed, 2 usage, 3 events were lost.",
	.options = options,
	.values = values,
	.list = list_analyses,
	.run = run,
};
