/*
 * cmd-latency.c - flick latency: a histogram a function, as funclatency draws it.
 */
#include "cli/cli.h"

static void print(struct fl_session *s)
{
	struct fl_names *names = fl_session_names(s);
	struct fl_sheet spread, latency;

	if (!names)
		return;
	spread = fl_session_sheet(s, "spread", names);
	latency = fl_session_sheet(s, "latency", names);
	fl_text_spread(stdout, &spread, &latency);
	fl_oneliner_tell_none(&latency);
	fl_modules_free(spread.modules);
	fl_modules_free(latency.modules);
	fl_names_free(names);
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct fl_session_options o = {
		.action = FL_ACT_TIME,
		.precise = true,	/* of few functions, whose time is asked for */
	};

	if (fl_session_use(&o, "latency") || fl_session_use(&o, "spread"))
		return FL_EXIT_FAILED;
	return fl_oneliner(cmd, argc, argv, account, &o, print);
}

const struct fl_cmd fl_cmd_latency = {
	.name = "latency",
	.args = "[OPTION...] PATTERN... -- PROGRAM [ARG...] | -p PID PATTERN...",
	.about = "Show a histogram of how long calls of matching functions take",
	.options = fl_oneliner_options,
	.run = run,
};
