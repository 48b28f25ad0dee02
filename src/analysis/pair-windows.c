/*
 * pair-windows.c - records of windows: each window is a stream of its own.
 *
 * The begin of a call before the window, and its end behind the window, are not seen. Behind
 * an entry comes a record that says where the call returns to, and so may still tell the
 * caller (callers.h); an entry waits for this record. The origin of an open call is kept
 * beside the analyses' marks.
 */
#include "analysis/callers.h"
#include "analysis/run.h"

/* The origin of an open call; 0: not known. */
static uintptr_t *from_of(const struct fl_stream *s, struct fl_fiber *f, uint32_t i)
{
	return (uintptr_t *)&fl_stack_marks(f, i)[s->run->from_mark];
}

/* The call gets its origin; the caller is asked for when rows are made. */
static void describe_from(struct fl_stream *s, struct fl_fiber *f, uint32_t i)
{
	struct flick_call *call = &s->call;

	call->from = (uint32_t)*from_of(s, f, i);
	if (!call->from)
		return;
	call->flags |= fl_callers_tells(s->run->callers, call->from) ? FLICK_CALL_FROM : 0;
	call->from |= FL_ORIGIN;
}

static void drop(void *arg, struct fl_fiber *f, uint32_t i, enum fl_drop how)
{
	struct fl_stream *s = arg;

	fl_describe(s, f, i, how == FL_DROP_OPEN ? FLICK_OPEN : FLICK_UNWOUND);
	describe_from(s, f, i);
	s->call.inside = f->open[i].outer ? 0 : f->open[i].inside;
	fl_tell_left(s, f, i);
}

/* Tell the call that was on top, with so many times its time. */
static void tell_closed(struct fl_stream *s, struct fl_fiber *f,
			const struct fl_closed *closed, enum flick_how how, unsigned times)
{
	fl_describe_closed(s, f, closed, how);
	describe_from(s, f, f->n);
	s->call.total *= times;
	s->call.self *= times;
	s->call.raw_total *= times;
	s->call.raw_self *= times;
	s->run->scales.of[s->call.function].recurses |= closed->nested;
	fl_tell_left(s, f, f->n);
}

/* ---- calls whose callers began before the window -------------------------------------- */

static void note_unseen(struct fl_unseen *u, uint32_t from, uint32_t sp)
{
	if (!u->n || (int32_t)(sp - u->sp) > 0)
		u->sp = sp;
	for (uint32_t i = 0; i < u->n; i++)
		if (u->from[i] == from)
			return;
	if (u->n < FL_UNSEEN_MOST)
		u->from[u->n++] = from;
}

/* The innermost call has begun, and returns to `ret`; 0: not known. A caller below all open
 * calls began before the window. */
static void find_from(struct fl_stream *s, struct fl_fiber *f, uint64_t ret)
{
	struct fl_callers *callers = s->run->callers;
	struct fl_open *open = &f->open[f->n - 1];
	uint32_t from = ret ? fl_callers_origin(callers, open->probe, ret) : 0;

	*from_of(s, f, f->n - 1) = from;
	if (!open->caller && !s->sees_all)
		open->caller = FL_STACK_ORPHAN;
	if (!from)
		return;
	if (fl_has_caller(open))
		fl_callers_learn(callers, from, f->open[open->caller - 1].function);
	else if (open->caller == FL_STACK_ORPHAN && f->n == 1)
		note_unseen(&s->unseen, from, open->sp);
}

/* An exit whose call began before the window. Frames that were open then end from the inside
 * out: so calls without a known caller since the last such exit were made by the call that
 * ends here. This does not hold when other calls are open: one was left by longjmp. */
static void end_unseen(struct fl_stream *s, const struct flick_record *exit,
		       uint32_t function, enum fl_match match)
{
	struct fl_unseen *u = &s->unseen;
	bool sure = match == FL_MATCH_NONE && s->stack.n_fibers == 1 &&
		    !s->stack.fibers[0].n && (int32_t)(exit->sp - u->sp) >= 0;

	for (uint32_t i = 0; sure && i < u->n; i++)
		fl_callers_learn(s->run->callers, u->from[i], function);
	u->n = 0;
}

/* ---- records ---------------------------------------------------------------------------- */

