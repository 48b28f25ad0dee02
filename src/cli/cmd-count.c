/*
 * cmd-count.c - flick count: how often functions are called, as funccount says it.
 */
#include "cli/cli.h"

static void print(struct fl_session *s)
{
	struct fl_names *names = fl_session_names(s);
	struct fl_sheet sheet;

	if (!names)
		return;
	sheet = fl_session_sheet(s, "counts", names);
	fl_sheet_sort(&sheet, "calls");
	fl_text_counts(stdout, &sheet);
	fl_oneliner_tell_none(&sheet);
	fl_modules_free(sheet.modules);
	fl_names_free(names);
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct fl_session_options o = {
		.action = FL_ACT_COUNT,
	};

	if (fl_session_use(&o, "counts"))
		return FL_EXIT_FAILED;
	return fl_oneliner(cmd, argc, argv, account, &o, print);
}

const struct fl_cmd fl_cmd_count = {
	.name = "count",
	.args = "[OPTION...] PATTERN... -- PROGRAM [ARG...] | -p PID PATTERN...",
	.about = "Count the calls of matching functions",
	.options = fl_oneliner_options,
	.run = run,
};
