/*
 * run.c - one stream of records, any number of analyses.
 *
 * Hides how records become calls: exhaustive streams go through a stack a
 * thread (stack.h), once for all analyses; samples arrive as finished pairs. Of
 * windows each is a stream of its own: what began before it, or ends behind it,
 * is not seen to. What a call returns to may still say who called (callers.h).
 * An analysis sees structures of flick/analysis.h only, a built-in one as much
 * as a third party's.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/callers.h"
#include "analysis/samples.h"
#include "analysis/scales.h"
#include "analysis/stack.h"

struct worker {		/* one analysis and its state */
	const struct flick_analysis *a;
	/* Copies, as they are called for each event; NULL: none, or it failed. */
	int (*enter)(void *, const struct flick_call *, void **, void **);
	int (*leave)(void *, const struct flick_call *, void **, void **);
	void *state;
	uint32_t mark;			/* which of a call's marks is its own */
	int error;			/* its first; it is told nothing more */
};

#define TOPS 32

/* Places that a thread was called from, in this window, by nobody it knows; all
 * by the same innermost call, whose exit will say which. */
struct tops {
	uint32_t place[TOPS], n;
	uint32_t sp;			/* the highest of theirs */
};

struct thread {
	struct fl_run *run;
	uint32_t index;
	struct fl_stack stack;
	bool is_paired;			/* it has a stack */
	struct flick_record half;	/* sampled; tsc 0: none */
	struct fl_samples samples;
	struct flick_call call;		/* what analyses are shown */
	void **marks;			/* of calls without a caller */
	struct fl_window window;	/* number 0: none yet */
	uint64_t last;			/* when its last record was; not in windows */
	bool sees_all;			/* its first call was the thread's first */
	struct tops tops;
};

struct fl_run {
	const struct fl_view *source;
	struct flick_view view;
	struct flick_tag *tags;
	uint32_t n_tags;
	struct fl_jumps jumps;		/* as many as tags */
	struct worker *workers;
	size_t n;
	uint32_t n_marks;		/* of them have calls; 0: nothing is paired */
	bool tells_entered;		/* one is told of calls that begin */
	uint32_t place_mark;		/* one more, where there are windows */
	struct fl_callers *callers;	/* likewise */
	struct fl_scales scales;	/* likewise */
	struct fl_run *merging;		/* into which this one is merged, while it is */
	struct thread **threads;	/* index: thread; NULL: not seen or ended */
	uint32_t n_threads;
	int error;			/* flick's own, from where none can be returned */
};

/* ---- opening ------------------------------------------------------------------ */

static const char *name_of(const struct flick_view *v, uint32_t function)
{
	const struct fl_run *run = v->owner;
	const struct fl_view *s = run->source;
	const char *name = s->name && function < s->n_functions ?
			   s->name(s->owner, function) : NULL;

	return name ? name : "?";
}

static struct flick_tag tag_of(const struct fl_view *v, uint32_t probe)
{
	const struct fl_shm_site *site = &v->sites[probe];
	bool ends = site->kind == FL_EXIT || site->kind == FL_TAIL;

	return (struct flick_tag){
		.function = v->function_of[probe],
		.kind = site->kind == FL_ENTRY ? FLICK_TAG_ENTRY :
			ends ? FLICK_TAG_EXIT : FLICK_TAG_OTHER,
		.jump = site->jump,
		.framed = v->framed >> site->provider & 1,
	};
}

/* Take in what the reader has learnt since. */
static int refresh(struct fl_run *run)
{
	uint32_t from = run->n_tags, n = run->source->n_sites;
	int err = fl_array_extend(&run->jumps.of, &run->jumps.n, n,
				  sizeof(*run->jumps.of));

	if (!err)
		err = fl_array_extend(&run->tags, &run->n_tags, n,
				      sizeof(*run->tags));
	for (uint32_t i = from; !err && i < run->n_tags; i++)
		run->tags[i] = tag_of(run->source, i);
	run->view.tags = run->tags;
	run->view.n_tags = run->n_tags;
	run->view.n_functions = run->source->n_functions;
	run->view.ns_per_tick = run->source->ns_per_tick;
	return err;
}

