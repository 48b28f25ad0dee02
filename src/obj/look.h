/*
 * look.h - private to obj/: of a file, and of the loader, what the others of obj/ need.
 */
#ifndef FL_OBJ_LOOK_H
#define FL_OBJ_LOOK_H

#include "obj/obj.h"

/* See what is in `bytes`, and set the rest. */
int fl_obj_check(struct fl_obj *);
/* The section that has the names of sections, else 0. */
size_t fl_obj_find_names(const struct fl_obj *);
/* The section of symbols: .symtab, else .dynsym, else 0. */
size_t fl_obj_find_symbols(const struct fl_obj *);
/* Private memory as a loaded file would take, all 0 (module.c). 0, -errno, FLE_TRUNCATED. */
int fl_obj_make_room(struct fl_module *, const struct fl_obj *file, const char *path);
/* The module that the loader calls `name`, at `bias`, is not unloaded from now on; false: it
 * was not there. The program calls, from no handler: the loader is asked. */
bool fl_obj_stays(const char *name, uintptr_t bias);

#endif
