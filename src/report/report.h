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
/* Read the names of a file ahead of questions about it. Not while other threads ask. */
void fl_symbols_load(struct fl_symbols *, const char *path);
/* The function at ELF address `at` of file `path`. Its name comes from the file's symbols or
 * dynamic symbols, from a separate debug file or from .gnu_debugdata. False: none is known.
 * Any thread may call this and every function below that is given a path. */
bool fl_symbols_find(struct fl_symbols *, const char *path, uint64_t at,
		     struct fl_symbol *);
/* Where the function around `at` begins and ends. Its symbol says so, else the tables for
 * unwinding, which files without symbols have, too. False: neither does. */
bool fl_symbols_range(struct fl_symbols *, const char *path, uint64_t at, uint64_t *lo,
		      uint64_t *hi);
/* The text that stands for a function without a name: MODULE!0xOFFSET, which is a pattern as
 * well. NULL: no memory; free it. */
char *fl_symbols_unnamed(const char *path, uint64_t at);
/* Only the linker's name of the function at `at`: nothing is demangled. NULL: none is known. */
const char *fl_symbols_linkage(struct fl_symbols *, const char *path, uint64_t at);
/* The linker's other names for address `at`, the best first, at most `most`. Returns how
 * many there are in `names`. */
size_t fl_symbols_others(struct fl_symbols *, const char *path, uint64_t at,
			 const char **names, size_t most);
/* Is the linker's name the one that people write? Then demangling gives no other. */
bool fl_symbols_is_plain(const char *linkage);
/* The source file of address `at`, and its line; NULL: not known. The first call for a
 * `path` takes as long as reading that whole file. */
const char *fl_symbols_line(struct fl_symbols *, const char *path, uint64_t at,
			    int *line);
/* Does the file itself hold all that is known of its lines, and no other file a part? */
bool fl_symbols_lines_are_own(struct fl_symbols *, const char *path);
/* `linkage` demangled. fl_symbols_plain() leaves out parameters and returns NULL for a name
 * that is not mangled; fl_symbols_full() copies such a name as it is. Free the result. */
char *fl_symbols_plain(const char *linkage);
char *fl_symbols_full(const char *linkage);
void fl_symbols_close(struct fl_symbols *);

/* ---- names as they are shown (names.c) ------------------------------------- */

enum fl_demangle { FL_DEMANGLE_SIMPLE, FL_DEMANGLE_FULL, FL_DEMANGLE_NO };
/* A demangled name without template arguments, parameters and return type:
 * `std::map::operator[]`. A name that is not understood is copied as it is. NULL: no memory;
 * free it. */
char *fl_name_simple(const char *name);
/* The names by which `n` functions are shown, in the functions' order. FL_DEMANGLE_SIMPLE
 * gives simple names, except to functions whose simple names would be equal: these keep
 * their full ones. NULL: no memory. The strings in `full` and `linkage` stay the caller's
 * and must outlive the result. */
struct fl_names;
struct fl_names *fl_names_make(const char *const *full, const char *const *linkage, size_t n,
			       enum fl_demangle how);
const char *const *fl_names_shown(const struct fl_names *);
void fl_names_free(struct fl_names *);	/* NULL is fine */

/* ---- store: the directory flick.data -------------------------------------- */

#define FL_STORE_VERSION 2
#define FL_WHY 256			/* room for one line that says why */
/* Fill `why` with "PATH: TEXT"; a long path is cut at its front. Returns -1. */
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

enum { FL_VALUE = 512 };		/* bytes of a session value, or fewer */
struct fl_pair {
	const char *key;
	char value[FL_VALUE];
};