static bool has_calls(const struct flick_analysis *a)
{
	return a->enter || a->leave || a->stray;
}

static int open_workers(struct fl_run *run, const struct fl_use *uses, size_t n)
{
	int err = refresh(run);

	for (size_t i = 0; !err && i < n; i++) {
		struct worker *w = &run->workers[i];

		w->a = uses[i].analysis;
		w->enter = w->a->enter;
		w->leave = w->a->leave;
		w->mark = run->n_marks;
		run->n_marks += has_calls(w->a);
		run->tells_entered |= w->a->enter != NULL;
		err = w->a->open(&w->state, &run->view, uses[i].arg);
		run->n += !err;
	}
	return err;
}

static uint32_t caller_of(const struct flick_view *v, uint32_t from)
{
	const struct fl_run *run = v->owner;

	return run->callers ? fl_callers_of(run->callers, from & ~FL_PLACE) :
	       FLICK_NO_FUNCTION;
}

/* Each open call keeps the place it was made from beside the analyses' marks. */
static int open_callers(struct fl_run *run)
{
	if (!run->n_marks)
		return 0;
	run->place_mark = run->n_marks++;
	return fl_callers_open(&run->callers, run->source);
}

int fl_run_open(struct fl_run **out, const struct fl_use *uses, size_t n,
		const struct fl_view *source)
{
	struct fl_run *run = calloc(1, sizeof(*run));
	int err = -ENOMEM;

	if (!run)
		return err;
	run->source = source;
	run->view = (struct flick_view){
		.size = sizeof(run->view), .name = name_of, .owner = run,
		.flags = (source->sampled ? FLICK_VIEW_SAMPLED : 0) |
			 (source->windows ? FLICK_VIEW_WINDOWS : 0),
		.weight = FLICK_WEIGHT_ONE,
		.caller = caller_of,
	};
	run->workers = calloc(n + 1, sizeof(*run->workers));
	if (run->workers)
		err = open_workers(run, uses, n);
	if (!err && source->windows)
		err = open_callers(run);
	if (err) {
		fl_run_close(run);
		return err;
	}
	*out = run;
	return 0;
}

/* ---- a call, to all ------------------------------------------------------------- */

/* An analysis that fails ends; the others go on. */
static void note(struct worker *w, int err)
{
	if (!err || w->error)
		return;
	w->error = err;
	w->enter = NULL;
	w->leave = NULL;
}

/* What the loop of all events runs, which has some twenty cycles for each: none may
 * be a call but an analysis's own. The loop of windows runs them, too; `windows` is
 * known where they are built. */
#define IN_LOOP	static inline __attribute__((always_inline))

static void tell_entered(struct fl_run *run, const struct flick_call *call,
			 void **marks, void **callers)
{
	for (size_t i = 0; i < run->n; i++) {
		struct worker *w = &run->workers[i];

		if (w->enter)
			note(w, w->enter(w->state, call, &marks[w->mark],
					 &callers[w->mark]));
	}
}

IN_LOOP void tell_left(struct fl_run *run, const struct flick_call *call,
		       void **marks, void **callers)
{
	struct worker *end = run->workers + run->n;

	for (struct worker *w = run->workers; w < end; w++) {
		int err = w->leave ? w->leave(w->state, call, &marks[w->mark],
					      &callers[w->mark]) : 0;

		if (__builtin_expect(err, 0))
			note(w, err);
	}
}

IN_LOOP bool has_caller(const struct fl_open *call)
{
	return call->caller && call->caller != FL_STACK_ORPHAN;
}

IN_LOOP void **marks_of_caller(struct thread *t, struct fl_fiber *f,
			      const struct fl_open *call)
{
	return has_caller(call) ? fl_stack_marks(f, call->caller - 1) : t->marks;
}

/* The place that an open call was made from; 0: not known. */
static uint32_t place_of(const struct thread *t, struct fl_fiber *f, uint32_t i)
{
	return (uint32_t)(uintptr_t)fl_stack_marks(f, i)[t->run->place_mark];
}

/* Of windows: who called is asked for when rows are made. */
static void describe_place(struct thread *t, struct fl_fiber *f, uint32_t i)
{
	struct flick_call *call = &t->call;

	call->from = place_of(t, f, i);
	if (!call->from)
		return;
	call->flags |= fl_callers_tells(t->run->callers, call->from) ? FLICK_CALL_FROM : 0;
	call->from |= FL_PLACE;
}

