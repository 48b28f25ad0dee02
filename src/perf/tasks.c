/*
 * tasks.c - threads, which samples may be of: their names, and how long they ran.
 *
 * The kernel tells, in the order of time, who makes a thread, whose name that begins with, and
 * when it has another one. A thread that was there before has its name read. Another thread
 * that gets its number later is taken for the same.
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

static void put_name(struct fl_sampled_thread *t, const char *name)
{
	snprintf(t->name, sizeof(t->name), "%s", *name ? name : "[unknown]");
}

/* One that was not known has no name yet. NULL: no memory. */
static struct fl_sampled_thread *find_or_add(struct fl_tasks *t, int32_t tid)
{
	struct fl_sampled_thread *thread = fl_tasks_find(t, tid);

	if (thread)
		return thread;
	if (fl_array_room(&t->of, t->n, sizeof(*t->of)))
		return NULL;
	thread = calloc(1, sizeof(*thread));
	if (!thread || fl_hash_put(&t->by_tid, hash_of(tid), t->n + 1)) {
		free(thread);
		return NULL;
	}
	thread->tid = tid;
	return t->of[t->n++] = thread;
}

struct fl_sampled_thread *fl_tasks_get(struct fl_tasks *t, int32_t pid, int32_t tid)
{
	struct fl_sampled_thread *thread = find_or_add(t, tid);
	char name[sizeof(thread->name)] = "";

	if (thread && !*thread->name) {
		fl_os_thread_name_of(pid, tid, name);
		put_name(thread, name);
	}
	return thread;
}

int fl_tasks_rename(struct fl_tasks *t, int32_t tid, const char *name)
{
	struct fl_sampled_thread *thread = find_or_add(t, tid);

	if (thread)
		put_name(thread, name);
	return thread ? 0 : -ENOMEM;
}

int fl_tasks_fork(struct fl_tasks *t, int32_t tid, int32_t parent, int32_t parent_tid)
{
	const struct fl_sampled_thread *from = fl_tasks_get(t, parent, parent_tid);

	return from ? fl_tasks_rename(t, tid, from->name) : -ENOMEM;
}

void fl_tasks_close(struct fl_tasks *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->of[i]);
	free(t->of);
	fl_hash_free(&t->by_tid);
}
