/*
 * cli.h - what the commands share.
 *
 * Not a door: nobody includes the command line.
 */
#ifndef FL_CLI_H
#define FL_CLI_H

#include "args/args.h"
#include "session/session.h"

/* The instructions of the path of that number through the function at an ELF address of the
 * file, printed (list-path.c). 0, -ENOENT: there is none, or why there are no paths. */
int fl_list_path(struct fl_symbols *, const char *path, uint64_t function, uint32_t number);
/* The instructions of path `number` of the functions of a recording that have it, printed: of
 * the first `rows` of a sorted result of paths (report-path.c). FL_EXIT_*. */
enum { FL_NO_PATH = INT32_MAX, FL_PATHS_MOST = FL_NO_PATH - 1 };
int fl_report_path(struct fl_store *, const struct fl_sheet *, uint32_t number, uint32_t rows);
/* The call tree that samples gave (report-stacks.c). load: 0 or -1 with `why` filled. callers:
 * puts in the tree's place who called the functions of a glob, and names it so: 0, or -1 and
 * a line printed. fit: leaves out of a sorted tree what is too little to be looked at; note:
 * what is said above the tree. */
int fl_stacks_load(struct fl_store *, const char *dir, struct flick_rows *, char why[FL_WHY]);
int fl_stacks_callers(struct fl_store *, struct fl_sheet *, const char *glob);
size_t fl_stacks_fit(struct fl_sheet *);
void fl_stacks_note(struct fl_store *, const struct fl_sheet *, size_t left_out, char *note,
		    size_t room);
/* Functions that patterns name (report-only.c). nearest: the one whose name is near, or NULL;
 * only: rows of others are taken out, 0, or -1. A line is printed for each pattern that names
 * none, and for what else is wrong. */
enum { FL_ONLY_MOST = 64 };
struct fl_only {
	const char *patterns[FL_ONLY_MOST];
	uint32_t n;
};
struct fl_home;
bool fl_sheet_matches(const struct fl_sheet *, const struct fl_home *, const char *pattern,
		      uint64_t function);
const char *fl_sheet_nearest(const struct fl_sheet *, const char *pattern);
/* Keep rows of which the answer is true, in their order, with their depths. How many; if none,
 * their cells stay as they were. */
typedef bool fl_row_question(const void *arg, const uint64_t *row);
size_t fl_sheet_keep(struct fl_sheet *, fl_row_question *, const void *arg);
/* Is a file called so, by a glob of `n` bytes, by its path or its name? NULL: no. */
bool fl_path_matches(const char *path, const char *glob, size_t n);
int fl_report_only(struct fl_store *, struct fl_sheet *, const struct fl_only *);
/* What samples are told apart by (report-by.c): results, and an option that shows functions. */
enum { FL_BY_PROGRAM, FL_BY_TID, FL_N_BYS };
extern const struct fl_by {
	const char *what;		/* the option's name, and the column's */
	const char *all, *functions;	/* results: a row each, and their functions */
} fl_bys[FL_N_BYS];
/* NULL: the result is of neither. */
const struct fl_by *fl_by_of(const char *result);
/* Of result `functions` the rows of those that a glob names; 0, or -1 and a line printed. */
int fl_report_by(struct fl_sheet *, const struct fl_by *, const char *pattern);
/* What the recording in a directory is of, printed (report-info.c). FL_EXIT_*. */
int fl_report_info(const char *dir);
/* What is in a file (survey.c): `each` gets its sites, while `module` is there. 0 or an
 * error. plan: what arming would do; 0 or a refusal. */
struct fl_survey {
	struct fl_module module;
	uint64_t found, unnamed;	/* sites; calls that no scan names */
	uint64_t functions, without;	/* that may have second bodies; of these refused */
};
int fl_survey(const char *path, struct fl_survey *, fl_site_each *each, void *arg);
int fl_survey_plan(const struct fl_site *, struct fl_patch *);
/* `flick count` and `flick latency`: options of both, run, print. */
int fl_oneliner(const struct fl_cmd *, int argc, char **argv, struct fl_account *,
		struct fl_session_options *, void (*print)(struct fl_session *));
/* Say so where `calls` is empty. */
void fl_oneliner_tell_none(const struct fl_sheet *calls);
extern const struct fl_option fl_oneliner_options[];

#endif
