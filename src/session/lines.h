/*
 * lines.h - private to session/: what is kept of a program for its next run.
 */
#ifndef FL_LINES_H
#define FL_LINES_H

#include "session/session.h"

/* What a scan of the program finds, for its next run (found.c). open: before the program
 * starts, when the region is there; take: the program has asked; close: keeps the finds. */
void fl_found_open(struct fl_session *);
void fl_found_take(struct fl_session *);
void fl_found_close(struct fl_session *);
/* Source lines of the program's functions (lines.c). open: before the program starts; begin:
 * the program has just been let go, and a thread looks lines up; end: that thread ends; find:
 * after that, for any file, as fl_symbols_line(), by one thread; close: keeps the lines, while
 * there are symbols. */
void fl_lines_open(struct fl_session *);
void fl_lines_begin(struct fl_session *);
void fl_lines_end(struct fl_lines *);	/* NULL is fine */
const char *fl_lines_find(struct fl_lines *, struct fl_symbols *, const char *path,
			  uint64_t at, int *line);
void fl_lines_close(struct fl_session *);

#endif
