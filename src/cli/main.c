/*
 * main.c - choose the command, and end it: its output is written, its account
 * is the last line. One line adds a command.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum { THREAD_STACK = 1 << 20 };

extern const struct fl_cmd fl_cmd_record, fl_cmd_report, fl_cmd_count, fl_cmd_ctl;
extern const struct fl_cmd fl_cmd_latency, fl_cmd_list, fl_cmd_doctor;
extern const struct fl_cmd fl_cmd_calibrate, fl_cmd_selftest, fl_cmd_dump;
extern const struct fl_cmd fl_cmd_replay, fl_cmd_live, fl_cmd_cache;

static const struct fl_cmd *const fl_cmds[] = {
	&fl_cmd_record,
	&fl_cmd_report,
	&fl_cmd_replay,
	&fl_cmd_dump,
	&fl_cmd_count,
	&fl_cmd_ctl,
	&fl_cmd_latency,
	&fl_cmd_live,
	&fl_cmd_list,
	&fl_cmd_cache,
	&fl_cmd_doctor,
	&fl_cmd_calibrate,
	&fl_cmd_selftest,
	NULL
};

static void print_commands(FILE *to)
{
	fputs("flick times and counts the functions of running programs.\n\n", to);
	for (size_t i = 0; fl_cmds[i]; i++)
		fprintf(to, "  flick %-9s %s\n", fl_cmds[i]->name, fl_cmds[i]->about);
	fputs("\n`flick COMMAND --help` says more, `flick --version` which flick this is. "
	      "Exit\nstatus: 0 all well, 1 failed, 2 usage, 3 events were lost.\n", to);
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

static const struct fl_cmd *find_command(const char *name)
{
	for (size_t i = 0; fl_cmds[i]; i++)
		if (!strcmp(fl_cmds[i]->name, name))
			return fl_cmds[i];
	return NULL;
}

/* --help counts only as the first word: later ones may be the target's. */
static bool wants_help(int argc, char **argv)
{
	return argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
}

static void print_account(const struct fl_account *a)
{
	if (*a->cost)
		fprintf(stderr, "cost: %s\n", a->cost);
	fprintf(stderr, "events: %llu produced, %llu delivered, %llu lost",
		(unsigned long long)a->produced, (unsigned long long)a->delivered,
		(unsigned long long)a->lost);
	if (a->filtered)
		fprintf(stderr, ", %llu filtered", (unsigned long long)a->filtered);
	fprintf(stderr, "; probes: %llu active", (unsigned long long)a->active);
	if (a->processes > 1)
		fprintf(stderr, " in %llu processes", (unsigned long long)a->processes);
	fprintf(stderr, ", %llu refused", (unsigned long long)a->refused);
	if (a->bodies + a->without)
		fprintf(stderr, "; bodies: %llu functions, %llu refused",
			(unsigned long long)a->bodies, (unsigned long long)a->without);
	putc('\n', stderr);
}

static int run_command(const struct fl_cmd *cmd, int argc, char **argv,
		       struct fl_account *account)
{
	if (wants_help(argc, argv))
		fl_print_help(stdout, cmd);
	else if (argc > 1 && !strcmp(argv[1], "--man"))
		fl_print_man(stdout, cmd);
	else if (argc > 1 && !strcmp(argv[1], "--values"))
		return fl_print_values(cmd, argv[2]);
	else
		return cmd->run(cmd, argc, argv, account);
	return FL_EXIT_WELL;
}

static int help_on(const char *name)
{
	const struct fl_cmd *cmd = find_command(name);

	if (!cmd)
		return complain(name);
	fl_print_help(stdout, cmd);
	return FL_EXIT_WELL;
}

static bool asks_version(const char *word)
{
	return !strcmp(word, "--version") || !strcmp(word, "-V") || !strcmp(word, "version");
}

static int run(int argc, char **argv, struct fl_account *account)
{
	const struct fl_cmd *cmd;

	if (argc < 2) {
		print_commands(stderr);
		return FL_EXIT_USAGE;
	}
	if (asks_version(argv[1])) {
		puts("flick " FLICK_VERSION);
		return FL_EXIT_WELL;
	}
	if (!strcmp(argv[1], "help") && argc > 2)
		return help_on(argv[2]);
	if (wants_help(argc, argv) || !strcmp(argv[1], "help")) {
		print_commands(stdout);
		return FL_EXIT_WELL;
	}
	cmd = find_command(argv[1]);
	return cmd ? run_command(cmd, argc - 1, argv + 1, account) : complain(argv[1]);
}

/* Without this, flick's threads have the stack that `ulimit -s` gives the program. */
static void give_threads_stack(void)
{
	pthread_attr_t a;
	size_t bytes;

	if (pthread_getattr_default_np(&a))
		return;
	if (!pthread_attr_getstacksize(&a, &bytes) && bytes < THREAD_STACK &&
	    !pthread_attr_setstacksize(&a, THREAD_STACK))
		pthread_setattr_default_np(&a);
	pthread_attr_destroy(&a);
}

/* Standard files that are closed stay so, for flick and for the program: what is opened later
 * has other numbers (SQLite would put /dev/null there, for both). Who reads or writes such a
 * file is told EBADF, and an exec closes it. */
static void keep_closed(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct fl_account account = { .due = false };
	int status;

	keep_closed();
	fl_launch_keep_signals();
	give_threads_stack();
	status = run(argc, argv, &account);

	if (fl_flush_output())
		status = FL_EXIT_FAILED;
	else if (account.due)
		print_account(&account);
	fl_screen_close();
	return status;
}
