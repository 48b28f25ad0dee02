/*
 * functions.h - private to session/: the functions of a target (functions.c).
 */
#ifndef FL_FUNCTIONS_H
#define FL_FUNCTIONS_H

#include "session/session.h"

/* 0 or -ENOMEM. */
int fl_functions_open(struct fl_functions *, struct fl_region *);
/* Take in what the target has found since: sites up to n_sites. 0 or -ENOMEM. */
int fl_functions_extend(struct fl_functions *);
/* When the target has ended: the function around ELF address `at` of file `path`, made where
 * it is new. All addresses of a file that are in no function share one. 0 or -ENOMEM. */
int fl_functions_find(struct fl_functions *, const char *path, uint64_t at, uint32_t *function);
/* Is there a function in the table that begins at ELF address `at` of module `module`? */
bool fl_functions_at(const struct fl_functions *, uint32_t module, uint64_t at,
		     uint32_t *function);
/* The function of that name in code that the target has made; made where it is new. 0 or
 * -ENOMEM. */
int fl_functions_made(struct fl_functions *, const char *name, uint32_t *function);
/* What the target calls the file that the kernel knows as `path`; else `path` itself. */
const char *fl_functions_path(struct fl_functions *, const char *path);
/* Module `i`; for what is in no module, one without a path. */
const struct fl_shm_module *fl_functions_module(const struct fl_functions *, uint32_t i);
/* As fl_functions_simple(), but with template arguments. */
const char *fl_functions_plain(const struct fl_functions *, uint32_t function);
/* Make the names of those functions that `of` marks, and look up the source lines of those
 * that it marks so. */
enum { FL_FUNCTIONS_NAME = 1, FL_FUNCTIONS_LINES = 2 };
struct fl_lines;
void fl_functions_lines(struct fl_functions *, struct fl_lines *, const unsigned char *of);
void fl_functions_close(struct fl_functions *);

#endif
