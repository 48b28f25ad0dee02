/*
 * cmd-live.c - flick live: the functions of a program, as they are called.
 *
 * Hides what becomes of the program and of the terminal. The screen is opened when the
 * program is let go, so what is wrong before is said on a terminal as it was; it is closed
 * whatever ends. A user who leaves (q) leaves the program as it is without flick: its probes
 * go off by themselves. Where a signal asks flick to end, the program has got it as well, and
 * has a moment to end with it.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/live.h"
#include "os/os.h"

#define SAMPLES 10			/* as flick record */
#define EPOCH_MS 10
#define BUDGET 0.02
#define GRACE_NS 1000000000ull		/* for the program, to end as it was asked to */
#define OUTPUT "flick.out"
static const char default_output[] = OUTPUT;

struct wish {
	struct fl_session_options o;
	struct fl_live live;
	bool all;
	uint32_t every_ms;
	uint32_t key;
	uint64_t asked_ns;		/* when it was seen that flick is to end */
	bool is_open, is_leaving;	/* is_leaving: of a program that ran before */
};

static int take_every(void *wish, const struct fl_option *o, const char *value)
{
	struct wish *w = wish;

	return fl_take_seconds(&w->live.every, o, value);
}

static const char *key_each(size_t i)
{
	return i < FL_LIVE_N_KEYS ? fl_live_keys[i] : NULL;
}

#define AT(field) .at = offsetof(struct wish, field)

static const struct fl_option options[] = {
	FL_PID_OPTION(AT(o.pid)),
	{ 'o', "output", "FILE", "what the program writes goes there (" OUTPUT ")",
	  fl_take_text, AT(live.output) },
	{ 'A', "all", NULL, "time every call, instead of sampling", fl_take_flag, AT(all) },
	{ 'd', "delay", "SECONDS", "time between two looks, or more (1)", .take = take_every },
	{ 's', "sort", "COLUMN", "order by it at first (self)", fl_take_choice, AT(key),
	  .each = key_each },
	FL_SELECTION_OPTIONS("show", AT(o.selection)),
	FL_PROVIDER_OPTION(AT(o.providers)),
	FL_BUDGET_OPTION(AT(o)),
	FL_WAIT_OPTION(AT(o.wait)),
	FL_TEXT_OPTION(AT(o.text)),
	FL_SYNC_OPTION(AT(o.sync)),
	FL_EXCLUSIVE_OPTION(AT(o.exclusive)),
	FL_CPU_OPTIONS(AT(o)),
	{ 0 }
};

/* ---- while it runs ----------------------------------------------------------------- */

/* The program was asked to end, and has not: it is left as it is. */
static bool is_overdue(struct wish *w)
{
	if (!fl_target_is_to_end() || w->o.pid)
		return false;
	if (!w->asked_ns)
		w->asked_ns = fl_os_monotonic_ns();
	return fl_os_monotonic_ns() - w->asked_ns > GRACE_NS;
}

/* A program that ran before is asked to let flick go, which takes a moment. */
static bool leave_it(struct wish *w, struct fl_session *s)
{
	if (!s->attached)
		return false;
	w->is_leaving = true;
	fl_live_screen_close(&w->live);
	fl_target_end(s);
	return true;
}

static bool turn(void *watcher, struct fl_session *s)
{
	struct wish *w = watcher;

	if (is_overdue(w))
		return false;
	if (w->is_leaving || (s->attached && fl_target_is_to_end()))
		return leave_it(w, s);
	if (!s->start.begun && !s->start.is_waiting)
		return true;
	if (!w->is_open) {
		w->is_open = true;
		if (fl_live_screen_open(&w->live))
			return false;
	}
	if (fl_live_look(&w->live, s))
		fl_live_screen_changed(&w->live);
	return fl_live_screen_turn(&w->live) || leave_it(w, s);
}

/* A user who has not left sees the last of the program. */
static void over(void *watcher, struct fl_session *s)
{
	struct wish *w = watcher;

	if (w->live.screen && !s->is_left && !fl_target_is_to_end()) {
		w->live.has_ended = true;
		fl_live_look_now(&w->live, s);
		fl_live_screen_changed(&w->live);
		while (!fl_target_is_to_end() && fl_live_screen_wait(&w->live))
			;
	}
	fl_live_screen_close(&w->live);
}

static const struct fl_watch watch = { turn, over };

/* ---- before and after ---------------------------------------------------------------- */

/* Open it as none of the three descriptors that every program has. */
static int open_output(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666), high;

	if (fd < 0) {
		fl_say("%s: %s; -o FILE names another file for what the program writes", path,
		       strerror(errno));
		return -1;
	}
	high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return high;
}

