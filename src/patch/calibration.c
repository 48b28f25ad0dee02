/*
 * calibration.c - read what `flick calibrate` kept for this machine.
 *
 * Hides where the file is, what it says, and what makes two machines the same: the
 * processor's design, its microcode, and the hypervisor between. The key, a text of
 * these three, is made here for the writer and for the reader of the file. A damaged
 * file is no calibration: a line that is missing, doubled, cut short or out of range
 * makes the reader refuse the file.
 */
#include <fcntl.h>

#include "calibration.h"
#include "os/os.h"

/* ---- entries of /proc files ------------------------------------------------- */

/* A file read byte by byte, in which entries end with `separator`. */
struct stream {
	int fd;
	char separator;
	long at, n;			/* of buf; n <= 0: the end, or -errno */
	char buf[512];
};

static int next_byte(struct stream *s)
{
	if (s->at == s->n) {
		do
			s->n = fl_os_read(s->fd, s->buf, sizeof s->buf);
		while (s->n == -EINTR);
		s->at = 0;
	}
	if (s->n <= 0) {
		s->at = s->n;
		return -1;
	}
	return (unsigned char)s->buf[s->at++];
}

/* Passes the rest of an entry that has begun with `c`; false at the end. */
static bool skip_entry(struct stream *s, int c)
{
	while (c >= 0 && c != s->separator)
		c = next_byte(s);
	return c >= 0;
}

/* Pass all bytes up to and with the first `head` that begins an entry; false when no
 * entry begins so. */
static bool find_entry(struct stream *s, const char *head)
{
	for (;;) {
		const char *h = head;
		int c = 0;

		while (*h && (c = next_byte(s)) == *h)
			h++;
		if (!*h)
			return true;
		if (!skip_entry(s, c))
			return false;
	}
}

static long copy_rest(struct stream *s, char *to, size_t room)
{
	size_t n = 0;
	int c;

	while ((c = next_byte(s)) >= 0 && c != s->separator) {
		if (n + 1 >= room)
			return -ENAMETOOLONG;
		to[n++] = (char)c;
	}
	to[n] = '\0';
	return (long)n;
}

/* Copy the text behind `head` in an entry of file `path`: its length, or -errno. */
static long entry(const char *path, char separator, const char *head, char *to,
		  size_t room)
{
	struct stream s = { .separator = separator };
	long n = -ENOENT;

	s.fd = fl_os_open(path, O_RDONLY | O_CLOEXEC);
	if (s.fd < 0)
		return s.fd;
	if (find_entry(&s, head))
		n = copy_rest(&s, to, room);
	fl_os_close(s.fd);
	return n;
}

/* ---- text without a C library ----------------------------------------------- */

struct text {
	char *at, *end;			/* room for a NUL is kept */
};

static void put(struct text *t, const char *s)
{
	while (*s && t->at < t->end)
		*t->at++ = *s++;
	*t->at = '\0';
}

static void put_number(struct text *t, uint32_t v)
{
	char digits[12] = { 0 }, *p = digits + sizeof digits - 1;

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	put(t, " ");
	put(t, p);
}

/* ---- the machine -------------------------------------------------------------- */

/* /proc/cpuinfo has "microcode\t: 0x1000065"; "-" where the kernel does not tell. */
static const char *microcode(char *room, size_t n)
{
	const char *p = room;

	if (entry("/proc/cpuinfo", '\n', "microcode", room, n) < 0)
		return "-";
	while (*p == '\t' || *p == ' ' || *p == ':')
		p++;
	return *p ? p : "-";
}

void fl_calibration_key(char key[FL_CALIBRATION_KEY])
{
	struct text t = { key, key + FL_CALIBRATION_KEY - 1 };
	char room[32];
	struct fl_cpu cpu;

	fl_arch_cpu(&cpu);
	put(&t, cpu.vendor);
	put_number(&t, cpu.family);
	put_number(&t, cpu.model);
	put_number(&t, cpu.stepping);
	put(&t, " ");
	put(&t, microcode(room, sizeof room));
	put(&t, " ");
	put(&t, cpu.hypervisor[0] ? cpu.hypervisor : "bare");
}

/* ---- the place ------------------------------------------------------------------ */

/* A variable as the process was started with it. `environ` belongs to the program, which
 * may be changing it at this moment. An empty value counts as none. */
static long environment(const char *name, char *to, size_t room)
{
	long n = fl_os_is_secure() ? -ENOENT :
		 entry("/proc/self/environ", '\0', name, to, room);

	return n ? n : -ENOENT;
}

static long append(char *path, long n, size_t room, const char *tail)
{
	struct text t = { path + n, path + room - 1 };

	if ((size_t)n + __builtin_strlen(tail) >= room)
		return -ENAMETOOLONG;
	put(&t, tail);
	return t.at - path;
}

