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

/* An analysis that was asked for: `NAME`, `NAME:ARG`, `PATH.so`, `PATH.so:ARG`. */
struct fl_use {
	const struct flick_analysis *analysis;
	char *arg;			/* NULL: none */
	char *name;			/* of its result: NAME or NAME:ARG */
	void *library;			/* of a third party's; NULL: built in */
	uint32_t threads;		/* (cache) that simulate; 0: 1, the reader's */
};
/* 0, or -1 with `why` filled: no such analysis, argument or file. */
int fl_use_open(struct fl_use *, const char *spec, char why[FL_USE_WHY]);
void fl_use_close(struct fl_use *);	/* after every run that has it */
/* What probes must do for all of `uses`; `all`: FL_ACT_TIME where samples do. */
enum fl_action fl_use_action(const struct fl_use *uses, size_t n,
			     enum fl_action samples);
/* What bodies must tell for them. */
uint32_t fl_use_weaves(const struct fl_use *uses, size_t n);

/* ---- running them -------------------------------------------------------------- */

/* What the probes of one call take, in ticks, and is taken out of times: between
 * the clock readings of its entry and its exit, and in all. */
struct fl_overhead {
	uint32_t inside, pair;
	/* Of samples, in FL_TICK_PARTS: of one that is timed in another, beside what it has
	 * measured; that is not timed, while exits are on; and that is looked at, on top. */
	uint32_t timed, counted, looked;
};

/* What the reader knows of the target; grows while it runs. */
struct fl_view {
	const struct fl_shm_site *sites;	/* index: probe id; as they were brought */
	const struct fl_shm_site *live;	/* as they are now, where the target writes them;
					 * NULL: as they were */
	const uint32_t *function_of;		/* probe id -> function index */
	uint32_t n_sites;
	uint32_t n_functions;
	double ns_per_tick;
	bool sampled;			/* entry and exit arrive as finished pairs */
	uint32_t framed;		/* bit a provider: its entries are the first
					 * instructions of functions, not inlined */
	const char *(*name)(const void *owner, uint32_t function);
	const void *owner;
	/* Addresses in the target of the function around `at`; NULL: not known. */
	bool (*symbol)(const void *owner, uint64_t at, uint64_t *lo, uint64_t *hi);
	/* The `n` bytes there as its file has them; NULL: not known. Until the next. */
	const unsigned char *(*code)(const void *owner, uint64_t at, size_t n);
	/* The function that has the instruction with that number (FLICK_TYPE_ACCESS), or
	 * FLICK_NO_FUNCTION; NULL: none is known. */
	uint32_t (*place)(const void *owner, uint32_t place);
	const char *(*line)(const void *owner, uint32_t place);	/* NULL: nobody asks */
	bool windows;			/* batches are of windows */
	struct fl_overhead overhead[2];	/* by `framed`; 0: times as measured */
	bool has_pauses;		/* times have what threads waited for their rings */
	/* Of a sampled call: ticks in which its thread could have run, and was not let;
	 * NULL: not known. */
	uint64_t (*preempted)(const void *owner, uint32_t thread, uint64_t begin, uint64_t end);
	bool is_now;			/* a thread has just ended when that is said */
	uint64_t ended;			/* the clock when the target did, which ended the
					 * threads that end from now on; 0: it has not */
};

/* For its refusal and its state, which change. */
static inline const struct fl_shm_site *fl_view_live(const struct fl_view *v, uint32_t probe)
{
	return v->live ? &v->live[probe] : &v->sites[probe];
}

/* Any number of analyses on one stream: calls are paired once for all. One
 * reader thread has one run; threads of the target do not change theirs. */
struct fl_run;
int fl_run_open(struct fl_run **, const struct fl_use *uses, size_t n,
		const struct fl_view *);
int fl_run_feed(struct fl_run *, const struct fl_batch *);
/* Can it be told of accesses in words? Else they are to be records. */
bool fl_run_takes_words(const struct fl_run *);
int fl_run_words(struct fl_run *, struct fl_words *);
int fl_run_count(struct fl_run *, uint32_t thread, uint32_t probe, uint64_t n);
/* Of samples: what was counted of a function's calls, what that is estimated to stand for,
 * and the standard error of that. */
