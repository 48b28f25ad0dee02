/* report.h - step 7 of 7: results to eyes and files. */
#ifndef FL_REPORT_H
#define FL_REPORT_H

#include <stdio.h>

#include "analysis/analysis.h"
#include "base/base.h"

/* ---- symbols: addresses to names ------------------------------------------ */

/* Strings live as long as the struct fl_symbols they came from. */
struct fl_symbol {
	const char *name;		/* as people write it: demangled */
	const char *linkage;		/* as the linker knows it */
	uint64_t address, size;		/* ELF address */
};

struct fl_symbols;
int fl_symbols_open(struct fl_symbols **);
/* Read the names of a file that will be asked about. */
void fl_symbols_load(struct fl_symbols *, const char *path);
/* The function at ELF address `at` of file `path`: its own symbols, dynamic
 * ones, a separate debug file's, .gnu_debugdata's. False when none is known. By any
 * thread, as all that names functions. */
bool fl_symbols_find(struct fl_symbols *, const char *path, uint64_t at,
		     struct fl_symbol *);
/* Where the function around `at` begins and ends: by its symbol, else by the tables for
 * unwinding, which files without symbols have, too. False: nothing says it. */
bool fl_symbols_range(struct fl_symbols *, const char *path, uint64_t at, uint64_t *lo,
		      uint64_t *hi);
/* What a function without a name is called, MODULE!0xOFFSET, which is a pattern as well.
 * NULL: no memory; free it. */
char *fl_symbols_unnamed(const char *path, uint64_t at);
/* The linker's name of that function alone, which takes no time; NULL when none is known. */
const char *fl_symbols_linkage(struct fl_symbols *, const char *path, uint64_t at);
/* Others of the linker's for the same address, the best first, as many as `most`; how many. */
size_t fl_symbols_others(struct fl_symbols *, const char *path, uint64_t at,
			 const char **names, size_t most);
/* Is it written as people write it? Then it has no other name. */
bool fl_symbols_is_plain(const char *linkage);
/* Its source line, by any thread; NULL when nothing says it. The first look at a file takes
 * as long as to read all of it. */
const char *fl_symbols_line(struct fl_symbols *, const char *path, uint64_t at,
			    int *line);
/* Does the file alone say what its lines are? */
bool fl_symbols_lines_are_own(struct fl_symbols *, const char *path);
/* `linkage` without its parameters, or NULL when it is not mangled; in full, as it is
 * then. Free them. */
char *fl_symbols_plain(const char *linkage);
char *fl_symbols_full(const char *linkage);
void fl_symbols_close(struct fl_symbols *);

/* ---- names as they are shown (names.c) ------------------------------------- */

enum fl_demangle { FL_DEMANGLE_SIMPLE, FL_DEMANGLE_FULL, FL_DEMANGLE_NO };
/* A demangled name without template arguments, parameters and what is returned:
 * `std::map::operator[]`; as it is where it is none. NULL: no memory; free it. */
char *fl_name_simple(const char *name);
/* What `n` functions are shown as, in their order: simple names, but full ones where
 * simple ones of different functions would be equal. NULL: no memory. The strings that
 * are given stay the caller's and must stay there. */
struct fl_names;
struct fl_names *fl_names_make(const char *const *full, const char *const *linkage, size_t n,
			       enum fl_demangle how);
const char *const *fl_names_shown(const struct fl_names *);
void fl_names_free(struct fl_names *);	/* NULL is fine */

/* ---- store: the directory flick.data -------------------------------------- */

