/*
 * cfi-check.h - private to perf/: what of tables for unwinding libdw may read (cfi-check.c).
 */
#ifndef FL_CFI_CHECK_H
#define FL_CFI_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* An image of `n` bytes begins with an ELF header and its program headers. Entries that would
 * take much memory are taken out of its table, in the image itself. False: it has no table of
 * the only form that linkers make. */
bool fl_cfi_make_modest(char *bytes, size_t n);

#endif
