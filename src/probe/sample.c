/*
 * sample.c - a call that is timed, in the thread that makes it.
 *
 * The profiler of paper 1 section 9, except for which calls it times: the K of a function that
 * begin first in an epoch, or one in so many (pick.c). When K have begun the function's entries
 * count, and when those have ended, however long they take, its exits go off (period.c). What
 * an entry does is data. So each call is counted, few are timed, and which ones does not depend
 * on how long they last.
 *
 * A call is paired here (frames.c), so what reaches the reader is only whole samples, an
 * entry and an exit record side by side. Hides what probes took of a call, and what becomes
 * of one that does not end.
 */
#include "period.h"
#include "pick.h"

/* The time that probes of this thread have taken so far, as far as a timed call of `f` may have
 * it inside: probes of calls that were timed or looked at; and exits of `f`, which are on, and
 * counted, as long as a call of it is timed. */
static uint64_t spent_in(const struct fl_frames *of, const struct fl_function *f)
{
	enum { MOST = 8 };
	const struct fl_slot *slot = fl_channel_own_slot();
	const uint64_t *counters = slot ? (void *)slot->ring[0].data : NULL;
	bool is_bare = fl_table.probes[f->probes].bare;
	uint32_t id = f->probes;
	uint64_t ended = 0;

	for (int i = 0; slot && i < MOST && id != FL_NO_PROBE; i++, id = fl_table.next[id])
		if (!fl_table.switches[id].is_entry && id < slot->ring[0].n_counters)
			ended += fl_count_of(load_relaxed(counters + id));
	return of->spent + ended * fl_table.session->probes_take.counted[is_bare];
}

/* A call was not timed, and to find that out took longer than to count it. */
static void note_look(struct fl_frames *of, const struct fl_probe *p)
{
	of->spent += fl_table.session->probes_take.looked[p->bare];
}

static void leave_call(struct fl_function *f, uint32_t generation)
{
	if (fl_period_leave(f, generation))
		fl_period_stop(f, FL_WAIT_FOR_OPEN);
}

/* In place of the stack pointer, the entry's record says what probes in the call took, and the
 * end's record how many calls it stands for. */
static void put_sample(const struct fl_frames *of, const struct fl_frame *f, uint32_t end,
		       uint64_t ended)
{
	uint64_t spent = spent_in(of, &fl_table.functions[f->function]) - f->spent;
	uint64_t in_it = spent / FL_TICK_PARTS;
	const struct flick_record pair[2] = {
		{ .tsc = f->tsc, .probe = f->probe,
		  .sp = in_it < UINT32_MAX ? (uint32_t)in_it : UINT32_MAX },
		{ .tsc = ended, .probe = end, .sp = f->stands + !f->stands },
	};

	fl_channel_put_pair(pair);
}

/* The call has lasted at least until `tsc`. Nobody tells of a call whose thread has gone. */
static void tell_until(const struct fl_frame *frame, uint64_t tsc)
{
	const struct fl_slot *slot = fl_channel_own_slot();

	if (slot && slot->ring[0].frames && tsc > frame->tsc)
		put_sample(slot->ring[0].frames, frame,
			   fl_typed(FLICK_TYPE_GIVEN_UP, frame->probe), tsc);
}

/* The frame's period has ended, and none since: the call has lasted at least until then. What
 * its thread has left meanwhile, the thread has not told. */
static void tell_given_up(const struct fl_frame *frame)
{
	const struct fl_function *f = &fl_table.functions[frame->function];

	if (fl_period_is_last(f, frame->generation))
		tell_until(frame, load_relaxed(&f->gave_up));
}

/* The call was let go, and is found left: it lasted until its thread was seen last or, if that
 * is later, until it was let go. */
static void tell_let_go(const struct fl_frame *frame)
{
	const struct fl_slot *slot = fl_channel_own_slot();
	uint64_t seen = slot && slot->ring[0].frames ? slot->ring[0].frames->seen : 0;
	uint64_t let_go = load_relaxed(&fl_table.functions[frame->function].let_go);

	if (let_go > frame->tsc)
		tell_until(frame, seen > let_go ? seen : let_go);
}

void fl_sample_lost(const struct fl_frame *frame)
{
	if (fl_sample_is_stale(frame)) {
		tell_given_up(frame);
		return;
	}
	tell_let_go(frame);
	leave_call(&fl_table.functions[frame->function], frame->generation);
}

bool fl_sample_is_stale(const struct fl_frame *frame)
{
	const struct fl_function *f = &fl_table.functions[frame->function];

	return fl_period_number(load_relaxed(&f->period)) != frame->generation;
}

/* ---- a call ------------------------------------------------------------------------ */

static void push(struct fl_frames *of, struct fl_function *f, struct fl_frame *frame)
{
	uint64_t came = frame->tsc;

	frame->spent = spent_in(of, f);
	if (fl_frames_push(of, frame))
		return;
	leave_call(f, frame->generation);
	fl_frames_note(of, frame->function, frame->sp);
	fl_frames_take_out_since(of, came);
}

