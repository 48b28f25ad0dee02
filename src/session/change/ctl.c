/*
 * ctl.c - `flick ctl` speaks with the recorder: the recorder's side.
 *
 * Hides the socket: where it stands, who may connect, and what a client may do that is
 * slow, broken or malicious. Changes themselves are change.c's.
 *
 * PROTOCOL	Requests are lines; each is answered by lines that begin with a blank, and
 *		one last that begins with `ok ` or `no `.
 *	stage on|off PATTERN [count]	stage it
 *	diff, list [PATTERN], status	tell
 *	commit				the answer comes when the program has given it
 *	abort				forget what is staged
 *	session new NAME [-a ANALYSES] [--budget PERCENT] PATTERN [count]
 *					a session of its own, as long as this connection lasts:
 *					what it brings is committed, and answered so
 *	session list, drop NAME		tell; end it
 *	session result NAME, end	what one has seen, a line a function; this connection's
 *					own, and end it
 *	begin				what follows is this connection's alone: others are told
 *					so, and when it ends without a commit it is forgotten
 * FAILURE	A client costs what its slot has: one line and its replies, which have bounds.
 *	One that says nothing, or does not read, is let go when its slot is wanted, or after
 *	some seconds. None is waited for: all is done between two looks at the rings.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "session/attach.h"
#include "session/budget/budget.h"
#include "session/change/change.h"
#include "session/change/ctl.h"
#include "session/change/named.h"

enum {
	CLIENTS = 32,
	OUT_MOST = 1 << 18,		/* bytes of replies that nobody has read yet */
	LISTED_MOST = 1000,		/* lines of one reply */
	REASONS_MOST = 10
};
#define LOOK_NS 5000000ull		/* between looks, while nobody is connected */
#define IDLE_NS 5000000000ull		/* a client that says nothing is let go */
#define ANSWER_NS 5000000000ull		/* the program has so long to answer */
#define END_NS 200000000ull		/* and all clients to read what is left, at the end */

struct client {
	int fd;				/* -1: none; a fuzzer's is -2 */
	char in[FL_CTL_LINE];
	size_t n_in;
	char *out;
	size_t n_out, room_out;
	bool has_ended;			/* it says nothing more */
	bool is_over;			/* no more is answered; it goes when `out` is written */
	bool owns;			/* it began a change of its own */
	enum waiting { NOTHING, BEGIN, ANSWER, RESULT } waits;
	uint32_t answers;		/* so many come before the one to its commit */
	char *text;			/* of the session that is to begin, or whose result it
					 * waits for: a request's end; NULL */
	bool has_session;		/* a session began with it, and ends with it */
	uint64_t since_ns;		/* it was last heard, or asked */
};

struct fl_ctl {
	struct fl_session *s;
	int fd;				/* -1: nobody can ask */
	char path[108];
	struct client clients[CLIENTS];
	uint32_t n;			/* clients that are there */
	uint64_t look_ns;
};

/* ---- where it stands --------------------------------------------------------------- */

static bool directory(char path[108], int i, unsigned int uid)
{
	const char *run = getenv("XDG_RUNTIME_DIR");

	if (i == 0 && uid == geteuid() && run && *run == '/')
		return (size_t)snprintf(path, 108, "%s/flick", run) < 90;
	if (i == 0)
		return (size_t)snprintf(path, 108, "/run/user/%u/flick", uid) < 90;
	return i == 1 && snprintf(path, 108, "/tmp/flick-%u", uid) > 0;
}

bool fl_ctl_path(char path[108], int i, unsigned int uid, int pid)
{
	size_t n;

	if (!directory(path, i, uid))
		return false;
	n = strlen(path);
	return (size_t)snprintf(path + n, 108 - n, "/%d", pid) < 108 - n;
}

/* Is the directory this user's alone? Another who may write there could put another socket in
 * place of flick's. */
