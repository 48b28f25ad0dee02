/*
 * source.h - private to report/: libdwfl for files that nobody else writes.
 */
#ifndef FL_REPORT_SOURCE_H
#define FL_REPORT_SOURCE_H

#include <elfutils/libdwfl.h>

#include "report/report.h"

struct fl_source {
	int fd;				/* -1: what is wanted was read */
	Elf *elf;
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Addr bias;			/* of dwfl's addresses */
};

/* 0, or -1: there is no such file, or others may write it. */
int fl_source_open(struct fl_source *, const char *path);
/* Has it tables of lines, of a size that one reads? They are read then. */
bool fl_source_has_lines(struct fl_source *);
/* Are they in the file itself, and in no other? */
bool fl_source_is_whole(struct fl_source *);
/* Nothing more is read of it. */
void fl_source_rest(struct fl_source *);
void fl_source_close(struct fl_source *);

#endif
