/* analysis.h - step 6 of 7: batches of events to a result. next: report.h */
#ifndef FL_ANALYSIS_H
#define FL_ANALYSIS_H

#include "base/base.h"
#include "channel/channel.h"
#include "../../include/flick/analysis.h"

/* ---- which analyses ---------------------------------------------------------- */

extern const struct flick_analysis *const fl_analyses[];	/* NULL-terminated */
const struct flick_analysis *fl_analysis_find(const char *name);

#define FL_USE_WHY 512			/* room for one line that says why not */

/* A requested analysis: `NAME`, `NAME:ARG`, `PATH.so`, `PATH.so:ARG`. */
struct fl_use {
	const struct flick_analysis *analysis;
	char *arg;			/* NULL: none */
	char *name;			/* of its result: NAME or NAME:ARG */
	void *library;			/* a third party's; NULL: built in */
	uint32_t threads;		/* (cache) that simulate; 0 means 1, the reader's */
};
/* 0, or -1 with `why` filled: no such analysis, argument or file. */
int fl_use_open(struct fl_use *, const char *spec, char why[FL_USE_WHY]);
void fl_use_close(struct fl_use *);	/* after every run that has it */
/* The action of probes that suffices for all of `uses`; `samples`: the action if samples do. */
enum fl_action fl_use_action(const struct fl_use *uses, size_t n,
			     enum fl_action samples);
/* What bodies must tell for all of `uses`: FL_WEAVE_*. */
uint32_t fl_use_weaves(const struct fl_use *uses, size_t n);

/* ---- running them -------------------------------------------------------------- */

/* The ticks that the probes of one call take, which are taken out of times: `inside` between
 * the clock readings of entry and exit, `pair` in all. */
struct fl_overhead {
	uint32_t inside, pair;
	/* Samples only, in FL_TICK_PARTS: what a call adds to a timed call around it. timed: a
	 * call that is timed, beyond the time that it measures itself. counted: a call that is
	 * not timed, while exits are on. looked: on top, if the call looks whether it is to be
	 * timed. */
	uint32_t timed, counted, looked;
};

/* The reader's knowledge of the target; it grows while the target runs. */
struct fl_view {
	const struct fl_shm_site *sites;	/* index: probe id; as they were brought */
	const struct fl_shm_site *live;	/* the same as they are now, where the target
					 * writes them; NULL: use `sites` */
	const uint32_t *function_of;		/* probe id -> function index */
	uint32_t n_sites;
	uint32_t n_functions;
	double ns_per_tick;
	bool sampled;			/* entry and exit arrive as finished pairs */
	uint32_t framed;		/* a bit a provider: its entries are the first
					 * instructions of functions, not inlined */
	const char *(*name)(const void *owner, uint32_t function);
	const void *owner;
	/* The addresses [lo, hi) in the target of the function around `at`; false: not known.
	 * NULL: none is known. */
	bool (*symbol)(const void *owner, uint64_t at, uint64_t *lo, uint64_t *hi);
	/* The `n` bytes at `at` as the file has them; NULL: not known. Valid until the next
	 * call. */
	const unsigned char *(*code)(const void *owner, uint64_t at, size_t n);
	/* The function of the instruction with number `place` (FLICK_TYPE_ACCESS), or
	 * FLICK_NO_FUNCTION; NULL: no place is known. */
	uint32_t (*place)(const void *owner, uint32_t place);
	const char *(*line)(const void *owner, uint32_t place);	/* NULL: nobody asks */
	bool windows;			/* batches are of windows */
	struct fl_overhead overhead[2];	/* by `framed`; 0: times as measured */
	bool has_pauses;		/* times include the waits of threads for their rings */
	/* The ticks of a sampled call in which its thread could have run, but had no CPU;
	 * NULL: not known. */
	uint64_t (*preempted)(const void *owner, uint32_t thread, uint64_t begin, uint64_t end);
	uint64_t ended;			/* the clock when the target ended, and with it the
					 * threads that end from now on; 0: it has not */
	/* Of a part of a trace: its begin, 0 where there is none; and that it has an end, which
	 * open calls go on behind, so that they have no time. */
	uint64_t from;
	bool is_cut;
};

/* Of struct flick_call, behind FLICK_CALL_*: no call of this part of a trace, and not counted.
 * But `inside` of it is, and what it called has no other caller. */
enum { FL_CALL_BEHIND = 1 << 30 };

/* The row of `probe` with the refusal and the state, which change, as they are now. */
static inline const struct fl_shm_site *fl_view_live(const struct fl_view *v, uint32_t probe)
{
	return v->live ? &v->live[probe] : &v->sites[probe];
}

/* Any number of analyses on one stream: calls are paired once for all analyses. Each reader
 * thread has one run; a thread of the target stays with one run. */
struct fl_run;
int fl_run_open(struct fl_run **, const struct fl_use *uses, size_t n,
		const struct fl_view *);