int fl_run_estimate(struct fl_run *, uint32_t function, uint64_t calls, uint64_t counted,
		    uint64_t error);
int fl_run_thread_end(struct fl_run *, uint32_t thread);
/* Probes of functions that `of` marks, n in all, went off at `at` ticks while the program ran:
 * of their calls that were open then the end is not known. 0 or -ENOMEM. */
int fl_run_forget(struct fl_run *, uint64_t at, const unsigned char *of, uint32_t n);
/* Of samples: a call of `probe` had not ended when the program did. */
int fl_run_open_call(struct fl_run *, uint32_t probe, uint64_t begun, uint64_t ended,
		     uint32_t thread);
/* Rows in the middle of a run are to have all calls that have ended, but those below calls of a
 * thread that have not. Of flick's own analyses, whose thread_end may come more than once. */
void fl_run_settle(struct fl_run *);
/* Nothing more comes: every thread that has not ended ends. */
int fl_run_end(struct fl_run *);
/* Add the results of `from`, of the same uses, and end its threads. 0, or
 * FLE_OPTION where an analysis cannot. */
int fl_run_merge(struct fl_run *into, struct fl_run *from);
#define FL_MAX_COLUMNS 64
/* Are columns as flick/analysis.h says? Rows may come from a third party or a file. */
bool fl_rows_are_good(const struct flick_rows *);
/* The result of use `i` so far, as often as is asked; the caller frees its cells. 0, what
 * the analysis failed with, or -EBADMSG: its rows are not as flick/analysis.h says. The
 * others' are there all the same. */
int fl_run_rows(struct fl_run *, size_t i, struct flick_rows *);
void fl_run_close(struct fl_run *);	/* NULL is fine */

/* ---- caches, simulated (cache.c, geometry.c) ------------------------------------- */

enum { FL_CACHE_LEVELS = 4 };

struct fl_cache_level {
	uint64_t size;			/* bytes */
	uint32_t ways, line;
};
enum fl_cache_policy {
	FL_CACHE_INCLUSIVE,		/* a line that a level gives up goes from those above */
	FL_CACHE_INDEPENDENT,		/* it stays there */
	FL_N_CACHE_POLICIES
};
/* Lines are of one size. Sets of the nearest levels are powers of two. */
struct fl_cache_geometry {
	struct fl_cache_level data[FL_CACHE_LEVELS];	/* the nearest first */
	uint32_t n_data;
	struct fl_cache_level code;	/* above data[1]; 0 bytes: fetches are no accesses */
	enum fl_cache_policy policy;
	uint32_t threads;		/* that simulate them; 0: 1, the caller's */
};
/* What `text` says of data's levels or of code's (`n` of 1): `SIZE,WAYS,LINE:...`, or `host`.
 * How many levels, or -1 with `why` filled. */
int fl_cache_parse(struct fl_cache_level *, uint32_t n, const char *text,
		   char why[FL_USE_WHY]);

enum fl_access_kind { FL_ACCESS_LOAD, FL_ACCESS_STORE, FL_ACCESS_FETCH, FL_N_ACCESSES };
/* What changes memory at once, as `incl (%rax)`, is a load. */
struct fl_access {
	uint64_t at;
	uint32_t size;			/* bytes, from 1; more than a line is one */
	uint32_t kind;			/* enum fl_access_kind */
};
struct fl_cache_counts {		/* by kind */
	uint64_t accesses[FL_N_ACCESSES];
	uint64_t misses[FL_CACHE_LEVELS][FL_N_ACCESSES];	/* [0] of fetches: code's */
};
struct fl_cache;
#define FL_CACHE_PRESET "32K,4,64:512K,8,64"	/* paper 2's */
/* 0, -EINVAL: levels do not fit one another, -ENOMEM or -EAGAIN. */
int fl_cache_open(struct fl_cache **, const struct fl_cache_geometry *);
void fl_cache_feed(struct fl_cache *, const struct fl_access *, size_t n);
const struct fl_cache_counts *fl_cache_counts(struct fl_cache *);	/* of all so far */
void fl_cache_close(struct fl_cache *);	/* NULL is fine */

#endif