static bool is_own_directory(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return false;
	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

static struct sockaddr_un socket_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	memcpy(at.sun_path, path, strlen(path) + 1);
	return at;
}

/* Does somebody listen there? */
static bool is_listened_at(const char *path)
{
	const struct sockaddr_un at = socket_at(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool is = fd >= 0 && !connect(fd, (const void *)&at, sizeof(at));

	if (fd >= 0)
		close(fd);
	return is;
}

/* A socket that stands there is of a recorder that was killed, because each process has one. Or
 * its recorder lives in another pid namespace, where another process has that number. */
static int listen_at(const char *path)
{
	const struct sockaddr_un at = socket_at(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (is_listened_at(path)) {
		close(fd);
		return -1;
	}
	unlink(path);
	if (!bind(fd, (const void *)&at, sizeof(at)) && !chmod(path, 0600) && !listen(fd, 128))
		return fd;
	close(fd);
	return -1;
}

/* Is the socket of a recorder that was killed? Then nobody listens, and the process has gone. A
 * recorder in another pid namespace, whose processes have no numbers here, listens a moment
 * after its socket is there. */
static bool is_dead_socket(const char *path, const char *pid)
{
	enum { MOMENT = 60 };
	struct stat st;

	if (lstat(path, &st) || !S_ISSOCK(st.st_mode) || time(NULL) - st.st_mtime < MOMENT ||
	    !kill(atoi(pid), 0) || errno != ESRCH)
		return false;
	return !is_listened_at(path);
}

/* Remove dead sockets, some each time: so a thousand of them hold up nobody's start. */
static void remove_left(const char *directory)
{
	enum { SOME = 64 };
	DIR *d = opendir(directory);
	const struct dirent *e;
	char path[108];
	int n = 0;

	while (d && n < SOME && (e = readdir(d))) {
		size_t digits = strspn(e->d_name, "0123456789");

		if (!digits || e->d_name[digits] ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", directory, e->d_name) >=
		    sizeof(path) || !is_dead_socket(path, e->d_name))
			continue;
		unlink(path);
		n++;
	}
	if (d)
		closedir(d);
}

void fl_ctl_open(struct fl_session *s)
{
	struct fl_ctl *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	c->s = s;
	c->fd = -1;
	for (int k = 0; k < CLIENTS; k++)
		c->clients[k].fd = -1;
	for (int i = 0; c->fd < 0 && directory(c->path, i, geteuid()); i++) {
		if (!is_own_directory(c->path))
			continue;
		remove_left(c->path);
		if (fl_ctl_path(c->path, i, geteuid(), s->pid))
			c->fd = listen_at(c->path);
	}
	s->ctl = c;
}

/* ---- what is said ------------------------------------------------------------------- */

static void reply(struct client *k, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A byte that moves a cursor, or ends a line, is written out, in up to four letters: still a
 * line is no longer than a client has room for. "": there is no memory. */
static size_t print_line(char line[FL_CTL_LINE], const char *text)
{
	FILE *to = fmemopen(line, FL_CTL_LINE, "w");

	*line = '\0';
	if (to) {
		fl_print_plain(to, text);
		fputc('\n', to);
		fclose(to);
	}
	return strlen(line);
}

/* Replies that a client does not read have a bound; beyond it the client is let go. */
static void reply(struct client *k, const char *format, ...)
{
	char text[FL_CTL_LINE / 4 - 1], line[FL_CTL_LINE];
	va_list args;
	size_t n;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	n = print_line(line, text);
	k->is_over |= !n;
	if (k->n_out + n > k->room_out) {
		size_t room = k->room_out ? 2 * k->room_out : 4096;
		char *grown = room <= OUT_MOST ? realloc(k->out, room) : NULL;

		k->is_over |= !grown;
		if (!grown)
			return;
		k->out = grown;
		k->room_out = room;
	}
	memcpy(k->out + k->n_out, line, n);
	k->n_out += n;
}

static const void *owner_of(struct fl_ctl *c, const struct client *k)
{
	return k->owns ? (const void *)k : (const void *)c;
}

static const char *name_of_site(const struct fl_session *s, uint32_t site)
{
	return fl_functions_name(&s->functions, s->functions.function_of[site]);
}

/* ---- requests ----------------------------------------------------------------------- */

static void tell_sum(struct client *k, const struct fl_session *s,
		     const struct fl_change_sum *sum)
{
	char same[64] = "", gone[64] = "", refused[320] = "";

	if (sum->same)
		snprintf(same, sizeof(same), "; %u so already", sum->same);
	if (sum->gone)
		snprintf(gone, sizeof(gone), ", %u when loaded again", sum->gone);
	if (sum->refused)
		snprintf(refused, sizeof(refused), "; %u refused: %.240s", sum->refused,
			 fl_reason(load_relaxed(&s->sites[sum->refused_site].refusal)));
	reply(k, "ok %u site%s of %u function%s staged%s%s%s", sum->sites,
	    sum->sites == 1 ? "" : "s", sum->functions, sum->functions == 1 ? "" : "s", gone,
	    same, refused);
}

static bool skip_word(char **text, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*text, word, n) || ((*text)[n] && (*text)[n] != ' '))
		return false;
	*text += n;
	*text += strspn(*text, " ");
	return true;
}

/* PATTERN is all up to a last word that is an action. */
static enum fl_stage take_action(char *pattern)
{
	size_t n = strlen(pattern);
	const char *last = strrchr(pattern, ' ');

	if (!last || strcmp(last, " count"))
		return FL_STAGE_ON;
	for (n -= strlen(" count"); n && pattern[n - 1] == ' ';)
		n--;
	pattern[n] = '\0';
	return FL_STAGE_COUNT;
}

static void take_stage(struct fl_ctl *c, struct client *k, char *text)
{
	struct fl_change_sum sum;
	enum fl_stage to = FL_STAGE_OFF;
	char why[FL_WHY];

	if (skip_word(&text, "on"))
		to = take_action(text);
	else if (!skip_word(&text, "off"))
		*text = '\0';
	if (!*text)
		reply(k, "no stage takes `on PATTERN`, `on PATTERN count` or `off PATTERN`");
	else if (fl_change_stage(c->s, owner_of(c, k), to, text, &sum, why))
		reply(k, "no %s", why);
	else
		tell_sum(k, c->s, &sum);
}

/* A line for each function. */
struct change_lines {
	struct client *k;
	const struct fl_session *s;
	uint32_t function, n;		/* sites of it */
	uint32_t lines, more;		/* that were said; that there was no room for */
	enum fl_stage stage;
	uint32_t site;
};

static void end_function(struct change_lines *l)
{
	static const char *const names[FL_N_STAGES] = { "", "off", "on", "count" };

	bool has_room = l->lines < LISTED_MOST && l->k->n_out < OUT_MOST / 2;

	if (l->n && has_room)
		reply(l->k, " %-5s %.800s (%u site%s)", names[l->stage],
		    name_of_site(l->s, l->site), l->n, l->n == 1 ? "" : "s");
	l->lines += l->n && has_room;
	l->more += l->n && !has_room;
	l->n = 0;
}

static void list_site(void *arg, uint32_t site, enum fl_stage to)
{
	struct change_lines *l = arg;
	uint32_t function = l->s->functions.function_of[site];

	if (l->n && function == l->function) {
		l->stage = to > l->stage ? to : l->stage;
		l->n++;
		return;
	}
	end_function(l);
	l->function = function;
	l->site = site;
	l->stage = to;
	l->n = 1;
}

static void tell_diff(struct fl_ctl *c, struct client *k)
{
	struct change_lines l = { .k = k, .s = c->s };
	struct fl_change_sum sum = fl_change_diff(c->s, list_site, &l);

	end_function(&l);
	if (l.more)
		reply(k, " ... and %u more", l.more);
	if (sum.sites)
		tell_sum(k, c->s, &sum);
	else
		reply(k, "ok nothing is staged");
}

static double us_of(const struct fl_ctl *c, uint64_t ticks)
{
	uint64_t tsc, ns;

	fl_clocks_read(&tsc, &ns);
	return (double)ticks * (double)(ns - c->s->start_ns) /
	       (double)(tsc - c->s->start_tsc) / 1e3;
}

static void count_session(void *n, const struct fl_named *d)
{
	(void)d;
	++*(uint32_t *)n;
}

static bool is_at_work(struct fl_session *s)
{
	return s->attached ? fl_attach_has_begun(s) : s->begun;
}

static void tell_status(struct fl_ctl *c, struct client *k)
{
	uint32_t sessions = 0;
	char functions[FL_WHY];
	struct fl_change_status is = fl_change_status(c->s);
	struct fl_change_sum sum = fl_change_diff(c->s, NULL, NULL);

	reply(k, " recording  process %d, %.800s%s", c->s->pid, c->s->o->argv[0],
	    is_at_work(c->s) ? "" : " (no probe is on yet)");
	if (!fl_change_write_list(NULL, c->s, NULL, functions))
		reply(k, " functions  %s; `list` names them", functions);
	fl_change_each_session(c->s, count_session, &sessions);
	reply(k, " sessions   the recording's%s", sessions ? ", and those of `session list`" :
	    "; there is one");
	reply(k, " generation %u", is.generation);
	if (is.state == FL_CHANGE_ASKED)
		reply(k, " change     %u sites, being made since %.1f ms", sum.sites,
		    (double)(fl_os_monotonic_ns() - is.asked_ns) / 1e6);
	else if (is.state == FL_CHANGE_STAGED)
		reply(k, " staged     %u sites of %u functions%s", sum.sites, sum.functions,
		    is.by == owner_of(c, k) ? "" : ", by somebody else");
	else
		reply(k, " staged     nothing");
	if (fl_change_never(c->s))
		reply(k, "no %s", fl_change_never(c->s));
	else
		reply(k, "ok");
}

static void begin_waiting(struct client *k, uint32_t answers)
{
	k->waits = ANSWER;
	k->answers = answers;
	k->since_ns = fl_os_monotonic_ns();
}

static void begin_commit(struct fl_ctl *c, struct client *k)
{
	uint32_t answers = fl_change_status(c->s).answers;
	char why[FL_WHY];

	if (fl_change_commit(c->s, owner_of(c, k), why))
		reply(k, "no %s", why);
	else
		begin_waiting(k, answers);
}

static bool is_answered(const struct fl_ctl *c, const struct client *k)
{
	return fl_change_status(c->s).answers != k->answers;
}

static void tell_refused(struct fl_ctl *c, struct client *k,
			 const struct fl_change_status *is)
{
	for (uint32_t i = 0; i < is->n_listed && i < REASONS_MOST; i++)
		reply(k, " refused %.400s+0x%llx: %s", name_of_site(c->s, is->listed[i]),
		    (unsigned long long)(c->s->functions.sites[is->listed[i]].at -
					 c->s->functions.sites[is->listed[i]].function),
		    fl_reason(load_relaxed(&c->s->sites[is->listed[i]].refusal)));
	if (k->has_session && !fl_change_session_of(c->s, k))
		reply(k, "no there is no such session: %s", fl_reason(is->error));
	else if (is->error == FLE_REFUSED)
		reply(k, "no %u site%s cannot be switched, so nothing has changed; what is "
			 "left is still staged", is->refused, is->refused == 1 ? "" : "s");
	else
		reply(k, "no nothing has changed: %s", fl_reason(is->error));
}

/* The program has answered, or nobody waits any longer. */
static void end_commit(struct fl_ctl *c, struct client *k)
{
	struct fl_change_status is = fl_change_status(c->s);

	k->waits = NOTHING;
	k->since_ns = fl_os_monotonic_ns();
	if (!is_answered(c, k))
		reply(k, "no %s", fl_change_never(c->s) ? fl_change_never(c->s) :
		      "the program has not answered yet; `status` tells when it has");
	else if (is.error)
		tell_refused(c, k, &is);
	else
		reply(k, "ok generation %u: %u site%s switched in %.0f us", is.generation,
		    is.switched, is.switched == 1 ? "" : "s", us_of(c, is.took_ticks));
	k->has_session &= !is.error || fl_change_session_of(c->s, k);
}

/* Counts up to now are to be known first, which may take a moment. */
static void wait_to_tell(struct client *k, enum waiting for_, const char *text)
{
	free(k->text);
	k->text = strdup(text);
	k->waits = k->text ? for_ : NOTHING;
	k->since_ns = fl_os_monotonic_ns();
	if (!k->text)
		reply(k, "no out of memory");
}

/* The first word of a text, which is cut there. */
static char *cut_word(char **text)
{
	char *word = *text;
	size_t n = strcspn(word, " ");

	*text += n;
	if (**text)
		*(*text)++ = '\0';
	*text += strspn(*text, " ");
	return word;
}

/* `--budget=1` is `--budget 1`. What is wrong, or NULL. */
static const char *take_flags(char **text, struct fl_naming *n)
{
	while (**text == '-') {
		char *word = cut_word(text), *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		else
			value = cut_word(text);
		if (!strcmp(word, "-a") || !strcmp(word, "--analysis"))
			n->analyses = value;
		else if (strcmp(word, "--budget"))
			return "a session takes -a ANALYSIS and --budget=PERCENT";
		else if (!fl_budget_parse(value, &n->budget))
			return "--budget takes a percentage from 0.1 to 100";
	}
	return NULL;
}

/* NAME [OPTION]... PATTERN [count]: the pattern may have blanks. */
static void begin_session(struct fl_ctl *c, struct client *k)
{
	struct fl_naming n = { .by = k };
	char *text = k->text, why[FL_WHY];
	uint32_t answers = fl_change_status(c->s).answers;
	const char *wrong;

	k->waits = NOTHING;
	n.name = cut_word(&text);
	wrong = take_flags(&text, &n);
	n.stage = take_action(text);
	n.glob = text;
	if (!wrong && (!*n.name || !*n.glob))
		wrong = "session new takes `NAME PATTERN` or `NAME PATTERN count`";
	if (!wrong && k->has_session)
		wrong = "there is one of this connection";
	if (!wrong && n.budget > 0 && c->s->o->action != FL_ACT_SAMPLE)
		wrong = "this recording has no budget: it records each call";
	if (!wrong && fl_change_begin_session(c->s, &n, why))
		wrong = why;
	if (wrong) {
		reply(k, "no %s", wrong);
		return;
	}
	k->has_session = true;
	begin_waiting(k, answers);
}

static void tell_session(void *arg, const struct fl_named *d)
{
	char budget[32] = "";

	if (d->budget > 0)
		snprintf(budget, sizeof(budget), " (budget %g %%)", d->budget * 100);
	reply(arg, " %-12s %u site%s of %u function%s: %.200s%s%s%s", d->name, d->sites,
	      d->sites == 1 ? "" : "s", d->functions, d->functions == 1 ? "" : "s", d->glob,
	      d->stage == FL_STAGE_COUNT ? " (counted)" : "", budget,
	      d->is_on ? "" : " (being made)");
}

/* Reply with lines, as many as there is room for. */
static void reply_lines(struct client *k, char *text)
{
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		if (*line && k->n_out < OUT_MOST / 2)
			reply(k, " %s", line);
		else if (*line && rest && !*rest)
			reply(k, " ... and more, which there is no room for");
}

/* Reply with a session's lines, as many as there is room for. 0, or -1 and it is said why. */
static int tell_table(struct fl_ctl *c, struct client *k, const char *name)
{
	char *text = NULL, why[FL_WHY];
	size_t n;
	FILE *to = open_memstream(&text, &n);
	int err = to ? fl_change_write_session(to, c->s, k, name, why) : -1;

	if (!to)
		snprintf(why, sizeof(why), "out of memory");
	else
		fclose(to);
	if (err)
		reply(k, "no %s", why);
	else
		reply_lines(k, text);
	free(text);
	return err;
}

/* PATTERN, or "". */
static void tell_list(struct fl_ctl *c, struct client *k, const char *glob)
{
	char *text = NULL, sum[FL_WHY] = "the program has no probes yet";
	size_t n;
	FILE *to = is_at_work(c->s) ? open_memstream(&text, &n) : NULL;
	int err = to ? fl_change_write_list(to, c->s, *glob ? glob : NULL, sum) : -1;

	if (to)
		fclose(to);
	if (!err)
		reply_lines(k, text);
	reply(k, "%s %s", err ? "no" : "ok", sum);
	free(text);
}

/* Reply with a session's result. A client that asked for its own session's has what it wants:
 * the session ends. */
static void end_result(struct fl_ctl *c, struct client *k)
{
	const char *own = fl_change_session_of(c->s, k);

	k->waits = NOTHING;
	k->since_ns = fl_os_monotonic_ns();
	if (tell_table(c, k, k->text))
		return;
	reply(k, "ok");
	if (!own || strcmp(own, k->text))
		return;
	fl_change_end_session(c->s, k);
	k->has_session = false;
}

static void take_session(struct fl_ctl *c, struct client *k, char *text)
{
	uint32_t answers = fl_change_status(c->s).answers, n = 0;
	char why[FL_WHY];

	if (skip_word(&text, "new")) {
		wait_to_tell(k, BEGIN, text);
	} else if (skip_word(&text, "list")) {
		fl_change_each_session(c->s, tell_session, k);
		fl_change_each_session(c->s, count_session, &n);
		reply(k, "ok %u beside the recording's", n);
	} else if (skip_word(&text, "result") && *text) {
		wait_to_tell(k, RESULT, text);
	} else if (skip_word(&text, "end") && fl_change_session_of(c->s, k)) {
		wait_to_tell(k, RESULT, fl_change_session_of(c->s, k));
	} else if (!skip_word(&text, "drop") || !*text) {
		reply(k, "no session takes `new NAME PATTERN`, `list`, `result NAME` or "
			 "`drop NAME`");
	} else if (fl_change_drop_session(c->s, text, why)) {
		reply(k, "no %s", why);
	} else {
		begin_waiting(k, answers);
	}
}

static void begin_own(struct fl_ctl *c, struct client *k)
{
	struct fl_change_status is = fl_change_status(c->s);

	if (is.state == FL_CHANGE_ASKED) {
		reply(k, "no a change is being made just now");
		return;
	}
	if (is.state != FL_CHANGE_IDLE && is.by != k) {
		reply(k, "no somebody else has staged a change, and neither committed nor "
			 "aborted it");
		return;
	}
	k->owns = true;
	reply(k, "ok");
}

static void abort_change(struct fl_ctl *c, struct client *k)
{
	struct fl_change_status is = fl_change_status(c->s);

	fl_change_abort(c->s, owner_of(c, k));
	if (is.state == FL_CHANGE_ASKED)
		reply(k, "no a change is being made just now");
	else if (is.state == FL_CHANGE_STAGED && is.by != owner_of(c, k))
		reply(k, "no it is somebody else who has staged a change");
	else
		reply(k, "ok nothing is staged");
}

/* Requests of one word. */
static const struct {
	const char *word;
	void (*answer)(struct fl_ctl *, struct client *);
} alone[] = {
	{ "diff", tell_diff },	   { "commit", begin_commit }, { "abort", abort_change },
	{ "status", tell_status }, { "begin", begin_own },
};

static void answer_line(struct fl_ctl *c, struct client *k, char *text)
{
	text += strspn(text, " ");
	for (size_t i = 0; i < ARRAY_LEN(alone); i++)
		if (skip_word(&text, alone[i].word)) {
			if (*text)
				reply(k, "no %s takes nothing behind it", alone[i].word);
			else
				alone[i].answer(c, k);
			return;
		}
	if (skip_word(&text, "stage"))
		take_stage(c, k, text);
	else if (skip_word(&text, "list"))
		tell_list(c, k, text);
	else if (skip_word(&text, "session"))
		take_session(c, k, text);
	else
		reply(k, "no such request; there are stage, diff, commit, abort, status, "
			 "list, session");
}

/* ---- clients ------------------------------------------------------------------------ */

static void drop_client(struct fl_ctl *c, struct client *k)
{
	if (k->owns)
		fl_change_abort(c->s, k);
	fl_change_end_session(c->s, k);
	if (k->fd >= 0)
		close(k->fd);
	free(k->text);
	free(k->out);
	*k = (struct client){ .fd = -1 };
	c->n--;
}

/* Answer whole lines, one after the other; lines behind a commit wait for its answer. */
static void take_lines(struct fl_ctl *c, struct client *k)
{
	char *end;

	while (!k->waits && !k->is_over && (end = memchr(k->in, '\n', k->n_in)) != NULL) {
		size_t n = (size_t)(end - k->in) + 1;
		bool has_nul = memchr(k->in, '\0', n) != NULL;

		*end = '\0';
		if (has_nul)
			reply(k, "no a request is a line of text");
		else
			answer_line(c, k, k->in);
		k->n_in -= n;
		memmove(k->in, k->in + n, k->n_in);
	}
	if (!k->waits && k->n_in == sizeof(k->in)) {
		reply(k, "no a line is longer than %d bytes", FL_CTL_LINE);
		k->is_over = true;
	}
}

static bool is_allowed(int fd)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) &&
	       (who.uid == geteuid() || who.uid == 0);
}

