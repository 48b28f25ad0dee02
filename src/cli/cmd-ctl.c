/*
 * cmd-ctl.c - flick ctl: change what is recorded while the program runs.
 *
 * Asks the recorder of the process (ctl.c, which has the protocol), and prints the answer. A
 * file of requests is one change: all of it is committed, or nothing is.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/cli.h"
#include "os/os.h"
#include "process/process.h"

struct wish {
	uint32_t pid;
};

static const struct fl_option options[] = {
	{ 'p', "pid", "PID", "of the program that is recorded",
	  fl_take_number, .at = offsetof(struct wish, pid), .least = 1, .most = INT32_MAX },
	{ 0 }
};

/* ---- who records it ------------------------------------------------------------------ */

/* Is the process of this pid namespace? Another namespace may use the same directories, and
 * there the number is another process's. */
static bool counts_as_here(int pid)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	if (stat("/proc/self/ns/pid", &own))
		return true;
	if (stat(path, &its))
		return errno == EACCES;		/* it is there: another user's */
	return its.st_ino == own.st_ino && its.st_dev == own.st_dev;
}

/* Is the one that answers there this user, or root? Root trusts the user who has made the
 * directory. */
static bool is_trusted(int fd, unsigned int uid)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) &&
	       (who.uid == geteuid() || who.uid == 0 || (!geteuid() && who.uid == uid)) &&
	       counts_as_here(who.pid);
}

static FILE *connect_at(const char *path, unsigned int uid)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FILE *f = NULL;

	memcpy(at.sun_path, path, strlen(path) + 1);
	if (fd >= 0 && !connect(fd, (void *)&at, sizeof(at)) && is_trusted(fd, uid))
		f = fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

static void say_why_nobody(int pid)
{
	if (kill(pid, 0) && errno == ESRCH)
		fl_say("there is no process %d", pid);
	else if (fl_os_outside_is(pid))
		fl_say(FL_ATTACH_FLICKS, pid);
	else
		fl_say("nobody who may be asked records process %d; `flick record` and `flick "
		       "live` start programs that can be (as the same user, or ask as root)",
		       pid);
}

static FILE *find_recorder(int pid)
{
	unsigned int uids[2] = { geteuid(), geteuid() };
	char path[108], proc[32];
	struct stat st;
	FILE *f = NULL;

	snprintf(proc, sizeof(proc), "/proc/%d", pid);
	if (!stat(proc, &st))
		uids[1] = st.st_uid;
	for (int u = 0; u < 2; u++)
		for (int i = 0; !f && fl_ctl_path(path, i, uids[u], pid); i++)
			f = connect_at(path, uids[u]);
	if (!f)
		say_why_nobody(pid);
	return f;
}

/* ---- asking -------------------------------------------------------------------------- */

/* 0, or -1 and a line printed. What goes before the last line is printed where `shows`. */
enum show { SHOW_NOTHING, SHOW_ALL };

static int read_answer(FILE *f, enum show show)
{
	char line[FL_CTL_LINE];

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "no ", 3)) {
			fl_say("%s", line + 3);
			return -1;
		}
		if (!strncmp(line, "ok", 2)) {
			if (line[2] && show == SHOW_ALL)
				puts(line + 3);
			return 0;
		}
		if (show == SHOW_ALL)
			puts(line + (*line == ' '));
	}
	fl_say("who records it has ended, or does not answer");
	return -1;
}

static int ask(FILE *f, const char *request, enum show show)
{
	dprintf(fileno(f), "%s\n", request);	/* else the answer is missed, too */
	return read_answer(f, show);
}

/* Lines of a file, as far as they are requests: what is wrong with one is said. */
#define STDIN_NAME "standard input"
struct lines {
	char **of;
	int *numbers;
	size_t n;
};

static int add_line(struct lines *l, const char *text, int number)
{
	if (fl_array_room(&l->of, l->n, sizeof(*l->of)) ||
	    fl_array_room(&l->numbers, l->n, sizeof(*l->numbers)) ||
	    !(l->of[l->n] = strdup(text))) {
		fl_say("out of memory");
		return -1;
	}
	l->numbers[l->n++] = number;
	return 0;
}

static int gather_lines(struct lines *l, FILE *from, const char *name)
{
	char line[FL_CTL_LINE];

	for (int number = 1; fgets(line, sizeof(line) - 1, from); number++) {
		char *text = line + strspn(line, " \t");
		const char *wrong = NULL;

		if (!strchr(line, '\n') && !feof(from))
			wrong = "the line is too long";
		text[strcspn(text, "\r\n")] = '\0';
		if (!wrong && (!*text || *text == '#'))
			continue;
		if (!wrong && strncmp(text, "stage ", 6))
			wrong = "a line is `stage on PATTERN` or `stage off PATTERN`";
		if (wrong) {
			fl_say("%s:%d: %s; nothing has changed", name, number, wrong);
			return -1;
		}
		if (add_line(l, text, number))
			return -1;
	}
	return 0;
}

/* Lines of a file are one change. */
static int ask_lines(FILE *f, const struct lines *l, const char *name)
{
	if (ask(f, "begin", SHOW_NOTHING))
		return -1;
	for (size_t i = 0; i < l->n; i++)
		if (ask(f, l->of[i], SHOW_NOTHING)) {
			fl_say("%s:%d: nothing has changed", name, l->numbers[i]);
			ask(f, "abort", SHOW_NOTHING);	/* not when it sees that we are gone */
			return -1;
		}
	return ask(f, "commit", SHOW_ALL);
}

