/*
 * own.c - which code that a target runs is flick's: its library, and glue.
 *
 * Glue stands in memory without a file. The target tells where it stands when it makes glue,
 * in rows that it can write at any time: so rows are copied, and used as copied. Before each
 * question fl_own_look() takes new rows; glue of thousands of modules is found by halving.
 */
#include <stdlib.h>
#include <string.h>

#include "session/samples/own.h"

/* Processes of a process tree have their glue at the same places, mostly. */
static size_t join_ranges(struct fl_glue_range *r, size_t n)
{
	size_t kept = 0;

	fl_rows_sort(r, n, sizeof(*r));
	for (size_t i = 0; i < n; i++) {
		if (!kept || r[i].lo > r[kept - 1].hi)
			r[kept++] = r[i];
		else if (r[i].hi > r[kept - 1].hi)
			r[kept - 1].hi = r[i].hi;
	}
	return kept;
}

/* A row is claimed before it is written: until it is written wholly, it is nobody's. */
static size_t copy_rows(struct fl_glue_range *to, const struct fl_glue_range *rows, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		to[kept] = rows[i];
		kept += to[kept].lo && to[kept].lo < to[kept].hi;
	}
	return kept;
}

/* The agent's work has a section of its own (Makefile). */
static void find_work(struct fl_own *o, const char *path)
{
	struct fl_obj library;
	Elf64_Shdr at;

	o->has_looked = true;
	if (fl_obj_open(&library, path))
		return;
	if (fl_obj_section(&library, "fl_start_work", &at))
		o->work = (struct fl_glue_range){ .lo = at.sh_offset,
						   .hi = at.sh_offset + at.sh_size };
	fl_obj_close(&library);
}

int fl_own_look(struct fl_own *o, const struct fl_session *s)
{
	uint32_t claimed = load_relaxed(&s->shm->n_glue);
	uint32_t told = claimed < s->max_glue ? claimed : s->max_glue;
	void *grown;

	if (!o->has_looked)
		find_work(o, s->launch.library);
	if (told <= o->told)
		return 0;
	grown = realloc(o->glue, told * sizeof(*o->glue));
	if (!grown)
		return -ENOMEM;
	o->glue = grown;
	o->n = join_ranges(o->glue, copy_rows(o->glue, s->glue, told));
	o->told = told;
	return 0;
}

bool fl_own_is_glue(const struct fl_own *o, uint64_t at)
{
	size_t n = fl_rows_from(o->glue, o->n, sizeof(*o->glue), at);

	return n && at < o->glue[n - 1].hi;
}

bool fl_own_has(const struct fl_own *o, const struct fl_session *s, const struct fl_pc *pc)
{
	if (fl_mapped_is_file(pc->path))
		return !strcmp(pc->path, s->launch.library);
	return fl_own_is_glue(o, pc->address);
}

bool fl_own_is_targets(const struct fl_session *s, const struct fl_pc *pc)
{
	return s->o->follow || pc->pid == s->pid;
}

bool fl_own_counts(const struct fl_own *o, const struct fl_pc *pc)
{
	return !fl_mapped_is_file(pc->path) && fl_own_is_glue(o, pc->address);
}

bool fl_own_works(const struct fl_own *o, const struct fl_pc *pc)
{
	return fl_mapped_is_file(pc->path) && pc->at - o->work.lo < o->work.hi - o->work.lo;
}

bool fl_own_add(const struct fl_own *o, const struct fl_session *s, const struct fl_pc *pc,
		struct fl_pcs *to)
{
	bool is_own = fl_own_has(o, s, pc);

	to->all += pc->n;
	to->taken += pc->taken;
	if (!is_own)
		return false;
	to->own += pc->n;
	to->taken_own += pc->taken;
	to->work += fl_own_works(o, pc) ? pc->n : 0;
	to->counts += fl_own_counts(o, pc) ? pc->n : 0;
	return true;
}

void fl_own_close(struct fl_own *o)
{
	free(o->glue);
}