/* A free slot, or that of a client which has said nothing for a while, and makes room. */
static struct client *find_slot(struct fl_ctl *c, uint64_t now)
{
	struct client *oldest = NULL;

	for (int i = 0; i < CLIENTS; i++) {
		struct client *k = &c->clients[i];

		if (k->fd == -1)
			return k;
		if (!k->waits && !k->owns && !k->has_session &&
		    (!oldest || k->since_ns < oldest->since_ns))
			oldest = k;
	}
	if (!oldest || now - oldest->since_ns < IDLE_NS / 50)
		return NULL;
	drop_client(c, oldest);
	return oldest;
}

static void accept_some(struct fl_ctl *c, uint64_t now)
{
	enum { SOME = 16 };
	struct client *k;

	for (int i = 0; i < SOME && (k = find_slot(c, now)) != NULL; i++) {
		int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (!is_allowed(fd)) {
			close(fd);
			continue;
		}
		k->fd = fd;
		k->since_ns = now;
		c->n++;
	}
}

static void read_some(struct client *k, uint64_t now)
{
	ssize_t n;

	if (k->n_in == sizeof(k->in) || k->is_over || k->has_ended)
		return;
	n = recv(k->fd, k->in + k->n_in, sizeof(k->in) - k->n_in, 0);
	if (n > 0) {
		k->n_in += (size_t)n;
		k->since_ns = now;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		k->has_ended = true;
	}
}