/* An empty file of a program that has ended is not worth keeping. */
static void tell_output(const struct wish *w, const struct fl_session *s)
{
	struct stat f;
	bool has = !stat(w->live.output, &f) && (f.st_size || !S_ISREG(f.st_mode));

	if (s->attached)
		return;
	if (s->is_left)
		fl_say("%s (%d) goes on, without probes; what it writes goes to %s",
		       s->o->argv[0], s->pid, w->live.output);
	else if (has && S_ISREG(f.st_mode))
		fl_say("what %s wrote is in %s", s->o->argv[0], w->live.output);
	else if (!has)
		unlink(w->live.output);
}

static int use_analyses(struct wish *w)
{
	struct fl_session_options *o = &w->o;

	if (fl_session_use(o, "latency") || fl_session_use(o, "spread") ||
	    (w->all && fl_session_use(o, "graph")))
		return -1;
	o->analyses[o->n_analyses++] = (struct fl_use){
		.analysis = &fl_recent_analysis, .name = strdup(fl_recent_analysis.name) };
	return 0;
}

static int parse(const struct fl_cmd *cmd, int argc, char **argv, struct wish *w)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };

	if (fl_args_take(&a, w) || fl_selection_ready(w->o.selection))
		return -1;
	if (w->o.pid && fl_attach_is_recorded(w->o.pid))
		w->all = true;		/* one recorder alone can say what is sampled */
	if (w->o.budget_text && w->all) {
		fl_say("--budget=%s is for sampling: it cannot be used with --all",
		       w->o.budget_text);
		return -1;
	}
	if (w->o.pid && a.at < argc)
		return fl_attach_refuse_program();
	if (w->o.pid && (w->o.cpus_are_set || w->live.output != default_output)) {
		fl_say("--cpu, --target-cpu and --output cannot be used with -p: it runs "
		       "already");
		return -1;
	}
	w->o.argv = w->o.pid ? fl_attach_arguments(w->o.pid) : argv + a.at;
	if (w->o.pid || a.at < argc)
		return 0;
	fl_say("no program given; usage: flick live %s", cmd->args);
	return -1;
}

static int show_program(struct wish *w, struct fl_account *account)
{
	static struct fl_session s;	/* a stack may be small */
	int status;

	if (w->o.pid)
		w->live.output = NULL;
	else
		w->o.output = open_output(w->live.output);
	if (w->o.output < 0)
		return FL_EXIT_FAILED;
	status = fl_session_run(&s, &w->o);
	fl_live_screen_close(&w->live);
	tell_output(w, &s);
	if (status == FL_EXIT_WELL)
		status = fl_session_finish(&s);
	*account = s.account;
	fl_session_close(&s);
	fl_live_close(&w->live);
	if (!w->o.pid)
		close(w->o.output);
	return status;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv, struct fl_account *account)
{
	struct wish w = { .o = { .budget = BUDGET, .samples = SAMPLES, .epoch_ms = EPOCH_MS,
				 .selection = fl_selection_new(), .watch = &watch },
			  .live = { .every = 1, .output = default_output } };
	int status = FL_EXIT_USAGE;

	w.o.watcher = &w;
	w.live.options = &w.o;
	if (w.o.selection && !parse(cmd, argc, argv, &w)) {
		w.o.action = w.all ? FL_ACT_TIME : FL_ACT_SAMPLE;
		w.live.model.key = (enum fl_live_key)w.key;
		status = FL_EXIT_FAILED;
		if (!fl_live_terminal_check() && !use_analyses(&w))
			status = show_program(&w, account);
	}
	fl_selection_free(w.o.selection);
	fl_session_drop_uses(&w.o);
	return status;
}

const struct fl_cmd fl_cmd_live = {
	.name = "live",
	.args = "[OPTION...] [--] PROGRAM [ARG...] | -p PID",
	.about = "Show a program's functions while it runs",
	.more = "A table that is made anew each second; `?` lists the keys. Functions are "
		"sampled as\nby flick record. What the program writes to the terminal goes "
		"to a file, and it\nreads nothing. q leaves it running, without probes; "
		"Ctrl-C ends it.\n\n"
		"A PATTERN is [MODULE!]FUNCTION or MODULE!0xOFFSET. The last one that matches "
		"decides;\nwithout -P all functions are shown.\n\n"
		"Exit status: 0 shown, 1 failed, 2 usage, 3 events were lost.",
	.options = options,
	.run = run,
};
