/*
 * budget-state.h - private to budget*.c: what a budget knows of the program's functions.
 */
#ifndef FL_BUDGET_STATE_H
#define FL_BUDGET_STATE_H

#include "cli/afford.h"
#include "cli/budget.h"
#include "cli/clock.h"
#include "cli/own.h"

#define MOST_CALLS 1e18			/* the target may say anything */
#define CHUNK 128			/* windows whose sums are divided */
#define STARTS 32			/* so often may others become seldom meanwhile */

/* Of a function that was called. */
struct side {
	uint32_t function;		/* index in s->functions */
	double calls;			/* so far, some of them estimated ... */
	uint64_t counted;		/* ... from so many; how far off that may be: */
	double squares, alike;		/* of chance, chunk by chunk; of prices */
	struct fl_called called;	/* in the windows of the chunk, ... */
	uint64_t taken;			/* ... and this of `fresh` is in there */
	uint32_t start;			/* ... since that of `starts` */
	uint32_t probe;			/* one that was called */
	uint64_t fresh;			/* counted in windows, not in `calls` yet ... */
	uint64_t seen;			/* ... and looked at */
	bool is_seldom;			/* as the target has heeded it */
	bool is_wished;			/* to be seldom, as its rows say */
	bool is_cut;			/* by the target, and not wished */
	bool was_off;			/* some of its calls may have been seen by nobody */
};

/* Of a probe, since the last look; atomic. What the target counts before it has heeded
 * `since`, or at a site that is not seldom, stands for itself. */
struct count {
	uint64_t all, windows;
	uint64_t since;			/* SINCE(the wish that made it seldom); 0: it is not */
	uint32_t thread;		/* whose calls these were, as fl_budget_threads() */
};

#define SINCE(wish) ((uint64_t)(wish) + 1)	/* 0: the target's own, heeded as it is made */

struct moment {
	uint64_t passed_ns, open_ns, windows, timings;	/* see struct fl_seldom, as */
	uint64_t ran_ns, ran_open_ns;
	uint64_t ticks[FL_HANDS];
	struct fl_gauge gauge;
	uint64_t toggles, watch_ns, delivered, ns;
};

/* A probe that is a hand of the program's clock. */
struct hand {
	uint32_t probe;			/* and 1; 0: none */
	double ticks;			/* in all, since the chunk began */
};

struct fl_budget {
	struct fl_session *s;
	struct fl_afford afford;
	struct count *counted;		/* index: probe */
	uint64_t *fresh;		/* a bit a probe: it was counted since the last look */
	uint32_t max_sites;
	uint32_t *called;		/* index: function; 0: never, ... */
	struct side *sides;		/* ... else where it is in these, + 1 */
	struct fl_afford_function *functions;
	uint32_t *order;
	uint32_t n, room;
	struct moment look;		/* the last one */
	struct moment windows, window;	/* when the chunk began; as of the last window in it */
	double scale;			/* what a call in a window stands for, of late */
	uint32_t torn;			/* when the chunk began */
	struct fl_clock clock;		/* of the chunk */
	struct fl_clock starts[STARTS];	/* as it was when some became seldom */
	uint32_t n_starts;
	struct fl_price price;
	bool has_payers;		/* there was one beside the recording */
	double held;			/* calls that were counted in all */
	struct hand hands[FL_HANDS];
	uint32_t gauge;			/* where it is in `sides`, + 1; 0: none */
	uint64_t extra;			/* of what it counts in no window this is taken out */
	uint32_t *entries;		/* probes that are wanted there */
	uint32_t n_entries, room_entries;
	uint32_t n_taken;		/* sites that they are of */
	uint32_t wish, n_wished;	/* entries that were wished for */
	bool is_heeded, is_off;		/* off: no memory */
	bool is_asked, is_asked_heeded;	/* for counts; was the wish heeded then, ... */
	bool is_asked_closed;		/* ... and no window open? */
	bool has_cut;			/* and was something cut? */
	uint64_t heeded;		/* by all processes, summed up, then */
	struct fl_own own;
	uint64_t begun_ns;		/* when modules had been scanned */
	uint64_t pc_own, pc_all;	/* since the last look; own: but for counts */
	double looked_counted;		/* calls, likewise */
	uint64_t periods;		/* of all samples */
	enum {				/* of samples; slow: there were many, and are fewer */
		FL_PACE_FIRST, FL_PACE_SLOW, FL_PACE_LAST
	} pace;
	uint64_t slow_since, slow_starts;	/* periods, and threads that had begun, then */
};

static inline double least(double a, double b)
{
	return a < b ? a : b;
}

/* ---- what was counted, by function (budget-called.c) ---- */

/* Room for all functions that are known. 0 or -ENOMEM. */
int fl_budget_grow(struct fl_budget *);
/* The entries among what was selected since. 0 or -ENOMEM. */
int fl_budget_take_entries(struct fl_budget *);
/* Where a function is in `sides` and `functions`; it is there from now on. */
uint32_t fl_budget_index(struct fl_budget *, uint32_t function);
/* NULL: nobody has called it. */
struct side *fl_budget_side(const struct fl_budget *, uint32_t probe);
/* All that has been told until now. */
void fl_budget_gather(struct fl_budget *);

/* ---- what windows stand for (budget-estimate.c) ---- */

void fl_budget_begin_chunk(struct fl_budget *, const struct moment *now);
/* It is seldom from now on. */
void fl_budget_begin_side(struct fl_budget *, struct side *);
/* In the middle of a chunk some become seldom. */
void fl_budget_begin_start(struct fl_budget *, const struct moment *now);
/* Has a window been closed that nobody has looked at, and is none open? */
bool fl_budget_has_window(const struct fl_budget *);
/* Of that one; all that was counted is gathered. */
void fl_budget_look_at_window(struct fl_budget *, const struct moment *now);
/* Calls of so much time in which a function was off, and no window tells. */
void fl_budget_add_unseen(struct fl_budget *, uint32_t f, double ns);
/* What a function's windows counted becomes calls. */
void fl_budget_settle(struct fl_budget *, uint32_t f, const struct moment *now);
/* Those that are seldom are settled when there were many windows, or there will be no more:
 * of few the sums are chance. */
enum windows { MORE_COME, NO_MORE };
void fl_budget_estimate(struct fl_budget *, const struct moment *now, enum windows);

#endif