/* Call i of a fiber, into what its thread's analyses are shown; what has no line
 * here is the same for all of a batch. */
IN_LOOP void describe(struct thread *t, struct fl_fiber *f, uint32_t i, enum flick_how how,
		      bool windows)
{
	const struct fl_open *open = &f->open[i];
	struct flick_call *call = &t->call;

	call->function = open->function;
	call->caller = has_caller(open) ? f->open[open->caller - 1].function :
		       FLICK_NO_FUNCTION;
	call->flags = open->caller == FL_STACK_ORPHAN ? FLICK_CALL_ORPHAN : 0;
	call->how = how;
	call->begin = open->tsc;
	call->total = call->raw_total = 0;
	call->self = call->raw_self = 0;
	call->inside = 0;
	call->before = open->probes;
	if (windows)
		describe_place(t, f, i);
}

static void drop(void *arg, struct fl_fiber *f, uint32_t i, enum fl_drop how)
{
	struct thread *t = arg;
	const struct fl_open *open = &f->open[i];

	describe(t, f, i, how == FL_DROP_OPEN ? FLICK_OPEN : FLICK_UNWOUND, t->run->callers);
	t->call.inside = open->outer ? 0 : open->inside;
	tell_left(t->run, &t->call, fl_stack_marks(f, i), marks_of_caller(t, f, open));
}

static void note_top(struct tops *tops, uint32_t place, uint32_t sp)
{
	if (!tops->n || (int32_t)(sp - tops->sp) > 0)
		tops->sp = sp;
	for (uint32_t i = 0; i < tops->n; i++)
		if (tops->place[i] == place)
			return;
	if (tops->n < TOPS)
		tops->place[tops->n++] = place;
}

/* In a window: what is below all open calls began before it. */
static void place_call(struct thread *t, struct fl_fiber *f, uint64_t ret)
{
	struct fl_open *open = &f->open[f->n - 1];
	uint32_t place = ret ? fl_callers_place(t->run->callers, open->probe, ret) : 0;

	fl_stack_marks(f, f->n - 1)[t->run->place_mark] = (void *)(uintptr_t)place;
	if (!open->caller && !t->sees_all)
		open->caller = FL_STACK_ORPHAN;
	if (!place)
		return;
	if (has_caller(open))
		fl_callers_learn(t->run->callers, place, f->open[open->caller - 1].function);
	else if (open->caller == FL_STACK_ORPHAN && f->n == 1)
		note_top(&t->tops, place, open->sp);
}

/* In a window: `ret` is where it returns to, if that was recorded; else 0. */
IN_LOOP int begin_call(struct thread *t, const struct flick_record *r,
		       const struct flick_tag *tag, bool windows, uint64_t ret)
{
	struct fl_fiber *f;
	int err = fl_stack_enter(&t->stack, r, tag);

	if (err)
		return err;
	f = fl_stack_fiber(&t->stack);
	if (windows)
		place_call(t, f, ret);
	if (!t->run->tells_entered)
		return 0;
	describe(t, f, f->n - 1, FLICK_RUNNING, windows);
	tell_entered(t->run, &t->call, fl_stack_marks(f, f->n - 1),
		     marks_of_caller(t, f, &f->open[f->n - 1]));
	return 0;
}

/* The call that was on top: its times, so many times. */
IN_LOOP void close_call(struct thread *t, struct fl_fiber *f, const struct fl_closed *closed,
			enum flick_how how, unsigned times, bool windows)
{
	describe(t, f, f->n, how, windows);
	t->call.total = times * closed->total;
	t->call.self = times * closed->self;
	t->call.raw_total = times * closed->raw_total;
	t->call.raw_self = times * closed->raw_self;
	t->call.flags |= closed->nested ? FLICK_CALL_NESTED : 0;
	t->call.flags |= how == FLICK_OPEN && !windows ? FLICK_CALL_ALIVE : 0;
	if (windows && closed->nested)
		t->run->scales.recurses[t->call.function] = 1;
	tell_left(t->run, &t->call, fl_stack_marks(f, f->n),
		  marks_of_caller(t, f, &f->open[f->n]));
}

