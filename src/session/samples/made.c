/*
 * made.c - names of code that a program has made: /tmp/perf-PID.map, as perf reads it.
 *
 * Hides the file. Runtimes write a line for each piece of code: where it begins, its bytes, its
 * name. Memory is used again, so of two lines for one place the later one holds. Nothing says
 * when a piece was made: a sample of what stood there before has the later one's name.
 *
 * The file may be large and places are few, so lines are read once and only names of places are
 * kept. Anybody may put a file there: it is read if it is its user's or the process's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "session/samples/made.h"

static int by_address(const void *x, const void *y)
{
	const struct fl_made_place *a = x, *b = y;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static bool is_trusted_map(const struct stat *st, int32_t pid)
{
	struct stat process;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return S_ISREG(st->st_mode) && !(st->st_mode & S_IWOTH) &&
	       (st->st_uid == 0 || st->st_uid == geteuid() ||
		(!stat(path, &process) && st->st_uid == process.st_uid));
}

static FILE *open_map(int32_t pid)
{
	char path[32];
	struct stat st;
	FILE *f = NULL;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && is_trusted_map(&st, pid))
		f = fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* A line is `BEGIN BYTES NAME`, both numbers hexadecimal. */
static int name_by_line(struct fl_made_place *places, size_t n, const char *line)
{
	char *end, *name;
	uint64_t begin = strtoull(line, &end, 16), bytes = strtoull(end, &name, 16);

	if (end == line || name == end || *name != ' ' || !name[1])
		return 0;
	for (size_t i = begin ? fl_rows_from(places, n, sizeof(*places), begin - 1) : 0;
	     i < n && places[i].address - begin < bytes; i++) {
		free(places[i].name);
		places[i].name = strdup(name + 1);
		if (!places[i].name)
			return -ENOMEM;
	}
	return 0;
}

/* What a line has beyond MOST_NAME bytes is no part of the name. */
static int read_map(struct fl_made_place *places, size_t n, FILE *from)
{
	enum { MOST_NAME = 4096, MOST_BYTES = 1 << 28 };
	char line[MOST_NAME];
	bool is_begin = true;
	uint64_t taken = 0;
	int err = 0;

	while (!err && taken < MOST_BYTES && fgets(line, sizeof(line), from)) {
		size_t length = strlen(line);
		bool is_end = length && line[length - 1] == '\n';

		line[strcspn(line, "\r\n")] = '\0';
		if (is_begin)
			err = name_by_line(places, n, line);
		is_begin = is_end;
		taken += length;
	}
	return err;
}

int fl_made_name(struct fl_made_place *places, size_t n)
{
	int err = 0;

	qsort(places, n, sizeof(*places), by_address);
	for (size_t i = 0, end; !err && i < n; i = end) {
		FILE *map = open_map(places[i].pid);

		for (end = i + 1; end < n && places[end].pid == places[i].pid;)
			end++;
		if (!map)
			continue;
		err = read_map(places + i, end - i, map);
		fclose(map);
	}
	return err;
}
