/*
 * found.c - what the scan of a large program has found, kept for its next run.
 *
 * Hides the file: where it is, and when it holds for a program. It is a copy of what a
 * scan would find again, no more: it may go at any time. One that is not this user's
 * alone, or not for these very files, is none, and is replaced. There are a few names, by
 * the program's path, so it takes the room of a few programs, be they built a hundred
 * times a day.
 *
 * INVARIANT
 *	1 What is believed was written by this user, for these files.
 *	2 Nothing is left where somebody else lives.
 * WHY	1 Nobody else may write to flick's directory or to the file, and neither is a link.
 *	  A file that is changed in place, or put in place of another, has another time of
 *	  its last change, which no program can set. What the target says is taken before
 *	  any of its own code has run.
 *	2 Each directory that something is made in is this user's: with the environment of
 *	  somebody else, as under sudo, nothing is kept.
 * FAILURE  Killed in the middle, or the disk is full: what is there has not the length that
 *	its head says, or not the sum. A file is written once, under its name, so there is
 *	none of another name to be removed.
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
		uint64_t device, inode, bytes, written_ns, changed_ns;
	} program, library;		/* whose code has been scanned, and has scanned */
	uint64_t n, sum;		/* of rows */
};

struct fl_found_file {
	int dir;
	char name[16];
	struct head head;
	struct fl_found_row *rows;	/* to keep, or NULL */
};

static bool take_stamp(const char *path, struct stamp *to)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	*to = (struct stamp){ st.st_dev, st.st_ino, (uint64_t)st.st_size,
			      fl_ns(st.st_mtim.tv_sec, st.st_mtim.tv_nsec),
			      fl_ns(st.st_ctim.tv_sec, st.st_ctim.tv_nsec) };
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

/* ---- the directory ------------------------------------------------------------------- */

static bool is_own(int fd, struct stat *st)
{
	return !fstat(fd, st) && st->st_uid == geteuid();
}

static bool is_private(const struct stat *st)
{
	return !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool make_below(int above, const char *name)
{
	struct stat st;

	return is_own(above, &st) && (!mkdirat(above, name, 0700) || errno == EEXIST);
}

/* One of this user's, made where there is none; takes `above`. -1. */
static int open_below(int above, const char *name, int flags)
{
	struct stat st;
	int fd = openat(above, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);

	if (fd < 0 && errno == ENOENT && make_below(above, name))
		fd = openat(above, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);
	close(above);
	if (fd < 0 || (is_own(fd, &st) && (is_private(&st) || !(flags & O_NOFOLLOW))))
		return fd;
	close(fd);
	return -1;
}

/* Of what users keep: their own home's, or where they say. -1. */
static int open_cache(void)
{
	const char *told = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	char path[4096], *name;
	int above;

	if (told && *told == '/')
		home = told;
	else if (!home || *home != '/')
		return -1;
	if (snprintf(path, sizeof(path), "/%s%s", home, home == told ? "" : "/.cache") >=
	    (int)sizeof(path))
		return -1;
	for (name = strrchr(path, '/'); name > path && !name[1]; name = strrchr(path, '/'))
		*name = '\0';
	*name++ = '\0';
	above = open(*path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return above < 0 ? -1 : open_below(above, name, 0);
}

/* False: there is none. */
static bool find_place(struct fl_found_file *f, const char *program)
{
	int cache = open_cache();
	uint32_t h = 0;

	for (const char *c = program; *c; c++)
		h = (h ^ (unsigned char)*c) * 0x01000193u;
	snprintf(f->name, sizeof(f->name), "found.%03u", (h ^ h >> 16) % NAMES);
	f->dir = cache < 0 ? -1 : open_below(cache, "flick", O_NOFOLLOW);
	return f->dir >= 0;
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

	if (!is_own(fd, &st) || !S_ISREG(st.st_mode) || !is_private(&st))
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

static bool read_rows(int fd, struct fl_region *m, const struct head *h)
{
	size_t bytes = h->n * sizeof(struct fl_found_row);

	return read(fd, fl_shm_found(m), bytes) == (ssize_t)bytes &&
	       sum_of(fl_shm_found(m), h->n) == h->sum;
}

static bool give(const struct fl_found_file *f, struct fl_region *m)
{
	int fd = openat(f->dir, f->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct head h;
	off_t bytes;
	bool given = fd >= 0 && is_ours(fd, &bytes) && read_head(fd, &f->head, &h) &&
		     h.n >= FEW && h.n <= m->max_sites &&
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
	const char *program = s->launch.file;
	struct fl_found_file *f = s->launch.calls_hooks ? calloc(1, sizeof(*f)) : NULL;

	if (!f)
		return;
	strcpy(f->head.magic, "flick found 2\n");
	if (!take_id(program, f->head.id) || !take_stamp(program, &f->head.program) ||
	    !take_stamp(s->launch.library, &f->head.library) || !find_place(f, program)) {
		free(f);
		return;
	}
	s->found = f;
	memcpy(s->shm->found.id, f->head.id, FL_BUILD_ID);
	s->shm->found.inode = f->head.program.inode;
	s->shm->found.changed_ns = f->head.program.changed_ns;
	s->shm->found.state = give(f, s->shm) ? FL_FOUND_GIVEN : FL_FOUND_WISHED;
}

/* ---- when it has been scanned, and when it has ended ---------------------------------- */

void fl_found_take(struct fl_session *s)
{
	struct fl_found_file *f = s->found;
	uint32_t n = f ? load_relaxed(&s->shm->found.n) : 0;
	size_t bytes = n * sizeof(*f->rows);

	if (n < FEW || n > s->functions.max_sites ||
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

/* What cannot be kept is found again. Who reads it meanwhile finds that it is not whole. */
static void keep(const struct fl_found_file *f)
{
	const size_t bytes = f->head.n * sizeof(*f->rows);
	bool whole;
	int fd;

	if (!is_allowed(sizeof(f->head) + bytes))
		return;
	unlinkat(f->dir, f->name, 0);
	fd = openat(f->dir, f->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	whole = write_all(fd, &f->head, sizeof(f->head)) && write_all(fd, f->rows, bytes);
	whole = !close(fd) && whole;
	if (!whole)
		unlinkat(f->dir, f->name, 0);
}

void fl_found_close(struct fl_session *s)
{
	if (!s->found)
		return;
	if (s->found->rows)
		keep(s->found);
	close(s->found->dir);
	free(s->found->rows);
	free(s->found);
	s->found = NULL;
}
