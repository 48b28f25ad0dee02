/*
 * sample.c - the profiler of paper 1 section 9, but for which calls it times: the K of a
 * function that begin first in an epoch, or one in so many. When K have begun its entries
 * count, and when those have ended, however long they take, its exits go off. flick's own
 * thread has calls timed again, each epoch of another group of functions: what a timed call
 * takes is time of the calls around it, and of functions of some ns it is ten times as much
 * as they do. What an entry does is data. So each call is counted, few are timed, and which
 * does not depend on how long they last.
 *
 * A function that is called too often for that is seldom, which the reader decides
 * (cli/budget.c): it is off but for short windows, and counted in them. Other windows, one
 * in four at most, are for timing: what is called there is not counted, as what windows
 * count stands for more, and to time calls takes most of a short one.
 *
 * A call is paired inside the thread that makes it (frames.c), so what reaches the reader
 * is only whole samples, an entry and an exit record side by side.
 *
 * PROTOCOL	of a function
 *	timed	entries SAMPLE, exits on	K have begun, and one has
 *						ended or begins: is_off = 1	-> after
 *	after	entries AFTER, exits on		none is open: a new period	-> off
 *						an epoch of its group begins	-> timed
 *						no credit is left for exits,
 *						or its window is over: a new
 *						period				-> off
 *	off	entries COUNT, exits off	an epoch of its group begins	-> timed
 *	period	its number, and how many timed calls are open, in one word
 * INVARIANT  While a thread has a frame of a function's period it sees all of that
 *	function's entries and exits.
 * WHY	A frame counts as open before `is_off` is looked at, and `is_off` is set before the
 *	period ends: so who finds a new period and pushes no frame finds it off, (E) of (F).
 *	A period ends only while none is open, or what is open is given up: frames of older
 *	periods are never matched. What no longer has a thread is open until then.
 * FAILURE	A handler that siglongjmp() leaves, or an end of the thread, between the count
 *	and the frame: exits stay on as long as there is credit for them.
 *
 * PROTOCOL	of windows
 *	reader					flick's thread, now and then
 *	sites[].wanted = who is FL_SELDOM	load wish	(C)
 *	store_release wish + 1	(A)		mark functions; what is seldom goes on
 *	hands[] = who tells the time		opened = the clocks (edge.c), of these hands
 *	load heeded	(B)			let window_us pass
 *	equal: counts, `passed` and `open`	closed = the clocks; what is seldom goes off
 *	  are from now on of these windows	passed, open, ticks += ...
 *						store_release processes[].heeded (channel)
 *						store_release heeded	(D)
 * INVARIANT  Windows stand for the time between them: calls x all ticks / ticks in windows.
 * WHY	Time is one of the hands. When windows begin, and how long they last,
 *	does not depend on what the program does, and epochs vary, so that none is in
 *	step with it. Functions go on and off in the same order, so each is on for about
 *	as long, which is from the middle of the one to that of the other. A window that
 *	cannot be closed, as modules are being unloaded, is open and counts as that. What
 *	recording takes in a window is the reader's to take out. What is armed between
 *	windows, as its library is back, is off until the next one.
 *	Counts of a process that has not heeded the wish stand for themselves: the reader
 *	asks for them when one heeds, before it takes any for those of windows.
 * FAILURE  Killed in a window: it is not in `open`; at most one is lost.
 */
#include "edge.h"
#include "goal.h"
#include "os/os.h"
#include "pick.h"
#include "switch.h"

/* Index + 1 of functions that switched off, and of those that are seldom; W with the
 * switches' lock, as what fl_function says is. */
static uint32_t off_head, seldom_head;

enum {
	TIMED_ONE_IN = 4,		/* windows, at most */
	UNLOADING_US = 500,		/* while modules are being unloaded */
	WATCH_US = 100000		/* how soon a dead reader is noticed, or a wish */
};