#define FL_STORE_VERSION 2
#define FL_WHY 256			/* room for one line that says why */
/* Fill it with "PATH: TEXT", of which a long path is cut, at its front; -1. */
int fl_why(char why[FL_WHY], const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The sentence for an fl_err or -errno; also for a number that is neither. */
const char *fl_reason(int err);

struct fl_function {
	const char *name, *linkage;	/* name: see fl_functions_name() */
	const char *file;		/* NULL: unknown */
	int line;
	uint16_t module;		/* index */
	uint64_t at;			/* ELF address */
};

struct fl_pair {
	const char *key;
	char value[256];
};

/* What a session leaves behind, as its maker has it. */
struct fl_recording {
	const struct fl_pair *session;
	size_t n_session;
	const struct fl_shm_module *modules;
	size_t n_modules;
	const struct fl_shm_site *sites;
	const uint32_t *function_of;	/* index: site */
	size_t n_sites;
	const unsigned char *kept;	/* index: site; of others there is no row; NULL: all */
	const char *const *providers;	/* index: site's provider */
	const char *const *tactics;	/* index: site's tactic */
	const struct fl_function *functions;
	size_t n_functions;
	void (*lines)(void *);		/* NULL; or they have their lines when this returns */
	void *lines_of;
	const uint32_t *row_of;		/* index: function; its row, or FL_NO_ROW; NULL: all
					 * have one, as they stand */
	const struct fl_thread *threads;
	size_t n_threads;
	const char *const *names;	/* of `results` */
	const struct flick_rows *results;
	size_t n_results;
};

#define FL_NO_ROW UINT32_MAX

/* What threads lost by `cause`; those without a slot have a row, too. */
uint64_t fl_threads_lost(const struct fl_thread *, size_t n, enum fl_lost cause);

struct fl_store;
/* May a result be called this? Not as one of the other tables. */
bool fl_store_takes(const char *name);
/* Make `dir` and a results file under a name of its own, so that what cannot
 * be written is known before the target starts. Until it is closed nobody else
 * records into `dir`. 0 or -1 with `why` filled. */
int fl_store_create(struct fl_store **, const char *dir, char why[FL_WHY]);
/* Write all of it and give the file its final name. 0, or -1 and no file. */
int fl_store_save(struct fl_store *, const struct fl_recording *,
		  char why[FL_WHY]);
int fl_store_open(struct fl_store **, const char *dir, char why[FL_WHY]);
/* Is there of a later recording into its directory what has not become results? */
enum fl_unfinished { FL_ALL_FINISHED, FL_UNDER_WAY, FL_INTERRUPTED };
enum fl_unfinished fl_store_unfinished(const struct fl_store *);
/* Session value of `key`; false when there is none. */
bool fl_store_value(struct fl_store *, const char *key, char value[256]);
/* A session value that is a whole number, 0 where there is none. 0, or -1 with
 * `why` filled: it is something else. */
int fl_store_number(struct fl_store *, const char *key, uint64_t *, char why[FL_WHY]);
/* The name of the i-th result; NULL when there are not as many. */
const char *fl_store_result(struct fl_store *, size_t i);
bool fl_store_has(struct fl_store *, const char *result);
/* The result called `name`; function cells are indices of names. These, its
 * columns and texts live until the store is closed. 0 or -1 with `why` filled. */
int fl_store_load(struct fl_store *, const char *name, struct flick_rows *,
		  char why[FL_WHY]);
/* What its functions are shown as from now on: until then in full. 0 or -1 with `why`
 * filled. */
int fl_store_demangle(struct fl_store *, enum fl_demangle how, char why[FL_WHY]);
const char *const *fl_store_functions(struct fl_store *, size_t *n);
/* What the linker calls them. */
const char *const *fl_store_linkages(struct fl_store *);
/* Of which file each is, "" of none, and its ELF address there. 0 or -1 with `why` filled;
 * they live until the store is closed. */
struct fl_home {
	const char *path;
	uint64_t at;
};
int fl_store_homes(struct fl_store *, const struct fl_home **, char why[FL_WHY]);
/* In full: names by which functions are told apart, also those of two recordings. */
const char *const *fl_store_full_names(struct fl_store *);
/* By function, "FILE:LINE", or NULL where it is not known. 0 or -1 with `why` filled;
 * they live until the store is closed. */
int fl_store_lines(struct fl_store *, const char *const **, char why[FL_WHY]);
/* What the analyses need of the recording, to run on its trace. 0 or -1 with
 * `why` filled; lives until the store is closed. */
int fl_store_view(struct fl_store *, struct fl_view *, char why[FL_WHY]);
/* The threads of the recording: tid, pid, name and delivered. 0 or -1 with `why` filled; they
 * live until the store is closed. */
int fl_store_threads(struct fl_store *, const struct fl_thread **, uint32_t *n,
		     char why[FL_WHY]);
void fl_store_close(struct fl_store *);	/* NULL is fine; drops what is unsaved */

/* ---- trace: the raw events --------------------------------------------------- */

#define FL_TRACE_VERSION 2		/* 1, without pauses, is read as well */
#define FL_TRACE_THREADS (1u << 22)	/* thread numbers lie below */

struct fl_trace;
/* Keep events in the directory of a store, which is there. 0 or -1 with `why`
 * filled. What cannot be written is told by fl_trace_save(). */
int fl_trace_create(struct fl_trace **, const char *dir, char why[FL_WHY]);
void fl_trace_put(struct fl_trace *, const struct fl_batch *);
void fl_trace_thread_end(struct fl_trace *, uint32_t thread);
/* Once the store is saved. 0, or -1 and the trace ends where it could not go on. */
int fl_trace_save(struct fl_trace *, char why[FL_WHY]);
void fl_trace_close(struct fl_trace *);	/* NULL is fine; drops what is unsaved */
bool fl_trace_exists(const char *dir);
/* Can its events be read? 0 or -1 with `why` filled. */
int fl_trace_check(const char *dir, char why[FL_WHY]);
/* Feed it all to the sink, which has feed and thread_end. 0; 1 with `why`
 * filled: cut short or damaged, up to there; -1: nothing. */
int fl_trace_read(const char *dir, const struct fl_sink *, char why[FL_WHY]);

/* A part of a trace, since the start: calls that ended in it, or were open at its end. */
struct fl_part {
	uint64_t from_ns, until_ns;
	bool is_given;			/* else it is all */
};

/* ---- dumps: for other programs' eyes ------------------------------------------ */

enum fl_dump_from { FL_FROM_TREE, FL_FROM_TRACE };

struct fl_dump {
	const char *output;		/* a file's name; NULL: standard output */
	FILE *to;			/* W fl_dump_open(); NULL before */
	struct fl_sheet *tree;		/* of FL_FROM_TREE; sorted */
	struct fl_store *store;		/* of FL_FROM_TRACE */
	const char *dir, *title;
	bool cut;			/* W dumper: some was too deep to be shown */
	bool raw;			/* times as measured */
	const struct fl_part *part;	/* of a trace; NULL: all */
	uint64_t limit;			/* of FL_FROM_TRACE: bytes; 0: none */
	void (*about_to_write)(uint64_t bytes);	/* likewise: as many, or about as many */
	bool limited;			/* W dumper: there was more */
	char why[FL_WHY];		/* W dumper: what is wrong */
};

struct fl_dumper {
	const char *name, *about;
	enum fl_dump_from from;
	/* 0; 1: what there is, `why` says what is wrong; -1: nothing. It opens the
	 * dump when it knows that there is something. */
	int (*write)(struct fl_dump *);
};
int fl_dump_open(struct fl_dump *);	/* 0, or -1 with `why` filled */
extern const struct fl_dumper *const fl_dumpers[];	/* NULL-terminated */
/* What an analysis, whose columns are no texts, makes of a recording's trace, or of a part
 * of it; cells are the caller's. As a dumper's write. */
int fl_trace_rows(struct fl_store *, const char *dir, const char *analysis,
		  const struct fl_part *, struct flick_rows *, char why[FL_WHY]);

/* ---- calls: a trace as indented text ------------------------------------------ */

enum fl_calls_field { FL_CALLS_DURATION, FL_CALLS_TID, FL_CALLS_ELAPSED, FL_CALLS_TASK };
enum { FL_CALLS_FIELDS = 8 };		/* as many stand before a call */
enum { FL_CALLS_ROOT = 1, FL_CALLS_HIDDEN = 2 };

struct fl_calls {
	FILE *to;
	enum fl_calls_field fields[FL_CALLS_FIELDS];
	size_t n_fields;
	const unsigned char *marks;	/* by function: FL_CALLS_* */
	bool has_roots;			/* these and what they call, or all */
	uint32_t depth;			/* levels; below 2^24 - 1 */
	uint64_t least_ns;		/* what takes less is left out; 0: nothing is */
	struct fl_part part;
	const int32_t *tids;
	size_t n_tids;			/* 0: all threads */
	bool colour;
	bool any;			/* W fl_calls_print(): there was a call to show */
	bool raw;			/* times as measured */
};
/* As fl_trace_read(). */
int fl_calls_print(struct fl_calls *, struct fl_store *, const char *dir,
		   char why[FL_WHY]);

/* ---- tables: rows for eyes and other programs ----------------------------- */

/* Cells of a comparison, beside those of flick/analysis.h: v as v * 2 where it
 * is not negative, else -v * 2 - 1; FLICK_NONE. */
enum { FL_COL_CHANGE = 64, FL_COL_CHANGE_NS };

#define FL_MAX_SHOWN 80
#define FL_SHOWN_SHARE 255		/* no column of the result: percent of `whole` */

/* A result with what is needed to show it. */
struct fl_sheet {
	struct flick_rows *result;
	const char *const *functions;	/* index: function cells */
	const char *const *full;	/* what tells these apart; NULL: themselves */
	size_t n_functions;
	const char *name;		/* of a result of flick's own; else NULL */
	bool sampled, estimated;	/* what its calls are, then */
	bool bare;			/* some are told by samples, as there were no probes */
	bool colour;			/* of titles and times, in a table */
	const char *note;		/* what is said above a table, or NULL */
	uint64_t whole;			/* what shares are of, by all rows, also those that
					 * are left out; 0: not known, or no such column */
	uint32_t *depth;		/* of each row, of a tree; else NULL */
	size_t width;			/* of the terminal, which names are cut to; 0: they
					 * are not */
	uint8_t shown[FL_MAX_SHOWN];	/* columns, or FL_SHOWN_SHARE; n_shown 0: as the
					 * exporter likes */
	size_t n_shown;
	uint64_t asked;			/* a bit a column: it was asked for by name */
	struct flick_column *added;	/* NULL; or the result's columns, with more */
	size_t n_modules;		/* of these the last are modules of functions; */
	bool has_twins;			/* without these rows look alike */
	struct fl_modules *modules;	/* what tells twins apart, or NULL */
};

struct fl_exporter {
	const char *name, *about;
	void (*write)(FILE *, const struct fl_sheet *);
};
extern const struct fl_exporter *const fl_exporters[];	/* NULL-terminated */

/* Order the rows by columns, with commas between their names, largest first, names
 * ascending; those of a tree below their parents. False: no such column, or no memory. */
bool fl_sheet_sort(struct fl_sheet *, const char *names);
void fl_sheet_free(struct fl_sheet *);	/* its cells, its depths, its columns */
/* Which columns are shown: those that tell a person something, or all; or those of
 * `keys`, as -f of flick report has them. NULL, or the key that there is none of. */
void fl_sheet_show(struct fl_sheet *);
void fl_sheet_show_all(struct fl_sheet *);
const char *fl_sheet_choose(struct fl_sheet *, const char *keys);
/* This one, too, before the texts. */
void fl_sheet_show_also(struct fl_sheet *, size_t column);
/* The column of a key of `n` letters: its name, with or without its unit; -1. And all
 * keys, with commas between. */
int fl_sheet_key(const struct fl_sheet *, const char *key, size_t n);
void fl_sheet_keys(const struct fl_sheet *, char *out, size_t room);
/* One more column, of texts by the function in column `of`; the name stays the caller's.
 * False: no memory, or no such column. */
bool fl_sheet_add_texts(struct fl_sheet *, const char *name, int of,
			const char *const *texts);
/* Do functions in its rows have one name? */
bool fl_sheet_has_twins(const struct fl_sheet *);
/* What tells them apart: the module of each, by function. NULL: no memory. As long as the
 * homes are there. */
struct fl_modules;
enum fl_modules_by { FL_BY_BASE_NAME, FL_BY_PATH };
struct fl_modules *fl_modules_make(const struct fl_sheet *, const struct fl_home *homes,
				   enum fl_modules_by);
void fl_modules_free(struct fl_modules *);	/* NULL is fine */
/* Columns with these, which become the sheet's: `module`, `caller_module`. False: no
 * memory. */
bool fl_sheet_add_modules(struct fl_sheet *, struct fl_modules *);
/* The column that shares are made of: of paths, whose time nobody knows, the calls. */
const char *fl_sheet_shared(const struct fl_sheet *);
/* Index of column `name`, or -1. */
int fl_sheet_column(const struct flick_rows *, const char *name);
/* The sum of column `name`, as far as it is known; 0: there is none. */
uint64_t fl_sheet_sum(const struct flick_rows *, const char *name);
/* Times of a result become those that were measured, with what probes took, as far as they
 * are kept. False: none are. */
bool fl_rows_make_raw(struct flick_rows *);
/* Has it such a column, of counts or times? */
bool fl_sheet_has_numbers(const struct flick_rows *, const char *name);
/* Compare two results by the names in them: for each column of numbers of `keys`
 * (up to the NULL) that both have, what it was, what it is, and the change. 0, or
 * -1: no memory or no such column. Texts live until fl_diff_free(). */
struct fl_diff;
int fl_diff_make(struct fl_diff **, struct fl_sheet *before, struct fl_sheet *after,
		 const char *const *keys);
struct fl_sheet *fl_diff_sheet(struct fl_diff *);
void fl_diff_free(struct fl_diff *);
/* A name that comes from a target or a file, for people: nothing in it that a terminal
 * would obey, or that turns text around, but its bytes as \xNN. How many columns that
 * takes; only that where there is no file. */
size_t fl_print_plain(FILE *, const char *text);
/* The same, cut to so many columns, of which the last three say so; 0: not cut. A name
 * always has some columns, however few the line has left. */
size_t fl_print_cut(FILE *, const char *text, size_t columns);
/* A string of JSON, with its quotes. */
void fl_json_string(FILE *, const char *text);
/* `flick latency`: the spread of each function, as funclatency prints it. */
void fl_text_spread(FILE *, const struct fl_sheet *spread,
		    const struct fl_sheet *latency);
/* `flick count`: FUNC and COUNT, as funccount prints them. */
void fl_text_counts(FILE *, const struct fl_sheet *counts);

#endif