/* A window ended at `end`, and what is open had this much of it. As much of it, on the
 * whole, had calls that began before it and ended in it, which were not seen: where there
 * can have been such, each stands for two. So what calls have of windows, divided by how
 * many began there, is how long one is, unless it is longer than a window. Of a thread
 * that is recorded as a whole what is open had all of its time. */
static void cut_off(struct thread *t, uint64_t end, unsigned times, bool windows)
{
	const uint64_t probes = t->stack.probes;	/* there are no exits */

	for (uint32_t i = 0; i < t->stack.n_fibers; i++) {
		struct fl_fiber *f = &t->stack.fibers[i];

		while (f->n) {
			struct fl_closed closed;

			if (!windows && f->open[f->n - 1].doubtful) {
				fl_stack_drop(&t->stack, f);
				continue;
			}
			closed = fl_stack_pop(&t->stack, f, end);
			t->stack.probes = probes;
			close_call(t, f, &closed, FLICK_OPEN, times, windows);
		}
	}
}

static void tell_stray(struct thread *t, uint32_t function)
{
	for (size_t i = 0; i < t->run->n; i++) {
		struct worker *w = &t->run->workers[i];

		if (w->a->stray && !w->error)
			note(w, w->a->stray(w->state, t->index, function,
						 &t->marks[w->mark]));
	}
}

/* An exit whose call began before the window: frames that were open then end from
 * the inside out, so what was called by nobody known since the last such exit was
 * called by this one. Not when other calls are open: one was left by longjmp. */
static void end_unseen(struct thread *t, const struct flick_record *exit,
		       uint32_t function, enum fl_match match)
{
	struct tops *tops = &t->tops;
	bool sure = match == FL_MATCH_NONE && t->stack.n_fibers == 1 &&
		    !t->stack.fibers[0].n && (int32_t)(exit->sp - tops->sp) >= 0;

	for (uint32_t i = 0; sure && i < tops->n; i++)
		fl_callers_learn(t->run->callers, tops->place[i], function);
	tops->n = 0;
}

IN_LOOP void end_call(struct thread *t, const struct flick_record *r,
		      const struct flick_tag *tag, bool windows)
{
	struct fl_closed closed;
	enum fl_match match = fl_stack_exit(&t->stack, r, tag, &closed);

	if (match == FL_MATCH_CLOSED)
		close_call(t, fl_stack_fiber(&t->stack), &closed, FLICK_ENDED, 1, windows);
	else if (windows)
		end_unseen(t, r, tag->function, match);
	else if (match == FL_MATCH_NONE)
		tell_stray(t, tag->function);
}

/* ---- records -------------------------------------------------------------------- */

static int pair_calls(struct fl_run *run, struct thread *t, const struct fl_batch *b)
{
	const struct flick_tag *tags = run->tags;
	uint32_t n_tags = run->n_tags;
	int err = fl_stack_extend(&t->stack, run->view.n_functions);

	for (size_t i = 0; !err && i < b->n; i++) {
		const struct flick_record *r = &b->records[i];
		const struct flick_tag *tag;

		if (r->probe >= n_tags)
			continue;		/* not a probe of this session */
		tag = &tags[r->probe];
		if (tag->kind == FLICK_TAG_ENTRY)
			err = begin_call(t, r, tag, false, 0);
		else if (tag->kind == FLICK_TAG_EXIT)
			end_call(t, r, tag, false);
		if (i == 0 && b->paused)
			fl_stack_pause(&t->stack, b->paused);
	}
	t->last = b->n ? b->records[b->n - 1].tsc : t->last;
	return err;
}

/* The entry that waited for where it returns to. */
static int begin_half(struct thread *t, uint64_t ret)
{
	struct flick_record half = t->half;

	t->half.tsc = 0;
	return half.tsc ? begin_call(t, &half, &t->run->tags[half.probe], true, ret) : 0;
}

