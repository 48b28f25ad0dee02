/*
 * session.h - the door of session/: one recording, from its options to its results.
 *
 * A session runs a target, or attaches to one; decides what is wanted, drains the rings, and
 * keeps what it found. Functions are for the thread that runs the session, if nothing else is
 * said. Where a line is printed it is one on stderr, for people.
 */
#ifndef FL_SESSION_H
#define FL_SESSION_H

#include "analysis/analysis.h"
#include "args/args.h"
#include "channel/channel.h"
#include "obj/obj.h"
#include "perf/perf.h"
#include "process/process.h"
#include "report/report.h"
#include "select/select.h"
#include "site/site.h"

/* ---- functions of the target (functions.c) ---------------------------------------- */

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
/* What a point is called: the function around it, and how far it is in there; kept. */
void fl_point_name(struct fl_symbols *, const char *path, uint64_t at, struct fl_symbol *);
/* The function around ELF address `at` of module `i`; none is made. False: there is none. */
bool fl_functions_around(const struct fl_functions *, uint32_t i, uint64_t at,
			 uint32_t *function);
/* What people call a function. The name is made when it is first asked for, which any thread
 * may do. simple: without template arguments and parameters; NULL: the name is the same; for
 * the session's thread alone. */
const char *fl_functions_name(const struct fl_functions *, uint32_t function);
const char *fl_functions_simple(const struct fl_functions *, uint32_t function);

/* ---- options of a session --------------------------------------------------------- */

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

/* What --rate says. 0, or -1 and a line printed. */
int fl_rate_take(void *options, const struct fl_option *, const char *text);
/* Entries suffice where only calls are counted. */
bool fl_rate_counts_only(const struct fl_session_options *);
/* exclusive.c: into an enum fl_exclusive. */
const char *fl_exclusive_each(size_t);
int fl_exclusive_take(void *to, const struct fl_option *, const char *value);
/* --cpu is obeyed at once, --target-cpu is kept in the session's options (cpus.c). */
int fl_cpus_take(void *options, const struct fl_option *, const char *list);
#define FL_PID_OPTION(at_) \
	{ 'p', "pid", "PID", "a program that runs already, instead of PROGRAM", \
	  fl_take_number, at_, 1, INT32_MAX }
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
/* What --budget says, to the struct fl_session_options. 0, or -1 and a line printed. */
int fl_budget_take(void *options, const struct fl_option *, const char *text);
#define FL_BUDGET_OPTION(at_) \
	{ 0, "budget", "PERCENT", "how much CPU time sampling may cost (2)", \
	  fl_budget_take, at_ }
/* What --trigger and --last say. 0, or -1 and a line printed. */
int fl_trigger_take(void *options, const struct fl_option *, const char *text);
int fl_trigger_take_last(void *options, const struct fl_option *, const char *text);
/* Add the analysis that a trigger needs. 0, or -1 and a line printed. */
int fl_trigger_use(struct fl_session_options *);
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
/* Results that no analysis makes, but samples of the program counter. */
#define FL_STACKS "stacks"
#define FL_PROGRAMS "programs"
#define FL_PROGRAM_FUNCTIONS "program_functions"
#define FL_BY_THREAD "by_thread"	/* a table `threads` is there, of any recording */
#define FL_THREAD_FUNCTIONS "thread_functions"
#define FL_PLACES "places"
enum { FL_R_STACKS, FL_R_PROGRAMS, FL_R_PROGRAM_FUNCTIONS, FL_R_BY_THREAD,
       FL_R_THREAD_FUNCTIONS, FL_R_PLACES, FL_N_SAMPLED };
extern const struct fl_sampled_result {
	const char *name;
	const char *with;		/* what a recording is made with to have it; "" */
	const char *had_by;		/* the same, a sentence; NULL: fl_stacks_load() says */
} fl_sampled_results[FL_N_SAMPLED];
/* NULL: an analysis makes it. */
const struct fl_sampled_result *fl_sampled_result(const char *result);
static inline bool fl_is_of_samples(const char *result)
{
	return fl_sampled_result(result) != NULL;
}
/* What is made of `stacks` for a report. */
#define FL_CALLERS "callers"

