/*
 * stack.h - the open calls of one thread, found again at their exits.
 *
 * Which call an exit ends is decided in stack.c from the function and the
 * stack pointer of the record; what is inline here is the common case, a call
 * that ends on top of the stack with the stack pointer it began with.
 */
#ifndef FL_ANALYSIS_STACK_H
#define FL_ANALYSIS_STACK_H

#include "base/base.h"

struct fl_open {	/* a call that has not ended */
	uint64_t tsc;
	uint64_t child;			/* ticks in calls it made that ended */
	uint32_t function, sp;
};

/* One machine stack: a thread has one, and one more for each coroutine and
 * alternate signal stack it is seen on. */
struct fl_fiber {
	struct fl_open *open;		/* innermost last */
	uint32_t n, room;
};

struct fl_stack {
	struct fl_fiber *fibers;
	uint32_t n_fibers, current, recycle;
	/* A call whose end will never be known is dropped through here. */
	void (*drop)(void *arg, uint32_t function);
	void *arg;
};

struct fl_closed {	/* a call that ended */
	uint64_t total, self;
};

enum fl_leave {		/* what an exit site is */
	FL_LEAVE_CALL,			/* runs inside the frame it ends */
	FL_LEAVE_JUMP			/* runs when that frame is taken down */
};

enum fl_match { FL_MATCH_NONE, FL_MATCH_CLOSED, FL_MATCH_UNSURE };

#define FL_STACK_DEEP (8u << 20)	/* the most one call moves down */
#define FL_STACK_PENDING 16u		/* stack.c: deferred pops */

int fl_stack_init(struct fl_stack *, void (*drop)(void *, uint32_t), void *arg);
/* Drop every open call: the thread ended. */
void fl_stack_end(struct fl_stack *);
void fl_stack_free(struct fl_stack *);

int fl_stack_enter_slow(struct fl_stack *, const struct fl_open *);
enum fl_match fl_stack_exit_slow(struct fl_stack *, const struct fl_open *,
				 enum fl_leave, struct fl_closed *);

/* A call begins. 0 or -ENOMEM. */
static inline int fl_stack_enter(struct fl_stack *s, const struct fl_open *call)
{
	struct fl_fiber *f = &s->fibers[s->current];

	if (f->n == 0 || f->n == f->room ||
	    f->open[f->n - 1].sp + FL_STACK_PENDING - call->sp > FL_STACK_DEEP)
		return fl_stack_enter_slow(s, call);
	f->open[f->n++] = *call;
	return 0;
}

/* Take the top call off, which ended at `tsc`, and credit its caller. */
static inline void fl_stack_pop(struct fl_fiber *f, uint64_t tsc,
				struct fl_closed *closed)
{
	const struct fl_open *top = &f->open[--f->n];

	/* Two cores' clocks may disagree by less than a call: never negative. */
	closed->total = tsc > top->tsc ? tsc - top->tsc : 0;
	closed->self = closed->total > top->child ? closed->total - top->child : 0;
	if (f->n)
		f->open[f->n - 1].child += closed->total;
}

/* A call of `exit->function` ended. NONE: its start was not seen. UNSURE: its
 * start was seen but cannot be told from another's; it was dropped. */
static inline enum fl_match fl_stack_exit(struct fl_stack *s,
					  const struct fl_open *exit,
					  enum fl_leave leave,
					  struct fl_closed *closed)
{
	struct fl_fiber *f = &s->fibers[s->current];

	if (f->n == 0 || f->open[f->n - 1].sp != exit->sp ||
	    f->open[f->n - 1].function != exit->function || leave == FL_LEAVE_JUMP)
		return fl_stack_exit_slow(s, exit, leave, closed);
	fl_stack_pop(f, exit->tsc, closed);
	return FL_MATCH_CLOSED;
}

#endif
