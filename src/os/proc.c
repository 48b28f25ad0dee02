/*
 * proc.c - what /proc/self knows of this process: mappings and threads.
 *
 * Reads by lines through a small buffer on the stack. A line longer than the
 * reader's room comes cut, never split in two, so long paths and group lists
 * cannot be mistaken for another line.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "os/os.h"
#include "os/syscall.h"

struct lines {
	int fd;
	long at, n;		/* of buf; n <= 0: the end, or -errno */
	char buf[2048];
};

static int next_char(struct lines *l)
{
	if (l->at == l->n) {
		do
			l->n = fl_os_read(l->fd, l->buf, sizeof(l->buf));
		while (l->n == -EINTR);
		l->at = 0;
	}
	if (l->n <= 0) {
		l->at = l->n;		/* stays at the end */
		return -1;
	}
	return (unsigned char)l->buf[l->at++];
}

/* The next line without its newline, cut to `room` - 1; false at the end. */
static bool next_line(struct lines *l, char *to, size_t room)
{
	size_t n = 0;
	int c = next_char(l);

	if (c < 0)
		return false;
	for (; c >= 0 && c != '\n'; c = next_char(l))
		if (n + 1 < room)
			to[n++] = (char)c;
	to[n] = '\0';
	return true;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static uint64_t parse_hex(const char **p)
{
	uint64_t v = 0;

	for (int d; (d = digit(**p)) >= 0; ++*p)
		v = v << 4 | (unsigned)d;
	return v;
}

static uint64_t parse_decimal(const char **p)
{
	uint64_t v = 0;

	for (; **p >= '0' && **p <= '9'; ++*p)
		v = v * 10 + (unsigned)(**p - '0');
	return v;
}

/* Past the field at `p` and the spaces behind it. */
static const char *next_field(const char *p)
{
	while (*p && *p != ' ')
		p++;
	while (*p == ' ')
		p++;
	return p;
}

static int parse_prot(const char *p)
{
	return (p[0] == 'r' ? PROT_READ : 0) | (p[0] && p[1] == 'w' ? PROT_WRITE : 0) |
	       (p[0] && p[1] && p[2] == 'x' ? PROT_EXEC : 0);
}

/* "55d0c8a00000-55d0c8a02000 r-xp 00001000 08:01 1442 /usr/bin/true" */
static struct fl_mapping parse_mapping(const char *p)
{
	struct fl_mapping m = { .lo = parse_hex(&p) };

	if (*p)
		p++;				/* '-' */
	m.hi = parse_hex(&p);
	p = next_field(p);
	m.prot = parse_prot(p);
	p = next_field(p);
	m.offset = parse_hex(&p);
	p = next_field(next_field(p));		/* the device */
	m.inode = parse_decimal(&p);
	m.path = next_field(p);
	return m;
}

enum { LINE = 640 };			/* a longer path comes cut */

int fl_os_mappings(int (*each)(void *arg, const struct fl_mapping *), void *arg)
{
	struct lines l = { .fd = fl_os_open("/proc/self/maps", O_RDONLY | O_CLOEXEC) };
	char line[LINE];
	int err = 0;

	if (l.fd < 0)
		return l.fd;
	while (!err && next_line(&l, line, sizeof(line))) {
		struct fl_mapping m = parse_mapping(line);

		err = each(arg, &m);
	}
	fl_os_close(l.fd);
	return err ? err : (int)l.n;		/* 0 at the end, or -errno */
}

/* ---- threads -------------------------------------------------------------- */

struct entry {				/* of getdents64(2) */
	uint64_t ino;
	int64_t off;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static int parse_tid(const char *name)
{
	int tid = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		tid = tid * 10 + (*name - '0');
	return tid;				/* 0 for "." and ".." */
}

static int each_entry(const char *buf, long n, int except,
		      int (*each)(void *arg, int tid), void *arg)
{
	int err = 0;

	for (long at = 0; !err && at < n;) {
		const struct entry *e = (const void *)(buf + at);
		int tid = parse_tid(e->name);

		if (tid && tid != except)
			err = each(arg, tid);
		at += e->bytes;
	}
	return err;
}

int fl_os_threads(int except, int (*each)(void *arg, int tid), void *arg)
{
	int fd = fl_os_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(8) char buf[2048];
	long n = 0;
	int err = 0;

	if (fd < 0)
		return fd;
	while (!err && (n = SYS_OR_FAULT(getdents, SYS_getdents64, fd, buf,
					      sizeof(buf))) > 0)
		err = each_entry(buf, n, except, each, arg);
	fl_os_close(fd);
	return err ? err : (int)n;
}

/* "/proc/self/task/TID/status" */
static void status_path(char path[48], int tid)
{
	static const char head[] = "/proc/self/task/", tail[] = "/status";
	char digits[12];
	size_t n = 0, k = 0;

	do
		digits[k++] = (char)('0' + tid % 10);
	while (tid /= 10);
	for (const char *p = head; *p; p++)
		path[n++] = *p;
	while (k)
		path[n++] = digits[--k];
	for (const char *p = tail; *p; p++)
		path[n++] = *p;
	path[n] = '\0';
}

static const char *after(const char *line, const char *prefix)
{
	for (; *prefix; prefix++, line++)
		if (*line != *prefix)
			return NULL;
	return line;
}

int fl_os_thread_blocked(int tid, uint64_t *mask)
{
	struct lines l = { 0 };
	char path[48], line[48];
	const char *p = NULL;

	if (tid <= 0)
		return -ESRCH;
	status_path(path, tid);
	l.fd = fl_os_open(path, O_RDONLY | O_CLOEXEC);
	if (l.fd < 0)
		return l.fd;
	while (!p && next_line(&l, line, sizeof(line)))
		p = after(line, "SigBlk:\t");
	fl_os_close(l.fd);
	if (!p)
		return l.n < 0 ? (int)l.n : -ESRCH;
	*mask = parse_hex(&p);
	return 0;
}