/* ---- a session (session.c, finish.c) ---------------------------------------------- */

struct fl_instant {
	uint64_t wall_ns, cpu_ns;	/* CPU time of flick's own process */
};

/* What is measured on this machine before the target starts (overhead.c). */
struct fl_prices {
	struct fl_overhead probes[2];
	uint32_t jump;			/* to a second body, in FL_TICK_PARTS */
	uint32_t call_ps;		/* the shortest call of a function, in picoseconds */
	uint32_t sample_ns;		/* a sample of the program counter */
};

/* The child that measures; all 0: there is none. */
struct fl_calibrator {
	int pid;
	struct fl_prices *out;
};

/* Events that are being opened; all 0: none are. */
struct fl_opening {
	pthread_t thread;
	bool is_open, has_thread;
	int sampler_error, preempt_error;
};

/* With a process that ran before, and goes on behind it (attach.c). */
struct fl_stay {
	bool is_outside;		/* samples alone tell: nothing comes into it */
	bool has_begun;			/* its probes are as they are wanted */
	bool is_told;			/* it was said that another thread is in the loader */
	bool has_failed, is_stuck;	/* it was said why */
	bool has_sent;			/* another thread, to put things right */
	uint64_t asked_ns;		/* when a thread was sent into it */
	uint64_t stopped_ns;		/* since when it is seen stopped; 0: it runs */
	uint64_t end_ns;		/* since when it is to be left; 0: it is not */
};

/* What flick and the target have agreed on before it goes on (negotiation.c). */
struct fl_start {
	bool asked;			/* the target has spoken */
	bool begun;			/* it was let go with probes to switch on */
	bool is_waiting;		/* it was let go: what is asked for may come yet */
	bool by_samples;		/* no probe can be had: samples alone tell */
	bool refused_to_go;		/* the target was told QUIT */
	int said_error;			/* of an agent, the last one told */
};

/* What of the target is wanted (negotiation.c, change.h). */
struct fl_chosen {
	unsigned char *marks;		/* index: probe id */
	uint32_t n;			/* that were looked at */
	unsigned char *answers;		/* index: function; of the selection, or not asked */
	uint32_t n_answers;
	bool is_empty;			/* of all that came, patterns took nothing, or nothing
					 * that can have a probe */
	uint32_t n_entry_only;		/* wanted functions that cannot be timed */
	uint32_t n_counted;		/* of n_entry_only, those counted beside others */
	bool all_entry_only;		/* no others are wanted: the target was told QUIT */
	bool has_points;		/* sites that are counted whatever it costs */
};

/* What became of the target's process, and what CPU time it took (target.c, cost.c). */
struct fl_target_process {
	int status;			/* of waitpid */
	int watch_signal;		/* that ended what waits beside it; 0: none did */
	uint64_t gone_ns, gone_tsc;	/* when it had ended; 0: it has not */
	uint64_t begin_ns;		/* its CPU time when it was attached to */
	uint64_t cpu_ns;		/* with the kernel's part; 0: not known */
	uint64_t kernel_ns;		/* that part, as the kernel counts it; 0: not known */
	uint64_t children_ns;		/* CPU time of those that it has waited for */
	uint64_t watch_ns;		/* CPU time of what waits beside it */
};

/* The module whose code is looked at (view.c). */
struct fl_viewed {
	struct fl_module module;
	const struct fl_shm_module *of;
	bool is_there;
};

