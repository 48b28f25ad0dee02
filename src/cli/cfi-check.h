/*
 * cfi-check.h - private to cli/: what of tables for unwinding libdw may read (cfi-check.c).
 */
#ifndef FL_CFI_CHECK_H
#define FL_CFI_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Of an image of `n` bytes, which begins with an ELF header and its program headers: entries
 * that would take much memory are no more in its table. Stores to the image. False: it has no
 * table, or none of the only form that linkers make. */
bool fl_cfi_make_modest(char *bytes, size_t n);

#endif
