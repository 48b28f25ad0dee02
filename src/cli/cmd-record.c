/*
 * cmd-record.c - flick record: run a program and keep what its probes saw.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define SAMPLES 10			/* paper 1: K */
#define EPOCH_MS 10
#define BUDGET 0.02

struct wish {
	struct fl_session_options o;
	bool all;
	bool is_second;			/* another flick records the process */
};

#define AT(field) .at = offsetof(struct wish, field)

static const struct fl_option options[] = {
	FL_PID_OPTION(AT(o.pid)),
	{ 'o', "output", "DIR", "write the results to DIR (flick.data)",
	  fl_take_text, AT(o.dir) },
	{ 'a', "analysis", "NAME,...", "run these analyses (latency), see below",
	  fl_session_take_uses, AT(o), .each = fl_analysis_each },
	{ 'A', "all", NULL, "time every call, instead of sampling", fl_take_flag, AT(all) },
	{ 0, "precise", NULL, "of --all: nothing runs beside a reading of the clock",
	  fl_take_flag, AT(o.precise) },
	{ 0, "raw", NULL, "times as measured, with what the probes took",
	  fl_take_flag, AT(o.raw) },
	{ 0, "rate", "R%", "record every call in R% of the time; or auto",
	  fl_rate_take, AT(o) },
	FL_SELECTION_OPTIONS("record", AT(o.selection)),
	FL_PROVIDER_OPTION(AT(o.providers)),
	{ 'K', "samples", "N", "time N calls of a function in an epoch (10)",
	  fl_take_number, AT(o.samples), 1, 1000000 },
	{ 0, "epoch", "MS", "length of an epoch, in milliseconds (10)",
	  fl_take_number, AT(o.epoch_ms), 1, 1000000 },
	FL_BUDGET_OPTION(AT(o)),
	{ 'd', "duration", "SECONDS",
	  "end the program with SIGTERM after this time; with -p leave it",
	  fl_take_seconds, AT(o.seconds) },
	{ 0, "buffer", "KIB", "largest buffer of a thread (512)",
	  fl_take_number, AT(o.buffer_kib), 8, 1 << 20 },	/* two chunks of a page */
	{ 0, "sites", "N", "largest number of probe sites (1048576)",
	  fl_take_number, AT(o.max_sites), 1, FL_MAX_SITES },
	{ 0, "threads", "N", "largest number of threads at a time (2048)",
	  fl_take_number, AT(o.max_threads), 1, FL_MAX_SLOTS },
	{ 0, "readers", "N", "number of threads that read and analyse events (1)",
	  fl_take_number, AT(o.readers), 1, FL_MAX_READERS },
	{ 0, "memory", "MIB", "most memory that flick itself uses (half of all)",
	  fl_take_number, AT(o.memory_mib), 1, UINT32_MAX },
	{ 0, "cache", "GEOMETRY", "of analysis `cache`: SIZE,WAYS,LINE of each level, or host "
	  "(" FL_CACHE_PRESET ")", fl_session_take_cache, AT(o) },
	{ 0, "lines", NULL, "of analysis `cache`: by source line, too",
	  fl_session_take_lines, AT(o) },
	{ 0, "trace", NULL, "keep every event, for flick replay and dump",
	  fl_take_flag, AT(o.trace) },
	{ 0, "trigger", "FUNCTION>TIME", "keep a trace of what came before a longer call",
	  fl_trigger_take, AT(o) },
	{ 0, "last", "TIME", "of --trigger: keep so much, as in 500ms (2s)",
	  fl_trigger_take_last, AT(o) },
	{ 0, "allow-loss", NULL, "exit with 0 even if events were lost",
	  fl_take_flag, AT(o.allow_loss) },
	{ 0, "exit-code", NULL, "exit with the program's status",
	  fl_take_flag, AT(o.exit_code) },
	FL_WAIT_OPTION(AT(o.wait)),
	FL_FOLLOW_OPTION(AT(o.follow)),
	{ 0, "perf-map", NULL, "write /tmp/perf-PID.map: perf then knows second bodies",
	  fl_take_flag, AT(o.perf_map) },
	FL_TEXT_OPTION(AT(o.text)),
	{ 0, "why", NULL, "list refused probes, each with its reason",
	  fl_take_flag, AT(o.why) },
	FL_SYNC_OPTION(AT(o.sync)),
	FL_EXCLUSIVE_OPTION(AT(o.exclusive)),
	FL_CPU_OPTIONS(AT(o)),
	{ 0 }
};

