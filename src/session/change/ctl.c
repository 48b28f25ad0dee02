/*
 * ctl.c - `flick ctl` speaks with the recorder: the recorder's side.
 *
 * Hides the socket: where it stands, who may connect, and what a client may do that is
 * slow, broken or malicious. What is answered is in ctl-answer.c.
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
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/os.h"
#include "session/change/change.h"
#include "session/change/ctl-client.h"
#include "session/change/named.h"

#define LOOK_NS 5000000ull		/* between looks, while nobody is connected */
#define IDLE_NS 5000000000ull		/* a client that says nothing is let go */
#define ANSWER_NS 5000000000ull		/* the program has so long to answer */
#define END_NS 200000000ull		/* and all clients to read what is left, at the end */

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
	for (int k = 0; k < FL_CTL_CLIENTS; k++)
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

/* ---- clients ------------------------------------------------------------------------ */

static void drop_client(struct fl_ctl *c, struct fl_ctl_client *k)
{
	if (k->owns)
		fl_change_abort(c->s, k);
	fl_change_end_session(c->s, k);
	if (k->fd >= 0)
		close(k->fd);
	free(k->text);
	free(k->out);
	*k = (struct fl_ctl_client){ .fd = -1 };
	c->n--;
}

/* Answer whole lines, one after the other; lines behind a commit wait for its answer. */
static void take_lines(struct fl_ctl *c, struct fl_ctl_client *k)
{
	char why[FL_WHY], *end;

	while (!k->waits && !k->is_over && (end = memchr(k->in, '\n', k->n_in)) != NULL) {
		size_t n = (size_t)(end - k->in) + 1;
		bool has_nul = memchr(k->in, '\0', n) != NULL;

		*end = '\0';
		if (has_nul)
			fl_ctl_reply(k, "no a request is a line of text");
		else
			fl_ctl_answer_line(c, k, k->in);
		k->n_in -= n;
		memmove(k->in, k->in + n, k->n_in);
	}
	if (!k->waits && k->n_in == sizeof(k->in)) {
		snprintf(why, sizeof(why), "no a line is longer than %d bytes", FL_CTL_LINE);
		fl_ctl_reply(k, why);
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
static struct fl_ctl_client *find_slot(struct fl_ctl *c, uint64_t now)
{
	struct fl_ctl_client *oldest = NULL;

	for (int i = 0; i < FL_CTL_CLIENTS; i++) {
		struct fl_ctl_client *k = &c->clients[i];

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
	struct fl_ctl_client *k;

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

static void read_some(struct fl_ctl_client *k, uint64_t now)
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

static void write_some(struct fl_ctl_client *k, uint64_t now)
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
static void end_waiting(struct fl_ctl *c, struct fl_ctl_client *k, uint64_t now)
{
	bool is_late = now - k->since_ns > ANSWER_NS;

	if (k->waits == FL_CTL_ANSWER && (is_late || fl_ctl_is_answered(c, k)))
		fl_ctl_end_commit(c, k);
	if (k->waits != FL_CTL_BEGIN && k->waits != FL_CTL_RESULT)
		return;
	if (!is_late && !fl_named_can_tell(c->s, k->since_ns))
		return;
	if (k->waits == FL_CTL_RESULT)
		fl_ctl_end_result(c, k);
	else if (is_late || fl_change_status(c->s).state != FL_CHANGE_ASKED)
		fl_ctl_begin_session(c, k);		/* several begin one after the other */
}

static void turn_client(struct fl_ctl *c, struct fl_ctl_client *k, uint64_t now)
{
	if (k->waits)
		end_waiting(c, k, now);
	if (k->has_session && !k->waits && !fl_change_session_of(c->s, k)) {
		fl_ctl_reply(k, "no the session has been dropped");
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
	struct fl_ctl_client *k = &c.clients[0];

	k->fd = -2;
	while (n && !k->is_over) {
		size_t some = sizeof(k->in) - k->n_in;

		some = n < some ? n : some;
		memcpy(k->in + k->n_in, bytes, some);
		k->n_in += some;
		bytes += some;
		n -= some;
		take_lines(&c, k);
		if (k->waits == FL_CTL_BEGIN)
			fl_ctl_begin_session(&c, k);
		if (k->waits == FL_CTL_ANSWER)
			fl_ctl_end_commit(&c, k);
		if (k->waits == FL_CTL_RESULT)
			fl_ctl_end_result(&c, k);
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
	for (int i = 0; c->n && i < FL_CTL_CLIENTS; i++) {
		struct fl_ctl_client *k = &c->clients[i];

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
static void end_client(struct fl_ctl *c, struct fl_ctl_client *k, uint64_t until_ns)
{
	enum { LOOK_MS = 20 };
	struct pollfd p = { .fd = k->fd, .events = POLLOUT };
	const char *own = fl_change_session_of(c->s, k);

	if (own && k->waits != FL_CTL_ANSWER && !fl_ctl_tell_table(c, k, own))
		fl_ctl_reply(k, "ok");
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
	for (int i = 0; i < FL_CTL_CLIENTS; i++)
		if (c->clients[i].fd != -1)
			end_client(c, &c->clients[i], until_ns);
	if (c->fd >= 0) {
		close(c->fd);
		unlink(c->path);
	}
	free(c);
	s->ctl = NULL;
}
