/*
 * run.h - private to analysis/: one run of analyses, and how records become its calls.
 *
 *	fl_run_feed()  ->  a pairing's feed()  ->  fl_tell_left()  ->  an analysis's leave()
 *	run.c              one of three            below               counts.c, latency.c, ...
 *
 * A record goes this way once. What is inline here the loop of all events runs, which has
 * some twenty cycles for each: none of its calls may be one but the analysis's own.
 */
#ifndef FL_ANALYSIS_RUN_H
#define FL_ANALYSIS_RUN_H

#include "analysis/scales.h"
#include "analysis/stack.h"

/* Counts as one that its function has had? */
static inline bool fl_tag_counts(const struct flick_tag *tag)
{
	return tag->kind == FLICK_TAG_ENTRY || tag->kind == FLICK_TAG_POINT;
}

struct fl_analyst {	/* one analysis and its state */
	const struct flick_analysis *a;
	/* Copies, as they are called for each event; NULL: none, or it failed. */
	int (*enter)(void *, const struct flick_call *, void **, void **);
	int (*leave)(void *, const struct flick_call *, void **, void **);
	int (*words)(void *, struct fl_words *);	/* beside `batch`; NULL: none */
	void *state;
	uint32_t mark;			/* which of a call's marks is its own */
	int error;			/* its first; it is told nothing more */
};

/* So many words are accesses, up to the first that is none. */
static inline size_t fl_words_taken(const uint64_t *words, size_t n)
{
	struct fl_run_of_words w = fl_records_run(words, n, 0);

	return w.are_accesses ? w.n : 0;
}

/* misses.c: the one that takes words, and how. */
extern const struct flick_analysis fl_analysis_cache;
int fl_misses_words(void *state, struct fl_words *);
/* Before the first of them, among so many threads. 0 or -errno. */
int fl_misses_share(void *state, uint32_t threads);

struct fl_stream;

/* How the records of a thread become calls; one for all of a run. */
struct fl_pairing {
	void (*drop)(void *stream, struct fl_fiber *, uint32_t, enum fl_drop);	/* of its
					 * stack; NULL: it has none */
	int (*feed)(struct fl_stream *, const struct fl_batch *);
	int (*end)(struct fl_stream *);	/* nothing more comes; NULL: nothing to do */
};
extern const struct fl_pairing fl_pair_all;	/* pair.c: every record of a thread */
extern const struct fl_pairing fl_pair_windows;	/* pair-windows.c: those of windows */
extern const struct fl_pairing fl_pair_samples;	/* pair-samples.c: calls, one by one */

struct fl_run {
	const struct fl_view *source;
	struct flick_view view;
	struct flick_tag *tags;
	uint32_t n_tags;
	struct fl_jumps jumps;		/* as many as tags */
	const struct fl_pairing *pairing;	/* NULL: nobody wants calls */
	struct fl_analyst *workers;
	size_t n;
	uint32_t n_marks;		/* a call has: one for each analysis that wants calls */
	bool tells_entered;		/* one is told of calls that begin */
	bool is_in_order;		/* one asks of an access which calls are open */
	uint32_t from_mark;		/* one more, in windows: where it was called from */
	struct fl_callers *callers;	/* in windows */
	struct fl_scales scales;	/* of windows and samples */
	struct fl_run *merging;		/* into which this one is merged, while it is */
	struct fl_left_off {
		uint64_t at;		/* ticks */
		unsigned char *of;	/* index: function; n of them */
		uint32_t n;
	} *left_off;			/* (all) in the order of time */
	uint32_t n_left_off;
	struct fl_stream **streams;	/* index: thread; NULL: not seen or ended */
	uint32_t n_streams;
	int error;			/* flick's own, from where none can be returned */
};

enum { FL_UNSEEN_MOST = 32 };

/* A thread's records, as far as they are paired. */
struct fl_stream {
	struct fl_run *run;
	void **marks;			/* of calls without a caller */
	struct flick_call call;		/* what analyses are shown */
	struct fl_stack stack;
	uint64_t last;			/* (all) when its last record was */
	uint32_t n_left_off;		/* (all) of the run's that it has heeded */
	struct flick_record entry;	/* (windows, samples) it waits for the record behind
					 * it; tsc 0: none does */
	/* ---- windows */
	struct fl_window window;	/* number 0: none yet */
	bool sees_all;			/* it is the thread's first, which began in it */
	struct fl_unseen {		/* origins of calls that the innermost call has
					 * made, which began before */
		uint32_t from[FL_UNSEEN_MOST], n;
		uint32_t sp;		/* the highest of theirs */
	} unseen;
};

/* An analysis that fails ends; the others go on. */
static inline void fl_analyst_note(struct fl_analyst *w, int err)
{
	if (__builtin_expect(!err, 1) || w->error)
		return;
	w->error = err;
	w->enter = NULL;
	w->leave = NULL;
}

#define FL_IN_LOOP	static inline __attribute__((always_inline))

FL_IN_LOOP bool fl_has_caller(const struct fl_open *call)
{
	return call->caller && call->caller != FL_STACK_ORPHAN;
}

FL_IN_LOOP void **fl_marks_of_caller(struct fl_stream *s, struct fl_fiber *f, uint32_t i)
{
	const struct fl_open *call = &f->open[i];

	return fl_has_caller(call) ? fl_stack_marks(f, call->caller - 1) : s->marks;
}

/* Call i of a fiber, into what analyses are shown; what has no line here is the same for
 * all of a batch. */
FL_IN_LOOP void fl_describe(struct fl_stream *s, struct fl_fiber *f, uint32_t i,
			    enum flick_how how)
{
	const struct fl_open *open = &f->open[i];
	struct flick_call *call = &s->call;

	call->function = open->function;
	call->caller = fl_has_caller(open) ? f->open[open->caller - 1].function :
		       FLICK_NO_FUNCTION;
	call->flags = open->caller == FL_STACK_ORPHAN ? FLICK_CALL_ORPHAN : 0;
	call->how = how;
	call->begin = open->tsc;
	call->total = call->raw_total = 0;
	call->self = call->raw_self = 0;
	call->inside = 0;
	call->before = open->probes;
}

/* The call that was on top of it, with its times. */
FL_IN_LOOP void fl_describe_closed(struct fl_stream *s, struct fl_fiber *f,
				   const struct fl_closed *closed, enum flick_how how)
{
	fl_describe(s, f, f->n, how);
	s->call.total = closed->total;
	s->call.self = closed->self;
	s->call.raw_total = closed->raw_total;
	s->call.raw_self = closed->raw_self;
	s->call.flags |= closed->nested ? FLICK_CALL_NESTED : 0;
}

/* What was described of call i of a fiber, to all. */
FL_IN_LOOP void fl_tell_left(struct fl_stream *s, struct fl_fiber *f, uint32_t i)
{
	void **marks = fl_stack_marks(f, i), **callers = fl_marks_of_caller(s, f, i);
	struct fl_analyst *end = s->run->workers + s->run->n;

	for (struct fl_analyst *w = s->run->workers; w < end; w++)
		if (w->leave)
			fl_analyst_note(w, w->leave(w->state, &s->call, &marks[w->mark],
						   &callers[w->mark]));
}

void fl_tell_entered(struct fl_stream *, struct fl_fiber *, uint32_t i);
/* A call that has nothing to do with others: its begin and its end; `marks` are its
 * thread's. */
void fl_tell_alone(struct fl_run *, struct flick_call *, void **marks);
/* An instruction was met that is a point: it counts as its own function's. 0 or -ENOMEM. */
int fl_run_point(struct fl_run *, uint32_t function);

#endif