/* What a session leaves behind, in the recorder's own tables. */
struct fl_recording {
	const struct fl_pair *session;
	size_t n_session;
	const struct fl_shm_module *modules;
	size_t n_modules;
	struct fl_symbols *symbols;	/* of the modules' files; NULL: none were read */
	const struct fl_shm_site *sites;
	const uint32_t *function_of;	/* index: site */
	size_t n_sites;
	const unsigned char *kept;	/* index: site; 0: it gets no row; NULL: all get one */
	const char *const *providers;	/* index: site's provider */
	const char *const *tactics;	/* index: site's tactic */
	const struct fl_function *functions;
	size_t n_functions;
	void (*lines)(void *);		/* NULL; or: functions have lines when it returns */
	void *lines_of;
	const uint32_t *row_of;		/* index: function; its row, or FL_NO_ROW; NULL: a
					 * function's index is its row */
	const struct fl_thread *threads;
	size_t n_threads;
	const char *const *names;	/* of `results` */
	const struct flick_rows *results;
	size_t n_results;
};

#define FL_NO_ROW UINT32_MAX

/* How many events the threads lost by `cause`. Threads without a slot share one of the `n`. */
uint64_t fl_threads_lost(const struct fl_thread *, size_t n, enum fl_lost cause);

struct fl_store;
/* May a result have this name? The names of the store's other tables are taken. */
bool fl_store_takes(const char *name);
/* Make `dir`, and in it a results file under a temporary name: so the caller learns before
 * the target starts that it cannot be written. Until the store is closed nobody else records
 * into `dir`. 0 or -1 with `why` filled. */
int fl_store_create(struct fl_store **, const char *dir, char why[FL_WHY]);
/* Write the recording and give the file its final name. 0, or -1 and there is no file. */
int fl_store_save(struct fl_store *, const struct fl_recording *,
		  char why[FL_WHY]);
int fl_store_open(struct fl_store **, const char *dir, char why[FL_WHY]);
/* Has a later recording into the store's directory begun that has no results yet? */
enum fl_unfinished { FL_ALL_FINISHED, FL_UNDER_WAY, FL_INTERRUPTED };
enum fl_unfinished fl_store_unfinished(const struct fl_store *);
/* The session value of `key`, as much of it as there is room for; false: there is none. */
bool fl_store_value(struct fl_store *, const char *key, char *value, size_t room);
/* A session value that is a whole number; a value that is missing counts as 0. Returns 0, or
 * -1 with `why` filled: the value is no number. */
int fl_store_number(struct fl_store *, const char *key, uint64_t *, char why[FL_WHY]);
/* The name of the i-th result; NULL when there are not as many. */
const char *fl_store_result(struct fl_store *, size_t i);
bool fl_store_has(struct fl_store *, const char *result);
/* The result called `name`; its function cells are indices into fl_store_functions(). Names,
 * columns and texts live until the store is closed. 0 or -1 with `why` filled. */
int fl_store_load(struct fl_store *, const char *name, struct flick_rows *,
		  char why[FL_WHY]);
/* Choose how the store's functions are shown from now on; before this call they are shown
 * in full. 0 or -1 with `why` filled. */
int fl_store_demangle(struct fl_store *, enum fl_demangle how, char why[FL_WHY]);
const char *const *fl_store_functions(struct fl_store *, size_t *n);
/* The linker's names of the store's functions. */
const char *const *fl_store_linkages(struct fl_store *);
/* The file that a function is in, "" for none, with its build id, "" where none is known, and
 * the function's ELF address there. */
struct fl_home {
	const char *path, *build_id;
	uint64_t at;
};
/* By function. 0 or -1 with `why` filled; homes live until the store is closed. */
int fl_store_homes(struct fl_store *, const struct fl_home **, char why[FL_WHY]);
/* The full names, which tell functions apart, also functions of two recordings. */
const char *const *fl_store_full_names(struct fl_store *);
/* By function, "FILE:LINE", or NULL where the line is not known. 0 or -1 with `why` filled;
 * the texts live until the store is closed. */
int fl_store_lines(struct fl_store *, const char *const **, char why[FL_WHY]);
/* What analyses must know of the recording to run on its trace. 0 or -1 with `why` filled;
 * the view lives until the store is closed. */
int fl_store_view(struct fl_store *, struct fl_view *, char why[FL_WHY]);
/* The threads of the recording, of which tid, pid, name and delivered are filled. 0 or -1
 * with `why` filled; they live until the store is closed. */
int fl_store_threads(struct fl_store *, const struct fl_thread **, uint32_t *n,
		     char why[FL_WHY]);
