/*
 * running.c - the files that a running process has its code from.
 *
 * Hides where they are found: a process may have another root, and a file may have been
 * replaced since it was mapped. Nothing is asked of the process, and nothing done to it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "process/attach.h"

static bool is_mapped_file(const char *path, const struct fl_attach_map *m)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && st.st_ino == m->inode;
}

/* The mapped file, by its name here or below the process's root. NULL: no memory, or the file
 * is not there. */
static char *file_of_map(uint32_t pid, const struct fl_attach_map *m)
{
	char *path = NULL;

	if (is_mapped_file(m->path, m))
		return strdup(m->path);
	if (asprintf(&path, "/proc/%u/root%s", pid, m->path) < 0)
		return NULL;
	if (is_mapped_file(path, m))
		return path;
	fl_say("%s is not the file any more that process %u has its code from: it is left out",
	       m->path, pid);
	free(path);
	return NULL;
}

/* Is this the first mapping of a file's code? Files of flick's, and in memory, do not count. */
static bool is_new_code(const struct fl_attached *a, size_t i)
{
	const struct fl_attach_map *m = &a->maps[i];

	for (size_t k = 0; k < i; k++)
		if (a->maps[k].prot & PROT_EXEC && !strcmp(a->maps[k].path, m->path))
			return false;
	return m->prot & PROT_EXEC && *m->path == '/' && strncmp(m->path, "/memfd:", 7) &&
	       strncmp(fl_base_name(m->path), "libflick.so", 11);
}

static int take_files(struct fl_running *r, const struct fl_attached *a)
{
	for (size_t i = 0; i < a->n_maps; i++) {
		char *file = is_new_code(a, i) ? file_of_map(r->pid, &a->maps[i]) : NULL;

		if (!file)
			continue;
		if (fl_array_room(&r->files, r->n, sizeof(*r->files))) {
			free(file);
			return -ENOMEM;
		}
		r->files[r->n++] = file;
	}
	return 0;
}

int fl_running_open(struct fl_running *r, uint32_t pid)
{
	struct fl_attached a = { .pid = (int)pid };
	int err = fl_attach_read_maps(&a);

	*r = (struct fl_running){ .pid = pid };
	if (err == -ENOENT || err == -ESRCH)
		fl_say("there is no process %u", pid);
	else if (err)
		fl_say("may not look at process %u: %s; run flick as its user, or as root",
		       pid, strerror(-err));
	else if (!a.n_maps)
		fl_say("process %u has no memory: a thread of the kernel's, or one that has "
		       "ended", pid);
	if (!err)
		err = a.n_maps ? take_files(r, &a) : -ESRCH;
	fl_attach_forget(&a);
	return err;
}

void fl_running_close(struct fl_running *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->files[i]);
	free(r->files);
	*r = (struct fl_running){ .n = 0 };
}
