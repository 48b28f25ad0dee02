/*
 * tasks.c - the threads that samples were taken of: their names, and how long they ran.
 *
 * A thread's name is read at its first sample, and the kernel tells when it changes. A thread
 * that has ended by then has the name of its process's first one, as its creator's name is
 * inherited. Another thread that gets its number later is taken for the same.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "os/os.h"
#include "perf/tasks.h"

static uint32_t hash_of(int32_t tid)
{
	return fl_hash_of(0, (uint32_t)tid);
}

struct fl_sampled_thread *fl_tasks_find(const struct fl_tasks *t, int32_t tid)
{
	uint32_t hash = hash_of(tid), at = hash, item;

	while ((item = fl_hash_next(&t->by_tid, hash, &at)))
		if (t->of[item - 1]->tid == tid)
			return t->of[item - 1];
	return NULL;
}

static void read_name(const struct fl_tasks *t, int32_t pid, struct fl_sampled_thread *to)
{
	const struct fl_sampled_thread *first;

	fl_os_thread_name_of(pid, to->tid, to->name);
	if (*to->name)
		return;
	first = fl_tasks_find(t, pid);
	snprintf(to->name, sizeof(to->name), "%s", first ? first->name : "[unknown]");
}

struct fl_sampled_thread *fl_tasks_get(struct fl_tasks *t, int32_t pid, int32_t tid)
{
	struct fl_sampled_thread *found = fl_tasks_find(t, tid);

	if (found)
		return found;
	if (fl_array_room(&t->of, t->n, sizeof(*t->of)))
		return NULL;
	found = calloc(1, sizeof(*found));
	if (found) {
		found->tid = tid;
		read_name(t, pid, found);
	}
	if (!found || fl_hash_put(&t->by_tid, hash_of(tid), t->n + 1)) {
		free(found);
		return NULL;
	}
	return t->of[t->n++] = found;
}

void fl_tasks_rename(struct fl_tasks *t, int32_t tid, const char *name)
{
	struct fl_sampled_thread *found = fl_tasks_find(t, tid);

	if (found)
		snprintf(found->name, sizeof(found->name), "%s", name);
}

void fl_tasks_close(struct fl_tasks *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->of[i]);
	free(t->of);
	fl_hash_free(&t->by_tid);
}