static bool is_profiler_set(const struct wish *w)
{
	return w->o.samples || w->o.epoch_ms || w->o.budget_text;
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
		fl_say("--%s cannot be used with --rate=%s: it keeps every event",
		       w->o.trigger ? "trigger" : "trace", w->o.rate_text);
	else if (is_profiler_set(w))
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

/* Children have the program's rows at other places: perf would show wrong names. */
static int check_perf_map(const struct fl_session_options *o)
{
	if (!o->perf_map || !o->follow)
		return 0;
	fl_say("--perf-map cannot be used with --follow: it is for one process");
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
			     w->all || w->is_second ? FL_ACT_TIME : FL_ACT_SAMPLE);
}

/* Where every call is recorded there are no samples, and no budget; samples are precise by
 * themselves. */
static int check_profiler(const struct wish *w, enum fl_action action)
{
	const char *how = action == FL_ACT_COUNT ? "counted" : "recorded";

	if (w->o.precise && (action != FL_ACT_TIME || w->is_second)) {
		fl_say(w->is_second ? "--precise is not for a second recording of a program" :
		       "--precise is for recordings that time every call (--all, --trace): "
		       "calls that are sampled are timed so without it");
		return -1;
	}
	if (w->o.raw && action == FL_ACT_COUNT) {
		fl_say("--raw is of times: if every call is counted none is taken");
		return -1;
	}
	if (!is_profiler_set(w) || w->o.rate || action == FL_ACT_SAMPLE)
		return 0;
	if (w->o.budget_text)
		fl_say("--budget=%s is for sampling: it cannot be used if every call is %s",
		       w->o.budget_text, how);
	else
		fl_say("-K and --epoch are for sampling: they cannot be used if every call is "
		       "%s", how);
	return -1;
}

/* The finds of several readers must be merged. Or one reader alone reads, and shares the work
 * of analysis `cache` with other threads, if no other analysis wants the same in order. */
static int check_readers(struct fl_session_options *o)
{
	uint32_t threads = o->readers;

	if (o->readers < 2)
		return 0;
	if (o->trace) {
		fl_say("--readers cannot be used with --trace, which one thread writes");
		return -1;
	}
	for (size_t i = 0; i < o->n_analyses; i++) {
		if (o->n_analyses == 1 && !strcmp(o->analyses[i].analysis->name, "cache")) {
			o->analyses[i].threads = threads;
			o->readers = 1;
			continue;
		}
		if (o->analyses[i].analysis->merge)
			continue;
		fl_say("--readers cannot be used with analysis `%s`, which has no `merge`%s",
		       o->analyses[i].name, strcmp(o->analyses[i].name, "cache") ? "" :
		       " beside others; alone it is simulated by so many threads");
		return -1;
	}
	return 0;
}

static bool has_others(const struct fl_session_options *o)
{
	bool has = false;

	for (size_t i = 1; i < o->n_analyses; i++)
		has |= o->analyses[i].analysis->needs != o->analyses[0].analysis->needs;
	return has;
}

/* Beside accesses a tree is of accesses: times would be of a program that tells them all. */
static int join_tree(struct fl_session_options *o)
{
	struct fl_use *cache = fl_session_find_use(o, "cache");
	struct fl_use *tree = fl_session_find_use(o, "tree");
	char why[FL_USE_WHY];

	if (cache && tree) {
		fl_use_close(tree);
		if (fl_use_open(tree, "cache-tree", why)) {
			fl_say("%s", why);
			return -1;
		}
	}
	tree = fl_session_find_use(o, "cache-tree");
	if (tree && cache && cache->arg && !tree->arg && !(tree->arg = strdup(cache->arg)))
		return -1;
	return 0;
}

/* Second bodies tell paths and accesses; probes at their entries are off, except where a tree
 * is asked for. */
