/*
 * oneliner.c - what `flick count` and `flick latency` share.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const struct fl_option fl_oneliner_options[] = {
	{ 'r', "regexp", NULL, "patterns are regular expressions" },
	{ 'd', "duration", "SECONDS", "end the program with SIGTERM after this time" },
	{ 0, "allow-loss", NULL, "exit with 0 even if events were lost" },
	{ 0, "text", "HOW", "write code by mprotect or alias (the first that works)" },
	{ 0, "wait", NULL, "start even if nothing matches yet: wait for an exec or dlopen" },
	{ 'f', "follow", NULL, "record the processes that it starts as well" },
	{ 0, "sync", "NAME", "way to synchronise cores, see `flick doctor`" },
	{ 0, "cpu", "LIST", "run flick itself on these CPUs, as in 0,2-3" },
	{ 0, "target-cpu", "LIST", "run the program on these CPUs" },
	FL_DEMANGLE_OPTION,
	{ 0 }
};

const struct fl_values fl_oneliner_values[] = {
	{ "text", fl_text_each },
	{ "sync", fl_sync_each },
	FL_DEMANGLE_VALUES,
	{ NULL }
};

/* PATTERN... up to `--`. */
static int take_patterns(const struct fl_cmd *cmd, struct fl_args *a,
			 struct fl_session_options *o)
{
	int n = 0;

	for (; a->at < a->argc && strcmp(a->argv[a->at], "--"); a->at++, n++)
		if (fl_selection_add(o->selection, 1, a->argv[a->at]))
			return -1;
	if (n && a->at + 1 < a->argc) {
		o->argv = a->argv + a->at + 1;
		return fl_selection_ready(o->selection);
	}
	fl_say("no %s; usage: flick %s %s", !n ? "pattern given" : a->at < a->argc ?
	       "program given" : "-- between patterns and program", cmd->name, cmd->args);
	return -1;
}

static int take(const struct fl_option *option, const char *value,
		struct fl_session_options *o)
{
	uint64_t seconds;

	if (option->letter == 'r')
		fl_selection_match_by(o->selection, FL_BY_REGEX);
	else if (option->letter == 'd' &&
		 !fl_parse_number(option, value, 1, 1000000, &seconds))
		return -1;
	else if (option->letter == 'd')
		o->seconds = (double)seconds;
	else if (strstr(option->name, "cpu"))
		return fl_cpus_take(o, option, value);
	else if (!strcmp(option->name, "demangle"))
		return fl_demangle_take(&o->demangle, value);
	else if (*option->name == 't')
		return fl_launch_take_text(o, value);
	else if (*option->name == 'w')
		o->wait = true;
	else if (option->letter == 'f')
		o->follow = true;
	else if (*option->name == 's')
		return fl_launch_check_sync(o->sync = value);
	else
		o->allow_loss = true;
	return 0;
}

static int parse(const struct fl_cmd *cmd, int argc, char **argv,
		 struct fl_session_options *o)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	const struct fl_option *option;
	bool failed = false;

	while ((option = fl_args_next(&a, &failed)))
		if (take(option, a.value, o))
			return -1;
	return failed ? -1 : take_patterns(cmd, &a, o);
}

int fl_oneliner(const struct fl_cmd *cmd, int argc, char **argv,
		struct fl_account *account, struct fl_session_options *o,
		void (*print)(struct fl_session *))
{
	struct fl_session s;
	int status = FL_EXIT_USAGE;

	o->selection = fl_selection_new();
	if (o->selection && !parse(cmd, argc, argv, o)) {
		status = fl_session_run(&s, o);
		if (status == FL_EXIT_WELL) {
			print(&s);
			fflush(stdout);		/* before what goes to stderr */
			status = fl_session_finish(&s);
			*account = s.account;
		}
		fl_session_close(&s);
	}
	fl_selection_free(o->selection);
	fl_session_drop_uses(o);
	return status;
}