static struct {
	bool begun, has_heeded;		/* has a wish come since the image began? */
	bool is_open, is_timing;	/* is there a window just now? one that times? */
	bool is_to_time;		/* is one to time calls? */
	uint32_t since_timing;		/* windows that were closed */
	uint32_t heeded;		/* the wish that functions are marked by */
	struct fl_edge opened, closed;	/* the last window that counts */
	uint64_t until;			/* it is not to be closed before: not by a first turn */
	uint32_t group, next_group;	/* timed last; that the next window times */
	uint64_t epoch_ns;		/* when the epoch began */
	uint64_t dead_ns;		/* when threads that ended were looked for */
	uint64_t next_ns;		/* when there is a window again */
	uint64_t random;
} turn;

/* The reader looks at windows that are closed. */
static void tell_open(void)
{
	store_relaxed(&fl_table.session->seldom.is_open, turn.is_open);
}

static bool is_wanted_entry(uint32_t id)
{
	return fl_table.switches[id].is_entry && fl_goal_is_wanted(id);
}

static bool is_wanted_exit(uint32_t id)
{
	return !fl_table.switches[id].is_entry && fl_goal_is_wanted(id);
}

/* What the entries do: data, and no thread fetches code anew. */
static void direct_entries(const struct fl_function *f, enum fl_action action)
{
	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (is_wanted_entry(id))
			fl_goal_direct(id, action);
}

/* An exit that other functions share is theirs, too, while this one is off. */
static bool is_own_exit(uint32_t id)
{
	return is_wanted_exit(id) && !fl_table.probes[id].is_shared;
}

/* Of all its probes that are so. The switches' lock is held, here and in the next four. How
 * many were switched. */
static uint32_t set_holds(const struct fl_function *f, bool (*is_so)(uint32_t id),
			  uint32_t (*set)(uint32_t id, enum fl_hold who), enum fl_hold who)
{
	uint32_t n = 0;

	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (is_so(id))
			n += set(id, who);
	return n;
}

static uint32_t hold_exits(const struct fl_function *f)
{
	return set_holds(f, is_own_exit, fl_goal_hold, FL_HOLD_SAMPLED);
}

static uint32_t let_exits(const struct fl_function *f)
{
	return set_holds(f, is_wanted_exit, fl_goal_let, FL_HOLD_SAMPLED);
}

/* Between windows. */
static uint32_t hold_entries(const struct fl_function *f)
{
	return set_holds(f, is_wanted_entry, fl_goal_hold, FL_HOLD_SELDOM);
}

static uint32_t let_entries(const struct fl_function *f)
{
	return set_holds(f, is_wanted_entry, fl_goal_let, FL_HOLD_SELDOM);
}

static void put_on(uint32_t *head, struct fl_function *f)
{
	f->next_off = *head;
	*head = (uint32_t)(f - fl_table.functions) + 1;
}

static void note_off(struct fl_function *f)
{
	put_on(&off_head, f);
}

static void take_off(uint32_t *head, const struct fl_function *f)
{
	uint32_t own = (uint32_t)(f - fl_table.functions) + 1;

	while (*head && *head != own)
		head = &fl_table.functions[*head - 1].next_off;
	if (*head)
		*head = f->next_off;
}

/* Generations and how many timed calls are open are one word, so that neither changes
 * unseen between a look at the other and what follows. */
static uint32_t generation_of(uint64_t period)
{
	return (uint32_t)(period >> 32);
}

static uint32_t add_open(struct fl_function *f)
{
	/* (E) pairs with (F) */
	return generation_of(__atomic_fetch_add(&f->period, 1, __ATOMIC_ACQ_REL));
}

/* What becomes of timed calls that are open: they are waited for, or are no samples. */
enum open_calls { WAIT_FOR_OPEN, GIVE_UP_OPEN };