/* An entry of a function that is off comes here if it was found since, if its thread had loaded
 * where to go before, or if no glue serves it. Or else the last call of a round has not
 * ended. */
static void begin_timed(struct fl_frames *of, const struct fl_probe *p, uint32_t sp)
{
	struct fl_function *f = &fl_table.functions[p->function];
	uint64_t now = fl_arch_ticks();
	struct fl_frame frame = { .tsc = now, .function = p->function, .sp = sp,
				  .probe = fl_probe_id(p), .generation = fl_period_enter(f) };
	bool is_off = load_relaxed(&f->is_off);
	uint32_t n = 0;

	if (!is_off)
		n = __atomic_add_fetch(&f->begun, 1, __ATOMIC_RELAXED);
	if (n == 1 && !load_relaxed(&f->since))
		store_relaxed(&f->since, now);
	of->seen = now;
	if (n && (n <= fl_pick_most() || fl_pick_goes_on(f, now))) {
		frame.stands = fl_pick_stands(f, n, now);
		push(of, f, &frame);
		return;
	}
	if (!is_off || p->reached != FL_REACHED_BY_CALL)
		fl_period_stop(f, FL_WAIT_FOR_OPEN);
	leave_call(f, frame.generation);
	fl_frames_note(of, p->function, sp);
	of->spent += fl_table.session->probes_take.timed[p->bare];
	fl_frames_take_out_since(of, now);
}

/* What a window counts stands for more calls. A window that times calls has too few for that,
 * and counts none. */
static void count_call(const struct fl_probe *p)
{
	if (!load_relaxed(&fl_seldom_window.is_timing) ||
	    !load_relaxed(&fl_table.functions[p->function].is_seldom))
		fl_channel_count(fl_probe_id(p));
}

static void begin(struct fl_frames *of, const struct fl_probe *p, uint32_t sp)
{
	struct fl_function *f = &fl_table.functions[p->function];
	bool is_off = load_relaxed(&f->is_off);

	count_call(p);
	fl_frames_leave(of, fl_probe_id(p), sp);
	if (is_off ? p->reached != FL_REACHED_BY_CALL : fl_pick_takes(f)) {
		begin_timed(of, p, sp);
		return;
	}
	fl_frames_note(of, p->function, sp);
	note_look(of, p);
}

/* A round is stopped when its last call has ended, so that no timed call contains what stopping
 * takes: the switches, and code and data that were not used for long. */
static void end_round(struct fl_function *f, uint64_t now)
{
	if (!load_relaxed(&f->is_off) && load_relaxed(&f->begun) >= fl_pick_most() &&
	    !fl_pick_goes_on(f, now))
		fl_period_stop(f, FL_WAIT_FOR_OPEN);
}

static void end_sample(struct fl_frames *of, struct fl_frame f, uint32_t exit, uint64_t now)
{
	if (fl_sample_is_stale(&f)) {
		tell_given_up(&f);
	} else {
		put_sample(of, &f, fl_typed(FLICK_TYPE_SAMPLED, exit), now);
		leave_call(&fl_table.functions[f.function], f.generation);
	}
	end_round(&fl_table.functions[f.function], now);
	fl_frames_take_out_since(of, now);
}

/* An exit, at `now`; or 0: it is not likely to end a timed call. */
static void end(struct fl_frames *of, uint32_t id, uint32_t sp, uint64_t now)
{
	struct fl_frame frame;
	uint32_t at;

	if (!fl_frames_find(of, id, sp, &at) || !fl_frames_take(of, at, &frame)) {
		fl_channel_count(id);
		note_look(of, &fl_table.probes[id]);
		return;
	}
	now = now ? now : fl_arch_ticks_apart();
	end_sample(of, frame, id, now);
	of->seen = now;
}

static void hit_after(uint32_t id, uint32_t sp, uint64_t now)
{
	struct fl_slot *slot = fl_channel_slot();
	struct fl_frames *of = slot ? slot->ring[0].frames : NULL;

	if (!slot) {
		fl_channel_lose_slotless(id);
	} else if (fl_table.sites[id].kind != FL_ENTRY) {
		end(of, id, sp, now);
	} else {
		count_call(&fl_table.probes[id]);
		fl_frames_leave(of, id, sp);
		fl_frames_note(of, fl_table.probes[id].function, sp);
		note_look(of, &fl_table.probes[id]);
	}
}

void fl_sample_after(uint32_t id, uint32_t sp)
{
	hit_after(id, sp, fl_arch_ticks_apart());
}

void fl_sample_inner(uint32_t id, uint32_t sp)
{
	hit_after(id, sp, 0);
}

void fl_sample_hit(uint32_t id, uint32_t sp)
{
	struct fl_slot *slot = fl_channel_slot();
	struct fl_frames *of = slot ? slot->ring[0].frames : NULL;

	if (!slot)
		fl_channel_lose_slotless(id);
	else if (fl_table.sites[id].kind == FL_ENTRY)
		begin(of, &fl_table.probes[id], sp);
	else
		end(of, id, sp, of->n ? fl_arch_ticks_apart() : 0);
}
