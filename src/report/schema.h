/*
 * schema.h - the tables of results.db, for its writer and its reader.
 */
#ifndef FL_REPORT_SCHEMA_H
#define FL_REPORT_SCHEMA_H

#include <sqlite3.h>

#include "report/report.h"

#define FL_STORE_FILE "results.db"
#define FL_TRACE_FILE "trace.zst"
#define FL_STORE_ID 0x666c6b31		/* PRAGMA application_id: "flk1" */

struct fl_store {
	char *dir;
	char *path;			/* of the file that is open */
	char *final;			/* the name it is to get; NULL: reading */
	sqlite3 *db;
	bool made_dir;			/* and takes it away if nothing is saved */
	int lock;			/* the directory, while it is recorded into; or -1 */
	char **functions;		/* names, once loaded */
	size_t n_functions;
	void **owned;			/* what loaded results point to */
	size_t n_owned, room;
};

/* Names of enum flick_column_type in the table `columns`; NULL-terminated. */
extern const char *const fl_column_types[];

/* Kept until the store is closed; NULL when there is no memory. */
void *fl_store_own(struct fl_store *, void *);
/* Fill `why` with "PATH: what SQLite says" or a text; returns -1. */
int fl_store_fail(const struct fl_store *, char why[FL_WHY], const char *text);

#endif
