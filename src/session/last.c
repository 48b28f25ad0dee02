/*
 * last.c - the events of the last seconds, and the calls that were open when they began.
 *
 * Records stay in blocks as they came, oldest first. A block is forgotten when its last
 * record is older than is asked for. Then its entries and exits move the stack of its thread:
 * so that is what was open when the thread's oldest kept block began. A frame that was left
 * by a jump goes when one above it begins; on another stack it stays. Time that is no time of
 * calls (waits for room in the ring, probes of calls that are forgotten) stays with the frame
 * in which it was, and, when that frame goes, with the one above.
 */
#include <stdlib.h>
#include <string.h>

#include "session/last.h"

enum { FAR = 8 << 20 };			/* bytes: another stack */

struct piece {
	struct piece *next;
	uint32_t thread;
	bool is_end;			/* its thread has ended; no records */
	uint64_t paused;		/* of its batch */
	size_t n;
	struct flick_record of[];
};

struct open_call {		/* a call that is open */
	struct flick_record entry;
	uint64_t taken;			/* ticks, from here to the next one's entry, that are
					 * no time of calls */
};

struct open_calls {		/* of a thread: outermost first */
	struct open_call *of;
	size_t n;
};

struct fl_last {
	const struct fl_view *view;
	uint64_t ticks, most;
	struct piece *first, **end;	/* *end is where the next one goes */
	uint64_t bytes, newest;		/* of blocks; the clock */
	uint64_t least_kept;		/* ticks, where there was no room; 0: there was */
	struct open_calls *frames;		/* index: thread */
	uint32_t n_frames;
};

struct fl_last *fl_last_open(const struct fl_view *view, uint64_t ticks, uint64_t bytes)
{
	struct fl_last *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->view = view;
	l->ticks = ticks;
	l->most = bytes;
	l->end = &l->first;
	return l;
}

/* ---- calls that are open ------------------------------------------------------------ */

static const struct fl_overhead *overhead_of(const struct fl_last *l,
					     const struct flick_record *r)
{
	uint8_t provider = l->view->sites[fl_record_probe(r)].provider;

	return &l->view->overhead[l->view->framed >> provider & 1];
}

static void take_away(struct open_calls *f, uint64_t ticks)
{
	if (f->n)
		f->of[f->n - 1].taken += ticks;
}

static void leave_one(const struct fl_last *l, struct open_calls *f)
{
	const struct open_call *left = &f->of[--f->n];

	take_away(f, left->taken + overhead_of(l, &left->entry)->inside);
}

static void leave_below(const struct fl_last *l, struct open_calls *f, uint32_t sp)
{
	while (f->n) {
		uint32_t below = sp - f->of[f->n - 1].entry.sp;

		if (!below || below >= FAR)
			return;
		leave_one(l, f);
	}
}

static int begin_frame(const struct fl_last *l, struct open_calls *f,
		       const struct flick_record *r)
{
	leave_below(l, f, r->sp);
	if (fl_array_room(&f->of, f->n, sizeof(*f->of)))
		return -ENOMEM;
	f->of[f->n++] = (struct open_call){ .entry = *r };
	return 0;
}

/* End the nearest call of the record's function, by its frame; calls inside of it are left. */
static void end_frame(const struct fl_last *l, struct open_calls *f,
		      const struct flick_record *r)
{
	uint32_t function = l->view->function_of[fl_record_probe(r)];

	for (size_t i = f->n; i-- > 0;) {
		const struct flick_record *entry = &f->of[i].entry;

		if (entry->sp != r->sp ||
		    l->view->function_of[fl_record_probe(entry)] != function)
			continue;
		while (f->n > i)
			leave_one(l, f);
		take_away(f, overhead_of(l, r)->pair - overhead_of(l, r)->inside);
		return;
	}
}

static int pass_record(struct fl_last *l, struct open_calls *f, const struct flick_record *r)
{
	uint32_t probe = fl_record_probe(r);

	if (!fl_is_event(r) || probe >= l->view->n_sites)
		return 0;
	if (l->view->sites[probe].kind == FL_ENTRY)
		return begin_frame(l, f, r);
	end_frame(l, f, r);
	return 0;
}

