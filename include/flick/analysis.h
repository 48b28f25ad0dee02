/*
 * flick/analysis.h - an analysis of one's own, for `flick record -a ./mine.so`.
 *
 * A shared object that exports one constant:
 *
 *	const struct flick_analysis flick_analysis = {
 *		.size = sizeof(struct flick_analysis),
 *		.version = FLICK_ANALYSIS_VERSION,
 *		.name = "mine", .about = "what it shows",
 *		.open = ..., .leave = ..., .rows = ..., .close = ...,
 *	};
 *
 * flick's own analyses are made of the same structure. examples/own-analysis.c
 * is a whole one. It runs in flick's process, never in the target:
 *
 *	open(&state, view, arg)			once, or once an analysis thread
 *	    enter(state, call, mark, caller)	a call began
 *	    leave(state, call, mark, caller)	a call ended, or was given up
 *	    stray(state, thread, f, root)	an exit whose begin was not seen
 *	    batch(state, thread, records, n)	instead, or as well: raw records, of all the
 *						types in flick/event.h
 *	    count(state, thread, f, n)		n calls, from counters
 *	    thread_end(state, thread, root)	nothing more comes from this thread
 *	merge(into, from)			several states become one
 *	rows(state, &rows)			the result so far; more calls may follow
 *	close(state)
 *
 * Only name, open, rows and close must be there. The state is the analysis's.
 *
 * THREADS	Calls for one state come one after another, never two at once. A
 *		thread of the target belongs to one state from its first event to
 *		thread_end. Global variables are shared by all states.
 * LIFETIME	What is pointed to lives during the call it is given to, but for
 *		the view, which lives until close and whose counts grow. They cover
 *		every function that a call names; in merge, what either state has seen.
 * ERRORS	0, or a negative -errno, after which only close is called; the
 *		recording goes on without it. open returns -EINVAL for an `arg` it
 *		does not know. Nothing may be thrown.
 *
 * Version 1. A structure's `size` says how much of it there is: fields are only
 * ever added at the end.
 */
#ifndef FLICK_ANALYSIS_H
#define FLICK_ANALYSIS_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FLICK_ANALYSIS_VERSION 1

/* A cell or a function that is not known. */
#define FLICK_NONE UINT64_MAX
#define FLICK_NO_FUNCTION UINT32_MAX

/* ---- what is known of the target ------------------------------------------- */

/* POINT: of an instruction inside of a function, which has a number of its own and is told
 * as a function that is counted, and never called. */
enum flick_tag_kind { FLICK_TAG_ENTRY, FLICK_TAG_EXIT, FLICK_TAG_OTHER, FLICK_TAG_POINT };

struct flick_tag {	/* of a probe; the index is an event's `probe`, see flick/event.h */
	uint32_t function;		/* dense, from 0 */
	uint8_t kind;			/* enum flick_tag_kind */
	uint8_t jump;			/* 1: an exit by jump, its frame is taken down */
	uint8_t framed;			/* 1: at its function's first instruction, so in a
					 * machine frame of its own; 0: may be inlined */
	uint8_t pad;
};

enum {
	FLICK_VIEW_SAMPLED = 1,		/* calls come without their callers */
	FLICK_VIEW_WINDOWS = 2		/* --rate: calls of a part of the time */
};

/* In windows a call stands for more than itself: what the weights of calls of a
 * function add up to, times its `scales`, is an estimate for the whole time. All
 * calls of a function, whoever made them, add up to `exact`, which is no estimate.
 * Without windows a weight is 1000, and there are no scales. */
enum { FLICK_WEIGHT_ONE = 1000 };

struct flick_view {
	size_t size;
	uint32_t flags;			/* FLICK_VIEW_* */
	uint32_t n_functions;		/* grows */
	uint32_t n_tags;		/* grows */
	double ns_per_tick;		/* known exactly when rows is called */
	const struct flick_tag *tags;	/* moves as it grows */
	/* The name of a function, never NULL. */
	const char *(*name)(const struct flick_view *, uint32_t function);
	const void *owner;		/* flick's */
	uint32_t weight;		/* of the records given to batch */
	/* By function, in windows, `exact` also of samples, and where every call is timed of
	 * points alone; known when rows is called. */
	const double *scales;
	const uint64_t *exact;
	/* Who made the calls that came `from` there (struct flick_call), as far as
	 * it is known when rows is called; FLICK_NO_FUNCTION. */
	uint32_t (*caller)(const struct flick_view *, uint32_t from);
	/* By function, of samples; known when rows is called: of `exact` so many were
	 * counted, and where that is fewer `exact` is an estimate, whose standard error the
	 * other says, in calls. */
	const uint64_t *counted, *exact_error;
	/* The function whose instruction made that access (FLICK_TYPE_ACCESS, `probe`), when
	 * rows is called; FLICK_NO_FUNCTION. */
	uint32_t (*place)(const struct flick_view *, uint32_t place);
	/* Its source line, as FILE:LINE, or MODULE!0xOFFSET where no line is known, when rows
	 * is called. Lives until close. NULL: rows by function are asked for. */
	const char *(*line)(const struct flick_view *, uint32_t place);
};

/* ---- calls ------------------------------------------------------------------ */

enum flick_how {	/* a call is over, because */
	FLICK_RUNNING,			/* (enter) it is not */
	FLICK_ENDED,			/* its exit was seen */
	FLICK_UNWOUND,			/* left by longjmp, an exception: when is unknown */
	FLICK_OPEN			/* it was open when its thread, or window, ended; or a
					 * sample, with FLICK_CALL_GIVEN_UP */
};

