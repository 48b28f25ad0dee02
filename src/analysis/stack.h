/*
 * stack.h - the open calls of one thread, found again at their exits.
 *
 * stack.c decides which call an exit ends, from the function and the stack
 * pointer of the record. The inline functions here are the common case: a call
 * that ends on top of the stack with the stack pointer it began with.
 */
#ifndef FL_ANALYSIS_STACK_H
#define FL_ANALYSIS_STACK_H

#include "base/base.h"
#include "analysis/analysis.h"

struct fl_open {	/* a call that has not ended */
	uint64_t tsc;
	uint32_t function, sp;
	uint64_t child;			/* ticks in calls it made that ended */
	uint64_t raw;			/* likewise, with what probes took */
	uint64_t inside;		/* ticks in calls of its own function within it */
	uint64_t probes;		/* ticks of its thread's probes before it */
	uint32_t outer;			/* 1 + index of the next open call of the
					 * same function below; 0: none */
	uint32_t caller;		/* 1 + index of the call that made it, certain once
					 * that one ends; 0: none, FL_STACK_ORPHAN: not known */
	uint32_t probe;			/* of its entry */
	uint8_t framed;			/* it is no inlined call: flick_tag */
	uint8_t doubtful;		/* it may have ended: its end will not be known */
};
#define FL_STACK_ORPHAN UINT32_MAX

/* One machine stack: a thread has one, and one more for each coroutine and
 * alternate signal stack it is seen on. */
struct fl_fiber {
	struct fl_open *open;		/* innermost last */
	void **marks;			/* n_marks for each open call */
	uint32_t n, room, n_marks;
	uint32_t *last;			/* index: function; 1 + its innermost open call */
	uint32_t n_last;
	bool is_parted;			/* its calls seemed to be another stack's, and none has
					 * ended since */
};

/* How far an exit by jump stands above its call's entry. The distance is the same each time,
 * because both stand in one machine frame. The smallest that was seen is kept; see stack.c. */
struct fl_jump {
	uint32_t entry, above;		/* the entry's probe; above 0: none was seen */
	uint8_t seen;			/* how often in a row, or one of: */
};
enum {
	FL_JUMP_SURE = 4,		/* several times the same */
	FL_JUMP_KNOWN = 5,		/* seen at a call whose caller was known */
	FL_JUMP_VARIES = 255		/* nothing can be learnt of this exit */
};
struct fl_jumps {
	struct fl_jump *of;		/* index: the exit's probe */
	uint32_t n;
};

enum fl_drop { FL_DROP_UNWOUND, FL_DROP_OPEN };

struct fl_stack {
	struct fl_fiber *fibers;
	uint32_t n_fibers, current, recycle;
	uint32_t n_functions, n_marks;
	struct fl_overhead overhead[2];	/* index: framed */
	uint64_t probes;		/* ticks that the thread's probes took so far */
	struct fl_jumps *jumps;		/* of all threads; NULL: none are kept */
	/* Told when call `i` of the fiber is dropped: its end will never be known. */
	void (*drop)(void *arg, struct fl_fiber *, uint32_t i, enum fl_drop);
	void *arg;
};

/* A call that ended. Until the next record it is still there, as call n of the
 * current fiber. */
struct fl_closed {
	uint64_t total, self;
	uint64_t raw_total, raw_self;	/* with what probes took */
	bool nested;			/* in an open call of the same function */
};

enum fl_match { FL_MATCH_NONE, FL_MATCH_CLOSED, FL_MATCH_UNSURE };

#define FL_STACK_DEEP (8u << 20)	/* the most one call moves down */
#define FL_STACK_PENDING 16u		/* stack.c: deferred pops */

/* Every open call has n_marks words beside it, NULL at first. */
int fl_stack_init(struct fl_stack *, uint32_t n_marks,
		  void (*drop)(void *, struct fl_fiber *, uint32_t, enum fl_drop),
		  void *arg);
/* Make room for functions [0, n), before the first one comes. 0 or -ENOMEM. */
int fl_stack_extend(struct fl_stack *, uint32_t n);
/* Drop the calls that newer ones prove to be over for sure: before open ones have their time
 * until now. */
void fl_stack_settle(struct fl_stack *);
/* Drop every open call: the thread ended. */
void fl_stack_end(struct fl_stack *);
/* Drop the calls that began before `at`, of the functions that `of` marks. */
void fl_stack_forget(struct fl_stack *, uint64_t at, const unsigned char *of, uint32_t n);
/* Calls that have ended so far are in no total of open ones: a part of a trace begins. */
void fl_stack_begin_part(struct fl_stack *);
/* Drop the innermost call of a fiber. */
void fl_stack_drop(struct fl_stack *, struct fl_fiber *);
void fl_stack_free(struct fl_stack *);

