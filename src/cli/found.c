/*
 * found.c - what the scan of a large program has found, kept for its next run.
 *
 * Hides the file: where it is, that it is written beside and renamed, and when it holds
 * for a program. It is a copy of what a scan would find again, no more: it may go at any
 * time. One that is not this user's alone, or not for these very files, is none, and is
 * replaced. There are a few names, by the program's path, so it takes the room of a few
 * programs, be they built a hundred times a day.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

enum {
	NAMES = 256,
	FEW = 4096			/* calls: a scan that finds fewer is soon done */
};

/* The file begins with it; its rows follow. */
struct head {
	char magic[16];
	uint8_t id[FL_BUILD_ID];
	struct stamp {
		uint64_t bytes, changed_ns;
	} program, library;		/* whose code has been scanned, and has scanned */
	uint64_t n, sum;		/* of rows */
};

struct fl_found_file {
	char path[4096];
	struct head head;
	struct fl_found_row *rows;	/* to keep, or NULL */
};

static bool take_stamp(const char *path, struct stamp *to)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	to->bytes = (uint64_t)st.st_size;
	to->changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 +
			 (uint64_t)st.st_mtim.tv_nsec;
	return true;
}

static bool take_id(const char *path, uint8_t id[FL_BUILD_ID])
{
	struct fl_obj o;
	bool has_id;

	if (fl_obj_open(&o, path))
		return false;
	has_id = fl_obj_file_id(&o, id);
	fl_obj_close(&o);
	return has_id;
}

/* Makes the directories above it. False: there is no place. */
static bool find_place(char to[4096], const char *program)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool is_own = !cache || *cache != '/';
	uint32_t h = 0;
	int n;

	for (const char *c = program; *c; c++)
		h = (h ^ (unsigned char)*c) * 0x01000193u;
	if (is_own && (!home || *home != '/'))
		return false;
	n = snprintf(to, 4096, "%s%s", is_own ? home : cache, is_own ? "/.cache" : "");
	if (n >= 4000 || (mkdir(to, 0700) && errno != EEXIST))
		return false;
	strcpy(to + n, "/flick");
	if (mkdir(to, 0700) && errno != EEXIST)
		return false;
	sprintf(to + n, "/flick/found.%03u", (h ^ h >> 16) % NAMES);
	return true;
}

static uint64_t sum_of(const struct fl_found_row *rows, uint64_t n)
{
	uint64_t sum = n;

	for (uint64_t i = 0; i < n; i++)
		sum = (sum ^ ((uint64_t)rows[i].at << 32 | rows[i].function)) *
		      0x9e3779b97f4a7c15ull;
	return sum ^ sum >> 29;
}

/* ---- before the program starts ------------------------------------------------------ */

static bool is_ours(int fd, off_t *bytes)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & (S_IWGRP | S_IWOTH))
		return false;
	*bytes = st.st_size;
	return true;
}

/* Is it of the same files? */
static bool read_head(int fd, const struct head *wanted, struct head *h)
{
	return read(fd, h, sizeof(*h)) == sizeof(*h) &&
	       !memcmp(h, wanted, offsetof(struct head, n));
}

static bool read_rows(int fd, struct fl_shm *m, const struct head *h)
{
	size_t bytes = h->n * sizeof(struct fl_found_row);

	return read(fd, fl_shm_found(m), bytes) == (ssize_t)bytes &&
	       sum_of(fl_shm_found(m), h->n) == h->sum;
}

static bool give(const struct fl_found_file *f, struct fl_shm *m)
{
	int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct head h;
	off_t bytes;
	bool given = fd >= 0 && is_ours(fd, &bytes) && read_head(fd, &f->head, &h) &&
		     h.n <= m->max_sites &&
		     (uint64_t)bytes == sizeof(h) + h.n * sizeof(struct fl_found_row) &&
		     read_rows(fd, m, &h);

	if (given)
		m->found.n = (uint32_t)h.n;
	if (fd >= 0)
		close(fd);
	return given;
}

void fl_found_open(struct fl_session *s)
{
	const char *program = *s->launch.interpreter ? s->launch.interpreter :
			      s->launch.program;
	struct fl_found_file *f = s->launch.calls_hooks ? calloc(1, sizeof(*f)) : NULL;
	char real[4096];

	if (!f)
		return;
	strcpy(f->head.magic, "flick found 1\n");
	if (!realpath(program, real) || !take_id(real, f->head.id) ||
	    !take_stamp(real, &f->head.program) ||
	    !take_stamp(s->launch.library, &f->head.library) || !find_place(f->path, real)) {
		free(f);
		return;
	}
	s->found = f;
	memcpy(s->shm->found.id, f->head.id, FL_BUILD_ID);
	s->shm->found.state = give(f, s->shm) ? FL_FOUND_GIVEN : FL_FOUND_WISHED;
}

/* ---- when it has been scanned, and when it has ended ---------------------------------- */

void fl_found_take(struct fl_session *s)
{
	struct fl_found_file *f = s->found;
	uint32_t n = f ? load_relaxed(&s->shm->found.n) : 0;
	size_t bytes = n * sizeof(*f->rows);

	if (n < FEW || n > s->roster.max_sites || f->rows ||
	    load_relaxed(&s->shm->found.state) != FL_FOUND_TOLD)
		return;
	f->rows = malloc(bytes);
	if (!f->rows)
		return;
	memcpy(f->rows, fl_shm_found(s->shm), bytes);
	f->head.n = n;
	f->head.sum = sum_of(f->rows, n);
}

static bool write_all(int fd, const void *from, size_t n)
{
	return write(fd, from, n) == (ssize_t)n;
}

/* To pass a limit would kill us by SIGXFSZ. */
static bool is_allowed(uint64_t bytes)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && bytes <= limit.rlim_cur;
}

/* What cannot be kept is found again. */
static void keep(const struct fl_found_file *f)
{
	uint64_t bytes = sizeof(f->head) + f->head.n * sizeof(*f->rows);
	char temp[4096 + 8];
	int fd;
	bool whole;

	if (!is_allowed(bytes))
		return;
	sprintf(temp, "%s.XXXXXX", f->path);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return;
	whole = write_all(fd, &f->head, sizeof(f->head)) &&
		write_all(fd, f->rows, f->head.n * sizeof(*f->rows));
	whole = !close(fd) && whole && !rename(temp, f->path);
	if (!whole)
		unlink(temp);
}

void fl_found_close(struct fl_session *s)
{
	if (!s->found)
		return;
	if (s->found->rows)
		keep(s->found);
	free(s->found->rows);
	free(s->found);
	s->found = NULL;
}
