/*
 * proc.c - what /proc knows of a process: mappings and threads.
 *
 * Reads by lines through a small buffer on the stack. A line longer than the
 * caller's room comes cut, never split in two, so long paths and group lists
 * cannot be mistaken for another line.
 */
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "os/os.h"
#include "os/syscall.h"

struct lines {
	int fd;
	long at, n;		/* of buf; n <= 0: the end, or -errno */
	char end;		/* of a line */
	char buf[2048];
};

/* Is there more, read already or now? */
static bool has_more(struct lines *l)
{
	if (l->at == l->n) {
		do
			l->n = fl_os_read(l->fd, l->buf, sizeof(l->buf));
		while (l->n == -EINTR);
		l->at = 0;
	}
	if (l->n <= 0)
		l->at = l->n;		/* stays at the end */
	return l->n > 0;
}

/* The next line without its end, cut to `room` - 1; false at the end of all. A process may
 * have thousands of mappings, so bytes are copied in runs. */
static bool next_line(struct lines *l, char *to, size_t room)
{
	const char *end = NULL;
	size_t n = 0;

	if (!has_more(l))
		return false;
	do {
		const char *from = &l->buf[l->at];
		size_t left = (size_t)(l->n - l->at), take, fits = room - 1 - n;

		end = __builtin_memchr(from, l->end, left);
		take = end ? (size_t)(end - from) : left;
		__builtin_memcpy(&to[n], from, take < fits ? take : fits);
		n += take < fits ? take : fits;
		l->at += (long)take + (end != NULL);
	} while (!end && has_more(l));
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

/* ---- names of files that are mapped ------------------------------------------------ */

enum { LINE = 640 };			/* a longer path comes cut */

/* Copy `path` with a newline for each "\012", the kernel's way to write a newline there.
 * Returns how many. */
static size_t put_newlines(char to[LINE], const char *path)
{
	static const char escaped[] = "\\012";
	size_t n = 0;

	while (*path) {
		bool is = !__builtin_strncmp(path, escaped, sizeof(escaped) - 1);

		*to++ = is ? '\n' : *path;
		path += is ? sizeof(escaped) - 1 : 1;
		n += is;
	}
	*to = '\0';
	return n;
}

/* Put the file's own name in place of the kernel's. A name that really has these four
 * characters looks the same: `path` stays unless the file of the new name is `inode`. */
static __attribute__((noinline)) void name_mapped(char *path, uint64_t inode)
{
	struct fl_file f = { 0 };
	char own[LINE];
	int fd;

	if (!inode || !__builtin_memchr(path, '\\', __builtin_strlen(path)) ||
	    !put_newlines(own, path))
		return;
	fd = fl_os_open(own, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fl_os_file_facts(fd, &f) && f.inode == inode)
		__builtin_memcpy(path, own, __builtin_strlen(own) + 1);
	fl_os_close(fd);
}

/* ---- mappings ----------------------------------------------------------------------- */

/* "55d0c8a00000-55d0c8a02000 r-xp 00001000 08:01 1442 /usr/bin/true" */
static struct fl_mapping parse_mapping(char *line)
{
	const char *p = line;
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
	p = next_field(p);
	name_mapped(line + (p - line), m.inode);
	m.path = p;
	return m;
}

static int mappings(const char *path, int (*each)(void *arg, const struct fl_mapping *),
		    void *arg)
{
	struct lines l = { .fd = fl_os_open(path, O_RDONLY | O_CLOEXEC), .end = '\n' };
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

int fl_os_mappings(int (*each)(void *arg, const struct fl_mapping *), void *arg)
{
	return mappings("/proc/self/maps", each, arg);
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

/* "/proc/PID/task/TID/LEAF" a piece at a time. */
struct path {
	size_t n;
	char text[64];
};

static void add_text(struct path *p, const char *text)
{
	for (; *text && p->n + 1 < sizeof(p->text); text++)
		p->text[p->n++] = *text;
	p->text[p->n] = '\0';
}

static void add_number(struct path *p, int number)
{
	char digits[12];
	size_t k = sizeof(digits) - 1;

	digits[k] = '\0';
	do
		digits[--k] = (char)('0' + number % 10);
	while (number /= 10);
	add_text(p, digits + k);
}

/* For flick's own process "self" is not the program: the program's number is used. */
static struct path process_path(int pid, const char *leaf)
{
	struct path p = { 0 };

	if (!pid && fl_os_is_outside())
		pid = fl_os_pid();
	add_text(&p, "/proc/");
	if (pid)
		add_number(&p, pid);
	else
		add_text(&p, "self");
	add_text(&p, leaf);
	return p;
}

int fl_os_mappings_of(int pid, int (*each)(void *arg, const struct fl_mapping *), void *arg)
{
	struct path path = process_path(pid, "/maps");

	return mappings(path.text, each, arg);
}

static int open_leaf(int pid, int tid, const char *leaf)
{
	struct path p = process_path(pid, "/task");

	if (tid <= 0)
		return -ESRCH;
	add_text(&p, "/");
	add_number(&p, tid);
	add_text(&p, leaf);
	return fl_os_open(p.text, O_RDONLY | O_CLOEXEC);
}

int fl_os_threads_of(int pid, int except, int (*each)(void *arg, int tid), void *arg)
{
	struct path path = process_path(pid, "/task");
	int fd = fl_os_open(path.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(8) char buf[4096];
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

int fl_os_threads(int except, int (*each)(void *arg, int tid), void *arg)
{
	return fl_os_threads_of(0, except, each, arg);
}

/* The links of a directory: one from each directory in it, one from itself, one from above. */
long fl_os_thread_count(int pid)
{
	struct path path = process_path(pid, "/task");
	struct stat st;
	long err = SYS(SYS_newfstatat, AT_FDCWD, path.text, &st, 0);

	return err ? err : (long)st.st_nlink - 2;
}

/* "123 (name) S 1 123 123 0 -1 4194560 ..." from the state on; the name may hold
 * anything. NULL: the text was cut. */
static const char *behind_name(const char *stat, long n)
{
	while (n > 2 && stat[n - 1] != ')')
		n--;
	return n > 2 ? next_field(stat + n - 1) : NULL;
}

/* The numbers are proc(5)'s: the state is the third field. */
static const char *nth_field(const char *state, int n)
{
	for (int i = 3; i < n; i++)
		state = next_field(state);
	return state;
}

int fl_os_process_status(int pid, struct fl_process_status *out)
{
	enum { FLAGS = 9, SINCE = 22, IS_EXITING = 4 };	/* PF_EXITING */
	struct path path = process_path(pid, "/stat");
	int fd = fl_os_open(path.text, O_RDONLY | O_CLOEXEC);
	char stat[512];
	const char *state, *p;
	long n;

	if (fd < 0)
		return fd;
	n = fl_os_read(fd, stat, sizeof stat - 1);
	fl_os_close(fd);
	if (n < 0)
		return (int)n;
	stat[n] = '\0';
	state = behind_name(stat, n);
	if (!state)
		return -EBADMSG;
	p = nth_field(state, FLAGS);
	out->ends = *state == 'Z' || *state == 'X' || (parse_decimal(&p) & IS_EXITING);
	p = nth_field(state, SINCE);
	out->since = parse_decimal(&p);
	return 0;
}

static const char *after(const char *line, const char *prefix)
{
	for (; *prefix; prefix++, line++)
		if (*line != *prefix)
			return NULL;
	return line;
}

static void take_line(struct fl_thread_status *s, const char *line)
{
	const char *p;

	if ((p = after(line, "State:\t")))
		s->state = *p;
	else if ((p = after(line, "SigPnd:\t")))
		s->pending = parse_hex(&p);
	else if ((p = after(line, "SigBlk:\t")))
		s->blocked = parse_hex(&p);
	else if ((p = after(line, "SigCgt:\t")))
		s->caught = parse_hex(&p);
	else if ((p = after(line, "Seccomp:\t")))
		s->is_filtered = *p != '0';
	else if ((p = after(line, "voluntary_ctxt_switches:\t")) ||
		 (p = after(line, "nonvoluntary_ctxt_switches:\t")))
		s->switches += parse_decimal(&p);
}

int fl_os_thread_status(int pid, int tid, struct fl_thread_status *out)
{
	struct fl_thread_status s = { 0 };
	struct lines l = { .fd = open_leaf(pid, tid, "/status"), .end = '\n' };
	char line[64];

	if (l.fd < 0)
		return l.fd == -ENOENT ? -ESRCH : l.fd;
	while (next_line(&l, line, sizeof(line)))
		take_line(&s, line);
	fl_os_close(l.fd);
	if (!s.state || s.state == 'Z' || s.state == 'X')
		return l.n < 0 ? (int)l.n : -ESRCH;
	*out = s;
	return 0;
}

/* The kernel shows a thread's system call only when it has seen the thread off its core. It
 * shows "-1 ..." if such a thread is in no system call, and else "running". */
bool fl_os_thread_rests(int pid, int tid)
{
	char c = 'r';
	int fd = open_leaf(pid, tid, "/syscall");

	if (fd < 0)
		return false;
	if (fl_os_read(fd, &c, 1) != 1)
		c = 'r';
	fl_os_close(fd);
	return c == '-' || (c >= '0' && c <= '9');
}

void fl_os_thread_name_of(int pid, int tid, char name[16])
{
	struct lines l = { .fd = open_leaf(pid, tid, "/comm"), .end = '\0' };
	size_t n;

	if (l.fd < 0)
		return;
	next_line(&l, name, 16);
	fl_os_close(l.fd);
	n = __builtin_strlen(name);		/* a name may have newlines of its own */
	if (n && name[n - 1] == '\n')
		name[n - 1] = '\0';
}

int fl_os_thread_blocked(int tid, uint64_t *mask)
{
	struct fl_thread_status s;
	int err = fl_os_thread_status(0, tid, &s);

	if (!err)
		*mask = s.blocked;
	return err;
}

int fl_os_reopen(int fd, int flags)
{
	struct path p = { 0 };

	add_text(&p, "/proc/thread-self/fd/");	/* a thread may have its own descriptors */
	add_number(&p, fd);
	return fl_os_open(p.text, flags);
}

/* ---- the environment -------------------------------------------------------- */

uint64_t fl_os_auxiliary(uint64_t type)
{
	return getauxval(type);
}

bool fl_os_is_secure(void)
{
	return fl_os_auxiliary(AT_SECURE) != 0;
}

int fl_os_environment(const char *name, char *to, size_t room)
{
	struct lines l = { .end = '\0' };
	char line[256];
	const char *value = NULL;
	size_t n = 0;

	if (fl_os_is_secure())
		return -ENOENT;
	l.fd = fl_os_open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	if (l.fd < 0)
		return l.fd;
	while (!value && next_line(&l, line, sizeof(line)))
		if ((value = after(line, name)) && *value++ != '=')
			value = NULL;
	fl_os_close(l.fd);
	if (!value)
		return -ENOENT;
	while (value[n] && n + 1 < room) {
		to[n] = value[n];
		n++;
	}
	to[n] = '\0';
	return value[n] ? -ENAMETOOLONG : 0;
}