void fl_store_close(struct fl_store *);	/* NULL is fine; drops what is unsaved */

/* ---- trace: the raw events --------------------------------------------------- */

#define FL_TRACE_VERSION 2		/* 1, without pauses, is read as well */
#define FL_TRACE_THREADS (1u << 22)	/* thread numbers lie below */

struct fl_trace;
/* Begin a trace in `dir`, the directory of a store, which must exist. 0 or -1 with `why`
 * filled. When events cannot be written later, fl_trace_save() says so. */
int fl_trace_create(struct fl_trace **, const char *dir, char why[FL_WHY]);
void fl_trace_put(struct fl_trace *, const struct fl_batch *);
void fl_trace_thread_end(struct fl_trace *, uint32_t thread);
/* To be called once the store is saved. 0, or -1 with `why` filled: the trace ends where
 * writing failed. */
int fl_trace_save(struct fl_trace *, char why[FL_WHY]);
void fl_trace_close(struct fl_trace *);	/* NULL is fine; drops what is unsaved */
bool fl_trace_exists(const char *dir);
/* Is there a trace in `dir` that this flick can read? 0 or -1 with `why` filled. */
int fl_trace_check(const char *dir, char why[FL_WHY]);
/* Feed the whole trace to the sink, whose feed and thread_end are called. 0; 1 with `why`
 * filled: the trace is cut short or damaged and was fed up to there; -1: nothing was fed. */
int fl_trace_read(const char *dir, const struct fl_sink *, char why[FL_WHY]);

/* A part of a trace, in times since the start: the calls that ended in that part, or were
 * open at its end. */
struct fl_part {
	uint64_t from_ns, until_ns;
	bool is_given;			/* else the part is the whole trace */
};

/* ---- dumps: for other programs' eyes ------------------------------------------ */

enum fl_dump_from { FL_FROM_TREE, FL_FROM_TRACE };

struct fl_dump {
	const char *output;		/* a file's name; NULL: standard output */
	FILE *to;			/* W fl_dump_open(); NULL before */
	struct fl_sheet *tree;		/* of FL_FROM_TREE; sorted */
	struct fl_store *store;		/* of FL_FROM_TRACE */
	const char *dir, *title;
	bool cut;			/* W dumper: some calls were too deep to show */
	bool raw;			/* times as measured */
	const struct fl_part *part;	/* of a trace; NULL: all */
	uint64_t limit;			/* of FL_FROM_TRACE: bytes; 0: none */
	void (*about_to_write)(uint64_t bytes);	/* likewise: told an estimate; or NULL */
	bool limited;			/* W dumper: there was more */
	char why[FL_WHY];		/* W dumper: what is wrong */
};

struct fl_dumper {
	const char *name, *about;
	enum fl_dump_from from;
	/* 0; 1: the dump has what there is, and `why` says what is wrong; -1: there is no
	 * dump. The dumper opens the dump once it knows that there is something to write. */
	int (*write)(struct fl_dump *);
};
int fl_dump_open(struct fl_dump *);	/* 0, or -1 with `why` filled */
extern const struct fl_dumper *const fl_dumpers[];	/* NULL-terminated */
/* The rows that an analysis, which must have no columns of texts, makes of a recording's
 * trace or of a part of it. The caller frees the cells. Returns as a dumper's write does. */
int fl_trace_rows(struct fl_store *, const char *dir, const char *analysis,
		  const struct fl_part *, struct flick_rows *, char why[FL_WHY]);

/* ---- calls: a trace as indented text ------------------------------------------ */

enum fl_calls_field { FL_CALLS_DURATION, FL_CALLS_TID, FL_CALLS_ELAPSED, FL_CALLS_TASK };
enum { FL_CALLS_FIELDS = 8 };		/* at most so many stand before a call */
enum { FL_CALLS_ROOT = 1, FL_CALLS_HIDDEN = 2 };