/* Begin a new period, in which no call is open. False: one is, and it is waited for. */
static bool end_period(struct fl_function *f, enum open_calls open)
{
	uint64_t now = load_relaxed(&f->period);

	do {
		if (open == WAIT_FOR_OPEN && (uint32_t)now)
			return false;
		if ((uint32_t)now)
			store_relaxed(&f->gave_up, fl_arch_ticks());
	/* (F) pairs with (E) */
	} while (!__atomic_compare_exchange_n(&f->period, &now,
					    (uint64_t)(generation_of(now) + 1) << 32, true,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return true;
}

/* True: it was the last one, and no more begin. */
static bool take_open(struct fl_function *f, uint32_t generation)
{
	uint64_t now = load_relaxed(&f->period);

	do
		if (generation_of(now) != generation || !(uint32_t)now)
			return false;
	/* (E) pairs with (F) */
	while (!__atomic_compare_exchange_n(&f->period, &now, now - 1, true,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return (uint32_t)now == 1 && load_relaxed(&f->is_off);
}

/* Entries count from now on; exits go off when the last timed call has ended, or at once.
 * Again for a function that is off: one of its sites was found and armed since.
 * Nobody waits: where another thread switches, or modules are being unloaded, the next
 * call tries again. Re-arming has the same lock, so nobody who was held up in here
 * switches off what is on again. */
static void switch_off(struct fl_function *f, enum open_calls open)
{
	uint64_t signals;
	bool was_off;

	if (!fl_switches_try(&signals))
		return;
	FL_POINT("probe.switching");
	was_off = f->is_off;
	store_relaxed(&f->is_off, 1);
	if (!f->is_quiet)
		f->is_quiet = end_period(f, open);
	if (f->is_seldom && !turn.is_open && f->is_quiet)
		hold_entries(f);	/* it was timed, or its window is over */
	else
		direct_entries(f, f->is_quiet ? FL_ACT_COUNT : FL_ACT_AFTER);
	if (f->is_quiet) {
		FL_POINT("sample.ending");
		hold_exits(f);
	}
	if (!was_off && !f->is_seldom)
		note_off(f);
	fl_switches_unlock(&signals);
}

static void take_out_since(struct fl_frames *of, uint64_t tsc)
{
	fl_frames_take_out(of, load_relaxed(&of->n), fl_arch_ticks() - tsc);
}

/* What probes of this thread have taken up to here, of that which a timed call of `f` has
 * in it: of calls that were timed or looked at; and of calls of `f`, whose exits are on,
 * and are counted, as long as one is timed. */
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

/* A call was not timed, and it took longer to find that out than to count it. */
static void note_look(struct fl_frames *of, const struct fl_probe *p)
{
	of->spent += fl_table.session->probes_take.looked[p->bare];
}

static void leave_call(struct fl_function *f, uint32_t generation)
{
	if (take_open(f, generation))
		switch_off(f, WAIT_FOR_OPEN);
}

/* Where others have their stack pointers the entry says what probes in it took, and the end
 * what it stands for. */
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

/* Its period has ended, and no other one since: it has lasted at least until then. What
 * its thread has left meanwhile it has not told; of what has no thread any more nobody
 * tells. */
static void tell_given_up(const struct fl_frame *frame)
{
	const struct fl_function *f = &fl_table.functions[frame->function];
	const struct fl_slot *slot = fl_channel_own_slot();
	uint64_t gave_up = load_relaxed(&f->gave_up);

	if (slot && slot->ring[0].frames && gave_up > frame->tsc &&
	    /* (E) pairs with (F) */
	    generation_of(load_acquire(&f->period)) == frame->generation + 1)
		put_sample(slot->ring[0].frames, frame,
			   fl_typed(FLICK_TYPE_GIVEN_UP, frame->probe), gave_up);
}

void fl_sample_lost(const struct fl_frame *frame)
{
	if (fl_sample_is_stale(frame))
		tell_given_up(frame);
	else
		leave_call(&fl_table.functions[frame->function], frame->generation);
}

bool fl_sample_is_stale(const struct fl_frame *frame)
{
	const struct fl_function *f = &fl_table.functions[frame->function];

	return generation_of(load_relaxed(&f->period)) != frame->generation;
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
	take_out_since(of, came);
}

/* Of a function that is off an entry may come here that was found since, or whose
 * thread had loaded where to go; and each that no glue serves. Or the last one of a round
 * has not ended. */
static void begin_timed(struct fl_frames *of, const struct fl_probe *p, uint32_t sp)
{
	struct fl_function *f = &fl_table.functions[p->function];
	uint64_t now = fl_arch_ticks();
	struct fl_frame frame = { .tsc = now, .function = p->function, .sp = sp,
				  .probe = fl_probe_id(p), .generation = add_open(f),
				  .stands = load_relaxed(&f->stands) };
	bool is_off = load_relaxed(&f->is_off);
	uint32_t n = 0;

	if (!is_off)
		n = __atomic_add_fetch(&f->begun, 1, __ATOMIC_RELAXED);
	if (n == 1 && !load_relaxed(&f->since))
		store_relaxed(&f->since, now);
	if (n && (n <= fl_pick_most() || fl_pick_goes_on(f, now))) {
		push(of, f, &frame);
		return;
	}
	if (!is_off || p->reached != FL_REACHED_BY_CALL)
		switch_off(f, WAIT_FOR_OPEN);
	leave_call(f, frame.generation);
	fl_frames_note(of, p->function, sp);
	of->spent += fl_table.session->probes_take.timed[p->bare];
	take_out_since(of, now);
}

/* What a window counts stands for more; where calls are timed there are too few for that. */
static void count_call(const struct fl_probe *p)
{
	if (!load_relaxed(&turn.is_timing) ||
	    !load_relaxed(&fl_table.functions[p->function].is_seldom))
		fl_channel_count(fl_probe_id(p));
}

static void begin(struct fl_frames *of, const struct fl_probe *p, uint32_t sp)
{
	struct fl_function *f = &fl_table.functions[p->function];
	bool is_off = load_relaxed(&f->is_off);

	count_call(p);
	fl_frames_leave(of, sp);
	if (is_off ? p->reached != FL_REACHED_BY_CALL : fl_pick_takes(f)) {
		begin_timed(of, p, sp);
		return;
	}
	fl_frames_note(of, p->function, sp);
	note_look(of, p);
}

/* When the last one of a round has ended, so that it has not what that takes: not the
 * switches, and not that code and data come next which were not used for long. */
static void end_round(struct fl_function *f, uint64_t now)
{
	if (!load_relaxed(&f->is_off) && load_relaxed(&f->begun) >= fl_pick_most() &&
	    !fl_pick_goes_on(f, now))
		switch_off(f, WAIT_FOR_OPEN);
}

static void end_sample(struct fl_frames *of, struct fl_frame f, uint32_t exit, uint64_t now)
{
	if (!fl_sample_is_stale(&f))
		put_sample(of, &f, fl_typed(FLICK_TYPE_SAMPLED, exit), now);
	fl_sample_lost(&f);
	end_round(&fl_table.functions[f.function], now);
	take_out_since(of, now);
}

/* At `now`, or 0: it is not likely to end any. */
static void end(struct fl_frames *of, uint32_t id, uint32_t sp, uint64_t now)
{
	uint32_t at;

	if (!fl_frames_find(of, id, sp, &at)) {
		fl_channel_count(id);
		note_look(of, &fl_table.probes[id]);
		return;
	}
	now = now ? now : fl_arch_ticks_apart();
	end_sample(of, fl_frames_take(of, at), id, now);
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
		fl_frames_leave(of, sp);
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

/* ---- epochs, by flick's own thread ---------------------------------------------------- */

/* No locked instruction: it would wait until the code of the function before has
 * come from the core that runs it. Whose exits are on, as timed calls are open, keeps
 * its period. Else nobody but who enters while it is off changes that, for a moment. */
static uint32_t rearm_one(struct fl_function *f)
{
	uint32_t n = 0;

	fl_pick_begin(f);
	if (f->is_quiet) {
		f->is_quiet = 0;
		n = let_exits(f);
	}
	/* ordering: none, who sees it late is one of those that count */
	store_release(&f->is_off, 0);
	direct_entries(f, FL_ACT_SAMPLE);
	return n + let_entries(f);
}

/* Those that lie beside one another in the code, and often call one another, are in
 * different groups. */
static uint32_t group_of(const struct fl_function *f)
{
	return (uint32_t)(f - fl_table.functions) % FL_GROUPS;
}

static uint32_t rearm_group(uint32_t group)
{
	uint32_t *at = &off_head, n = 0;

	while (*at && !fl_table.holds) {
		struct fl_function *f = &fl_table.functions[*at - 1];

		if (group_of(f) != group) {
			at = &f->next_off;
			continue;
		}
		*at = f->next_off;
		n += rearm_one(f);
	}
	return n;
}

/* Of a function that is seldom each entry is. What was unloaded may have been
 * another's, at the same place. */
static bool is_to_be_seldom(const struct fl_function *f)
{
	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (is_wanted_entry(id) &&
		    load_relaxed(&fl_table.rows[id].wanted) == FL_SELDOM)
			return true;
	return false;
}

/* Counted alone, as nothing else is as short. */
static uint32_t count_one(struct fl_function *f)
{
	direct_entries(f, FL_ACT_COUNT);
	return let_entries(f);
}

/* Who is seldom no more is counted until calls are timed again; who becomes it stays as it
 * is until its window is over. */
static uint32_t mark_functions(void)
{
	uint32_t n = 0;

	seldom_head = off_head = 0;
	for (uint32_t i = fl_table.n_functions; i-- > 0;) {
		struct fl_function *f = &fl_table.functions[i];
		bool was = f->is_seldom;

		f->is_seldom = is_to_be_seldom(f);
		if (f->is_seldom) {
			f->next_off = seldom_head;
			seldom_head = i + 1;
		} else if (f->is_off) {
			n += was ? count_one(f) : 0;
			note_off(f);
		}
	}
	return n;
}

/* Who is seldom now, has been on until here. Another process may be ahead. */
static void say_heeded(struct fl_seldom *s)
{
	fl_channel_heed(turn.heeded);
	if (load_relaxed(&s->heeded) > turn.heeded)
		return;
	if (load_relaxed(&s->heeded) != turn.heeded) {
		s->passed_then_ns = load_relaxed(&s->passed_ns);
		s->open_then_ns = load_relaxed(&s->open_ns);
	}
	store_relaxed(&s->closed_ns, turn.closed.ns);
	/* (D) pairs with (B) in cli/budget.c */
	store_release(&s->heeded, turn.heeded);
}

/* As if a window had been closed just now. */
static void begin_outside(void)
{
	fl_edge_read(&turn.closed);
}

static uint32_t heed(void)
{
	struct fl_seldom *s = &fl_table.session->seldom;
	uint32_t wish = load_acquire(&s->wish), n;	/* (C) pairs with (A) in cli/budget.c */

	if (wish == turn.heeded)
		return 0;
	if (!seldom_head)
		begin_outside();
	n = mark_functions();
	turn.heeded = wish;
	turn.is_to_time = false;
	turn.since_timing = 0;		/* the next one counts */
	turn.has_heeded = true;
	if (!seldom_head)
		say_heeded(s);
	return n;
}

/* Calls are timed in windows of their own: to time them takes most of a short one. */
static uint32_t open_window(void)
{
	struct fl_edge now;
	uint32_t n = 0;

	turn.is_timing = turn.is_to_time && turn.since_timing >= TIMED_ONE_IN - 1;
	turn.is_open = !turn.is_timing;
	tell_open();
	turn.is_to_time &= !turn.is_timing;
	fl_edge_hands();
	fl_edge_read(&now);
	for (uint32_t i = seldom_head; i; i = fl_table.functions[i - 1].next_off) {
		struct fl_function *f = &fl_table.functions[i - 1];

		if (!f->is_off)
			continue;
		if (!turn.is_timing)
			n += count_one(f);
		else if (group_of(f) == turn.next_group)
			n += rearm_one(f);
	}
	fl_edge_half_way(&now);
	if (turn.is_open)
		turn.opened = now;
	turn.until = 0;
	return n;
}

/* What is open in a window and has not ended is no sample. */
static uint32_t shut_one(struct fl_function *f)
{
	uint32_t n;

	store_relaxed(&f->is_off, 1);
	if (!f->is_quiet)
		f->is_quiet = end_period(f, GIVE_UP_OPEN);
	n = hold_entries(f);
	return n + hold_exits(f);
}

static uint32_t shut_all(void)
{
	uint32_t n = 0;

	for (uint32_t i = seldom_head; i; i = fl_table.functions[i - 1].next_off)
		n += shut_one(&fl_table.functions[i - 1]);
	return n;
}

static uint32_t end_timing(void)
{
	turn.is_timing = false;
	turn.since_timing = 0;
	turn.next_group = (turn.next_group + 1) % FL_GROUPS;
	__atomic_fetch_add(&fl_table.session->seldom.timings, 1, __ATOMIC_RELAXED);
	return shut_all();
}

static uint32_t close_window(void)
{
	struct fl_edge now;
	uint32_t n;

	fl_edge_read(&now);
	n = shut_all();
	fl_edge_half_way(&now);
	fl_edge_tell(&turn.closed, &turn.opened, &now);
	turn.since_timing++;
	turn.closed = now;
	turn.is_open = false;
	tell_open();
	say_heeded(&fl_table.session->seldom);
	return n;
}

/* ---- what costs more than there is credit for ------------------------------------------ */

/* The reader, and other processes, hear of it by its rows. */
static void say_seldom(const struct fl_function *f)
{
	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (is_wanted_entry(id))
			store_relaxed(&fl_table.rows[id].wanted, FL_SELDOM);
	store_relaxed(&fl_table.session->seldom.has_cut, 1);
}

/* It is seldom from here on. No clock is asked for, as this is in a thread of the
 * program's: whose turn it is does. False: somebody else is switching, and the next
 * block tries again. */
static bool cut(struct fl_function *f)
{
	uint64_t signals;

	if (!fl_switches_try(&signals))
		return false;
	FL_POINT("sample.cutting");
	if (!f->is_seldom) {
		if (f->is_off)
			take_off(&off_head, f);
		if (!seldom_head)
			turn.closed.ns = 0;
		f->is_seldom = 1;
		put_on(&seldom_head, f);
		shut_one(f);
		say_seldom(f);
	}
	fl_switches_unlock(&signals);
	fl_os_rouse();
	return true;
}

/* Exits that end no timed call are counted as well, and cost as much. Where there is no
 * credit for them they go off, and what is timed is given up. */
static bool end_block_of_exits(struct fl_function *f)
{
	bool may_stay = !load_relaxed(&f->is_seldom) && fl_fuse_takes(f) && fl_fuse_takes(f);

	if (may_stay && (!load_relaxed(&f->is_off) || (uint32_t)load_relaxed(&f->period)))
		return false;
	switch_off(f, may_stay ? WAIT_FOR_OPEN : GIVE_UP_OPEN);
	return true;
}

void fl_sample_block(uint32_t id)
{
	struct fl_function *f = &fl_table.functions[fl_table.probes[id].function];
	uint64_t now = fl_arch_ticks();
	struct fl_slot *slot;
	bool has_cut;

	if (fl_table.sites[id].kind != FL_ENTRY)
		has_cut = end_block_of_exits(f);
	else
		has_cut = !load_relaxed(&f->is_seldom) && !fl_fuse_takes(f) && cut(f);
	if (!has_cut)
		return;
	slot = fl_channel_own_slot();
	if (slot)
		take_out_since(slot->ring[0].frames, now);
}

/* An entry whose function was unloaded may be back, or be found late. Until a wish is
 * heeded its function is as before; an image begins with what is wished. */
static bool is_to_wait(uint32_t id)
{
	const struct fl_function *f = &fl_table.functions[fl_table.probes[id].function];

	if (load_relaxed(&fl_table.rows[id].wanted) != FL_SELDOM)
		return false;
	return f->is_seldom || !turn.has_heeded ||
	       turn.heeded == load_relaxed(&fl_table.session->seldom.wish);
}

bool fl_sample_holds(uint32_t id)
{
	return !turn.is_open && is_to_wait(id);
}

/* The first function that is seldom is there: what it is not in is no time of windows. */
static void begin_windows(void)
{
	begin_outside();
	if (!turn.is_open)
		return;
	turn.until += turn.closed.ns - turn.opened.ns;
	turn.opened = turn.closed;
}

/* As all that is seldom is just now: in a window new glue would have each call timed, and
 * switched off again by the thread that makes it. */
static void be_seldom(struct fl_function *f)
{
	shut_one(f);
	if (turn.is_open)
		count_one(f);
}

/* While its function was gone it was not marked; its exits have no sample to end. */
void fl_sample_armed(uint32_t from)
{
	uint32_t id = from;

	while (id < fl_table.n && !(fl_probe_is_switched(id) && is_to_wait(id)))
		id++;
	if (id >= fl_table.n)
		return;
	if (!seldom_head)
		begin_windows();
	mark_functions();
	for (; id < fl_table.n; id++) {
		if (fl_probe_is_switched(id) && is_to_wait(id))
			be_seldom(&fl_table.functions[fl_table.probes[id].function]);
	}
}

/* From half of it to one and a half. */
static uint64_t vary(uint64_t ns)
{
	turn.random = fl_random_next(turn.random);
	return ns / 2 + (ns ? (turn.random >> 8) % ns : 0);
}

static uint64_t draw_gap(const struct fl_seldom *s)
{
	uint64_t period = load_relaxed(&s->period_us), window = load_relaxed(&s->window_us);

	return vary((period > window ? period - window : 0) * 1000);
}

/* Each epoch a group; who is late by more than an epoch has several timed at once. */
static uint32_t rearm_due(uint64_t now_ns)
{
	const struct fl_shm_session *s = fl_table.session;
	uint64_t us = load_relaxed(&s->seldom.epoch_us), began_ns = turn.epoch_ns, epoch_ns;
	uint32_t n = 0;

	us = us > s->epoch_us ? us : s->epoch_us;
	epoch_ns = us * 900;			/* a timer may be early by a little */
	for (uint32_t i = 1; i <= FL_GROUPS && now_ns - began_ns >= i * epoch_ns; i++) {
		turn.group = (turn.group + 1) % FL_GROUPS;
		if (turn.group == 0 && us)
			fl_pick_note_cycle();
		turn.epoch_ns = now_ns;
		turn.is_to_time = true;
		n += rearm_group(turn.group);
	}
	return n;
}

static uint32_t begin_epoch(uint64_t now_ns)
{
	uint32_t n = rearm_due(now_ns) + heed();

	return seldom_head && now_ns >= turn.next_ns ? n + open_window() : n;
}

/* What is to be done now, and in how many microseconds again. */
static uint64_t take_turn(uint32_t *n)
{
	const struct fl_seldom *s = &fl_table.session->seldom;
	uint64_t now_ns = fl_os_monotonic_ns(), us, left;

	if (fl_switches_are_frozen() || fl_table.holds)
		return fl_table.holds ? WATCH_US : UNLOADING_US;
	if (seldom_head && !turn.closed.ns) {	/* the first was cut just now */
		begin_outside();
		turn.next_ns = now_ns + draw_gap(s);
	}
	if (turn.is_open && seldom_head && now_ns < turn.until)
		return (turn.until - now_ns) / 1000 + 1;
	if (!seldom_head) {
		turn.is_open = turn.is_timing = false;
		tell_open();
	}
	if (turn.is_open || turn.is_timing) {
		*n = turn.is_open ? close_window() : end_timing();
		turn.next_ns = now_ns + draw_gap(s);
	} else {
		*n = begin_epoch(now_ns);
	}
	if (turn.is_open || turn.is_timing)
		return load_relaxed(&s->window_us);
	us = load_relaxed(&s->epoch_us);
	if (seldom_head) {
		left = turn.next_ns > now_ns ? (turn.next_ns - now_ns) / 1000 + 1 : 1;
		us = left < us ? left : us;
	}
	return us < WATCH_US ? us : WATCH_US;
}

/* An image begins at any moment between two windows, or in one: it may be over before its
 * first turn comes. */
static void draw_moment(void)
{
	const struct fl_seldom *s = &fl_table.session->seldom;
	uint64_t period = load_relaxed(&s->period_us) * 1000ull, now = fl_os_monotonic_ns();
	uint64_t window = load_relaxed(&s->window_us) * 1000ull, at;

	turn.random = (fl_arch_ticks() ^ now << 20) * 0x9e3779b97f4a7c15ull | 1;
	at = period ? (turn.random >> 8) % period : 0;
	begin_outside();
	turn.opened = turn.closed;
	turn.is_to_time = turn.is_timing = false;
	turn.is_open = at < window;
	tell_open();
	turn.until = now + at;
	turn.next_ns = turn.is_open ? now : now + at - window;
}

/* What others of the process tree have cut, or was wished, is seldom from the first. */
void fl_sample_open(void)
{
	/* (C) pairs with (A) in cli/budget.c */
	turn.heeded = load_acquire(&fl_table.session->seldom.wish);
	if (!turn.heeded)
		return;
	fl_edge_open();
	draw_moment();
	fl_channel_heed(turn.heeded);
}

/* What threads have left that ended in timed calls: now and then, so that at the end
 * nearly all that is there is open. */
static void look_for_dead(uint64_t now_ns)
{
	enum { APART_NS = 50000000 };

	if (now_ns - turn.dead_ns < APART_NS)
		return;
	turn.dead_ns = now_ns;
	fl_channel_each_frames(true, fl_frames_forget_dead);
}

static uint64_t begin_turns(void)
{
	uint64_t us = fl_table.session->epoch_us, now = fl_os_monotonic_ns();
	uint64_t at = turn.is_open ? turn.until : turn.next_ns;

	turn.begun = true;
	turn.epoch_ns = now;
	if (us)
		fl_pick_note_cycle();
	if (turn.heeded && at < now + us * 1000)
		us = at > now ? (at - now) / 1000 + 1 : 1;
	if (!turn.heeded) {
		turn.random = fl_arch_ticks() | 1;
		fl_edge_open();
	}
	return us < WATCH_US ? us : WATCH_US;
}

/* The program has ended, or is another one: nobody is left here. What was not counted
 * since the last window is counted by those of others. */
void fl_sample_end(void)
{
	if (seldom_head && turn.closed.ns)
		fl_edge_tell_end(&turn.closed, turn.is_open ? &turn.opened : NULL);
	fl_channel_each_frames(false, fl_frames_tell);
}

/* All sites of a function or none: while modules are being unloaded, none. */
uint64_t fl_sample_turn(void)
{
	uint64_t signals, inner, us, t0 = fl_arch_ticks();
	uint32_t n = 0;

	if (!turn.begun)			/* all is on, but for what is seldom */
		return begin_turns();
	look_for_dead(fl_os_monotonic_ns());
	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	us = take_turn(&n);
	fl_switches_unlock(&inner);
	fl_table_unlock(&signals);
	__atomic_fetch_add(&fl_table.session->toggles, 2 * n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&fl_table.session->rearm_ticks, fl_arch_ticks() - t0,
			   __ATOMIC_RELAXED);
	return us;
}

/* ---- fork -------------------------------------------------------------------------------- */

static void finish_switch_off(struct fl_function *f)
{
	f->is_quiet = 1;
	direct_entries(f, FL_ACT_COUNT);
	hold_exits(f);
	note_off(f);
}

/* Another thread may have been at any step of switch_off(): the function's
 * sites are on in part, or it is not on the list. rearm_one() is under the
 * table's lock, so what is not `is_off` is on. */
void fl_sample_in_child(void)
{
	uint64_t signals;

	fl_switches_lock(&signals);
	/* (C) pairs with (A) in cli/budget.c */
	turn.heeded = load_acquire(&fl_table.session->seldom.wish);
	mark_functions();
	draw_moment();
	off_head = 0;
	for (uint32_t i = 0; i < fl_table.n_functions; i++) {
		struct fl_function *f = &fl_table.functions[i];

		if ((uint32_t)f->period)	/* no call of it is open in here */
			end_period(f, GIVE_UP_OPEN);
		f->gave_up = 0;			/* its parent tells of those */
		if (f->is_seldom) {
			be_seldom(f);
		} else if (f->is_off) {
			finish_switch_off(f);
		}
	}
	turn.is_open = turn.is_open && seldom_head;
	tell_open();
	fl_channel_heed(turn.heeded);
	fl_switches_unlock(&signals);
}
