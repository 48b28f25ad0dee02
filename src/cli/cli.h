/*
 * cli.h - what the commands share.
 *
 * Not a door: nobody includes the command line. Commands and their options are
 * tables, from which parsing, --help and the manual pages' lists are made.
 */
#ifndef FL_CLI_H
#define FL_CLI_H

#include <sched.h>

#include "analysis/analysis.h"
#include "channel/channel.h"
#include "obj/obj.h"
#include "perf/perf.h"
#include "report/report.h"
#include "site/site.h"

#ifndef FLICK_VERSION
#define FLICK_VERSION "unreleased"
#endif

enum { FL_EXIT_WELL, FL_EXIT_FAILED, FL_EXIT_USAGE, FL_EXIT_LOST };

/* "flick: ..." and a newline on stderr. */
void fl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- commands and options (args.c) ----------------------------------------- */

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
extern const struct fl_cmd *const fl_cmds[];	/* NULL-terminated */

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
/* A terminal: pager and colours (screen.c). */
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
bool fl_screen_has_quit(void);		/* the pager was quit, which is no failure */
void fl_screen_close(void);		/* after the last output: wait until it was read */
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

/* ---- selection (select.c) ---------------------------------------------------- */

/* Patterns in the order they were given; each switches functions on or off. */
struct fl_selection;
enum fl_match_by { FL_BY_GLOB, FL_BY_REGEX };
struct fl_selection *fl_selection_new(void);
void fl_selection_match_by(struct fl_selection *, enum fl_match_by);
const char *fl_match_each(size_t);
/* What options say to the selection that `to` points to. */
int fl_selection_take_match(void *to, const struct fl_option *, const char *how);
int fl_selection_take_on(void *to, const struct fl_option *, const char *pattern);
int fl_selection_take_off(void *to, const struct fl_option *, const char *pattern);
/* `text` must outlive the selection. 0 or an error with a line printed. */
int fl_selection_add(struct fl_selection *, int on, const char *text);
/* All patterns are there, and how they match is known: parse them. Likewise. */
int fl_selection_ready(struct fl_selection *);

/* Add a glob while the recording runs. Likewise, but no line is printed. */
int fl_selection_amend(struct fl_selection *, int on, const char *glob);
/* A selection of what a glob takes; NULL and an error, but no line. */
struct fl_selection *fl_selection_only(const char *glob, int *err);

/* A function as patterns see it; any of its names may match. */
struct fl_candidate {
	const char *path;		/* of the module that the site is in */
	const char *home;		/* of the one that the function is in */
	const char *names[6];		/* NULL: as many as there are; the linker's first */
	uint64_t function, site;	/* ELF addresses */
	bool is_stub;			/* patterns that do not name stubs do not take it */
};
/* The offset by which patterns may name a site. A body's exit has none, because a point may
 * stand at the same offset. */
static inline uint64_t fl_candidate_site(unsigned int provider, unsigned int kind,
					 uint64_t offset)
{
	return provider == FL_PROVIDER_BODY && kind != FL_ENTRY ? UINT64_MAX : offset;
}
/* Is it wanted? Notes which patterns matched something. */
bool fl_selection_wants(struct fl_selection *, const struct fl_candidate *);
/* May a function with this mangled name have another one that is wanted, or not? */
bool fl_selection_may_take(const struct fl_selection *, const char *linkage);
bool fl_selection_has_patterns(const struct fl_selection *);
/* Does a pattern name single sites? */
bool fl_selection_names_sites(const struct fl_selection *);
/* The module part of the next pattern from *at on that switches functions on and has one;
 * false: no more. */
bool fl_selection_module(const struct fl_selection *, size_t *at, const char **glob,
			 size_t *len);
/* The next pattern from *at on that switches a place on by its offset; NULL: no more. */
const struct fl_pattern *fl_selection_point(const struct fl_selection *, size_t *at);
/* Does a pattern that switches on name stubs of the linkage table? */
bool fl_selection_has_stubs(const struct fl_selection *);
/* The next pattern from *at on that has matched nothing, or NULL. `module_len`
 * is the length of its module part, 0 without. */
const char *fl_selection_idle(const struct fl_selection *, size_t *at,
			      size_t *module_len);
/* The last pattern that switches functions off and has matched; NULL: none has. */
const char *fl_selection_emptied_by(const struct fl_selection *);
/* The functions among which patterns have matched nothing. */
struct fl_scope {
	const char *const *names;
	const char *const *paths;	/* of the modules they are in; NULL: of `file` */
	size_t n;
	const char *file;		/* whose list shows them; NULL: of a recording */
	bool yet;			/* others may come */
};
/* Say in one line what a pattern that has matched nothing could have meant. */
void fl_selection_say_idle(const struct fl_selection *, const char *pattern,
			   size_t module_len, const struct fl_scope *);