/* An entry waits for the record behind it, which may come in the next batch. */
static int pair_in_window(struct fl_run *run, struct thread *t, const struct flick_record *r)
{
	const struct flick_tag *tag;
	int err = begin_half(t, r->probe == FL_PROBE_CALLER ? r->tsc : 0);

	if (err || r->probe >= run->n_tags)
		return err;
	tag = &run->tags[r->probe];
	if (tag->kind == FLICK_TAG_ENTRY)
		t->half = *r;
	else if (tag->kind == FLICK_TAG_EXIT)
		end_call(t, r, tag, true);
	return 0;
}

/* Of a trace its last record says when. A thread that is seen to have ended before the
 * target was may be one that ended with it. */
static uint64_t end_of(const struct thread *t)
{
	const struct fl_view *source = t->run->source;

	return source->ended ? source->ended : source->is_now ? fl_arch_ticks() : t->last;
}

/* What is open was not seen to end; what is called from now on, by whom. `next`: a later
 * window; NULL: nothing more comes. */
static int end_window(struct thread *t, const struct fl_window *next)
{
	uint64_t edge = 2 * t->window.number - 1;
	int err = begin_half(t, 0);

	if (next && next->edges && edge < next->n_edges)
		cut_off(t, next->edges[edge], t->sees_all ? 1 : 2, true);
	if (!t->run->source->windows && t->last)
		cut_off(t, end_of(t), 1, false);
	fl_stack_end(&t->stack);
	t->tops.n = 0;
	t->sees_all = false;
	return err;
}

static int pair_windows(struct fl_run *run, struct thread *t, const struct fl_batch *b)
{
	bool is_first = t->window.number == 0;
	int err = fl_stack_extend(&t->stack, run->view.n_functions);

	if (!err && b->window->number != t->window.number) {
		err = end_window(t, b->window);
		t->window = *b->window;
		t->call.weight = b->window->weight;
		t->sees_all = is_first && b->window->fresh;
	}
	for (size_t i = 0; !err && i < b->n; i++)
		err = pair_in_window(run, t, &b->records[i]);
	return err;
}

/* Without what probes took of it: its own, and those of calls that were timed inside; nor
 * what its thread was preempted. */
static uint64_t length_of(const struct fl_run *run, struct thread *t, uint64_t end)
{
	const struct fl_view *v = run->source;
	const struct fl_overhead *own = &run->source->overhead[run->tags[t->half.probe].framed];
	uint64_t begin = t->half.tsc + own->inside +
			 fl_samples_end(&t->samples, t->half.tsc, own->pair);

	if (v->preempted)
		begin += v->preempted(v->owner, t->index, t->half.tsc, end);
	return end > begin ? end - begin : 0;
}

/* What it stands for comes in place of an exit's stack pointer. */
static uint32_t weight_of(const struct flick_record *exit)
{
	const uint32_t most = UINT32_MAX / FLICK_WEIGHT_ONE;
	uint32_t stands = exit->sp ? exit->sp : 1;

	return (stands < most ? stands : most) * FLICK_WEIGHT_ONE;
}

static void finish_sample(struct fl_run *run, struct thread *t,
			  const struct flick_record *exit)
{
	struct flick_call call = {
		.size = sizeof(call), .thread = t->index,
		.function = run->tags[t->half.probe].function,
		.caller = FLICK_NO_FUNCTION, .flags = FLICK_CALL_SAMPLED,
		.begin = t->half.tsc, .weight = weight_of(exit),
	};
	bool is_whole = run->tags[exit->probe].function == call.function;
	uint64_t total = is_whole ? length_of(run, t, exit->tsc) : 0;

	t->half.tsc = 0;
	if (!is_whole)
		return;				/* its other half was lost */
	for (size_t i = 0; i < run->n; i++) {
		struct worker *w = &run->workers[i];
		void *mark = NULL;

		call.how = FLICK_RUNNING;
		call.total = call.raw_total = 0;
		if (w->enter)
			note(w, w->enter(w->state, &call, &mark, &t->marks[w->mark]));
		call.how = FLICK_ENDED;
		call.total = total;
		call.raw_total = exit->tsc > call.begin ? exit->tsc - call.begin : 0;
		if (w->leave)
			note(w, w->leave(w->state, &call, &mark, &t->marks[w->mark]));
	}
}

