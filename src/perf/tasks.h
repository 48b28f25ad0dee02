/*
 * tasks.h - private to perf/: threads, which samples may be of (tasks.c).
 */
#ifndef FL_TASKS_H
#define FL_TASKS_H

#include "perf/perf.h"

struct fl_tasks {
	struct fl_sampled_thread **of;	/* each tid once; they stay where they are */
	uint32_t n;
	struct fl_hash by_tid;
};

/* The thread, with the name that it has now if it was not known before; NULL: no memory. */
struct fl_sampled_thread *fl_tasks_get(struct fl_tasks *, int32_t pid, int32_t tid);
/* NULL: nothing was told of it. */
struct fl_sampled_thread *fl_tasks_find(const struct fl_tasks *, int32_t tid);
/* As the kernel tells it, in the order of time: a thread begins with the name of the one that
 * made it, in process `parent`; it has another one. 0 or -ENOMEM. */
int fl_tasks_fork(struct fl_tasks *, int32_t tid, int32_t parent, int32_t parent_tid);
int fl_tasks_rename(struct fl_tasks *, int32_t tid, const char *name);
void fl_tasks_close(struct fl_tasks *);		/* zeros are fine */

#endif
