/*
 * schema.h - the tables of results.db, for its writer and its reader.
 */
#ifndef FL_REPORT_SCHEMA_H
#define FL_REPORT_SCHEMA_H

#include <sqlite3.h>

#include "obj/obj.h"
#include "report/report.h"

#define FL_STORE_FILE "results.db"
#define FL_TRACE_FILE "trace.zst"
#define FL_STORE_ID 0x666c6b31		/* PRAGMA application_id: "flk1" */

struct fl_store {
	char *dir;
	char *path;			/* of the file that is open */
	char *final;			/* the name that file is to get; NULL: reading */
	sqlite3 *db;
	bool made_dir;			/* `dir` was made here, and goes if nothing is saved */
	int lock;			/* `dir`, open and locked while recording; or -1 */
	uint64_t steps, most_steps;	/* of SQLite that reading took, and may take */
	char **functions;		/* names, once loaded */
	char **linkages;		/* what the linker calls them */
	size_t n_functions, n_linkages;
	struct fl_names *names;		/* that are shown; NULL: `functions` are */
	char **results;			/* names, once loaded */
	size_t n_results;
	void **owned;			/* memory that loaded results point to */
	size_t n_owned;
};

/* Names of enum flick_column_type in the table `columns`; NULL-terminated. */
extern const char *const fl_column_types[];

/* Keep an allocated block until the store is closed, and return the block. NULL: the block is
 * NULL, or is freed because there was no memory. */
void *fl_store_own(struct fl_store *, void *);
/* "FILE:LINE", to be freed; the path of a file below the working directory `here` (NULL: it is
 * not known) is without that directory. NULL: no memory. */
char *fl_line_text(const char *here, const char *file, int line);
/* The build id of a file, in hexadecimal digits; false: it has none, or cannot be read. */
enum { FL_BUILD_ID_TEXT = 2 * FL_OBJ_ID + 1 };
bool fl_build_id(const char *path, char text[FL_BUILD_ID_TEXT]);
/* Likewise of a file whose symbols were read, as it was then; false: they were not. */
bool fl_symbols_build_id(struct fl_symbols *, const char *path, char text[FL_BUILD_ID_TEXT]);
void fl_build_id_text(const uint8_t id[FL_OBJ_ID], char text[FL_BUILD_ID_TEXT]);
/* Fill `why` with "PATH: what SQLite says" or a text; returns -1. */
int fl_store_fail(const struct fl_store *, char why[FL_WHY], const char *text);

/* ---- reading (query.c) ---------------------------------------------------------- */

/* Open s->path and see that it is a recording, and sound. 0 or -1 with `why` filled. */
int fl_query_begin(struct fl_store *, char why[FL_WHY]);
/* Is there such a table, which can be read by name? 0 or -1 with `why` filled. */
int fl_query_check_table(struct fl_store *, const char *table, char why[FL_WHY]);
/* Fill `why` with what is wrong when a query failed; returns -1. */
int fl_store_damaged(const struct fl_store *, char why[FL_WHY]);

/* A statement that gives rows. An error of the statement or of a value is kept until the
 * query is closed, and there are no more rows after it. */
struct fl_query {
	sqlite3_stmt *st;
	bool is_wrong, is_over;
};
void fl_query_open(struct fl_query *, struct fl_store *, const char *sql);
void fl_query_give_text(struct fl_query *, const char *);	/* for its one `?` */
bool fl_query_row(struct fl_query *);
bool fl_query_is_null(struct fl_query *, int column);
/* A whole number of [least, most], else `least` and the query is wrong. */
int64_t fl_query_number(struct fl_query *, int column, int64_t least, int64_t most);
/* A text without a NUL in it, until the next row; else "" and the query is wrong. */
const char *fl_query_text(struct fl_query *, int column);
int fl_query_close(struct fl_query *);	/* 0, or -1: it was wrong */

#endif