/* The same of a pattern whose module is not there, into `hint`: "; did you mean ...?", or
 * what modules there are. */
enum { FL_HINT = 640 };
void fl_selection_hint_module(const struct fl_scope *, const char *pattern, size_t module_len,
			      char *hint, size_t room);
void fl_selection_free(struct fl_selection *);

/* ---- functions of the target (functions.c) --------------------------------------- */

/* The target can write over all that it says of itself. So the places and lengths of tables
 * are kept from before the target started, and modules and sites are copies, made when the
 * target asked with them. */
struct fl_functions {
	const struct fl_region *shm;
	const struct fl_shm_site *live;	/* index: probe id; the target's own */
	const struct fl_shm_module *rows;	/* the target's own */
	struct fl_shm_site *sites;	/* index: probe id; copies */
	uint32_t max_sites, max_modules;
	struct fl_shm_module *modules;	/* index: module; stay where they are */
	uint32_t *path_hashes;		/* index: module */
	uint32_t n_modules;
	char **real;			/* their files without links, as far as asked for */
	uint32_t n_real;
	uint32_t n_extra;		/* the last rows are files that only samples met */
	struct fl_symbols *symbols;
	struct fl_function *all;	/* index: function */
	char **plain, **simple;		/* see fl_functions_plain(), fl_functions_simple() */
	uint32_t n;
	struct fl_hash by_address;	/* functions, by path and address */
	uint32_t *function_of;		/* index: probe id */
	uint32_t n_sites;
};
int fl_functions_open(struct fl_functions *, struct fl_region *);
/* Take in what the target has found since: sites up to n_sites. 0 or -ENOMEM. */
int fl_functions_extend(struct fl_functions *);
/* What a point is called: the function around it, and how far it is in there; kept. */
void fl_point_name(struct fl_symbols *, const char *path, uint64_t at, struct fl_symbol *);
/* When the target has ended: the function around ELF address `at` of file `path`, made where
 * it is new. All addresses of a file that are in no function share one. 0 or -ENOMEM. */
int fl_functions_find(struct fl_functions *, const char *path, uint64_t at, uint32_t *function);
/* The function of that name in code that the target has made; made where it is new. 0 or
 * -ENOMEM. */
int fl_functions_made(struct fl_functions *, const char *name, uint32_t *function);
/* The function around ELF address `at` of module `i`; none is made. False: there is none. */
bool fl_functions_around(const struct fl_functions *, uint32_t i, uint64_t at,
			 uint32_t *function);
/* What the target calls the file that the kernel knows as `path`; else `path` itself. */
const char *fl_functions_path(struct fl_functions *, const char *path);
/* Module `i`; for what is in no module, one without a path. */
const struct fl_shm_module *fl_functions_module(const struct fl_functions *, uint32_t i);
/* What people call a function. The name is made when it is first asked for, which any thread
 * may do. plain: without parameters; simple: without template arguments, too; NULL: the name
 * is the same. These two are for the session's thread alone. */
const char *fl_functions_name(const struct fl_functions *, uint32_t function);
const char *fl_functions_plain(const struct fl_functions *, uint32_t function);
const char *fl_functions_simple(const struct fl_functions *, uint32_t function);
/* Make the names of those functions that `of` marks, and look up the source lines of those
 * that it marks so. */
enum { FL_FUNCTIONS_NAME = 1, FL_FUNCTIONS_LINES = 2 };
struct fl_lines;
void fl_functions_lines(struct fl_functions *, struct fl_lines *, const unsigned char *of);
void fl_functions_close(struct fl_functions *);

/* ---- launching (launch.c) ------------------------------------------------------- */