struct fl_calls {
	FILE *to;
	enum fl_calls_field fields[FL_CALLS_FIELDS];
	size_t n_fields;
	const unsigned char *marks;	/* by function: FL_CALLS_* */
	bool has_roots;			/* true: only roots and what they call are shown */
	uint32_t depth;			/* levels; below 2^24 - 1 */
	uint64_t least_ns;		/* shorter calls are left out; 0: none is */
	struct fl_part part;
	const int32_t *tids;
	size_t n_tids;			/* 0: all threads */
	bool colour;
	bool any;			/* W fl_calls_print(): there was a call to show */
	bool raw;			/* times as measured */
};
/* Returns as fl_trace_read() does. */
int fl_calls_print(struct fl_calls *, struct fl_store *, const char *dir,
		   char why[FL_WHY]);

/* ---- tables: rows for eyes and other programs ----------------------------- */

/* Column types that only a comparison has, beside those of flick/analysis.h. A cell holds a
 * change v as v * 2 where v is not negative, else as -v * 2 - 1; or FLICK_NONE. */
enum { FL_COL_CHANGE = 64, FL_COL_CHANGE_NS };

#define FL_MAX_SHOWN 80
#define FL_SHOWN_SHARE 255		/* no column of the result: percent of `whole` */

/* A result with what is needed to show it. */
struct fl_sheet {
	struct flick_rows *result;
	const char *const *functions;	/* index: function cells */
	const char *const *full;	/* names that tell these apart; NULL: the same */
	size_t n_functions;
	const char *name;		/* of a result of flick's own; else NULL */
	bool sampled, estimated;	/* of such a result: what its calls are */
	bool bare;			/* samples tell calls of processes without probes */
	bool colour;			/* of titles and times, in a table */
	const char *note;		/* the text above a table, or NULL */
	uint64_t whole;			/* the sum that shares are parts of, over all rows, also
					 * rows that are left out; 0: not known, or no such
					 * column */
	uint32_t *depth;		/* of each row, of a tree; else NULL */
	size_t width;			/* the terminal's, to which names are cut; 0: they are
					 * not cut */
	uint8_t shown[FL_MAX_SHOWN];	/* columns, or FL_SHOWN_SHARE; n_shown 0: the exporter
					 * chooses */
	size_t n_shown;
	uint64_t asked;			/* a bit a column: the column was asked for by name */
	struct flick_column *added;	/* the result's columns with the added ones, or NULL */
	size_t n_modules;		/* so many of the last columns are modules */
	bool has_twins;			/* without modules some rows look alike */
	struct fl_modules *modules;	/* what tells twins apart, or NULL */
};

struct fl_exporter {
	const char *name, *about;
	void (*write)(FILE *, const struct fl_sheet *);
};
extern const struct fl_exporter *const fl_exporters[];	/* NULL-terminated */

/* Order the rows by the columns in `names`, which commas separate. Large numbers come first,
 * texts ascend, and rows of a tree stand below their parents. False: no such column, or no
 * memory. */
bool fl_sheet_sort(struct fl_sheet *, const char *names);
void fl_sheet_free(struct fl_sheet *);	/* its cells, depths, added columns, modules */
/* Choose which columns are shown: fl_sheet_show() those that tell a person something,
 * fl_sheet_show_all() all, fl_sheet_choose() those of `keys`, which are written as for -f of
 * flick report. The last returns NULL, or the first key that no column has. */
void fl_sheet_show(struct fl_sheet *);
void fl_sheet_show_all(struct fl_sheet *);
const char *fl_sheet_choose(struct fl_sheet *, const char *keys);
/* Show `column`, too, before the texts. */
void fl_sheet_show_also(struct fl_sheet *, size_t column);
/* The column of a key of `n` letters, or -1. A key is a column's name, with or without its
 * unit. fl_sheet_keys() lists all keys, with commas between. */
int fl_sheet_key(const struct fl_sheet *, const char *key, size_t n);
void fl_sheet_keys(const struct fl_sheet *, char *out, size_t room);
/* Add a column of texts, each chosen by the function in column `of`. `name` and `texts` stay
 * the caller's. False: no memory, or no such column. */
bool fl_sheet_add_texts(struct fl_sheet *, const char *name, int of,
			const char *const *texts);