long fl_calibration_path(char *to, size_t room)
{
	long n = environment("FLICK_CALIBRATION=", to, room);

	if (n != -ENOENT)
		return n;
	n = environment("XDG_CONFIG_HOME=", to, room);
	if (n > 0)
		return append(to, n, room, "/flick/calibration");
	n = n == -ENOENT ? environment("HOME=", to, room) : n;
	return n > 0 ? append(to, n, room, "/.config/flick/calibration") : n;
}

/* ---- the file ------------------------------------------------------------------- */

enum { HAS_CPU = 1, HAS_T_MAX = 2, HAS_LINE = 4, HAS_ALL = 7 };

struct parse {
	const char *key;		/* this machine's */
	struct fl_calibration c;
	unsigned has;
	bool good, same_cpu, none_safe;
};

struct span {
	const char *at;
	size_t n;
};

static bool is_text(struct span s, const char *text)
{
	return __builtin_strlen(text) == s.n && !__builtin_memcmp(s.at, text, s.n);
}

/* Cut `*rest` at the first `c`, which is dropped; false when there is none. */
static bool cut(struct span *head, struct span *rest, char c)
{
	for (size_t i = 0; i < rest->n; i++) {
		if (rest->at[i] != c)
			continue;
		*head = (struct span){ rest->at, i };
		*rest = (struct span){ rest->at + i + 1, rest->n - i - 1 };
		return true;
	}
	return false;
}

static bool parse_ticks(struct span s, uint64_t *out)
{
	uint64_t v = 0;

	if (s.n < 1 || s.n > 10)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(s.at[i] - '0');
	}
	*out = v;
	return v >= FL_WAIT_FLOOR;
}

static bool parse_cpu(struct parse *p, struct span value)
{
	p->same_cpu = is_text(value, p->key);
	return true;
}

static bool parse_t_max(struct parse *p, struct span value)
{
	p->none_safe = is_text(value, "none");
	return p->none_safe || parse_ticks(value, &p->c.t_max);
}

static bool parse_line(struct parse *p, struct span value)
{
	p->c.line = is_text(value, "yes");
	return p->c.line || is_text(value, "no");
}

static const struct {
	const char *name;
	unsigned bit;
	bool (*parse)(struct parse *, struct span value);
} keys[] = {
	{ "cpu", HAS_CPU, parse_cpu },
	{ "t_max", HAS_T_MAX, parse_t_max },
	{ "line", HAS_LINE, parse_line },
};

/* One `key value`. */
static void take(struct parse *p, struct span rest)
{
	struct span key;

	if (!cut(&key, &rest, ' ')) {
		p->good = false;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (!is_text(key, keys[i].name))
			continue;
		p->good &= !(p->has & keys[i].bit) && keys[i].parse(p, rest);
		p->has |= keys[i].bit;
	}
}

int fl_calibration_parse(struct fl_calibration *c, const char *text, size_t n,
			 const char *key)
{
	struct parse p = { .key = key, .good = true };
	struct span line, rest = { text, n };

	if (!cut(&line, &rest, '\n') || !is_text(line, FL_CALIBRATION_MAGIC))
		return FLE_UNCALIBRATED;
	while ((p.good &= cut(&line, &rest, '\n')) && !is_text(line, "end"))
		take(&p, line);
	if (!p.good || p.has != HAS_ALL || rest.n)
		return FLE_UNCALIBRATED;
	if (!p.same_cpu)
		return FLE_OTHERCPU;
	if (p.none_safe)
		return FLE_UNCALIBRATED;
	*c = p.c;
	return 0;
}

/* Read a whole file: its length, or -errno; -EFBIG: it does not fit. */
static long read_file(const char *path, char *to, size_t room)
{
	int fd = fl_os_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t n = 0;
	long got = 1;

	if (fd < 0)
		return fd;
	while (n < room && got > 0) {
		got = fl_os_read(fd, to + n, room - n);
		n += got > 0 ? (size_t)got : 0;
		got = got == -EINTR ? 1 : got;
	}
	fl_os_close(fd);
	if (got < 0)
		return got;
	return n < room ? (long)n : -EFBIG;
}

int fl_calibration_load(struct fl_calibration *c)
{
	char path[FL_CALIBRATION_PATH], text[FL_CALIBRATION_BYTES];
	char key[FL_CALIBRATION_KEY];
	long n = fl_calibration_path(path, sizeof path);

	if (n > 0)
		n = read_file(path, text, sizeof text);
	if (n <= 0)
		return FLE_UNCALIBRATED;
	fl_calibration_key(key);
	return fl_calibration_parse(c, text, (size_t)n, key);
}
