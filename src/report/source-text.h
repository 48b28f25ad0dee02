/*
 * source-text.h - the text of source lines.
 */
#ifndef FL_REPORT_SOURCE_TEXT_H
#define FL_REPORT_SOURCE_TEXT_H

#include "base/base.h"

/* The files that were read so far. One thread at a time. Zero it before use. */
struct fl_source_file;
struct fl_source_texts {
	struct fl_source_file *files;
	size_t n;
	struct fl_hash by_name;
};

/* Line `line`, from 1, of a file, with one blank where it has several, to be freed; "" where
 * there is no such file or line. *changed is when the file was changed, seconds; 0: there is
 * none. NULL: no memory. Blocks for reading. */
char *fl_source_text(struct fl_source_texts *, const char *file, int line, int64_t *changed);
void fl_source_texts_free(struct fl_source_texts *);

#endif