/* Do different functions in the sheet's rows share a name? */
bool fl_sheet_has_twins(const struct fl_sheet *);
/* The module of each function, by which functions of one name are told apart. NULL: no
 * memory. `homes` must outlive the result. */
struct fl_modules;
enum fl_modules_by { FL_BY_BASE_NAME, FL_BY_PATH };
struct fl_modules *fl_modules_make(const struct fl_sheet *, const struct fl_home *homes,
				   enum fl_modules_by);
void fl_modules_free(struct fl_modules *);	/* NULL is fine */
/* Add columns with the modules: `module`, `caller_module`. The sheet owns the modules from
 * now on. False: no memory. */
bool fl_sheet_add_modules(struct fl_sheet *, struct fl_modules *);
/* Instructions as assemblers write them (insn-text.c). One thread at a time. */
struct fl_insn_texts;
struct fl_insn_texts *fl_insn_texts_open(void);	/* NULL: no memory */
void fl_insn_texts_close(struct fl_insn_texts *);	/* NULL is fine */
/* The instruction that `n` bytes are, or begin with, to be freed; "" where it is none that is
 * known, or there is no libcapstone. machine: of an ELF file. at: its own address, by which
 * those are told that it leads to. NULL: no memory. */
char *fl_insn_text(struct fl_insn_texts *, unsigned machine, const unsigned char *bytes,
		   size_t n, uint64_t at);
/* Rows of result `places`, of addresses, become rows of source lines with their text, as files
 * have them now. 0 or -1 with `why` filled. */
struct fl_annotated {
	const char *changed;		/* a file that was changed since, or is gone, of which
					 * addresses are left; NULL: none */
	const char *newer;		/* a source that was changed since its program was
					 * built; NULL: none */
	uint64_t bare;			/* samples where a file tells no line */
	uint64_t unknown;		/* samples without an address */
};
int fl_store_annotate(struct fl_store *, struct fl_sheet *, struct fl_annotated *,
		      char why[FL_WHY]);
/* The column that shares are made of. For paths it is the calls: nobody knows a path's time. */
const char *fl_sheet_shared(const struct fl_sheet *);
/* Index of column `name`, or -1. */
int fl_sheet_column(const struct flick_rows *, const char *name);
/* The sum of the known cells of column `name`; 0: there is no such column. */
uint64_t fl_sheet_sum(const struct flick_rows *, const char *name);
/* Replace a result's times with those that were measured, which have the probes' own time in
 * them, where the result keeps them. False: it keeps none. */
bool fl_rows_make_raw(struct flick_rows *);
/* Is there a column `name` of counts or times? */
bool fl_sheet_has_numbers(const struct flick_rows *, const char *name);
/* Compare two results by the names in them. For each column of numbers that `keys` (up to
 * the NULL) names and both have, there are three columns: before, after, and the change; and
 * one more, `title`, of names. 0, or -1: no memory or no such column. Texts live until
 * fl_diff_free(), `title` must. */
struct fl_diff;
int fl_diff_make(struct fl_diff **, struct fl_sheet *before, struct fl_sheet *after,
		 const char *const *keys, const char *title);
struct fl_sheet *fl_diff_sheet(struct fl_diff *);
void fl_diff_free(struct fl_diff *);
/* Print a name that comes from a target or a file for people. Characters that a terminal
 * would obey, or that turn text around, are printed as their bytes, \xNN. Returns how many
 * columns that takes; without a file nothing is printed. */
size_t fl_print_plain(FILE *, const char *text);
/* The same, cut to `columns`, of which the last three are dots; 0: not cut. A name always
 * gets some columns, however few the line has left. */
size_t fl_print_cut(FILE *, const char *text, size_t columns);
/* A string of JSON, with its quotes. */
void fl_json_string(FILE *, const char *text);
/* `flick latency`: the spread of each function, as funclatency prints it. */
void fl_text_spread(FILE *, const struct fl_sheet *spread,
		    const struct fl_sheet *latency);
/* `flick count`: FUNC and COUNT, as funccount prints them. */
void fl_text_counts(FILE *, const struct fl_sheet *counts);

#endif
