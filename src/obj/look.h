/*
 * look.h - private to obj/: of a file, and of the loader, what the others of obj/ need.
 */
#ifndef FL_OBJ_LOOK_H
#define FL_OBJ_LOOK_H

#include "obj/obj.h"

/* See what is in `bytes`, and set the rest. */
int fl_obj_check(struct fl_obj *);
/* The module that the loader calls `name`, at `bias`, is not unloaded from now on; false: it
 * was not there. The program calls, from no handler: the loader is asked. */
bool fl_obj_stays(const char *name, uintptr_t bias);

#endif