struct fl_session {
	const struct fl_session_options *o;
	struct fl_attached *attached;	/* the target ran before; NULL: it did not */
	struct fl_stay stay;
	struct fl_calibrator calibrator;
	struct fl_prices prices;
	struct fl_opening opening;
	struct fl_launch launch;
	int fd, pid;
	struct fl_region *shm;
	struct fl_shm_session *shared;	/* the session's own part of the region */
	struct fl_shm_site *sites;	/* the region's, to write `wanted` */
	const struct fl_glue_range *glue;	/* the region's; max_glue */
	uint32_t max_glue;
	struct fl_start start;
	struct fl_chosen chosen;
	struct fl_target_process target;
	bool is_left;			/* the watcher has had enough: the target goes on */
	struct fl_readers *readers;
	struct fl_reader *reader;	/* of the first one, as `run` is */
	int feed_error;
	struct fl_store *store;
	struct fl_trace *trace;		/* NULL: not kept */
	struct fl_trigger *trigger;	/* which writes the trace; NULL: all of it is kept */
	char *trigger_glob;		/* the trigger's functions */
	struct fl_functions functions;
	struct fl_view view;
	struct fl_viewed code;
	struct fl_run *run;
	struct flick_rows results[FL_MAX_ANALYSES];
	bool has_result[FL_MAX_ANALYSES], result_failed;
	uint64_t start_tsc, start_ns;	/* one moment on both clocks, before the target */
	uint64_t begun_ns;		/* when its probes were as wanted; 0: not attached */
	uint64_t end_tsc;		/* when the target was seen to have ended */
	struct fl_instant go, drained;	/* it was first let go; all is read */
	double cost;			/* percent of the program's CPU time; 0: unknown */
	uint64_t look_ns;		/* when to look at flick's memory next */
	bool is_spent;			/* flick's memory is more than was allowed */
	double rate;			/* that the windows came to, in [0, 1] */
	uint64_t n_windows;
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
	char watched[256];		/* how much of them accesses or paths tell of; or "" */
	struct fl_program_ran {		/* where processes are followed (bare.c) */
		uint64_t probed, bare;	/* periods of its own time */
		uint64_t granted_ns;	/* of its arming, for which counts are granted */
	} program_ran[FL_MAX_PROGRAMS];
	bool self_is_cpu;		/* self times of `latency` are from samples */
	bool has_stacks;		/* result `stacks` (contexts.c) */
	struct flick_rows sampled[FL_N_SAMPLED];	/* no columns: there is none */
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

/* Run a target from start to end; results are ready. An exit status. */
int fl_session_run(struct fl_session *, const struct fl_session_options *);
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
/* Warn that events were lost, where the recording says so of itself. 0, or -1 and a line
 * printed: the recording is damaged. */
int fl_store_warn(struct fl_store *);

/* ---- who looks on while it runs --------------------------------------------------- */

struct fl_instant fl_instant_now(void);
/* The module that was mapped there last; NULL: none. */
const struct fl_shm_module *fl_session_module_at(const struct fl_session *, uint64_t at);
/* Nanoseconds a tick, as of now, for the view. */
void fl_session_measure_tick(struct fl_session *);
/* Is site `i` of a kind that this recording can use? */
bool fl_negotiation_may_want(const struct fl_session *, uint32_t i);
/* The threads that all readers saw; until readers have finished, those of the first one. */
const struct fl_thread *fl_readers_threads(struct fl_session *, size_t *n);
/* Asks the target to end. is_to_end: it was asked to, or a signal to flick asks for it. */
void fl_target_end(struct fl_session *);
bool fl_target_is_to_end(void);
/* What recording cost, once results are ready. */
void fl_cost_tell(struct fl_session *);
struct fl_budget;
/* Calls of a function so far, as the last look has them, and as they are estimated. */
uint64_t fl_budget_calls(const struct fl_budget *, uint32_t function);
/* The recording (0), or a session beside it, has another budget from now on: a part of the
 * program's CPU time. */
void fl_budget_change(struct fl_budget *, uint32_t payer, double part);
/* What a look knows of a function. */
struct fl_sum {
	uint64_t calls, counted;	/* fewer are counted: `calls` is an estimate */
	uint64_t timed, ticks;		/* of calls; what these took */
	double error_squared;		/* of calls: the square of their standard error */
};
/* For each function: calls that have ended, each as often as it stands for calls, and their
 * ticks likewise. */
extern const struct flick_analysis fl_recent_analysis;
enum { FL_RECENT_FUNCTION, FL_RECENT_TIMED, FL_RECENT_TICKS, FL_RECENT_COLUMNS };

/* Is a place flick's own code (own.c)? Zeros: nobody has looked yet. */
struct fl_own {
	struct fl_glue_range *glue;	/* ascending, apart from one another */
	size_t n;
	uint32_t told;			/* rows that it was made of */
	bool has_looked;
	struct fl_glue_range work;	/* of the agent, in the library; {0}: not known */
};

/* Take all glue anew if there is more of it. 0 or -ENOMEM: what was taken last stays. */
int fl_own_look(struct fl_own *, const struct fl_session *);
/* Is it of a process that is recorded? Without --follow children are not, and their time is
 * not the target's. */
bool fl_own_is_targets(const struct fl_session *, const struct fl_pc *);
/* Add samples of the target at that place to the sums. True: the place is own. */
bool fl_own_add(const struct fl_own *, const struct fl_session *, const struct fl_pc *,
		struct fl_pcs *);
void fl_own_close(struct fl_own *);

/* ---- what is recorded changes while the program runs (change.h, ctl.c) ------------ */

/* Sums of what was staged, or is. */
struct fl_change_sum {
	uint32_t functions, sites;	/* that are to become other than they are */
	uint32_t gone;			/* of these, in unloaded modules: once they are back */
	uint32_t same;			/* sites that are so already */
	uint32_t refused;		/* sites that cannot be switched, as their rows say */
	uint32_t refused_site;		/* one of these */
};
/* What functions are to become; marks: index: function. 0, or -1 and a line in `why`. */
int fl_change_stage_marked(struct fl_session *, const void *by, enum fl_stage,
			   const bool *marks, struct fl_change_sum *, char why[FL_WHY]);
/* The program is asked; its answer comes later. It is an error if nothing is staged.
 * Likewise. */
int fl_change_commit(struct fl_session *, const void *by, char why[FL_WHY]);
/* Forget what `by` has staged, unless the program is asked just now. */
void fl_change_abort(struct fl_session *, const void *by);

enum fl_change_state { FL_CHANGE_IDLE, FL_CHANGE_STAGED, FL_CHANGE_ASKED };
struct fl_change_status {
	enum fl_change_state state;
	const void *by;			/* who stages, or asked; NULL: nobody */
	uint64_t asked_ns;		/* when, of the monotonic clock */
	/* Of the last answer: */
	uint32_t answers;		/* how many there were */
	int error;			/* 0, or why nothing has changed: fl_err */
	uint32_t switched, refused;	/* probes */
	uint32_t generation;		/* changes that were made */
	uint64_t took_ticks;		/* in the program, from its first to its last step */
	uint32_t late;			/* threads that may still do what was in force before */
	uint32_t listed[16], n_listed;	/* some of those refused: sites */
};
struct fl_change_status fl_change_status(const struct fl_session *);
/* What site `i` is, as of the last change: OFF, ON or COUNT. */
enum fl_stage fl_change_now(const struct fl_session *, uint32_t site);

/* `flick ctl` speaks with the recorder (ctl.c). A line of a request, with its newline; more is
 * refused. */
enum { FL_CTL_LINE = 4096 };
/* Where the recorder of process `pid` is asked: beside other sockets of user `uid`, in the
 * directory that the i-th place (0, 1) names. False: no such place. */
bool fl_ctl_path(char path[108], int i, unsigned int uid, int pid);

/* ---- what it found ---------------------------------------------------------------- */

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

/* A context is a function as called from the context above. */
struct fl_contexts {
	struct fl_context {
		uint32_t above;			/* 1 + index, a lower one; 0: none */
		uint32_t function;		/* FLICK_NO_FUNCTION: not known */
		uint64_t ns, samples;		/* that stood in it itself */
	} *of;
	uint32_t n;
	struct fl_hash by_function;
};
/* 1 + the context of a function in context `above` - 1, or, for 0, in none; 0: no memory. */
uint32_t fl_contexts_of(struct fl_contexts *, uint32_t above, uint32_t function);
/* A row for each context; the cells are then the caller's. 0 or -ENOMEM. */
int fl_contexts_rows(const struct fl_contexts *, struct flick_rows *);
void fl_contexts_free(struct fl_contexts *);

#endif