struct fl_launch {
	char program[4096];		/* the file that will be executed */
	char interpreter[4096];		/* of a script; else empty */
	char file[4096];		/* the one of these two that runs, without links */
	const char *text;		/* --text, or NULL */
	bool calls_hooks;		/* it asks for the profiling functions */
	char library[4096];		/* libflick.so; ... */
	bool is_closed, may_be_closed;	/* ... it cannot be loaded into the file; samples may
					 * tell of such a file */
	int (*before)(void *arg, int pid);	/* called while the child that is to become
						 * the program waits; not 0: it shall not */
	void *before_arg;
	const char *sync;		/* for FL_SYNC_ENV; NULL: leave it */
	const cpu_set_t *cpus;		/* it may run on; NULL: as flick */
	int output;			/* takes what it writes to a terminal, and it reads
					 * nothing; 0: both are flick's */
};
/* Find program and library and see whether they can work together. 0 or -1, line printed. */
int fl_launch_check(struct fl_launch *, const char *name);
/* First of all: signals that flick needs for itself, as the target is to inherit them. */
void fl_launch_keep_signals(void);
bool fl_launch_find_library(char out[4096]);
/* The same where the program runs already. */
int fl_launch_check_attached(struct fl_launch *, const char *file);
/* What the file names as its loader, else "". loads: does that loader load libflick.so? */
void fl_launch_loader(char out[128], const struct fl_obj *);
bool fl_launch_loads(const char *loader);
/* Is the file a program that nothing is loaded into, and that has no flick in it? */
bool fl_launch_is_static(const char *path);
/* The interpreter of a script's first line, else "". */
void fl_launch_interpreter(char out[4096], const char *path);
/* Does the program get rights that flick has not, and how? */
bool fl_launch_gains_rights(const char *path, const char **how);
struct fl_session_options;
const char *fl_text_each(size_t);
const char *fl_sync_each(size_t);
/* exclusive.c: into an enum fl_exclusive. */
const char *fl_exclusive_each(size_t);
int fl_exclusive_take(void *to, const struct fl_option *, const char *value);
/* --cpu is obeyed at once, --target-cpu is kept in the session's options (cpus.c). */
int fl_cpus_take(void *options, const struct fl_option *, const char *list);
/* Tell the target who reads. */
void fl_launch_introduce(struct fl_region *);
/* Start it with the region `fd`; its pid, or -1 and a line printed. */
int fl_launch_start(const struct fl_launch *, char **argv, struct fl_region *, int fd);

/* ---- a session (session.c, negotiation.c) -------------------------------------------- */

#define FL_MAX_ANALYSES 32

struct fl_session;
struct fl_watch;
struct fl_session_options {
	const char *dir;		/* NULL: keep nothing */
	struct fl_use analyses[FL_MAX_ANALYSES];
	size_t n_analyses;
	enum fl_action action;
	uint32_t samples, epoch_ms, buffer_kib;
	uint32_t max_sites, max_threads;	/* 0: as fl_shm_create() has it */
	uint32_t memory_mib;		/* 0: as fl_limits_memory() has it */
	uint32_t rate;			/* of windows, in millionths; 0: none */
	bool rate_adapts;
	const char *rate_text;		/* as it was asked for */
	uint32_t readers;		/* threads that drain rings; 0: 1 */
	double seconds;			/* 0: until the target ends */
	bool why, allow_loss, exit_code;
	bool lines;			/* analysis `cache` has rows by source line */
	bool count_instead;		/* rather than fail where nothing can be timed */
	bool trace;			/* keep the raw events */
	const char *sync;		/* NULL: the target chooses */
	enum fl_exclusive exclusive;
	bool wait;			/* go on without sites: an exec may bring some */
	bool follow;			/* its children, too */
	bool perf_map;			/* tell perf where second bodies are */
	struct fl_selection *selection;
	const char *text;		/* --text, or NULL */
	char **argv;			/* of the target */
	uint32_t pid;			/* it runs already; 0: it is to be started */
	bool cpus_are_set;		/* --cpu, --target-cpu */
	cpu_set_t target_cpus;		/* then, what the target may run on */
	bool entries_only;		/* nothing looks at exits */
	bool raw;			/* times as measured, with what probes took */
	bool precise;			/* nothing runs beside a reading of the clock */
	uint32_t providers;		/* a bit each that was asked for; 0: what there is */
	enum fl_demangle demangle;	/* of what is printed at its end */
	double budget;			/* of samples: a part of the program's CPU time */
	const char *budget_text;	/* as it was asked for, or NULL */
	int output;			/* see struct fl_launch */
	const char *trigger;		/* --trigger, or NULL */
	uint64_t trigger_ns, last_ns;	/* its time, and how much is kept */
	const struct fl_watch *watch;	/* NULL: nobody looks on */
	void *watcher;
};

/* One that looks on while a session runs. turn is called often; when it returns false, the
 * program is left, and goes on alone. over is called when nothing more comes. */
struct fl_watch {
	bool (*turn)(void *watcher, struct fl_session *);
	void (*over)(void *watcher, struct fl_session *);
};

struct fl_instant {
	uint64_t wall_ns, cpu_ns;	/* CPU time of flick's own process */
};

