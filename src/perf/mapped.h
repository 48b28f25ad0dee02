/*
 * mapped.h - private to perf/: what processes have mapped to execute (mapped.c).
 */
#ifndef FL_MAPPED_H
#define FL_MAPPED_H

#include "perf/perf.h"

struct fl_map {
	uint64_t lo, hi, offset;
	const char *path;		/* the same pointer for the same file; "": none */
};

struct fl_mapped {
	struct fl_mapped_process {
		int32_t pid;
		int32_t parent;		/* that this image was forked of; 0: none */
		uint32_t threads;	/* 0: it has ended; FL_MAPPED_STAYS: not counted */
		const char *program;	/* the first file of this image; "": not known */
		uint32_t runs;		/* programs that it has executed */
		struct fl_map *maps;	/* a newer one hides what it covers */
		uint32_t n;
		uint32_t heirs;		/* that were forked of it, and live or have some */
		bool is_heir;		/* its parent counts it */
	} *of;				/* each pid once */
	uint32_t n;
	struct fl_hash by_pid;
	struct fl_mapped_program *programs;
	uint32_t n_programs;
};
#define FL_MAPPED_STAYS UINT32_MAX

/* As the kernel tells it, in the order of time. look: the process ran before. fork: of a
 * thread, who has its parent's pid, or of a process. 0 or -ENOMEM. */
int fl_mapped_look(struct fl_mapped *, int32_t pid);
int fl_mapped_add(struct fl_mapped *, int32_t pid, const struct fl_map *);
int fl_mapped_fork(struct fl_mapped *, int32_t pid, int32_t parent);
void fl_mapped_exec(struct fl_mapped *, int32_t pid);
/* Of one thread. */
void fl_mapped_exit(struct fl_mapped *, int32_t pid);
/* NULL: nothing of it is known. */
const struct fl_mapped_process *fl_mapped_find(const struct fl_mapped *, int32_t pid);
/* Is an image there that was forked of the process's, or of such a one's? */
bool fl_mapped_has_heirs(const struct fl_mapped *, int32_t pid);
/* What is mapped there, or was behind `hiding`, which hides it; NULL: nothing. */
const struct fl_map *fl_mapped_at(const struct fl_mapped_process *, uint64_t at,
				  const struct fl_map *hiding);
void fl_mapped_close(struct fl_mapped *);	/* zeros are fine */

#endif
