/*
 * screen.c - output to a terminal: long output goes through a pager, as git's does, and titles
 * and times have colours. In a pipe or a file there is neither.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "args/screen.h"

static pid_t pager;			/* 0: there is none */

const char *fl_colours_each(size_t i)
{
	static const char *const names[] = {
		[FL_COLOURS_AUTO] = "auto", [FL_COLOURS_ALWAYS] = "always",
		[FL_COLOURS_NEVER] = "never",
	};

	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

/* The environment, with LESS where it is not set: less then folds no lines of a table. */
static char **environment_of_pager(void)
{
	static char less[] = "LESS=FRSX";
	size_t n = 0;
	char **all;

	while (environ[n])
		n++;
	all = calloc(n + 2, sizeof(*all));
	if (!all)
		return NULL;
	memcpy(all, environ, n * sizeof(*all));
	if (!getenv("LESS"))
		all[n] = less;
	return all;
}

/* The pager reads from `from`. False: it cannot be started. */
static bool spawn(const char *command, int from)
{
	char *const words[] = { (char *)"sh", (char *)"-c", (char *)command, NULL };
	char *const word[] = { (char *)command, NULL };
	const bool is_word = !strpbrk(command, " \t|&;<>()$`\\\"'*?[#~=%{}");
	char **env = environment_of_pager();
	posix_spawn_file_actions_t files;
	int err = env ? posix_spawn_file_actions_init(&files) : ENOMEM;

	if (!err) {
		posix_spawn_file_actions_adddup2(&files, from, STDIN_FILENO);
		err = is_word ? posix_spawnp(&pager, command, &files, NULL, word, env) :
				posix_spawn(&pager, "/bin/sh", &files, NULL, words, env);
		posix_spawn_file_actions_destroy(&files);
	}
	free(env);
	return !err;
}

/* Where there is no pager, or there is to be none, output stays where it goes. */
static void begin_paging(void)
{
	const char *command = getenv("PAGER");
	int ends[2];

	if (!command)
		command = "less";
	if (!*command || !strcmp(command, "cat") || pipe2(ends, O_CLOEXEC))
		return;
	fflush(stdout);
	if (spawn(command, ends[0])) {
		dup2(ends[1], STDOUT_FILENO);
		signal(SIGINT, SIG_IGN);	/* the pager's: it shows what it has */
		signal(SIGQUIT, SIG_IGN);
		signal(SIGPIPE, SIG_IGN);	/* when it is quit, writes say so */
	} else {
		pager = 0;
	}
	close(ends[0]);
	close(ends[1]);
}

bool fl_screen_open(const struct fl_screen *s)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	const bool is_terminal = isatty(STDOUT_FILENO);
	const bool can = is_terminal && (!no || !*no) && term && strcmp(term, "dumb");

	if (is_terminal && !s->no_pager)
		begin_paging();
	return s->colours == FL_COLOURS_AUTO ? can : s->colours == FL_COLOURS_ALWAYS;
}

bool fl_screen_has_quit(void)
{
	return pager && ferror(stdout);
}

void fl_screen_close(void)
{
	if (!pager)
		return;
	fclose(stdout);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
	pager = 0;
}
