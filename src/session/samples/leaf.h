/*
 * leaf.h - private to session/: does a function call anything (leaf.c)?
 */
#ifndef FL_LEAF_H
#define FL_LEAF_H

#include <stdbool.h>
#include <stdint.h>

struct fl_symbols;
/* Does the function that begins at ELF address `at` call nothing? False, too, where that is
 * not known. */
bool fl_leaf_is(struct fl_symbols *, const char *path, uint64_t at);

#endif
