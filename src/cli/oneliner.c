/*
 * oneliner.c - what `flick count` and `flick latency` share.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int take_regexp(void *to, const struct fl_option *o, const char *value)
{
	(void)o;
	(void)value;
	fl_selection_match_by(*(struct fl_selection **)to, FL_BY_REGEX);
	return 0;
}

#define AT(field) .at = offsetof(struct fl_session_options, field)

const struct fl_option fl_oneliner_options[] = {
	{ 'r', "regexp", NULL, "patterns are regular expressions",
	  take_regexp, AT(selection) },
	FL_PID_OPTION(AT(pid)),
	FL_PROVIDER_OPTION(AT(providers)),
	{ 'd', "duration", "SECONDS",
	  "end the program with SIGTERM after this time; with -p leave it",
	  fl_take_seconds, AT(seconds) },
	{ 0, "allow-loss", NULL, "exit with 0 even if events were lost",
	  fl_take_flag, AT(allow_loss) },
	FL_TEXT_OPTION(AT(text)),
	FL_WAIT_OPTION(AT(wait)),
	FL_FOLLOW_OPTION(AT(follow)),
	FL_SYNC_OPTION(AT(sync)),
	FL_EXCLUSIVE_OPTION(AT(exclusive)),
	FL_CPU_OPTIONS(.at = 0),
	FL_DEMANGLE_OPTION(struct fl_session_options, demangle),
	{ 0 }
};

static bool is_dashes(const struct fl_args *a, int at)
{
	return at < a->argc && !strcmp(a->argv[at], "--");
}

/* Take PATTERN... up to `--`, and options among them, because no function's name begins with a
 * dash. Returns how many patterns there are, or -1. */
static int take_patterns(struct fl_args *a, struct fl_session_options *o)
{
	int n = 0;

	while (a->at < a->argc && !is_dashes(a, a->at)) {
		if (a->argv[a->at][0] != '-') {
			if (fl_selection_add(o->selection, 1, a->argv[a->at++]))
				return -1;
			n++;
			continue;
		}
		if (fl_args_take(a, o))
			return -1;
		a->at -= is_dashes(a, a->at - 1);	/* they are the patterns' end */
	}
	return n;
}

static int parse(const struct fl_cmd *cmd, int argc, char **argv,
		 struct fl_session_options *o)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	int n = fl_args_take(&a, o);

	a.at -= !n && is_dashes(&a, a.at - 1);	/* before the first pattern */
	n = n ? -1 : take_patterns(&a, o);
	if (n < 0)
		return -1;
	if (o->pid && a.at < argc)
		return fl_attach_refuse_program();
	if (n && a.at == argc && o->pid) {
		o->argv = fl_attach_arguments(o->pid);
		return fl_selection_ready(o->selection);
	}
	if (n && a.at + 1 < argc) {
		o->argv = argv + a.at + 1;
		return fl_selection_ready(o->selection);
	}
	fl_say("no %s; usage: flick %s %s", !n ? "pattern given" : a.at < argc ?
	       "program given" : "-- between patterns and program", cmd->name, cmd->args);
	return -1;
}

void fl_oneliner_tell_none(const struct fl_sheet *calls)
{
	if (!calls->result->n_rows)
		fl_say("no function that matches was called");
}

int fl_oneliner(const struct fl_cmd *cmd, int argc, char **argv,
		struct fl_account *account, struct fl_session_options *o,
		void (*print)(struct fl_session *))
{
	static struct fl_session s;	/* a stack may be small */
	int status = FL_EXIT_USAGE;

	o->selection = fl_selection_new();
	if (o->selection && !parse(cmd, argc, argv, o)) {
		status = fl_session_run(&s, o);
		if (status == FL_EXIT_WELL) {
			print(&s);
			bool lost = fl_flush_output();	/* before what goes to stderr */

			status = fl_session_finish(&s);
			status = lost ? FL_EXIT_FAILED : status;
			*account = s.account;
		}
		fl_session_close(&s);
	}
	fl_selection_free(o->selection);
	fl_session_drop_uses(o);
	return status;
}