/* Begin the call whose entry waited, if one did. */
static int begin_call(struct fl_stream *s, uint64_t ret)
{
	const struct flick_record entry = s->entry;
	struct fl_fiber *f;
	int err;

	s->entry.tsc = 0;
	if (!entry.tsc)
		return 0;
	err = fl_stack_enter(&s->stack, &entry, &s->run->tags[entry.probe]);
	if (err)
		return err;
	f = fl_stack_fiber(&s->stack);
	find_from(s, f, ret);
	if (!s->run->tells_entered)
		return 0;
	fl_describe(s, f, f->n - 1, FLICK_RUNNING);
	describe_from(s, f, f->n - 1);
	fl_tell_entered(s, f, f->n - 1);
	return 0;
}

/* Since its last record the thread may have been preempted, mostly for much longer than calls
 * in a window last: that is no call's time. */
static void pass_time(struct fl_stream *s, uint64_t now)
{
	enum { SHORT = 1000 };		/* ticks; who is preempted is so for longer */
	const struct fl_view *v = s->run->source;

	if (v->preempted && s->last && now > s->last + SHORT)
		fl_stack_pause(&s->stack,
			       v->preempted(v->owner, s->call.thread, s->last, now));
	s->last = now;
}

static int take(struct fl_stream *s, const struct flick_record *r)
{
	bool is_caller = fl_record_type(r) == FLICK_TYPE_CALLER;
	int err = begin_call(s, is_caller ? r->tsc : 0);
	const struct flick_tag *tag;
	struct fl_closed closed;
	enum fl_match match;

	if (!is_caller)
		pass_time(s, r->tsc);
	if (err || r->probe >= s->run->n_tags)
		return err;
	tag = &s->run->tags[r->probe];
	if (tag->kind == FLICK_TAG_ENTRY)
		s->entry = *r;
	if (tag->kind != FLICK_TAG_EXIT)
		return 0;
	match = fl_stack_exit(&s->stack, r, tag, &closed);
	if (match == FL_MATCH_CLOSED)
		tell_closed(s, fl_stack_fiber(&s->stack), &closed, FLICK_ENDED, 1);
	else
		end_unseen(s, r, tag->function, match);
	return 0;
}

/* The window ended at `end`: open calls had the time until then. On the whole, calls that began
 * before the window and ended in it had as much of it, and were not seen. Where there can have
 * been such calls, the time of each open call counts twice. So the time of calls in windows,
 * divided by how many began there, is the length of a call, if it is shorter than a window. */
static void cut_off(struct fl_stream *s, uint64_t end)
{
	uint64_t probes;		/* there are no exits */

	pass_time(s, end);
	probes = s->stack.probes;
	for (uint32_t i = 0; i < s->stack.n_fibers; i++) {
		struct fl_fiber *f = &s->stack.fibers[i];

		while (f->n) {
			struct fl_closed closed = fl_stack_pop(&s->stack, f, end);

			s->stack.probes = probes;
			tell_closed(s, f, &closed, FLICK_OPEN, s->sees_all ? 1 : 2);
		}
	}
}

/* Where the window ended may not be known. */
static int end_window(struct fl_stream *s, const struct fl_window *next)
{
	uint64_t edge = 2 * s->window.number - 1;
	int err = begin_call(s, 0);

	if (next && next->edges && edge < next->n_edges)
		cut_off(s, next->edges[edge]);
	fl_stack_end(&s->stack);
	s->unseen.n = 0;
	s->sees_all = false;
	return err;
}

static int feed(struct fl_stream *s, const struct fl_batch *b)
{
	const struct fl_window *w = b->window;
	bool is_first = s->window.number == 0;
	int err = fl_stack_extend(&s->stack, s->run->view.n_functions);

	if (!err && w->number != s->window.number) {
		err = end_window(s, w);
		s->window = *w;
		s->call.weight = w->weight;
		s->sees_all = is_first && w->fresh;
	}
	for (size_t i = 0; !err && i < b->n; i++)
		err = take(s, &b->records[i]);
	return err;
}

static int end(struct fl_stream *s)
{
	return end_window(s, NULL);
}

const struct fl_pairing fl_pair_windows = { drop, feed, end };