/* A child that measures; all 0: there is none. */
struct fl_calibrator {
	int pid;
	struct fl_prices {
		struct fl_overhead probes[2];
		uint32_t jump;		/* to a second body, in FL_TICK_PARTS */
		uint32_t call_ps;	/* the shortest call of a function, in picoseconds */
		uint32_t sample_ns;	/* a sample of the program counter */
	} *out;
};

/* Events that are being opened; all 0: none are. */
struct fl_opening {
	pthread_t thread;
	bool is_open, has_thread;
	int sampler_error, preempt_error;
};

struct fl_attached;
struct fl_session {
	const struct fl_session_options *o;
	struct fl_attached *attached;	/* the target ran before; NULL: it did not */
	struct fl_calibrator calibrator;
	struct fl_opening opening;
	struct fl_launch launch;
	struct fl_region *shm;
	struct fl_shm_session *shared;	/* the session's own part of the region */
	int fd, pid;
	struct fl_readers *readers;
	struct fl_reader *reader;	/* of the first one, as `run` is */
	struct fl_store *store;
	struct fl_trace *trace;		/* NULL: not kept */
	struct fl_trigger *trigger;	/* which writes the trace; NULL: all of it is kept */
	char *trigger_glob;		/* the trigger's functions */
	struct fl_functions functions;
	struct fl_view view;
	struct fl_run *run;
	struct flick_rows results[FL_MAX_ANALYSES];
	bool has_result[FL_MAX_ANALYSES], result_failed;
	struct fl_shm_site *sites;	/* the region's, to write `wanted` */
	const struct fl_glue_range *glue;	/* the region's; max_glue */
	uint32_t max_glue;
	unsigned char *selected;	/* index: probe id */
	unsigned char *answers;		/* index: function; of the selection, or not asked */
	uint32_t n_answers;
	uint32_t n_selected;
	bool asked;			/* the target has spoken */
	bool begun;			/* it was let go with probes to switch on */
	bool is_waiting;		/* it was let go: what is asked for may come yet */
	bool chose_nothing;		/* of all that came, patterns took nothing, or nothing
					 * that can have a probe */
	bool by_samples;		/* no probe can be had: samples alone tell */
	bool refused_to_go;		/* the target was told QUIT */
	bool is_left;			/* the watcher has had enough: the target goes on */
	uint32_t n_entry_only;		/* wanted functions that cannot be timed */
	bool has_points;		/* sites that are counted whatever it costs */
	uint32_t n_counted;		/* of n_entry_only, those counted beside others */
	bool all_entry_only;		/* no others are wanted: the target was told QUIT */
	int status;			/* of waitpid */
	uint64_t watch_ns;		/* CPU time of what waits beside the target */
	uint64_t target_begin_ns;	/* CPU time of the target when it was attached to */
	uint64_t begun_ns;		/* when its probes were as wanted; 0: not attached */
	uint64_t children_ns;		/* CPU time of those that the target has waited for */
	uint64_t target_ns;		/* the target's CPU time, with the kernel's part; 0: not
					 * known */
	uint64_t target_kernel_ns;	/* that part, as the kernel counts it; 0: not known */
	double cost;			/* percent of the program's CPU time; 0: unknown */
	int watch_signal;		/* that ended what waits beside it; 0: none did */
	uint64_t gone_ns, gone_tsc;	/* when it had ended; 0: it has not */
	uint64_t look_ns;		/* when to look at flick's memory next */
	bool is_spent;			/* flick's memory is more than was allowed */
	int said_error;			/* of an agent, the last one told */
	int feed_error;
	uint64_t start_tsc, start_ns;	/* one moment on both clocks, before the target */
	struct fl_module code;
	const struct fl_shm_module *code_of;
	bool has_code;
	uint64_t end_tsc;		/* when the target was seen to have ended */
	double rate;			/* that the windows came to, in [0, 1] */
	uint64_t n_windows;
	struct fl_instant go, drained;	/* it was first let go; all is read */
	struct fl_originals *originals;	/* of the target's functions */
	struct fl_sampler *sampler;	/* NULL: the system gives no samples */
	struct fl_preempt *preempt;	/* NULL: nothing tells of it, or nobody asks */
	struct fl_budget *budget;	/* NULL: functions are not sampled */
	uint64_t early_own;		/* of pcs.own, without the agent's work, those of the
					 * first second that samples were taken in */
	uint64_t early_work;		/* of pcs.work: before it was let go */
	struct fl_pcs {			/* samples of the target's program counter */
		uint64_t all, own;	/* periods; own: in flick's code; of these: */
		uint64_t work, counts;	/* in the agent's work; where calls are counted */
		uint64_t taken, taken_own;	/* samples, which may stand for several */
	} pcs;
	uint32_t jump, call_ps, sample_ns;	/* what the calibrator has measured of them */
	char watched[256];		/* how much of them accesses or paths tell of; or "" */
	struct fl_program_ran {		/* where processes are followed (bare.c) */
		uint64_t probed, bare;	/* periods of its own time */
		uint64_t granted_ns;	/* of its arming, for which counts are granted */
	} program_ran[FL_MAX_PROGRAMS];
	bool self_is_cpu;		/* self times of `latency` are from samples */
	bool has_stacks;		/* result `stacks` (contexts.c) */
	struct flick_rows stacks;
	struct flick_rows programs;	/* likewise (programs.c); no rows: there is none */
	struct flick_rows program_functions;
	struct fl_stack_ends {		/* samples whose outermost callers */
		uint64_t completed;	/* others told */
		uint64_t unknown;	/* nobody did */
	} stack_ends;
	struct fl_found_file *found;	/* NULL: nothing is kept of the program's scan */
	struct fl_lines *lines;		/* NULL: no memory */
	struct fl_changes *change;	/* NULL: nothing can be changed while it runs */
	struct fl_ctl *ctl;		/* NULL: nobody can ask */
	struct fl_account account;
};

