/*
 * attach.h - private to process/: a process that runs already.
 */
#ifndef FL_PROCESS_ATTACH_H
#define FL_PROCESS_ATTACH_H

#include "args/args.h"
#include "process/process.h"
#include "report/report.h"

/* ---- what it is, from outside (attach-look.c, attach-refuse.c, launch.c) ------------ */

int fl_attach_read_maps(struct fl_attached *);	/* alone; 0 or -errno */
void fl_attach_forget(struct fl_attached *);
const struct fl_attach_map *fl_attach_map_at(const struct fl_attached *, uintptr_t at);
/* It becomes another program in a moment, or has. */
bool fl_attach_becomes_another(const struct fl_attached *);
/* Is a thread, which stands still, where the loader maps, relocates or unmaps? It has two of
 * the loader's locks there, and to create a thread takes one of them (glibc 2.35). */
bool fl_attach_is_loading(const struct fl_attached *, int tid);
/* Does code of an allocator stand there that is not the C library's? */
bool fl_attach_allocates(const struct fl_attached *, const struct fl_attach_map *);
/* Does a module of the program's have a function of that name, which others find? */
bool fl_attach_exports(const struct fl_attached *, const char *name);
/* What the file names as its loader, else "". loads: does that loader load libflick.so? */
void fl_launch_loader(char out[128], const struct fl_obj *);
bool fl_launch_loads(const char *loader);

/* ---- a thread of it is borrowed (attach-thread.c) ----------------------------------- */

enum fl_against { FL_AGAINST_STACK = 1, FL_AGAINST_CHILD = 2, FL_AGAINST_OTHER = 4 };
/* Find what an attach that failed has left there, which is used again: a->left. */
void fl_attach_find_failed(struct fl_attached *);

#endif
