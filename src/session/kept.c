/*
 * kept.c - what flick keeps of a program for its next run.
 *
 * Hides the files: where they are, and when one holds for a program. Each is a copy of
 * what would be found again, no more: it may go at any time. A file that is not this user's
 * alone, or not for these very files, counts as none, and is replaced. There are few names,
 * chosen by the program's path. So files take the room of a few programs, even if programs are
 * built a hundred times a day.
 *
 * INVARIANT
 *	1 What is believed was written by this user, for these files.
 *	2 Nothing is left where somebody else lives.
 * WHY	1 Nobody else may write to flick's directory or to the file, and neither is a link.
 *	  A program that is changed in place, or put in place of another, has another time of
 *	  its last change, which no program can set. That time is taken before what is kept
 *	  is read from the program, and before any of its own code has run.
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

#include "session/kept.h"

enum { NAMES = 256 };

static bool take_stamp(const char *path, struct fl_stamp *to)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	*to = (struct fl_stamp){ st.st_dev, st.st_ino, (uint64_t)st.st_size,
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

/* Open a directory of this user's, made where there is none; closes `above`. -1: none can be
 * had. */
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

/* Open the directory of what users keep: in their home, or where they say. -1: none. */
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
static bool find_place(struct fl_kept_file *k, const char *program, const char *what)
{
	int cache = open_cache();
	uint32_t h = 0;

	for (const char *c = program; *c; c++)
		h = (h ^ (unsigned char)*c) * 0x01000193u;
	snprintf(k->name, sizeof(k->name), "%.*s.%03u", (int)strcspn(what, " "), what,
		 (h ^ h >> 16) % NAMES);
	k->dir = cache < 0 ? -1 : open_below(cache, "flick", O_NOFOLLOW);
	return k->dir >= 0;
}

struct fl_kept_file *fl_kept_open(const struct fl_launch *l, const char *what)
{
	struct fl_kept_file *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->fd = -1;
	snprintf(k->head.magic, sizeof(k->head.magic), "flick %s\n", what);
	if (take_id(l->file, k->head.id) && take_stamp(l->file, &k->head.program) &&
	    take_stamp(l->library, &k->head.library) && find_place(k, l->file, what))
		return k;
	free(k);
	return NULL;
}

void fl_kept_close(struct fl_kept_file *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		close(k->fd);
	close(k->dir);
	free(k);
}

static uint64_t sum_of(const uint64_t *words, uint64_t n)
{
	uint64_t sum = n;

	for (uint64_t i = 0; i < n; i++)
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15ull;
	return sum ^ sum >> 29;
}

/* ---- reading ------------------------------------------------------------------------- */

static bool is_ours(int fd, off_t *bytes)
{
	struct stat st;

	if (!is_own(fd, &st) || !S_ISREG(st.st_mode) || !is_private(&st))
		return false;
	*bytes = st.st_size;
	return true;
}

/* Is the kept file of the same files, and as long as it says? */
static bool read_head(int fd, struct fl_kept_head *head)
{
	struct fl_kept_head h;
	off_t bytes;

	if (!is_ours(fd, &bytes) || read(fd, &h, sizeof(h)) != sizeof(h) ||
	    memcmp(&h, head, offsetof(struct fl_kept_head, n)) || !h.n ||
	    h.n > (uint64_t)bytes / sizeof(uint64_t) ||
	    (uint64_t)bytes != sizeof(h) + h.n * sizeof(uint64_t))
		return false;
	*head = h;
	return true;
}

bool fl_kept_find(struct fl_kept_file *k, uint64_t *n)
{
	k->fd = openat(k->dir, k->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (k->fd < 0 || !read_head(k->fd, &k->head))
		return false;
	*n = k->head.n;
	return true;
}

bool fl_kept_read(struct fl_kept_file *k, uint64_t *words)
{
	size_t bytes = k->head.n * sizeof(*words);

	return read(k->fd, words, bytes) == (ssize_t)bytes &&
	       sum_of(words, k->head.n) == k->head.sum;
}

/* ---- writing ------------------------------------------------------------------------- */

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

/* A flick that reads the file meanwhile finds that it is not whole. */
void fl_kept_write(struct fl_kept_file *k, const uint64_t *words, uint64_t n)
{
	const size_t bytes = n * sizeof(*words);
	bool whole;
	int fd;

	k->head.n = n;
	k->head.sum = sum_of(words, n);
	if (!is_allowed(sizeof(k->head) + bytes))
		return;
	unlinkat(k->dir, k->name, 0);
	fd = openat(k->dir, k->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	whole = write_all(fd, &k->head, sizeof(k->head)) && write_all(fd, words, bytes);
	whole = !close(fd) && whole;
	if (!whole)
		unlinkat(k->dir, k->name, 0);
}
