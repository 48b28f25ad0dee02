/*
 * main.c - choose the command. One line adds one.
 */
#include <string.h>

#include "cli/cli.h"

extern const struct fl_cmd fl_cmd_record, fl_cmd_report, fl_cmd_count;
extern const struct fl_cmd fl_cmd_latency, fl_cmd_list, fl_cmd_doctor;

const struct fl_cmd *const fl_cmds[] = {
	&fl_cmd_record,
	&fl_cmd_report,
	&fl_cmd_count,
	&fl_cmd_latency,
	&fl_cmd_list,
	&fl_cmd_doctor,
	NULL
};

static void print_commands(FILE *to)
{
	fputs("flick switches probes in a running native program on and off, and "
	      "shows what\nthey saw.\n\n", to);
	for (size_t i = 0; fl_cmds[i]; i++)
		fprintf(to, "  flick %-9s %s\n", fl_cmds[i]->name, fl_cmds[i]->about);
	fputs("\n`flick COMMAND --help` says more. Exit status: 0 all well, 1 "
	      "failed, 2 usage,\n3 events were lost.\n", to);
}

static int complain(const char *word)
{
	const char *names[16];
	const char *near;
	size_t n = 0;

	for (; fl_cmds[n]; n++)
		names[n] = fl_cmds[n]->name;
	near = fl_nearest(word, names, n);
	if (near)
		fl_say("there is no command `%s`; did you mean `%s`?", word, near);
	else
		fl_say("there is no command `%s`; see `flick --help`", word);
	return FL_EXIT_USAGE;
}

/* --help counts only as the first word: later ones may be the target's. */
static bool wants_help(int argc, char **argv)
{
	return argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
}

static int run_command(const struct fl_cmd *cmd, int argc, char **argv)
{
	if (wants_help(argc, argv)) {
		fl_print_help(stdout, cmd);
		return FL_EXIT_WELL;
	}
	if (argc > 1 && !strcmp(argv[1], "--man")) {
		fl_print_man(stdout, cmd);
		return FL_EXIT_WELL;
	}
	return cmd->run(cmd, argc, argv);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_commands(stderr);
		return FL_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("flick " FLICK_VERSION);
		return FL_EXIT_WELL;
	}
	if (wants_help(argc, argv) || !strcmp(argv[1], "help")) {
		print_commands(stdout);
		return FL_EXIT_WELL;
	}
	for (size_t i = 0; fl_cmds[i]; i++)
		if (!strcmp(fl_cmds[i]->name, argv[1]))
			return run_command(fl_cmds[i], argc - 1, argv + 1);
	return complain(argv[1]);
}
