/*
 * pair.c - every record of a thread, from its first to its last: stack.h pairs them.
 */
#include "analysis/run.h"

static void drop(void *arg, struct fl_fiber *f, uint32_t i, enum fl_drop how)
{
	struct fl_stream *s = arg;

	fl_describe(s, f, i, how == FL_DROP_OPEN ? FLICK_OPEN : FLICK_UNWOUND);
	if (!f->open[i].outer && s->is_in_part)
		s->call.inside = f->open[i].inside;
	fl_tell_left(s, f, i);
}

static void tell_stray(struct fl_stream *s, uint32_t function)
{
	for (size_t i = 0; i < s->run->n; i++) {
		struct fl_analyst *w = &s->run->workers[i];

		if (w->a->stray && !w->error)
			fl_analyst_note(w, w->a->stray(w->state, s->call.thread, function,
						      &s->marks[w->mark]));
	}
}

FL_IN_LOOP int begin_call(struct fl_stream *s, const struct flick_record *r,
			  const struct flick_tag *tag)
{
	int err = fl_stack_enter(&s->stack, r, tag);
	struct fl_fiber *f;

	if (err || !s->run->tells_entered)
		return err;
	f = fl_stack_fiber(&s->stack);
	fl_describe(s, f, f->n - 1, FLICK_RUNNING);
	fl_tell_entered(s, f, f->n - 1);
	return 0;
}

FL_IN_LOOP void end_call(struct fl_stream *s, const struct flick_record *r,
			 const struct flick_tag *tag)
{
	struct fl_closed closed;
	enum fl_match match = fl_stack_exit(&s->stack, r, tag, &closed);

	if (match == FL_MATCH_CLOSED) {
		struct fl_fiber *f = fl_stack_fiber(&s->stack);

		fl_describe_closed(s, f, &closed, FLICK_ENDED);
		fl_tell_left(s, f, f->n);
	} else if (match == FL_MATCH_NONE) {
		tell_stray(s, tag->function);
	}
}

static int feed_part(struct fl_stream *s, const struct fl_batch *b, size_t from, size_t upto)
{
	const struct flick_tag *tags = s->run->tags;
	uint32_t n_tags = s->run->n_tags;
	int err = 0;

	for (size_t i = from; !err && i < upto; i++) {
		const struct flick_record *r = &b->records[i];
		const struct flick_tag *tag;

		if (r->probe >= n_tags)
			continue;		/* not a probe of this session */
		if (b->skipped)
			fl_stack_pause(&s->stack, b->skipped[i]);
		tag = &tags[r->probe];
		if (tag->kind == FLICK_TAG_ENTRY)
			err = begin_call(s, r, tag);
		else if (tag->kind == FLICK_TAG_EXIT)
			end_call(s, r, tag);
		else if (tag->kind == FLICK_TAG_POINT)
			err = fl_run_point(s->run, tag->function);
		if (i == 0 && b->paused && !s->run->source->has_pauses)
			fl_stack_pause(&s->stack, b->paused);
	}
	return err;
}

/* Probes went off at this time: open calls of their functions may have ended since. */
static void forget_next(struct fl_stream *s)
{
	const struct fl_left_off *l = &s->run->left_off[s->n_left_off++];

	fl_stack_forget(&s->stack, l->at, l->of, l->n);
}

/* The first record of `b`, behind `from`, that is not before `at`. */
static size_t find_record(const struct fl_batch *b, size_t from, uint64_t at)
{
	while (from < b->n && b->records[from].tsc < at)
		from++;
	return from;
}

static void begin_part(struct fl_stream *s)
{
	s->is_in_part = true;
	fl_stack_begin_part(&s->stack);
}

static int feed(struct fl_stream *s, const struct fl_batch *b)
{
	const uint64_t begin = s->run->source->from;
	int err = fl_stack_extend(&s->stack, s->run->view.n_functions);
	size_t from = 0;

	if (!err && !s->is_in_part) {
		from = find_record(b, 0, begin);
		err = feed_part(s, b, 0, from);
		if (from < b->n)
			begin_part(s);
	}
	while (!err && s->n_left_off < s->run->n_left_off) {
		size_t upto = find_record(b, from, s->run->left_off[s->n_left_off].at);

		if (upto == b->n)
			break;
		err = feed_part(s, b, from, upto);
		forget_next(s);
		from = upto;
	}
	if (!err)
		err = feed_part(s, b, from, b->n);
	s->last = b->n ? b->records[b->n - 1].tsc : s->last;
	return err;
}

/* When the thread ended: when it was seen to live last, or made its last record, as its end is
 * seen some time later. Of a thread whose end is seen when the target had ended, with that. */
static uint64_t end_of(const struct fl_stream *s)
{
	const struct fl_view *source = s->run->source;

	return source->ended ? source->ended : s->alive > s->last ? s->alive : s->last;
}

/* Open calls had their time until the thread ended, but for those that a newer call proves to
 * have been left. They have no exits, so no time of an exit's probe is taken out. Those that go
 * on behind the end of a part have none. */
static int end(struct fl_stream *s)
{
	const bool is_told = s->last && !s->run->source->is_cut;
	const uint64_t probes = s->stack.probes, at = is_told ? end_of(s) : 0;

	while (s->n_left_off < s->run->n_left_off)
		forget_next(s);
	fl_stack_settle(&s->stack);
	for (uint32_t i = 0; at && i < s->stack.n_fibers; i++) {
		struct fl_fiber *f = &s->stack.fibers[i];

		while (f->n) {
			struct fl_closed closed;

			if (f->open[f->n - 1].doubtful) {
				fl_stack_drop(&s->stack, f);
				continue;
			}
			closed = fl_stack_pop(&s->stack, f, at);
			s->stack.probes = probes;
			fl_describe_closed(s, f, &closed, FLICK_OPEN);
			s->call.flags |= FLICK_CALL_ALIVE;
			fl_tell_left(s, f, f->n);
		}
	}
	fl_stack_end(&s->stack);
	return 0;
}

const struct fl_pairing fl_pair_all = { drop, feed, end };
