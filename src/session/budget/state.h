/*
 * state.h - private to session/budget/: what a budget knows of the program's functions.
 */
#ifndef FL_BUDGET_STATE_H
#define FL_BUDGET_STATE_H

#include "session/budget/afford.h"
#include "session/budget/budget.h"
#include "session/budget/clock.h"
#include "session/samples/own.h"

#define MOST_CALLS 1e18			/* the target may say anything */
#define CHUNK 128			/* windows whose sums are divided */
#define STARTS 32			/* of a chunk: its own, and when some became seldom */

/* A function that was called. */
struct side {
	uint32_t function;		/* index in s->functions */
	double calls;			/* so far, some of them estimated ... */
	uint64_t counted;		/* ... from so many; how far off that may be: */
	double squares, alike;		/* by chance, summed over chunks; by prices */
	struct fl_called called;	/* in the windows of the chunk, ... */
	uint64_t taken;			/* ... where this part of `fresh` is, ... */
	uint32_t start;			/* ... since that one of `starts` */
	double before;			/* calls a ns before it became seldom; 0 once a window
					 * has been looked at */
	uint32_t probe;			/* one of its own that was called */
	uint64_t fresh;			/* counted in windows, not in `calls` yet ... */
	uint64_t seen;			/* ... and the part that looks have heard of */
	bool is_seldom;			/* as the target has heeded it */
	bool is_wished;			/* to be seldom, as its rows say */
	bool is_cut;			/* by the target, and not wished */
	bool was_off;			/* some of its calls may have been seen by nobody */
};

/* Calls of a probe since the last look; atomic. Calls that the target counts before it has
 * heeded `since`, or at a site that is not seldom, stand for themselves. */
struct count {
	uint64_t all, windows;
	uint64_t since;			/* SINCE(the wish that made it seldom); 0: it is not */
	uint32_t thread;		/* whose calls these were, as fl_budget_threads() */
};

#define SINCE(wish) ((uint64_t)(wish) + 1)	/* wish 0: the target's own, heeded at once */

struct moment {
	uint64_t passed_ns, open_ns, windows, timings;	/* down to `gauge`: as in ... */
	uint64_t ran_ns, ran_open_ns;			/* ... struct fl_seldom */
	uint64_t ticks[FL_HANDS];
	struct fl_gauge gauge;
	uint64_t toggles, watch_ns, delivered, ns;
};

/* A probe that is a hand of the program's clock. */
struct hand {
	uint32_t probe;			/* + 1; 0: none */
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
	uint64_t cut_ns;		/* when the first was cut of those that are adopted */
	uint32_t torn;			/* windows in which threads ended, up to the chunk */
	struct fl_clock clock;		/* of the chunk */
	struct fl_clock starts[STARTS];	/* `clock` when some functions became seldom */
	uint32_t n_starts;
	struct fl_price price;
	bool has_payers;		/* a session beside the recording had a budget */
	double held;			/* calls that were counted in all */
	struct hand hands[FL_HANDS];
	uint32_t gauge;			/* where it is in `sides`, + 1; 0: none */
	uint64_t extra;			/* counts of it in no window, as far as taken out */
	uint32_t *entries;		/* wanted probes at functions' entries, ... */
	uint32_t n_entries, room_entries;
	uint32_t n_taken;		/* ... among so many sites */
	uint32_t wish, n_wished;	/* the last wish, and of how many entries it was */
	bool is_heeded, is_off;		/* off: no memory */
	bool is_asked, is_asked_heeded;	/* counts are asked for; was the wish heeded, ... */
	bool is_asked_closed;		/* ... and no window open then? */
	bool has_cut;			/* and had the target cut something? */
	uint64_t heeded;		/* wishes of all processes, summed up, then */
	struct fl_own own;
	uint64_t begun_ns;		/* when modules had been scanned */
	uint64_t pc_own, pc_all;	/* since the last look; own: except counts */
	double looked_counted;		/* calls, likewise */
	uint64_t periods;		/* of all samples */
	enum {				/* of samples; slow: after many, they come rarely */
		FL_PACE_FIRST, FL_PACE_SLOW, FL_PACE_LAST
	} pace;
	uint64_t slow_since, slow_starts;	/* periods, and threads that had begun, then */
};

static inline double least(double a, double b)
{
	return a < b ? a : b;
}

/* ---- what was counted, by function (called.c) ---- */

/* Room for all functions that are known. 0 or -ENOMEM. */
int fl_budget_grow(struct fl_budget *);
/* The entries among what was selected since. 0 or -ENOMEM. */
int fl_budget_take_entries(struct fl_budget *);
/* Where a function is in `sides` and `functions`; it is there from now on. */
uint32_t fl_budget_index(struct fl_budget *, uint32_t function);
/* NULL: nobody has called it. */
struct side *fl_budget_side(const struct fl_budget *, uint32_t probe);
/* Sort by function all counts that were told until now. */
void fl_budget_gather(struct fl_budget *);

/* ---- what windows stand for (estimate.c) ---- */

void fl_budget_begin_chunk(struct fl_budget *, const struct moment *now);
/* The function is seldom from now on; or is since the target has cut it. `rate`: calls a second
 * until then; 0: what came between that and the first window is known. */
void fl_budget_begin_side(struct fl_budget *, uint32_t f, double rate);
void fl_budget_begin_cut(struct fl_budget *, uint32_t f, const struct moment *now);
/* Some functions become seldom in the middle of a chunk. */
void fl_budget_begin_start(struct fl_budget *, const struct moment *now);
/* Has a window been closed that nobody has looked at, and is none open? */
bool fl_budget_has_window(const struct fl_budget *);
/* Take in that window. All that was counted is gathered. */
void fl_budget_look_at_window(struct fl_budget *, const struct moment *now);
/* Add the calls of so much time in which a function was off and no window tells of it. */
void fl_budget_add_unseen(struct fl_budget *, uint32_t f, double ns);
/* The counts of a function's windows become calls. */
void fl_budget_settle(struct fl_budget *, uint32_t f, const struct moment *now);
/* Seldom functions are settled when there were many windows, or when no more will come: the
 * sums of few windows are chance. */
enum windows { MORE_COME, NO_MORE };
void fl_budget_estimate(struct fl_budget *, const struct moment *now, enum windows);

#endif