static void write_some(struct client *k, uint64_t now)
{
	ssize_t n = send(k->fd, k->out, k->n_out, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		k->is_over = true;
		k->n_out = 0;
	}
	if (n <= 0)
		return;
	k->n_out -= (size_t)n;
	memmove(k->out, k->out + n, k->n_out);
	k->since_ns = now;
}

/* End a client's wait, if it is time. */
static void end_waiting(struct fl_ctl *c, struct client *k, uint64_t now)
{
	bool is_late = now - k->since_ns > ANSWER_NS;

	if (k->waits == ANSWER && (is_late || is_answered(c, k)))
		end_commit(c, k);
	if (k->waits != BEGIN && k->waits != RESULT)
		return;
	if (!is_late && !fl_named_can_tell(c->s, k->since_ns))
		return;
	if (k->waits == RESULT)
		end_result(c, k);
	else if (is_late || fl_change_status(c->s).state != FL_CHANGE_ASKED)
		begin_session(c, k);		/* several begin one after the other */
}

static void turn_client(struct fl_ctl *c, struct client *k, uint64_t now)
{
	if (k->waits)
		end_waiting(c, k, now);
	if (k->has_session && !k->waits && !fl_change_session_of(c->s, k)) {
		reply(k, "no the session has been dropped");
		k->has_session = false;
		k->is_over = true;
	}
	if (!k->n_out && !k->waits)
		read_some(k, now);
	if (!k->n_out)
		take_lines(c, k);
	if (k->n_out)
		write_some(k, now);
	if (k->has_ended && !k->waits && !k->n_out && !memchr(k->in, '\n', k->n_in))
		k->is_over = true;
}