int fl_run_feed(struct fl_run *, const struct fl_batch *);
/* Can the run take accesses in words? Else accesses must come as records. */
bool fl_run_takes_words(const struct fl_run *);
int fl_run_words(struct fl_run *, struct fl_words *);
int fl_run_count(struct fl_run *, uint32_t thread, uint32_t probe, uint64_t n);
/* Of samples: a function had `calls`, of which so many were `counted` and the others are an
 * estimate with the standard error `error`. */
int fl_run_estimate(struct fl_run *, uint32_t function, uint64_t calls, uint64_t counted,
		    uint64_t error);
/* alive: the clock when the thread was seen to live last; 0: its last record tells */
int fl_run_thread_end(struct fl_run *, uint32_t thread, uint64_t alive);
/* The probes of the functions that `of`, n flags, marks went off at `at` ticks while the
 * program ran: calls of these functions that were open then have no known end. 0 or -ENOMEM. */
int fl_run_forget(struct fl_run *, uint64_t at, const unsigned char *of, uint32_t n);
/* Of samples: a call of `probe` had not ended when the program did. */
int fl_run_open_call(struct fl_run *, uint32_t probe, uint64_t begun, uint64_t ended,
		     uint32_t thread);
/* For rows in the middle of a run: give them all calls that have ended, except those below
 * calls that are still open. Only for flick's own analyses, because thread_end comes more than
 * once. */
void fl_run_settle(struct fl_run *);
/* Nothing more comes: every thread that has not ended ends. */
int fl_run_end(struct fl_run *);
/* Add the results of `from`, which has the same uses, and end its threads. 0, or
 * FLE_OPTION where an analysis cannot merge. */
int fl_run_merge(struct fl_run *into, struct fl_run *from);
#define FL_MAX_COLUMNS 64
/* Are the columns as flick/analysis.h says? Rows may come from a third party or a file. */
bool fl_rows_are_good(const struct flick_rows *);
/* The result of use `i` so far, as often as is asked; the caller frees its cells. 0, the error
 * that the analysis failed with, or -EBADMSG: its rows are not as flick/analysis.h wants them.
 * The results of other uses are there all the same. */
int fl_run_rows(struct fl_run *, size_t i, struct flick_rows *);
void fl_run_close(struct fl_run *);	/* NULL is fine */

/* ---- caches, simulated (cache.c, geometry.c) ------------------------------------- */

enum { FL_CACHE_LEVELS = 4 };

struct fl_cache_level {
	uint64_t size;			/* bytes */
	uint32_t ways, line;
};
enum fl_cache_policy {
	FL_CACHE_INCLUSIVE,		/* a line that leaves a level leaves those above, too */
	FL_CACHE_INDEPENDENT,		/* the line stays in the levels above */
	FL_N_CACHE_POLICIES
};
/* Lines of all levels are of one size. The nearest levels have a power of two of sets each. */
struct fl_cache_geometry {
	struct fl_cache_level data[FL_CACHE_LEVELS];	/* the nearest first */
	uint32_t n_data;
	struct fl_cache_level code;	/* above data[1]; 0 bytes: fetches are no accesses */
	enum fl_cache_policy policy;
	uint32_t threads;		/* that simulate; 0 means 1, the caller's */
};
/* Read the levels of data, or the one of code (`n` is 1), from `text`: `SIZE,WAYS,LINE:...`, or
 * `host`. Returns how many levels, or -1 with `why` filled. */
int fl_cache_parse(struct fl_cache_level *, uint32_t n, const char *text,
		   char why[FL_USE_WHY]);

enum fl_access_kind { FL_ACCESS_LOAD, FL_ACCESS_STORE, FL_ACCESS_FETCH, FL_N_ACCESSES };
/* An instruction that loads and stores one place, as `incl (%rax)`, is a load. */
struct fl_access {
	uint64_t at;
	uint32_t size;			/* bytes, from 1; more than a line counts as a line */
	uint32_t kind;			/* enum fl_access_kind */
};
struct fl_cache_counts {		/* by kind */
	uint64_t accesses[FL_N_ACCESSES];
	uint64_t misses[FL_CACHE_LEVELS][FL_N_ACCESSES];	/* fetches miss code's in [0] */
};
struct fl_cache;
#define FL_CACHE_PRESET "32K,4,64:512K,8,64"	/* paper 2's */
/* 0, -EINVAL: the levels do not fit together, -ENOMEM or -EAGAIN. */
int fl_cache_open(struct fl_cache **, const struct fl_cache_geometry *);
void fl_cache_feed(struct fl_cache *, const struct fl_access *, size_t n);
const struct fl_cache_counts *fl_cache_counts(struct fl_cache *);	/* of all so far */
void fl_cache_close(struct fl_cache *);	/* NULL is fine */

#endif