int fl_stack_enter_slow(struct fl_stack *, const struct flick_record *,
			const struct flick_tag *);
enum fl_match fl_stack_exit_slow(struct fl_stack *, const struct flick_record *,
				 const struct flick_tag *, struct fl_closed *);

static inline struct fl_fiber *fl_stack_fiber(const struct fl_stack *s)
{
	return &s->fibers[s->current];
}

static inline void **fl_stack_marks(struct fl_fiber *f, uint32_t i)
{
	return f->marks + (size_t)i * f->n_marks;
}

/* Field by field: a wide load has to wait for words that were just written one by one. */
static inline void fl_stack_push(struct fl_stack *s, struct fl_fiber *f,
				 const struct flick_record *r,
				 const struct flick_tag *tag, uint32_t caller)
{
	uint32_t *last = &f->last[tag->function];
	struct fl_open *o = &f->open[f->n];
	void **marks = fl_stack_marks(f, f->n);

	marks[0] = NULL;		/* there is room for it; most often no other follows */
	for (uint32_t m = 1; m < f->n_marks; m++)
		marks[m] = NULL;
	o->tsc = r->tsc;
	o->function = tag->function;
	o->sp = r->sp;
	o->child = 0;
	o->raw = 0;
	o->probes = s->probes;
	o->inside = 0;
	o->outer = *last;
	o->caller = caller;
	o->probe = r->probe;
	o->framed = tag->framed;
	o->doubtful = 0;
	*last = ++f->n;
	s->probes += s->overhead[tag->framed].inside;
}

/* A call begins. 0 or -ENOMEM. In the common case the call is below the one on top, or is the
 * first on the only stack. */
static inline int fl_stack_enter(struct fl_stack *s, const struct flick_record *r,
				 const struct flick_tag *tag)
{
	struct fl_fiber *f = fl_stack_fiber(s);
	uint32_t n = f->n;

	if (n == f->room || (n ? f->open[n - 1].sp - 1 - r->sp >= FL_STACK_DEEP :
			     s->n_fibers > 1))
		return fl_stack_enter_slow(s, r, tag);
	fl_stack_push(s, f, r, tag, n);
	return 0;
}

/* Note what an exit's probe takes behind its clock reading: the call that ended has none of
 * these ticks. */
static inline void fl_stack_leave(struct fl_stack *s, uint8_t framed)
{
	s->probes += s->overhead[framed].pair - s->overhead[framed].inside;
}

/* Take off the top call, which ended at `tsc`, and credit the call below. Times leave out what
 * the thread's probes took meanwhile, on whichever stack. */
static inline struct fl_closed fl_stack_pop(struct fl_stack *s, struct fl_fiber *f,
					    uint64_t tsc)
{
	const struct fl_open *top = &f->open[--f->n];
	/* Two cores' clocks may disagree by less than a call: never negative. */
	uint64_t passed = tsc > top->tsc ? tsc - top->tsc : 0;
	uint64_t probes = s->probes - top->probes;
	uint64_t total = passed > probes ? passed - probes : 0;
	uint64_t self = total > top->child ? total - top->child : 0;
	uint64_t raw_self = passed > top->raw ? passed - top->raw : 0;

	f->last[top->function] = top->outer;
	if (top->outer)
		f->open[top->outer - 1].inside += total;
	if (f->n) {
		f->open[f->n - 1].child += total;
		f->open[f->n - 1].raw += passed;
	}
	fl_stack_leave(s, top->framed);
	return (struct fl_closed){ total, self, passed, raw_self, top->outer };
}

/* The thread waited for its ring: these ticks are no time of any open call. */
static inline void fl_stack_pause(struct fl_stack *s, uint64_t ticks)
{
	s->probes += ticks;
}

/* A call of `tag->function` ended. NONE: its start was not seen. UNSURE: its start was seen,
 * but two calls could be meant; the end of neither is known. */
static inline enum fl_match fl_stack_exit(struct fl_stack *s, const struct flick_record *r,
					  const struct flick_tag *tag, struct fl_closed *closed)
{
	struct fl_fiber *f = fl_stack_fiber(s);
	const struct fl_open *top = f->n ? &f->open[f->n - 1] : NULL;
	struct fl_closed found;		/* so that the common one stays in registers */
	enum fl_match match;

	if (top && top->sp == r->sp && top->function == tag->function &&
	    !top->doubtful && !tag->jump) {
		*closed = fl_stack_pop(s, f, r->tsc);
		return FL_MATCH_CLOSED;
	}
	match = fl_stack_exit_slow(s, r, tag, &found);
	if (match == FL_MATCH_CLOSED)
		*closed = found;
	return match;
}

#endif