static int pass_over(struct fl_last *l, const struct piece *b)
{
	struct open_calls *f = &l->frames[b->thread];
	int err = 0;

	if (b->is_end)
		f->n = 0;
	for (size_t i = 0; !err && i < b->n; i++) {
		err = pass_record(l, f, &b->of[i]);
		if (i == 0)
			take_away(f, b->paused);
	}
	return err;
}

/* ---- blocks --------------------------------------------------------------------------- */

static size_t bytes_kept(const struct piece *b)
{
	return sizeof(*b) + b->n * sizeof(b->of[0]);
}

static uint64_t age_of(const struct fl_last *l, const struct piece *b)
{
	uint64_t last = b->n ? b->of[b->n - 1].tsc : 0;

	return last < l->newest ? l->newest - last : 0;
}

static int forget_old(struct fl_last *l)
{
	int err = 0;

	while (!err && l->first && l->first->next) {
		struct piece *b = l->first;
		bool is_old = age_of(l, b) > l->ticks;

		if (!is_old && l->bytes <= l->most)
			break;
		if (!is_old && (!l->least_kept || age_of(l, b) < l->least_kept))
			l->least_kept = age_of(l, b) + 1;
		err = pass_over(l, b);
		l->bytes -= bytes_kept(b);
		l->first = b->next;
		free(b);
	}
	return err;
}

static struct piece *add_piece(struct fl_last *l, uint32_t thread, size_t n)
{
	struct piece *b = malloc(sizeof(*b) + n * sizeof(b->of[0]));

	if (!b || fl_array_extend(&l->frames, &l->n_frames, thread + 1, sizeof(*l->frames))) {
		free(b);
		return NULL;
	}
	*b = (struct piece){ .thread = thread, .n = n };
	*l->end = b;
	l->end = &b->next;
	l->bytes += bytes_kept(b);
	return b;
}

int fl_last_put(struct fl_last *l, const struct fl_batch *batch)
{
	struct piece *b;

	if (!batch->n)
		return 0;
	b = add_piece(l, batch->thread, batch->n);
	if (!b)
		return -ENOMEM;
	b->paused = batch->paused;
	memcpy(b->of, batch->records, batch->n * sizeof(b->of[0]));
	if (b->of[b->n - 1].tsc > l->newest)
		l->newest = b->of[b->n - 1].tsc;
	return forget_old(l);
}

int fl_last_thread_end(struct fl_last *l, uint32_t thread)
{
	struct piece *b = add_piece(l, thread, 0);

	if (b)
		b->is_end = true;
	return b ? 0 : -ENOMEM;
}

/* ---- what is kept ------------------------------------------------------------------------ */

static void write_frames(const struct fl_last *l, uint32_t thread, const struct fl_sink *to)
{
	const struct open_calls *f = &l->frames[thread];

	for (size_t i = 0; i < f->n; i++)
		to->feed(to->arg, &(struct fl_batch){
			.thread = thread, .records = &f->of[i].entry, .n = 1,
			.paused = f->of[i].taken });
}

void fl_last_write(const struct fl_last *l, const struct fl_sink *to)
{
	for (uint32_t t = 0; t < l->n_frames; t++)
		write_frames(l, t, to);
	for (const struct piece *b = l->first; b; b = b->next) {
		if (b->is_end)
			to->thread_end(to->arg, b->thread, 0);
		else
			to->feed(to->arg, &(struct fl_batch){
				.thread = b->thread, .records = b->of, .n = b->n,
				.paused = b->paused });
	}
}

uint64_t fl_last_short(const struct fl_last *l)
{
	return l->least_kept;
}

void fl_last_close(struct fl_last *l)
{
	if (!l)
		return;
	for (struct piece *b = l->first, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	for (uint32_t t = 0; t < l->n_frames; t++)
		free(l->frames[t].of);
	free(l->frames);
	free(l);
}
