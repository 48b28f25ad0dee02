/*
 * linkage.h - private to report/: stubs of the linkage table.
 */
#ifndef FL_REPORT_LINKAGE_H
#define FL_REPORT_LINKAGE_H

#include "obj/obj.h"

typedef int fl_linkage_each(void *arg, const char *function, uint64_t at, uint64_t size);

/* Call `each` for every stub of a module that is laid out, with ELF addresses that ascend
 * within a section. 0, -ENOMEM, or what `each` returned when that is not 0. */
int fl_linkage_stubs(const struct fl_module *, fl_linkage_each *each, void *arg);

#endif
