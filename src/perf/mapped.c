/*
 * mapped.c - what processes have mapped to execute, at the moment of a sample.
 *
 * Hides that a process of a tree may have ended when its samples are looked at: all is of the
 * kernel's records, in the order of time. Fork's child has what its parent had, exec's image
 * nothing. What has ended leaves its number and its parent's, as of thousands of short
 * processes mappings would fill the memory.
 */
#include <stdlib.h>
#include <string.h>

#include "perf/mapped.h"

bool fl_mapped_is_file(const char *path)
{
	return *path == '/' && path[1] != '/' && strncmp(path, "/memfd:", 7);
}

static struct fl_mapped_process *find_process(const struct fl_mapped *m, int32_t pid)
{
	uint32_t hash = fl_hash_of(0, (uint32_t)pid);

	for (uint32_t at = hash, i; (i = fl_hash_next(&m->by_pid, hash, &at));)
		if (m->of[i - 1].pid == pid)
			return &m->of[i - 1];
	return NULL;
}

const struct fl_mapped_process *fl_mapped_find(const struct fl_mapped *m, int32_t pid)
{
	return find_process(m, pid);
}

bool fl_mapped_has_heirs(const struct fl_mapped *m, int32_t pid)
{
	const struct fl_mapped_process *p = find_process(m, pid);

	return p && p->heirs;
}

/* Its image is gone, and so are those that were forked of it, as far as they are its parent's
 * heirs: then that may be the last of its own parent's, and so on. */
static void end_line(const struct fl_mapped *m, struct fl_mapped_process *p)
{
	while (p && p->is_heir) {
		p->is_heir = false;
		p = find_process(m, p->parent);
		if (!p || !p->heirs || --p->heirs || p->threads)
			return;
	}
}

/* That process, as new; NULL: no memory. Who was forked of the one before is by its number. */
static struct fl_mapped_process *start_anew(struct fl_mapped *m, int32_t pid)
{
	struct fl_mapped_process *p = find_process(m, pid);
	uint32_t heirs = p ? p->heirs : 0;

	if (!p) {
		if (fl_array_room(&m->of, m->n, sizeof(*m->of)) ||
		    fl_hash_put(&m->by_pid, fl_hash_of(0, (uint32_t)pid), m->n + 1))
			return NULL;
		p = &m->of[m->n++];
		*p = (struct fl_mapped_process){ .pid = pid };
	}
	end_line(m, p);
	free(p->maps);
	*p = (struct fl_mapped_process){ .pid = pid, .threads = 1, .program = "",
					 .heirs = heirs };
	return p;
}

int fl_mapped_look(struct fl_mapped *m, int32_t pid)
{
	struct fl_mapped_process *p = find_process(m, pid);

	p = p ? p : start_anew(m, pid);
	if (p)
		p->threads = FL_MAPPED_STAYS;
	return p ? 0 : -ENOMEM;
}

/* A program that maps code again and again at the same place, as a JIT may, has one there. */
static void forget_same(struct fl_mapped_process *p, const struct fl_map *map)
{
	for (uint32_t i = 0; i < p->n; i++) {
		struct fl_map *m = &p->maps[i];

		if (m->lo != map->lo || m->hi != map->hi || m->path != map->path)
			continue;
		memmove(m, m + 1, (p->n - i - 1) * sizeof(*m));
		p->n--;
		break;
	}
}

/* A program may be in memory (memfd_create(2)); flick's alias of text is none. */
static bool is_program(const char *path)
{
	return *path == '/' && path[1] != '/' && strncmp(path, "/memfd:flick-", 13);
}

/* Programs are few. Flick's own process beside one is forked of it, and executes nothing. */
static int count_run(struct fl_mapped *m, const char *program)
{
	uint32_t i = 0;

	while (i < m->n_programs && strcmp(m->programs[i].path, program))
		i++;
	if (i == m->n_programs) {
		if (fl_array_room(&m->programs, m->n_programs, sizeof(*m->programs)))
			return -ENOMEM;
		m->programs[m->n_programs++] = (struct fl_mapped_program){ program, 0 };
	}
	m->programs[i].runs++;
	return 0;
}

int fl_mapped_add(struct fl_mapped *m, int32_t pid, const struct fl_map *map)
{
	struct fl_mapped_process *p = find_process(m, pid);

	p = p ? p : start_anew(m, pid);
	if (!p)
		return -ENOMEM;
	forget_same(p, map);
	if (fl_array_room(&p->maps, p->n, sizeof(*p->maps)))
		return -ENOMEM;
	p->maps[p->n++] = *map;
	if (*p->program || !is_program(map->path))
		return 0;
	p->program = map->path;
	p->runs++;
	return count_run(m, map->path);
}

int fl_mapped_fork(struct fl_mapped *m, int32_t pid, int32_t parent)
{
	struct fl_mapped_process *p = find_process(m, pid), *from;

	if (pid == parent) {
		if (p && p->threads != FL_MAPPED_STAYS)
			p->threads++;
		return 0;
	}
	p = start_anew(m, pid);
	if (!p)
		return -ENOMEM;
	p->parent = parent;
	from = find_process(m, parent);
	if (!from)
		return 0;
	from->heirs++;
	p->is_heir = true;
	p->program = from->program;
	for (; p->n < from->n; p->n++) {
		if (fl_array_room(&p->maps, p->n, sizeof(*p->maps)))
			return -ENOMEM;
		p->maps[p->n] = from->maps[p->n];
	}
	return 0;
}

/* Its other threads have ended. */
void fl_mapped_exec(struct fl_mapped *m, int32_t pid)
{
	struct fl_mapped_process *p = find_process(m, pid);

	if (!p)
		return;
	end_line(m, p);
	p->n = 0;
	p->parent = 0;
	p->program = "";
	p->threads = p->threads == FL_MAPPED_STAYS ? FL_MAPPED_STAYS : 1;
}

void fl_mapped_exit(struct fl_mapped *m, int32_t pid)
{
	struct fl_mapped_process *p = find_process(m, pid);

	if (!p || !p->threads || p->threads == FL_MAPPED_STAYS || --p->threads)
		return;
	if (!p->heirs)
		end_line(m, p);
	free(p->maps);
	p->maps = NULL;
	p->n = 0;
}

const struct fl_map *fl_mapped_at(const struct fl_mapped_process *p, uint64_t at,
				  const struct fl_map *hiding)
{
	for (uint32_t i = !p ? 0 : hiding ? (uint32_t)(hiding - p->maps) : p->n; i-- > 0;)
		if (at - p->maps[i].lo < p->maps[i].hi - p->maps[i].lo)
			return &p->maps[i];
	return NULL;
}

void fl_mapped_close(struct fl_mapped *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free(m->of[i].maps);
	free(m->of);
	free(m->programs);
	fl_hash_free(&m->by_pid);
}