int fl_run_open_call(struct fl_run *run, uint32_t probe, uint64_t begun, uint64_t ended,
		     uint32_t thread)
{
	struct flick_call call = {
		.size = sizeof(call), .thread = thread, .caller = FLICK_NO_FUNCTION,
		.flags = FLICK_CALL_SAMPLED | FLICK_CALL_ALIVE, .begin = begun,
		.weight = FLICK_WEIGHT_ONE,
		.how = FLICK_OPEN, .total = ended - begun, .raw_total = ended - begun,
	};
	void *mark = NULL, *root = NULL;
	int err = refresh(run);

	if (err || probe >= run->n_tags || begun >= ended ||
	    run->tags[probe].kind != FLICK_TAG_ENTRY)
		return err;
	call.function = run->tags[probe].function;
	for (size_t i = 0; i < run->n; i++) {
		struct worker *w = &run->workers[i];

		if (w->leave)
			note(w, w->leave(w->state, &call, &mark, &root));
	}
	return run->error;
}

/* A pair may come in two batches, so its first half waits by thread. */
static void pair_samples(struct fl_run *run, struct thread *t, const struct fl_batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct flick_record *r = &b->records[i];

		if (r->probe >= run->n_tags)
			continue;
		if (run->tags[r->probe].kind == FLICK_TAG_ENTRY)
			t->half = *r;
		else if (t->half.tsc)
			finish_sample(run, t, r);
	}
}

/* ---- threads ----------------------------------------------------------------------- */

static void free_thread(struct thread *t)
{
	if (t->is_paired)
		fl_stack_free(&t->stack);
	free(t->marks);
	free(t);
}

static struct thread *make_thread(struct fl_run *run, uint32_t index)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->run = run;
	t->index = index;
	t->call = (struct flick_call){ .size = sizeof(t->call), .thread = index,
				       .weight = FLICK_WEIGHT_ONE };
	t->marks = calloc(run->n_marks + 1, sizeof(*t->marks));
	if (t->marks && run->n_marks && !run->source->sampled)
		t->is_paired = !fl_stack_init(&t->stack, run->n_marks, drop, t);
	else if (t->marks)
		return t;
	if (t->is_paired) {
		memcpy(t->stack.overhead, run->source->overhead, sizeof(t->stack.overhead));
		t->stack.jumps = &run->jumps;
		return t;
	}
	free_thread(t);
	return NULL;
}

static struct thread *thread_of(struct fl_run *run, uint32_t index)
{
	if (fl_array_extend(&run->threads, &run->n_threads, index + 1,
			    sizeof(struct thread *)))
		return NULL;
	if (!run->threads[index])
		run->threads[index] = make_thread(run, index);
	return run->threads[index];
}

int fl_run_feed(struct fl_run *run, const struct fl_batch *b)
{
	int err = refresh(run);
	struct thread *t = err ? NULL : thread_of(run, b->thread);

	if (!t)
		return err ? err : -ENOMEM;
	run->view.weight = b->window ? b->window->weight : FLICK_WEIGHT_ONE;
	for (size_t i = 0; i < run->n; i++) {
		struct worker *w = &run->workers[i];

		if (w->a->batch && !w->error)
			note(w, w->a->batch(w->state, b->thread, b->records, b->n));
	}
	if (b->window)
		err = fl_scales_see(&run->scales, &run->view, b);
	if (!err && t->is_paired && b->window)
		err = pair_windows(run, t, b);
	else if (t->is_paired)
		err = pair_calls(run, t, b);
	else if (run->n_marks)
		pair_samples(run, t, b);
	if (err && !run->error)
		run->error = err;
	return run->error;
}

int fl_run_count(struct fl_run *run, uint32_t thread, uint32_t probe, uint64_t n)
{
	int err = refresh(run);

	if (err || probe >= run->n_tags || run->tags[probe].kind != FLICK_TAG_ENTRY)
		return err;
	if (run->source->windows || run->source->sampled)
		return fl_scales_count(&run->scales, run->tags[probe].function, n);
	for (size_t i = 0; i < run->n; i++) {
		struct worker *w = &run->workers[i];

		if (w->a->count && !w->error)
			note(w, w->a->count(w->state, thread, run->tags[probe].function,
					      n));
	}
	return run->error;
}