/* ---- windows (rate.c) --------------------------------------------------------------- */

/* What --rate says. 0, or -1 and a line printed. */
int fl_rate_take(void *options, const struct fl_option *, const char *text);
/* Entries suffice where only calls are counted. */
bool fl_rate_counts_only(const struct fl_session_options *);
/* The target has ended, at `now` ticks: the rate it came to. */
void fl_rate_measure(struct fl_session *, uint64_t now);

/* ---- providers (providers.c) --------------------------------------------------------- */

/* "cyg,body": into bits. 0, or -1 and a line printed. */
int fl_providers_take(void *bits, const struct fl_option *, const char *list);
const char *fl_provider_each(size_t);
/* The words of the process's command line, ... (attach.c); kept. */
char **fl_attach_arguments(uint32_t pid);
/* Does another flick record that process? */
bool fl_attach_is_recorded(uint32_t pid);
/* A program is named beside -p: says so, and returns -1. */
int fl_attach_refuse_program(void);
#define FL_PID_OPTION(at_) \
	{ 'p', "pid", "PID", "a program that runs already, instead of PROGRAM", \
	  fl_take_number, at_, 1, INT32_MAX }
#define FL_PROVIDER_OPTION(at_) \
	{ 0, "provider", "NAME,...", "use these kinds of probe sites alone, see flick(1)", \
	  fl_providers_take, at_, .each = fl_provider_each }
#define FL_WAIT_OPTION(at_) \
	{ 0, "wait", NULL, "start even if nothing matches yet: wait for an exec or dlopen", \
	  fl_take_flag, at_ }
#define FL_FOLLOW_OPTION(at_) \
	{ 'f', "follow", NULL, "record the processes that it starts as well", \
	  fl_take_flag, at_ }
#define FL_TEXT_OPTION(at_) \
	{ 0, "text", "HOW", "write code by mprotect or alias (the first that works)", \
	  fl_take_name, at_, .each = fl_text_each }
#define FL_SYNC_OPTION(at_) \
	{ 0, "sync", "NAME", "way to synchronise cores, see `flick doctor`", \
	  fl_take_name, at_, .each = fl_sync_each }
/* at_: of the struct fl_session_options. */
#define FL_CPU_OPTIONS(at_) \
	{ 0, "cpu", "LIST", "run flick itself on these CPUs, as in 0,2-3", \
	  fl_cpus_take, at_ }, \
	{ 0, "target-cpu", "LIST", "run the program on these CPUs", fl_cpus_take, at_ }
#define FL_EXCLUSIVE_OPTION(at_) \
	{ 0, "exclusive", "HOW", "AArch64: rewrite atomics made of a pair of instructions; " \
	  "cas does not see a word that changed and changed back", \
	  fl_exclusive_take, at_, .each = fl_exclusive_each }
/* do_: what is done with the functions of a pattern. */
#define FL_SELECTION_OPTIONS(do_, at_) \
	{ 'P', "patch", "PATTERN", do_ " matching functions", fl_selection_take_on, at_ }, \
	{ 'U', "unpatch", "PATTERN", "leave out matching functions", \
	  fl_selection_take_off, at_ }, \
	{ 0, "match", "HOW", "patterns are glob (default) or regex", \
	  fl_selection_take_match, at_, .each = fl_match_each }
