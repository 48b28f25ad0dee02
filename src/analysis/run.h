/*
 * run.h - private to analysis/: one run of analyses, and how records become its calls.
 *
 *	fl_run_feed()  ->  a pairing's feed()  ->  fl_tell_left()  ->  an analysis's leave()
 *	run.c              one of three            below               counts.c, latency.c, ...
 *
 * A record goes this way once. The inline functions here are run in the loop over all events,
 * which has some twenty cycles for an event: this loop may make no call except the analysis's
 * own.
 */
#ifndef FL_ANALYSIS_RUN_H
#define FL_ANALYSIS_RUN_H

#include "analysis/scales.h"
#include "analysis/stack.h"

/* Does a record with this tag count as a call of its function? */
static inline bool fl_tag_counts(const struct flick_tag *tag)
{
	return tag->kind == FLICK_TAG_ENTRY || tag->kind == FLICK_TAG_POINT;
}

struct fl_analyst {	/* one analysis and its state */
	const struct flick_analysis *a;
	/* Copies, because they are called for each event; NULL: none, or it failed. */
	int (*enter)(void *, const struct flick_call *, void **, void **);
	int (*leave)(void *, const struct flick_call *, void **, void **);
	int (*words)(void *, struct fl_words *);	/* beside `batch`; NULL: none */
	void *state;
	uint32_t mark;			/* index of the analysis's own among a call's marks */
	int error;			/* its first; the analysis is told nothing more */
};

/* How many words stand before the first one that is no access. */
static inline size_t fl_words_taken(const uint64_t *words, size_t n)
{
	struct fl_run_of_words w = fl_records_run(words, n, 0);

	return w.are_accesses ? w.n : 0;
}

/* misses.c: the only analysis that takes words. */
extern const struct flick_analysis fl_analysis_cache;
int fl_misses_words(void *state, struct fl_words *);
/* Before the first words: so many threads share the work. 0 or -errno. */
int fl_misses_share(void *state, uint32_t threads);

struct fl_stream;

/* How the records of a thread become calls. A run has one pairing for all threads. */
struct fl_pairing {
	void (*drop)(void *stream, struct fl_fiber *, uint32_t, enum fl_drop);	/* of fl_stack;
					 * NULL: there is no stack */
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
	const struct fl_pairing *pairing;	/* NULL: no analysis wants calls */
	struct fl_analyst *workers;
	size_t n;			/* of workers */
	uint32_t n_marks;		/* of a call: one for each analysis that wants calls */
	bool tells_entered;		/* an analysis is told of calls that begin */
	bool is_in_order;		/* an analysis wants to know which calls are open at an
					 * access */
	uint32_t from_mark;		/* one more mark, in windows: the call's origin */
	struct fl_callers *callers;	/* in windows */
	struct fl_scales scales;	/* of windows and samples */
	struct fl_run *merging;		/* the run that this one is just merged into */
	struct fl_left_off {
		uint64_t at;		/* ticks */
		unsigned char *of;	/* index: function; n of them */
		uint32_t n;
	} *left_off;			/* (all) in the order of time */
	uint32_t n_left_off;
	struct fl_stream **streams;	/* index: thread; NULL: not seen or ended */
	uint32_t n_streams;
	int error;			/* flick's own, from a place that cannot return it */
};

enum { FL_UNSEEN_MOST = 32 };

/* The records of a thread, as far as they are paired. */
struct fl_stream {
	struct fl_run *run;
	void **marks;			/* of calls without a caller */
	struct flick_call call;		/* the call as analyses are shown it */
	struct fl_stack stack;
	uint64_t last;			/* (all, windows) the time of the last record */
	uint64_t alive;			/* (all) as fl_run_thread_end() was told */
	uint32_t n_left_off;		/* (all) how many of the run's are heeded */
	bool is_in_part;		/* (all) a record of the part that is told has come */
	struct flick_record entry;	/* (windows, samples) an entry that waits for the
					 * record behind it; tsc 0: none does */
	/* ---- windows */
	struct fl_window window;	/* number 0: none yet */
	bool sees_all;			/* the window is the thread's first, and the thread
					 * began in it */
	struct fl_unseen {		/* origins of the calls that were made by the innermost
					 * of the calls from before the window */
		uint32_t from[FL_UNSEEN_MOST], n;
		uint32_t sp;		/* the highest stack pointer of these calls */
	} unseen;
};

/* An analysis that fails is told nothing more; the others go on. */
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

/* Write call i of a fiber into the call that analyses are shown. A field that has no line here
 * is the same for all of a batch. */
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

/* The same for the call that was on top of the fiber, with its times. */
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

/* Tell all analyses that call i of a fiber, which has been described, is over. */
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
/* Tell begin and end of a call that has nothing to do with others; `marks` are its
 * thread's. */
void fl_tell_alone(struct fl_run *, struct flick_call *, void **marks);
/* A point was met: an instruction, which counts as a function of its own. 0 or -ENOMEM. */
int fl_run_point(struct fl_run *, uint32_t function);

#endif
