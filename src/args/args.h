/*
 * args.h - the door of args/: commands and their options, from tables; and the terminal.
 *
 * READER code, for one thread. Tables of commands and options are what parsing, --help and the
 * manual pages' lists are made of.
 */
#ifndef FL_ARGS_H
#define FL_ARGS_H

#include <stdio.h>

#include "base/base.h"

#ifndef FLICK_VERSION
#define FLICK_VERSION "unreleased"
#endif

enum { FL_EXIT_WELL, FL_EXIT_FAILED, FL_EXIT_USAGE, FL_EXIT_LOST };

/* "flick: ..." and a newline on stderr. */
void fl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- commands and options (args.c) ------------------------------------------------ */

/* `take` gets the option's value, and the place for it: `at` bytes into what the command's
 * options fill. 0, or -1 and a line printed. */
struct fl_option {
	char letter;			/* 0: none */
	const char *name;		/* long; NULL ends the table */
	const char *value;		/* what it takes, for help; NULL: nothing */
	const char *about;
	int (*take)(void *to, const struct fl_option *, const char *value);
	size_t at;
	uint64_t least, most;		/* of a number */
	const char *(*each)(size_t i);	/* the names that it takes, each(0) up to NULL */
};
/* Into a bool, a text, a uint32_t, the text of a name, the index of a name. */
int fl_take_flag(void *to, const struct fl_option *, const char *value);
int fl_take_text(void *to, const struct fl_option *, const char *value);
int fl_take_number(void *to, const struct fl_option *, const char *value);
int fl_take_name(void *to, const struct fl_option *, const char *value);
int fl_take_choice(void *to, const struct fl_option *, const char *value);
int fl_take_seconds(void *to, const struct fl_option *, const char *value);	/* a double */
/* FROM~TO since the start, of which one may be missing, into a struct fl_part. */
int fl_take_part(void *to, const struct fl_option *, const char *value);

/* The last line of a command. */
struct fl_account {
	uint64_t produced, delivered, lost, filtered;
	uint64_t active, refused;	/* probes */
	uint64_t bodies, without;	/* functions that have one, or could not */
	uint64_t processes;		/* that had them, where several were followed */
	bool due;			/* the command came far enough to have one */
	char cost[320];			/* what recording cost, or why that is not known */
};

struct fl_cmd {
	const char *name, *args, *about;
	const char *more;		/* paragraphs below the options, or NULL */
	const struct fl_option *options;
	void (*list)(FILE *);		/* what else --help lists, or NULL */
	int (*run)(const struct fl_cmd *, int argc, char **argv, struct fl_account *);
};

/* Walks the options of argv[1..]; stops at `--`, which it passes, and at the
 * first word that is no option. */
struct fl_args {
	const struct fl_cmd *cmd;
	char **argv;
	int argc, at;			/* argv[at]: the next word */
	const char *cluster;		/* rest of a word like -xyz */
	const char *value;		/* of the option returned last */
};
/* Take the options, which fill `wish`. 0, or -1 and a line printed. */
int fl_args_take(struct fl_args *, void *wish);
/* All words of a command with options, which may stand before and behind, and at
 * most one directory. 0, or -1 and a line printed. */
int fl_args_directory(const struct fl_cmd *, int argc, char **argv, const char **dir,
		      void *wish);
/* 0, or -1 and a line printed when something of the output got lost. */
int fl_flush_output(void);
/* Columns of the terminal that standard output is; 0: it is no terminal. */
size_t fl_terminal_width(void);
/* Which of each(0), each(1), ... the word is; -1 and a line printed, which names them
 * (values.c). */
int fl_choose(const char *option, const char *(*each)(size_t), const char *word);
/* Print what an option takes, for a shell: the names, a line each; or `DIR`; or nothing
 * where anything goes. Returns an exit status. */
int fl_print_values(const struct fl_cmd *, const char *option);
#define FL_DEMANGLE_OPTION(type, field) \
	{ 0, "demangle", "HOW", "C++ and Rust names: simple, full or no (simple)", \
	  fl_take_choice, .at = offsetof(type, field), .each = fl_demangle_each }
const char *fl_demangle_each(size_t);
void fl_print_help(FILE *, const struct fl_cmd *);
void fl_print_man(FILE *, const struct fl_cmd *);
/* A number in [lo, hi]; false and a line printed otherwise. */
bool fl_parse_number(const struct fl_option *, const char *text, uint64_t lo,
		     uint64_t hi, uint64_t *out);
/* A time, as in `2.5ms`; nanoseconds without a unit. Returns how many letters it has; 0: it
 * is no time. */
size_t fl_parse_time(const char *text, uint64_t *ns);
#define FL_PART_OPTION(type, field) \
	{ 'r', "time-range", "FROM~TO", \
	  "this part of a trace, since the start, as in 1ms~2.5s", \
	  fl_take_part, .at = offsetof(type, field) }
/* The names nearest to `word` by edit distance, the nearest first, each once; returns how
 * many. fl_nearest() gives the nearest alone, or NULL when none is near. */
enum { FL_NEAR_MOST = 3 };
size_t fl_near(const char *word, const char *const *names, size_t n,
	       const char *near[FL_NEAR_MOST]);
const char *fl_nearest(const char *word, const char *const *names, size_t n);

/* ---- a terminal: pager and colours (screen.c) ------------------------------------- */

enum fl_colours { FL_COLOURS_AUTO, FL_COLOURS_ALWAYS, FL_COLOURS_NEVER };
struct fl_screen {
	bool no_pager;
	enum fl_colours colours;
};
#define FL_SCREEN_OPTIONS(type, field) \
	{ 0, "no-pager", NULL, "do not use $PAGER", \
	  fl_take_flag, .at = offsetof(type, field.no_pager) }, \
	{ 0, "color", "WHEN", "colour titles and times: auto, always or never", \
	  fl_take_choice, .at = offsetof(type, field.colours), .each = fl_colours_each }
const char *fl_colours_each(size_t);
/* Before the first output, which on a terminal goes through the pager from now on. Are
 * there colours? */
bool fl_screen_open(const struct fl_screen *);
void fl_screen_close(void);		/* after the last output: wait until it was read */

#endif