/* Were the sites of provider `i` asked for? */
bool fl_providers_has(uint32_t bits, uint32_t i);
/* /tmp/perf-PID.map, if it was asked for (perf-map.c). The target has ended. */
void fl_perf_map_write(struct fl_session *);
/* Which modules get second bodies, into what the target is told. 0, or -1 and a line
 * printed. */
int fl_providers_rule(struct fl_body_rules *, const struct fl_session_options *);
/* The same of one file that is only looked at. */
int fl_providers_rule_all(struct fl_body_rules *, const struct fl_selection *, uint32_t bits);

/* Wish for as much as the system's limits allow, and say what that leaves
 * (limits.c). */
void fl_limits_fit(struct fl_shm_options *);
/* The most memory that flick itself keeps, in bytes: as asked for, or, for 0, half of the
 * machine's. is_spent: does flick keep more by now? */
uint64_t fl_limits_memory(uint32_t mib);
bool fl_limits_is_spent(uint64_t bytes);
/* Warn that events were lost, where the recording says so of itself. 0, or -1 and a line
 * printed: the recording is damaged. */
int fl_store_warn(struct fl_store *);
const char *fl_analysis_each(size_t);
/* Add an analysis to the options; 0, or -1 and a line printed. */
int fl_session_use(struct fl_session_options *, const char *spec);
/* The one whose result is called so; NULL: it was not asked for. */
struct fl_use *fl_session_find_use(struct fl_session_options *, const char *name);
void fl_session_drop_uses(struct fl_session_options *);
/* "latency,counts": the same for each. */
int fl_session_take_uses(void *options, const struct fl_option *, const char *list);
/* Analysis `cache` has caches of that geometry; it tells by source line. */
int fl_session_take_cache(void *options, const struct fl_option *, const char *geometry);
int fl_session_take_lines(void *options, const struct fl_option *, const char *none);
struct fl_instant fl_instant_now(void);
/* The module that was mapped there last; NULL: none. */
const struct fl_shm_module *fl_session_module_at(const struct fl_session *, uint64_t at);
/* What the probes of one call cost here (overhead.c), by whether their sites are at first
 * instructions; costs that cannot be measured stay as they were. A child measures, in a few
 * milliseconds; end waits for the child. */
void fl_overhead_begin(struct fl_session *);
void fl_overhead_end(struct fl_session *);
/* The kernel's samples and switches of a target that was just begun (opening.c). begin: they
 * are opened while the target starts; go: the target waits for its first answer, and is told
 * of from there on; end: waits until they are open, or there are none. end may come at any
 * time, and go begins with it. */
void fl_opening_begin(struct fl_session *);
void fl_opening_go(struct fl_session *);
void fl_opening_end(struct fl_session *);
/* All of this for a child that is to become a program that will ask nothing (struct fl_launch,
 * before). */
int fl_opening_before(void *session, int pid);
/* What a jump from a function's entry to its second body takes (jumps.c), in FL_TICK_PARTS;
 * 0: that could not be measured. Then what all jumps of a session took, by its known calls. */
uint32_t fl_jumps_measure(void);
double fl_jumps_ns(struct fl_session *);
/* What the shortest call of a function takes, in picoseconds. */
uint32_t fl_jumps_measure_call(void);
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
#define FL_STACKS "stacks"
#define FL_CALLERS "callers"
#define FL_PROGRAMS "programs"
#define FL_PROGRAM_FUNCTIONS "program_functions"
bool fl_is_of_samples(const char *result);	/* no analysis makes it */
int fl_stacks_load(struct fl_store *, const char *dir, struct flick_rows *, char why[FL_WHY]);
int fl_stacks_callers(struct fl_store *, struct fl_sheet *, const char *glob);
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
/* Of result FL_PROGRAM_FUNCTIONS the rows of programs that a glob names; 0, or -1 and a line
 * printed (report-program.c). */
int fl_report_program(struct fl_sheet *, const char *pattern);
int fl_report_only(struct fl_store *, struct fl_sheet *, const struct fl_only *);
size_t fl_stacks_fit(struct fl_sheet *);
void fl_stacks_note(struct fl_store *, const struct fl_sheet *, size_t left_out, char *note,
		    size_t room);
/* How much of the program is told of by accesses and paths (watched.c), by samples of each
 * function; goes into s->watched. 0 or -ENOMEM. */
bool fl_watched_is_asked(const struct fl_session *);
int fl_watched_look(struct fl_session *, const uint64_t *samples, uint32_t n);
/* Samples of the program counter (cost.c). count: 0 or -ENOMEM; are_enough: of the program's
 * own, to tell self times; tell: what recording cost, once results are ready. */