void fl_ctl_feed(struct fl_session *s, const char *bytes, size_t n, FILE *replies)
{
	struct fl_ctl c = { .s = s, .fd = -1, .n = 1 };
	struct client *k = &c.clients[0];

	k->fd = -2;
	while (n && !k->is_over) {
		size_t some = sizeof(k->in) - k->n_in;

		some = n < some ? n : some;
		memcpy(k->in + k->n_in, bytes, some);
		k->n_in += some;
		bytes += some;
		n -= some;
		take_lines(&c, k);
		if (k->waits == BEGIN)
			begin_session(&c, k);
		if (k->waits == ANSWER)
			end_commit(&c, k);
		if (k->waits == RESULT)
			end_result(&c, k);
		if (replies)
			fwrite(k->out, 1, k->n_out, replies);
		k->n_out = 0;
	}
	drop_client(&c, k);
}

void fl_ctl_turn(struct fl_session *s)
{
	struct fl_ctl *c = s->ctl;
	uint64_t now = fl_os_monotonic_ns();

	if (!c || c->fd < 0 || (!c->n && now < c->look_ns))
		return;
	c->look_ns = now + LOOK_NS;
	accept_some(c, now);
	for (int i = 0; c->n && i < CLIENTS; i++) {
		struct client *k = &c->clients[i];

		if (k->fd < 0)
			continue;
		turn_client(c, k, now);
		if ((k->is_over && !k->n_out && !k->waits) ||
		    (!k->waits && !k->has_session && now - k->since_ns > IDLE_NS))
			drop_client(c, k);
	}
}

/* The recording has ended, and its sessions with it: owners are told what their sessions have
 * seen. Slow clients are waited for, all of them together until `until_ns`. */
static void end_client(struct fl_ctl *c, struct client *k, uint64_t until_ns)
{
	enum { LOOK_MS = 20 };
	struct pollfd p = { .fd = k->fd, .events = POLLOUT };
	const char *own = fl_change_session_of(c->s, k);

	if (own && k->waits != ANSWER && !tell_table(c, k, own))
		reply(k, "ok");
	do
		if (k->n_out && poll(&p, 1, LOOK_MS) > 0)
			write_some(k, fl_os_monotonic_ns());
	while (k->n_out && !k->is_over && fl_os_monotonic_ns() < until_ns);
	drop_client(c, k);
}

void fl_ctl_close(struct fl_session *s)
{
	const uint64_t until_ns = fl_os_monotonic_ns() + END_NS;
	struct fl_ctl *c = s->ctl;

	if (!c)
		return;
	for (int i = 0; i < CLIENTS; i++)
		if (c->clients[i].fd != -1)
			end_client(c, &c->clients[i], until_ns);
	if (c->fd >= 0) {
		close(c->fd);
		unlink(c->path);
	}
	free(c);
	s->ctl = NULL;
}
