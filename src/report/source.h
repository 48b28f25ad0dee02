/*
 * source.h - private to report/: libdwfl for files that nobody else writes.
 */
#ifndef FL_REPORT_SOURCE_H
#define FL_REPORT_SOURCE_H

#include <elfutils/libdwfl.h>

#include "report/report.h"

struct fl_source {
	int fd;				/* -1: nothing more is read */
	Elf *elf;
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Addr bias;			/* of dwfl's addresses against the file's */
	bool has_units;			/* units were looked for */
	struct fl_unit *units;		/* ascending; where compilation units have code */
	size_t n_units;
	GElf_Addr units_bias;		/* of dwfl's addresses against DWARF's */
};

/* 0, or -1: there is no such file, or it is not one's own (is_own, obj.h). */
int fl_source_open(struct fl_source *, const char *path);
/* Has the source tables of lines, and not too much of .debug_*? Then they are read. */
bool fl_source_has_lines(struct fl_source *);
/* Are its tables of lines in the file itself, and in no other? */
bool fl_source_is_whole(struct fl_source *);
/* The source file and line of an address, of a source that has lines; NULL: not known. The name
 * lives until close. */
const char *fl_source_line(struct fl_source *, uint64_t at, int *line);
/* Say that nothing more is read of the file: its descriptor is closed. */
void fl_source_rest(struct fl_source *);
void fl_source_close(struct fl_source *);

#endif