int fl_cost_count(struct fl_session *);
/* begin: the probes of a program that ran before are as they are wanted; look: its CPU time,
 * while it is there; end: it is to be left. */
void fl_cost_begin(struct fl_session *);
void fl_cost_look(struct fl_session *);
void fl_cost_end(struct fl_session *);
bool fl_cost_are_enough(const struct fl_session *);
/* CPU time that the program spent in the kernel, where a sampler tells of a single process; 0:
 * it is not known, or too little to tell from chance. */
uint64_t fl_cost_kernel_ns(const struct fl_session *);
/* And in code of its own, by samples. */
uint64_t fl_cost_user_ns(const struct fl_session *);
void fl_cost_tell(struct fl_session *);
/* Self times from samples, into the results (profile.c). 0 or -ENOMEM. */
int fl_profile_fill(struct fl_session *);
/* The target's process (target.c). start: 0, or -1 and a line printed; end: asks the target
 * to end; is_to_end: it was asked to, or a signal to flick asks for it; is_gone: no process is
 * left that is recorded; is_outlived: the target's children have outlived it long enough to
 * say so; await_watcher: waits until what waited beside the target has ended; release: signals
 * are flick's own. */
int fl_target_start(struct fl_session *);
void fl_target_end(struct fl_session *);
bool fl_target_is_to_end(void);
bool fl_target_is_gone(struct fl_session *);
void fl_target_note_gone(struct fl_session *);
bool fl_target_is_outlived(const struct fl_session *);
void fl_target_await_watcher(struct fl_session *);
void fl_target_release(void);
/* What analyses are told of the target (view.c). open: once there is a region. */
void fl_view_open(struct fl_session *);
void fl_view_close(struct fl_session *);
/* The rows of analysis `name`; NULL: there are none. */
struct flick_rows *fl_session_result(struct fl_session *, const char *name);
/* Rows that say how often functions were called (`function`, `calls`); NULL: there are none. */
const struct flick_rows *fl_session_calls(struct fl_session *);
/* Rows of all analyses (analyses.c); what cannot be had is said. */
void fl_session_make_results(struct fl_session *);
/* Was the program left alone on purpose? Its events until it noticed are not called lost. */
bool fl_session_is_left(const struct fl_session *);
/* Nanoseconds a tick, as of now, for the view. */
void fl_session_measure_tick(struct fl_session *);
/* Run a target from start to end; results are ready. An exit status. */
int fl_session_run(struct fl_session *, const struct fl_session_options *);
/* A site as it is now, every index within its table. */
struct fl_shm_site fl_session_site(const struct fl_session *, uint32_t i);
/* Does it stand for a function that has, or could not have, a second body? */
static inline bool fl_is_function(const struct fl_shm_site *s)
{
	return s->provider == FL_PROVIDER_BODY && s->kind == FL_ENTRY;
}
/* Is `i` an exit of the function as it is whose entry is `entry`? FL_NO_ROW is no entry. */
bool fl_session_is_leave_of(const struct fl_session *, uint32_t i, uint32_t entry);
/* Why site `i` is not there, as of now; 0: it is. An exit of a function as it is has its
 * entry's refusal. Sites are asked for in order, because the entry comes before its exits;
 * *entry keeps the last one, and is FL_NO_ROW at first. */
int fl_session_refusal(const struct fl_session *, uint32_t i, uint32_t *entry);
/* What is in a file (survey.c): `each` gets its sites, while `module` is there. 0 or an
 * error. plan: what arming would do; 0 or a refusal. */
struct fl_survey {
	struct fl_module module;
	uint64_t found, unnamed;	/* sites; calls that no scan names */
	uint64_t functions, without;	/* that may have second bodies; of these refused */
};
int fl_survey(const char *path, struct fl_survey *, fl_site_each *each, void *arg);
int fl_survey_plan(const struct fl_site *, struct fl_patch *);

/* The files that a process has its code from (running.c). 0, or an error, which was said. */
struct fl_running {
	uint32_t pid;
	char **files;
	size_t n;
};
int fl_running_open(struct fl_running *, uint32_t pid);
void fl_running_close(struct fl_running *);

/* Refusals, by reason. line: "N: REASON; remedy; ...", the most frequent first. */
struct fl_refusals {
	struct fl_refused {
		int refusal;
		uint64_t n;
	} of[32];
	size_t n;
	uint64_t all;
	bool are_functions;		/* as they are: nobody can build them otherwise */
};
void fl_refusals_add(struct fl_refusals *, int refusal);
void fl_refusals_line(struct fl_refusals *, char *line, size_t room);

