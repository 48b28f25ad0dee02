/*
 * look.h - private to obj/: what its files share about ELF files and about the loader.
 */
#ifndef FL_OBJ_LOOK_H
#define FL_OBJ_LOOK_H

#include "obj/obj.h"

/* Check `bytes`, and set the other fields by them. */
int fl_obj_check(struct fl_obj *);
/* The section that has the names of sections, else 0. */
size_t fl_obj_find_names(const struct fl_obj *);
/* The section of symbols: .symtab, else .dynsym, else 0. */
size_t fl_obj_find_symbols(const struct fl_obj *);
/* The build id in notes of `n` bytes. */
bool fl_obj_find_id(const unsigned char *notes, size_t n, uint8_t id[FL_OBJ_ID]);
/* Map private memory, all 0, where the file's segments fit as if it were loaded (module.c). 0,
 * -errno, FLE_TRUNCATED. */
int fl_obj_make_room(struct fl_module *, const struct fl_obj *file, const char *path);
/* Fill in the pointers of a module that was laid out. */
void fl_obj_relocate(struct fl_module *);
/* The module that the loader calls `name`, at `bias`, is not unloaded from now on; false: it
 * was not there. The loader is asked, so no handler may call this. */
bool fl_obj_stays(const char *name, uintptr_t bias);

#endif