int fl_run_estimate(struct fl_run *run, uint32_t function, uint64_t calls, uint64_t counted)
{
	return fl_scales_estimate(&run->scales, function, calls, counted);
}

int fl_run_thread_end(struct fl_run *run, uint32_t thread)
{
	struct thread *t = thread_of(run, thread);

	if (!t)
		return -ENOMEM;
	if (t->is_paired)
		end_window(t, NULL);
	for (size_t i = 0; i < run->n; i++) {
		struct worker *w = &run->workers[i];

		if (w->a->thread_end && !w->error)
			note(w, w->a->thread_end(w->state, thread, &t->marks[w->mark]));
	}
	free_thread(t);
	run->threads[thread] = NULL;
	return run->error;
}

int fl_run_end(struct fl_run *run)
{
	for (uint32_t i = 0; i < run->n_threads; i++)
		if (run->threads[i])
			fl_run_thread_end(run, i);
	return run->error;
}

/* ---- results -------------------------------------------------------------------------- */

bool fl_run_recurses(const struct flick_view *view, uint32_t function)
{
	const struct fl_scales *s = &((const struct fl_run *)view->owner)->scales;

	return function < s->n_recurses && s->recurses[function];
}

/* Places are numbered by each run for itself. */
uint32_t fl_run_renamed(const struct flick_view *from, uint32_t function)
{
	const struct fl_run *run = from->owner;

	if (!fl_is_place(function) || !run->merging)
		return function;
	return fl_callers_adopt(run->merging->callers, run->callers, function & ~FL_PLACE) |
	       FL_PLACE;
}

static void merge_worker(struct worker *into, const struct worker *from)
{
	note(into, from->error);
	if (!into->error)
		note(into, into->a->merge(into->state, from->state));
}

int fl_run_merge(struct fl_run *into, struct fl_run *from)
{
	int err = refresh(into);

	for (size_t i = 0; i < into->n; i++)
		if (!into->workers[i].a->merge)
			return FLE_OPTION;
	if (!err)
		err = refresh(from);
	if (!err)
		err = fl_run_end(from);
	from->merging = into->callers && from->callers ? into : NULL;
	for (size_t i = 0; !err && i < into->n; i++)
		merge_worker(&into->workers[i], &from->workers[i]);
	from->merging = NULL;
	if (!err)
		err = fl_scales_merge(&into->scales, &from->scales);
	return err ? err : into->error;
}

static bool is_good_column(const struct flick_column *c)
{
	const char *name = c->name;

	if (!name || !*name || strlen(name) > 48 || c->type > FLICK_COL_PARENT)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

bool fl_rows_are_good(const struct flick_rows *r)
{
	if (!r->columns || !r->n_columns || r->n_columns > FL_MAX_COLUMNS ||
	    (r->n_rows && !r->cells))
		return false;
	for (size_t i = 0; i < r->n_columns; i++) {
		if (!is_good_column(&r->columns[i]))
			return false;
		for (size_t j = 0; j < i; j++)
			if (!strcasecmp(r->columns[i].name, r->columns[j].name))
				return false;
	}
	return true;
}

int fl_run_rows(struct fl_run *run, size_t i, struct flick_rows *rows)
{
	struct worker *w = &run->workers[i];
	int err = refresh(run);

	*rows = (struct flick_rows){ 0 };
	if (err || run->error || w->error)
		return err ? err : run->error ? run->error : w->error;
	if (run->source->windows || run->source->sampled)
		err = fl_scales_make(&run->scales, &run->view);
	if (!err)
		err = w->a->rows(w->state, rows);
	if (!err && fl_rows_are_good(rows))
		return 0;
	if (!err)
		free(rows->cells);		/* else its own still */
	*rows = (struct flick_rows){ 0 };
	return err ? err : -EBADMSG;
}

void fl_run_close(struct fl_run *run)
{
	if (!run)
		return;
	fl_run_end(run);
	for (size_t i = 0; i < run->n; i++)
		run->workers[i].a->close(run->workers[i].state);
	free(run->threads);
	free(run->workers);
	fl_callers_close(run->callers);
	fl_scales_free(&run->scales);
	free(run->jumps.of);
	free(run->tags);
	free(run);
}