static int use_bodies(struct wish *w)
{
	struct fl_session_options *o = &w->o;
	uint32_t weaves = fl_use_weaves(o->analyses, o->n_analyses);
	bool is_paths = weaves & FL_WEAVE_PATHS;
	const char *what = is_paths ? "paths" : "accesses";

	if (!weaves)
		return 0;
	if (join_tree(o))
		return -1;
	weaves = fl_use_weaves(o->analyses, o->n_analyses);
	if (has_others(o))
		fl_say("an analysis of %s cannot be used with others: no call is timed or "
		       "counted beside it", what);
	else if (is_paths && o->trace)
		fl_say("--trace cannot be used with analysis `paths`, which has no events "
		       "with a time");
	else if (o->rate)
		fl_say("--rate cannot be used with an analysis of %s: each is told", what);
	else if (o->providers && o->providers != 1u << FL_PROVIDER_BODY)
		fl_say("%s are told by functions as they are alone: --provider=body", what);
	else {
		o->providers = 1u << FL_PROVIDER_BODY;
		o->entries_only = is_paths;
		return 0;
	}
	return -1;
}

/* What does not go with -p, and why. */
static int check_running(const struct fl_session_options *o, int n_words)
{
	if (!o->pid)
		return 0;
	if (n_words)
		return fl_attach_refuse_program();
	if (o->follow)
		fl_say("--follow cannot be used with -p: what is started is not recorded");
	else if (o->exit_code)
		fl_say("--exit-code cannot be used with -p: who did not start it is not told");
	else if (o->cpus_are_set)
		fl_say("--cpu and --target-cpu cannot be used with -p: it runs already");
	else
		return 0;
	return -1;
}

/* One recorder alone can say what is sampled, and what windows stand for. */
static int check_second(struct wish *w)
{
	w->is_second = w->o.pid && fl_attach_is_recorded(w->o.pid);
	if (!w->is_second)
		return 0;
	if (w->o.rate || is_profiler_set(w)) {
		fl_say("process %u is recorded by another flick: beside that --rate, --budget, "
		       "-K and --epoch cannot be used, as every call is recorded or counted",
		       w->o.pid);
		return -1;
	}
	if (!w->all && action_of(w) == FL_ACT_TIME)
		fl_say("process %u is recorded by another flick: beside that every call is "
		       "recorded, as with --all", w->o.pid);
	return 0;
}

static int parse(const struct fl_cmd *cmd, int argc, char **argv, struct wish *w)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	bool chose;

	if (fl_args_take(&a, w) || fl_selection_ready(w->o.selection) || check_rate(w))
		return -1;
	chose = w->o.n_analyses;
	if (!chose && fl_session_use(&w->o, "latency"))
		return -1;
	if (check_second(w) || fl_trigger_use(&w->o) || check_perf_map(&w->o) ||
	    check_readers(&w->o) || check_profiler(w, action_of(w)))
		return -1;
	if (use_bodies(w))
		return -1;
	w->o.count_instead = !chose && !w->all && !w->o.trace;
	w->o.samples = w->o.samples ? w->o.samples : SAMPLES;
	w->o.epoch_ms = w->o.epoch_ms ? w->o.epoch_ms : EPOCH_MS;
	w->o.argv = w->o.pid ? fl_attach_arguments(w->o.pid) : argv + a.at;
	if (check_running(&w->o, argc - a.at))
		return -1;
	if (a.at < argc || w->o.pid)
		return 0;
	fl_say("no program given; usage: flick record %s", cmd->args);
	return -1;
}

static int record(struct fl_session *s, const struct fl_session_options *o)
{
	int status = fl_session_run(s, o);

	return status == FL_EXIT_WELL ? fl_session_finish(s) : status;
}

/* Without an option flick times calls; where none can be timed it counts them. A target that
 * was told QUIT for that has run nothing but its loader: it is started again. */
static int record_or_count(struct fl_session *s, struct fl_session_options *o)
{
	int status = record(s, o);

	if (!s->chosen.all_entry_only || !o->count_instead)
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
	struct wish w = { .o = { .dir = "flick.data", .budget = BUDGET,
				 .selection = fl_selection_new() } };
	static struct fl_session s;	/* a stack may be small */
	int status = FL_EXIT_USAGE;

	if (w.o.selection && !parse(cmd, argc, argv, &w)) {
		w.o.action = action_of(&w);
		w.o.entries_only |= w.o.rate && fl_rate_counts_only(&w.o);
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

const struct fl_cmd fl_cmd_record = {
	.name = "record",
	.args = "[OPTION...] [--] PROGRAM [ARG...] | -p PID",
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
	.list = list_analyses,
	.run = run,
};