/* Say what became of the target, what is missing and why (tell.c). */
void fl_session_tell(struct fl_session *);
/* Keep the results, say what became of the target and what was lost. Returns
 * the exit status it calls for. */
int fl_session_finish(struct fl_session *);
void fl_session_close(struct fl_session *);
/* What its functions are shown as; NULL: no memory. */
struct fl_names *fl_session_names(const struct fl_session *);
/* What rows are sorted by when nobody says: time, else calls or misses, else the first column;
 * a spread as it is drawn. For samples it is the self time, which is known. */
const char *fl_usual_order(const struct fl_sheet *);
/* The result of analysis `name` as a sheet, for the terminal. */
struct fl_sheet fl_session_sheet(struct fl_session *, const char *name,
				 const struct fl_names *);
/* `flick count` and `flick latency`: options of both, run, print. */
int fl_oneliner(const struct fl_cmd *, int argc, char **argv, struct fl_account *,
		struct fl_session_options *, void (*print)(struct fl_session *));
extern const struct fl_option fl_oneliner_options[];

/* ---- threads that drain rings (readers.c) --------------------------------------------- */

/* The session's own thread, and as many others as the options say. 0 or -errno. */
int fl_readers_open(struct fl_session *);
/* From hold to release no reader looks up what the analyses look up. */
void fl_readers_hold(struct fl_readers *);
void fl_readers_release(struct fl_readers *);
/* Probes of functions that `of` marks went off: fl_run_forget() of all readers' runs. */
void fl_readers_forget(struct fl_session *, uint64_t at, const unsigned char *of, uint32_t n);
/* Readers take nothing more until the target is gone. */
void fl_readers_stop(struct fl_readers *);
/* The target is gone: readers drain the rest and end; what they found goes into the first
 * one's run. 0 or the first error of a reader. */
int fl_readers_finish(struct fl_readers *);
void fl_readers_close(struct fl_readers *);	/* and their runs; NULL is fine */
/* Ask them to deliver what was counted so far. Have all? */
void fl_readers_ask(struct fl_readers *);
bool fl_readers_answered(const struct fl_readers *);
/* Deliver all that was recorded before, except counts of a budget; waits for other readers, up
 * to ten milliseconds. For the session's thread. */
void fl_readers_gather(struct fl_session *);
/* A listener is told what the analyses of all readers are told, except counts of a budget.
 * Each reader is a thread, and has its own numbers for the target's threads. listen: 0 or
 * -ENOMEM; part: `arg` is told nothing more. Both are for held readers. */
struct fl_listener {
	void *arg;
	void (*feed)(void *arg, uint32_t reader, const struct fl_batch *);
	void (*count)(void *arg, uint32_t reader, uint32_t thread, uint32_t probe, uint64_t n);
	void (*thread_end)(void *arg, uint32_t reader, uint32_t thread);
};
int fl_readers_listen(struct fl_readers *, const struct fl_listener *);
void fl_readers_part(struct fl_readers *, const void *arg);
/* Events that all but the first have delivered so far. */
uint64_t fl_readers_delivered(const struct fl_readers *);
/* The threads that all readers saw; until readers have finished, those of the first one. */
const struct fl_thread *fl_readers_threads(struct fl_session *, size_t *n);

/* Answer the target when it asks (negotiation.c). Returns whether it asked. */
bool fl_negotiation_answer(struct fl_session *);
bool fl_negotiation_started(const struct fl_session *);
/* Do samples suffice where there are no probes, because no option asks for anything else? */
bool fl_negotiation_samples_do(const struct fl_session_options *);
/* Nothing of flick's comes into the program, so it will never ask. skip: says so, and goes on
 * as if it had asked; say_no_samples: nothing can be told of it: says so, and returns -1. */
void fl_negotiation_skip(struct fl_session *);
int fl_negotiation_say_no_samples(const struct fl_session *);
/* Is site `i` of a kind that this recording can use? takes: does another selection take its
 * function? ask_again: the session's own selection has changed, for functions to come. */
bool fl_negotiation_may_want(const struct fl_session *, uint32_t i);
bool fl_negotiation_takes(struct fl_session *, struct fl_selection *, uint32_t i);
void fl_negotiation_ask_again(struct fl_session *);
/* Has all that is wanted been refused? Then it is said. */
bool fl_negotiation_came_to_nothing(struct fl_session *);
/* No process will ask any more: say what is wrong with the sites that all have brought. */
void fl_negotiation_close(struct fl_session *);

#endif