enum {			/* flags of a call */
	FLICK_CALL_NESTED = 1,		/* ended in an open call of its own function */
	FLICK_CALL_ORPHAN = 2,		/* it has a caller, but which is not known */
	FLICK_CALL_SAMPLED = 4,		/* a sample: no caller, no self time */
	FLICK_CALL_FROM = 8,		/* `from` tells who called, be it an orphan */
	FLICK_CALL_ALIVE = 16,		/* (FLICK_OPEN) its thread was recorded to the end:
					 * its times are until then */
	FLICK_CALL_GIVEN_UP = 32	/* (FLICK_OPEN) it was too dear to time it to its end:
					 * its times are until then */
};

/*
 * INVARIANT	A call whose caller ends (FLICK_ENDED) was made by that caller.
 *		Of a caller that was unwound, or is open at the end, this is not
 *		certain: calls that it seems to have made may be an outer call's,
 *		made after it was left. Charge a caller with what it called when
 *		it ends, not before, and nothing is ever charged wrongly.
 */
struct flick_call {
	size_t size;
	uint32_t thread;		/* from 0, by first sight; with --readers a state
					 * sees only some of them */
	uint32_t function;
	uint32_t caller;		/* nearest open call's function that has a probe;
					 * FLICK_NO_FUNCTION: none, or see ORPHAN */
	uint32_t flags;			/* FLICK_CALL_* */
	enum flick_how how;
	uint64_t begin;			/* ticks */
	uint64_t total, self;		/* ticks; of a call that ended. In windows also of one
					 * that is open: twice what it had of its window, for
					 * one that began before the window and ended in it */
	uint64_t inside;		/* ticks of calls of its own function in it
					 * that are counted in no other */
	uint32_t weight;		/* 1000; more in windows, or of samples: it stands for
					 * more */
	uint32_t from;			/* (FLICK_CALL_FROM) the place it was made from: see
					 * flick_view.caller */
	uint64_t raw_total, raw_self;	/* as the clock had them, with what probes took */
	uint64_t before;		/* ticks that its thread's probes had taken when it
					 * began */
};

/* ---- the result -------------------------------------------------------------- */

enum flick_column_type {
	FLICK_COL_FUNCTION,		/* an index; shown as its name */
	FLICK_COL_COUNT,
	FLICK_COL_NS,			/* a time, nanoseconds */
	FLICK_COL_TEXT,			/* a const char * that lives until close */
	FLICK_COL_ID,			/* the number of this row, in a tree */
	FLICK_COL_PARENT		/* the ID of the row above, FLICK_NONE at a root */
};

struct flick_column {	/* at most 64 in a row */
	const char *name;		/* at most 48 letters, digits and _; no two are the
					 * same but for case; times end in "_ns" */
	enum flick_column_type type;
};

/* Cells of a row stand together; FLICK_NONE where a value is not known. Of rows that
 * fail nothing is taken: what it has made the analysis frees itself. */
struct flick_rows {
	const struct flick_column *columns;	/* lives until close */
	size_t n_columns;
	uint64_t *cells;		/* n_rows * n_columns, from malloc; flick's, once
					 * rows has returned 0 */
	size_t n_rows;
};

/* ---- an analysis --------------------------------------------------------------- */

enum flick_needs {
	FLICK_NEEDS_SAMPLES,		/* calls; samples will do unless --all */
	/* How often; no time. `count` is called where counters alone suffice, which is
	 * when all analyses of a run need no more. Beside another calls come as they do
	 * to that: by batch, enter and leave. With --rate these have what windows saw,
	 * `count` is never called, and how often is in flick_view.exact. */
	FLICK_NEEDS_COUNTS,
	FLICK_NEEDS_CALLS,		/* every call, with its caller */
	/* That, and each access to memory of functions that have second bodies: records for
	 * `batch`, in the order of their thread (flick/event.h). Of size 0 is none. x86-64. */
	FLICK_NEEDS_ACCESSES,
	/* Each path through functions that have second bodies: records for `batch`, most of
	 * them with a count (flick/event.h), in no order, and nothing else. x86-64. */
	FLICK_NEEDS_PATHS
};

struct flick_analysis {
	size_t size;			/* sizeof(struct flick_analysis) */
	uint32_t version;		/* FLICK_ANALYSIS_VERSION */
	enum flick_needs needs;
	const char *name;		/* of the result: letters, digits, - and _ */
	const char *about;		/* one line */
	const char *args;		/* what may follow `NAME:`; NULL: nothing */

	int (*open)(void **state, const struct flick_view *, const char *arg);
	/* `mark` is one word for each open call, NULL at its enter, for the
	 * analysis to keep what it likes in; `caller` is the caller's, or for a
	 * call without one its thread's. */
	int (*enter)(void *state, const struct flick_call *, void **mark, void **caller);
	int (*leave)(void *state, const struct flick_call *, void **mark, void **caller);
	int (*stray)(void *state, uint32_t thread, uint32_t function, void **root);
	int (*batch)(void *state, uint32_t thread, const struct flick_record *, size_t n);
	int (*count)(void *state, uint32_t thread, uint32_t function, uint64_t n);
	int (*thread_end)(void *state, uint32_t thread, void **root);
	/* Add what `from` has; its threads have ended and are not those of `into`.
	 * NULL: there is only ever one state. */
	int (*merge)(void *into, void *from);
	int (*rows)(void *state, struct flick_rows *);
	void (*close)(void *state);	/* NULL never comes */
};

#ifdef __cplusplus
}
#endif

#endif