/* All of it is read before the recorder is asked: a recorder lets a client go that says nothing
 * for long, and a person types slowly. */
static int read_file(struct lines *l, const char *name)
{
	FILE *from = strcmp(name, "-") ? fopen(name, "re") : stdin;
	int err;

	if (!from) {
		fl_say("cannot read %s: %s; there are stage, diff, commit, abort, status, "
		       "list, session, or a file of `stage` lines", name, strerror(errno));
		return -1;
	}
	name = strcmp(name, "-") ? name : STDIN_NAME;
	err = gather_lines(l, from, name);
	if (!err && ferror(from))
		fl_say("cannot read %s: %s; nothing has changed", name, strerror(errno));
	else if (!err && !l->n)
		fl_say("%s has no line of `stage`; nothing has changed", name);
	err = err || ferror(from) || !l->n ? -1 : 0;
	if (from != stdin)
		fclose(from);
	return err;
}

static void free_lines(struct lines *l)
{
	while (l->n)
		free(l->of[--l->n]);
	free(l->of);
	free(l->numbers);
}

static bool is_request(const char *word)
{
	static const char *const words[] = { "stage", "diff", "commit", "abort", "status",
					     "list", "session" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

static int ask_words(FILE *f, char **words, int n)
{
	char line[FL_CTL_LINE] = "";
	size_t at = 0;

	for (int i = 0; i < n && at < sizeof(line); i++)
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s", i ? " " : "",
				       words[i]);
	if (at + 1 >= sizeof(line) || strchr(line, '\n')) {
		fl_say("a request is one line of at most %d bytes", FL_CTL_LINE);
		return -1;
	}
	return ask(f, line, SHOW_ALL);
}

static int recorder;			/* the socket, for end_session() */

/* The third signal ends a wait for a recorder that does not answer: timeout(1) sends two. */
static void end_session(int signal_)
{
	static const char request[] = "session end\n";
	static volatile sig_atomic_t n_signals;
	int error = errno;
	ssize_t n = write(recorder, request, sizeof(request) - 1);

	(void)n;			/* then it ends with this process */
	if (++n_signals == 2)
		signal(signal_, SIG_DFL);
	errno = error;
}

/* The session lasts until this process is told to end, or the recording ends: then what the
 * session has seen is printed. Or somebody drops it. */
static int keep_session(FILE *f)
{
	struct sigaction end = { .sa_handler = end_session, .sa_flags = SA_RESTART };

	fflush(stdout);
	recorder = fileno(f);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	return read_answer(f, SHOW_ALL);
}

static int ask_about(int pid, char **words, int n)
{
	struct lines l = { 0 };
	FILE *f = NULL;
	int err = is_request(*words) ? 0 : read_file(&l, *words);

	if (!err)
		f = find_recorder(pid);
	if (f && is_request(*words))
		err = ask_words(f, words, n);
	if (f && !err && n > 1 && !strcmp(words[0], "session") && !strcmp(words[1], "new"))
		err = keep_session(f);
	else if (f && !is_request(*words))
		err = ask_lines(f, &l, strcmp(*words, "-") ? *words : STDIN_NAME);
	free_lines(&l);
	if (f)
		fclose(f);
	return f ? err : -1;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv, struct fl_account *account)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	struct wish w = { 0 };

	(void)account;
	signal(SIGPIPE, SIG_IGN);
	if (fl_args_take(&a, &w))
		return FL_EXIT_USAGE;
	if (!w.pid || a.at == argc) {
		fl_say("%s; usage: flick ctl %s", w.pid ? "no request given" :
		       "-p PID says of which program", cmd->args);
		return FL_EXIT_USAGE;
	}
	return ask_about((int)w.pid, argv + a.at, argc - a.at) ? FL_EXIT_FAILED : FL_EXIT_WELL;
}

const struct fl_cmd fl_cmd_ctl = {
	.name = "ctl",
	.args = "-p PID REQUEST...",
	.about = "Change what is recorded while the program runs",
	.more = "PID is a program that `flick record` or `live` records. A REQUEST is one of:\n"
		"  stage on PATTERN [count]   functions that are to be recorded, or only "
		"counted\n"
		"  stage off PATTERN          functions that are to be recorded no more\n"
		"  diff                       what is staged\n"
		"  commit                     all that is staged becomes so, at once\n"
		"  abort                      what is staged is forgotten\n"
		"  status                     what is recorded, and what is staged\n"
		"  list [PATTERN]             which functions are on, counted, off\n"
		"  session new NAME [-a ANALYSES] [--budget=PERCENT] PATTERN [count]\n"
		"                             functions that are recorded, or counted, while "
		"this\n"
		"                             command runs, with analyses and a budget of its "
		"own\n"
		"  session list               which there are\n"
		"  session result NAME        what one has seen so far\n"
		"  session drop NAME          end one\n"
		"  FILE, or -                 lines of `stage`: one change, committed at its "
		"end\n\n"
		"A commit is done whole, or refused whole with what stands against it. A "
		"PATTERN is\n[MODULE!]FUNCTION or MODULE!0xOFFSET, a glob. What any session "
		"wants is\nrecorded; one goes with its command, however that ends. Ctrl-C "
		"prints what it has seen.\n\n"
		"Exit status: 0 done, 1 refused, or no request, or nobody records it, 2 usage.",
	.options = options,
	.run = run,
};
