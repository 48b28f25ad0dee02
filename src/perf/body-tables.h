/*
 * body-tables.h - private to perf/: by what second bodies are unwound (body-tables.c).
 */
#ifndef FL_BODY_TABLES_H
#define FL_BODY_TABLES_H

#include "perf/cfi.h"
#include "perf/originals.h"

/* Where code of a process was mapped from. False: from no file, and then it is what was mapped
 * there before, because the code may be a copy of that; `path` stays NULL where nothing was. */
struct fl_stack_code {
	const char *path;		/* the same pointer for the same file */
	uint64_t lo, offset;
	bool is_made;			/* by the program: no file has it, nor flick */
};
typedef bool fl_stack_where(void *arg, uint64_t at, struct fl_stack_code *);

/* Zeros, except `originals`: no table has been read. */
struct fl_body_tables {
	struct fl_originals *originals;	/* NULL: nobody has second bodies */
	struct fl_body_table {
		uint32_t block;		/* of these bodies: 1 + its row */
		struct fl_cfi *cfi;	/* NULL: it is no table that can be read */
		const char *bytes;	/* then: as they stood at `at`; n */
		uint64_t at, n;
	} *tables;
	uint32_t n_tables;
	struct fl_known_body {		/* a function's, in whichever process */
		const char *path;
		uint64_t function;	/* offset in that file */
		uint32_t bytes;
		uint32_t table;		/* index of tables[] */
		struct fl_told_body by;	/* the body that it is by that table */
	} *bodies;
	uint32_t n_bodies;
	struct fl_hash by_function;
	struct fl_cfi_memory memory;	/* of files' tables as well (stacks.c) */
	uint64_t taken;			/* bytes of tables, and bodies that were looked at */
};

/* A place in a body of process `pid`; where: in the same. */
struct fl_body_place {
	int32_t pid;
	uint64_t at;
	const struct fl_told_body *body;
	fl_stack_where *where;
	void *arg;
};
/* The rules of that place, until the next call; NULL: they can be known no more, or there are
 * none. */
const struct fl_cfi_row *fl_body_tables_row(struct fl_body_tables *,
					    const struct fl_body_place *);
/* How far behind its function's begin the instruction stands that the place is of. False: it is
 * not known. */
bool fl_body_tables_origin(struct fl_body_tables *, const struct fl_body_place *, int64_t *);
void fl_body_tables_close(struct fl_body_tables *);

#endif
