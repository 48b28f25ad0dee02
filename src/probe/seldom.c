/*
 * seldom.c - what is timed when, and windows of what is seldom: turns of flick's own thread.
 *
 * Each epoch, calls of another group of functions are timed again, and not of all at once: what
 * timing a call takes is time of the calls around it, and for functions of some ns it is ten
 * times as much as they take.
 *
 * A function that is called too often for that is seldom, which the reader decides
 * (session/budget/budget.c): it is off except in short windows, and counted in them. Other
 * windows, one in four at most, are for timing: calls in them are not counted, because what
 * windows count stands for more, and timing calls takes most of a short window.
 *
 * PROTOCOL	of windows
 *	reader					flick's thread, now and then
 *	sites[].wanted = who is FL_SELDOM	load wish	(C)
 *	store_release wish + 1	(A)		mark functions; what is seldom goes on
 *	hands[] = who tells the time		opened = the clocks (edge.c), of these hands
 *	load heeded	(B)			let window_us pass
 *	equal: counts, `passed` and `open`	closed = the clocks; what is seldom goes off,
 *	  are from now on of these windows	  except the gauge; let window_us pass
 *						it goes off; passed, open, ticks, gauge += ...
 *						store_release processes[].heeded (channel)
 *						store_release heeded	(D)
 * INVARIANT  Windows stand for the time between them: calls x all ticks / ticks in windows.
 * WHY	Time is one of the hands. When windows begin, and how long they last,
 *	does not depend on what the program does, and epochs vary, so that none is in
 *	step with it. Functions go on and off in the same order, so each is on for about as
 *	long: from the middle of the switching on to the middle of the switching off. A
 *	window that cannot be closed, because modules are being unloaded, is open and counts
 *	as open. The reader takes out what recording takes in a window. What is armed between
 *	windows, because its library is back, is off until the next one.
 *	Counts of a process that has not heeded the wish stand for themselves: the reader
 *	asks for them when a process heeds, before it takes any counts for those of windows.
 *	What counts hold up is no constant: where a program waits they take no time, where it
 *	does not 1 ns and more. So one function, the gauge, goes on to be counted alone for as
 *	long as the window was: what the program does more then, it was kept from in the
 *	window. Both begin alike, behind switches of as many functions.
 * FAILURE  Killed in a window: that window is not in `open`; at most one is lost.
 */
#include "edge.h"
#include "goal.h"
#include "os/os.h"
#include "period.h"
#include "pick.h"
#include "switch.h"

/* Index + 1 of functions that are seldom; W with the switches' lock. */
static uint32_t seldom_head;

enum {
	TIMED_ONE_IN = 4,		/* windows, at most */
	UNLOADING_US = 500,		/* while modules are being unloaded */
	WATCH_US = 100000		/* how soon a dead reader is noticed, or a wish */
};

struct fl_seldom_window fl_seldom_window;

static struct {
	bool begun, has_heeded;		/* has a wish come since the image began? */
	bool is_to_time;		/* is one to time calls? */
	bool is_next_first;		/* is the next window the first behind a wish, or cut */
	uint64_t cut_tsc;		/* when the first was cut */
	uint32_t since_timing;		/* windows that were closed */
	uint32_t heeded;		/* the wish that functions are marked by */
	struct fl_edge opened, closed;	/* the last window that counts */
	struct fl_edge shut, behind;	/* a window that is over: its end; its gauge's begin */
	struct fl_function *gauge;	/* which is counted alone; NULL: none is */
	uint64_t until;			/* the window that an image began in is open so long */
	uint32_t group, next_group;	/* timed last; that the next window times */
	uint64_t epoch_ns;		/* when the epoch began */
	uint64_t dead_ns;		/* when threads that ended were looked for */
	uint64_t drawn_ns, next_ns;	/* when the next window was drawn; when it is due */
	uint64_t random;
} turn;

/* The reader looks at windows that are closed. */
static void tell_open(void)
{
	store_relaxed(&fl_table.session->seldom.is_open, fl_seldom_window.is_open);
}

/* If a function is seldom, each of its entries is. An entry that was unloaded may have been
 * another function's, at the same place. */
static bool is_to_be_seldom(const struct fl_function *f)
{
	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (fl_goal_wants_entry(id) &&
		    load_relaxed(&fl_table.rows[id].wanted) == FL_SELDOM)
			return true;
	return false;
}

static void put_on_list(struct fl_function *f)
{
	f->next_off = seldom_head;
	seldom_head = (uint32_t)(f - fl_table.functions) + 1;
}

/* A function that stops being seldom is counted until its calls are timed again. A function
 * that becomes seldom stays as it is until its window is over. */
static uint32_t mark_functions(void)
{
	uint32_t n = 0;

	seldom_head = 0;
	fl_period_unlist_all();
	for (uint32_t i = fl_table.n_functions; i-- > 0;) {
		struct fl_function *f = &fl_table.functions[i];
		bool was = f->is_seldom;

		f->is_seldom = is_to_be_seldom(f);
		if (f->is_seldom) {
			put_on_list(f);
		} else if (f->is_off) {
			n += was ? fl_period_count(f) : 0;
			fl_period_list(f);
		}
	}
	return n;
}

/* Functions that are seldom now have been on until here. Another process may be ahead. */
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
	/* (D) pairs with (B) in session/budget/budget.c */
	store_release(&s->heeded, turn.heeded);
}

/* Time outside of windows begins, as if one had been closed just now. */
static void begin_outside(void)
{
	fl_edge_read(&turn.closed);
}

static uint32_t heed(void)
{
	struct fl_seldom *s = &fl_table.session->seldom;
	/* (C) pairs with (A) in session/budget/budget.c */
	uint32_t wish = load_acquire(&s->wish), n;

	if (wish == turn.heeded)
		return 0;
	if (!seldom_head)
		begin_outside();
	n = mark_functions();
	turn.heeded = wish;
	turn.is_to_time = false;
	turn.since_timing = 0;		/* the next one counts */
	turn.has_heeded = turn.is_next_first = true;
	if (!seldom_head)
		say_heeded(s);
	return n;
}

/* Calls are timed in windows of their own: to time them takes most of a short one. */
static uint32_t open_window(void)
{
	struct fl_edge now;
	uint32_t n = 0;

	fl_seldom_window.is_timing = turn.is_to_time && turn.since_timing >= TIMED_ONE_IN - 1;
	fl_seldom_window.is_open = !fl_seldom_window.is_timing;
	tell_open();
	turn.is_to_time &= !fl_seldom_window.is_timing;
	fl_edge_hands();
	fl_edge_read(&now);
	for (uint32_t i = seldom_head; i; i = fl_table.functions[i - 1].next_off) {
		struct fl_function *f = &fl_table.functions[i - 1];

		if (!f->is_off)
			continue;
		if (!fl_seldom_window.is_timing)
			n += fl_period_count(f);
		else if (fl_period_group(f) == turn.next_group)
			n += fl_period_begin(f);
	}
	fl_edge_half_way(&now);
	if (fl_seldom_window.is_open)
		turn.opened = now;
	turn.until = 0;
	return n;
}

static uint32_t shut_all_but(const struct fl_function *gauge)
{
	uint32_t n = 0;

	for (uint32_t i = seldom_head; i; i = fl_table.functions[i - 1].next_off)
		if (&fl_table.functions[i - 1] != gauge)
			n += fl_period_shut(&fl_table.functions[i - 1]);
	return n;
}

static uint32_t end_timing(void)
{
	fl_seldom_window.is_timing = false;
	turn.since_timing = 0;
	turn.next_group = (turn.next_group + 1) % FL_GROUPS;
	__atomic_fetch_add(&fl_table.session->seldom.timings, 1, __ATOMIC_RELAXED);
	return shut_all_but(NULL);
}

static void tell_window(void)
{
	if (turn.is_next_first)
		store_relaxed(&fl_table.session->seldom.gap_ns,
			      turn.opened.ns - turn.closed.ns);
	turn.is_next_first = false;
	fl_edge_tell(&turn.closed, &turn.opened, &turn.shut);
	turn.since_timing++;
	turn.closed = turn.shut;
	tell_open();
	say_heeded(&fl_table.session->seldom);
}

/* For the reader the window is open until its gauge is off, too, which is told by then. */
static uint32_t close_window(void)
{
	uint32_t n;

	turn.gauge = fl_edge_gauge();
	fl_edge_read(&turn.shut);
	n = shut_all_but(turn.gauge);
	fl_edge_half_way(&turn.shut);
	fl_seldom_window.is_open = false;
	if (turn.gauge)
		fl_edge_read(&turn.behind);
	else
		tell_window();
	return n;
}

static void tell_gauge(void)
{
	struct fl_edge now;

	fl_edge_read(&now);
	fl_edge_tell_gauge(&turn.opened, &turn.shut, &turn.behind, &now);
	turn.gauge = NULL;
	tell_window();
}

static uint32_t close_gauge(void)
{
	struct fl_function *gauge = turn.gauge;

	tell_gauge();
	return gauge->is_seldom ? fl_period_shut(gauge) : 0;
}

/* ---- what costs more than there is credit for ------------------------------------------ */

/* The reader, and other processes, hear of it by the function's rows. */
static void say_seldom(const struct fl_function *f)
{
	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (fl_goal_wants_entry(id))
			store_relaxed(&fl_table.rows[id].wanted, FL_SELDOM);
	store_relaxed(&fl_table.session->seldom.has_cut, 1);
}

/* Time outside of windows begins. This is in a thread of the program's, which asks the kernel
 * for no clock: flick's own thread does at its turn (begin_at_cut()). */
static void note_first_cut(void)
{
	turn.closed.ns = 0;
	turn.is_next_first = true;
	turn.cut_tsc = fl_arch_ticks();
}

/* The function is seldom from here on. False: another thread is switching, and the next block
 * tries again. */
static bool cut(struct fl_function *f)
{
	uint64_t signals;

	if (!fl_switches_try(&signals))
		return false;
	FL_POINT("sample.cutting");
	if (!f->is_seldom) {
		if (f->is_off)
			fl_period_unlist(f);
		if (!seldom_head)
			note_first_cut();
		f->is_seldom = 1;
		put_on_list(f);
		fl_period_shut(f);
		say_seldom(f);
	}
	fl_switches_unlock(&signals);
	fl_os_rouse();
	return true;
}

/* Exits that end no timed call are counted as well, and cost as much. Where there is no credit
 * for exits they go off, and timed calls are given up. */
static bool end_block_of_exits(struct fl_function *f)
{
	bool may_stay = !load_relaxed(&f->is_seldom) && fl_fuse_takes(f) && fl_fuse_takes(f);

	if (may_stay && (!load_relaxed(&f->is_off) || (uint32_t)load_relaxed(&f->period)))
		return false;
	fl_period_stop(f, may_stay ? FL_WAIT_FOR_OPEN : FL_GIVE_UP_OPEN);
	return true;
}

void fl_sample_block(uint32_t id)
{
	struct fl_function *f = &fl_table.functions[fl_table.probes[id].function];
	uint64_t now = fl_arch_ticks();
	struct fl_slot *slot;
	bool has_cut;

	if (fl_table.sites[id].kind == FL_AT_POINT)
		return;			/* whoever asks for a point asks for all its counts */
	if (fl_table.sites[id].kind != FL_ENTRY)
		has_cut = end_block_of_exits(f);
	else
		has_cut = !load_relaxed(&f->is_seldom) && !fl_fuse_takes(f) && cut(f);
	if (!has_cut)
		return;
	slot = fl_channel_own_slot();
	if (slot)
		fl_frames_take_out_since(slot->ring[0].frames, now);
}

/* ---- what is armed, or loaded again ----------------------------------------------------- */

/* An entry may be back whose function was unloaded, or be found late. Until a wish is heeded
 * the function is as before; an image begins with what is wished. */
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
	return !fl_seldom_window.is_open && is_to_wait(id);
}

/* The first seldom function is there: the time before is no time of windows. */
static void begin_windows(void)
{
	begin_outside();
	if (!fl_seldom_window.is_open)
		return;
	turn.until += turn.closed.ns - turn.opened.ns;
	turn.opened = turn.closed;
}

/* The function becomes as all seldom ones are just now. Otherwise new glue would time each call
 * in a window, and the thread that makes the call would switch the function off again. */
static void be_seldom(struct fl_function *f)
{
	fl_period_shut(f);
	if (fl_seldom_window.is_open)
		fl_period_count(f);
}

void fl_sample_returns(uint32_t id)
{
	struct fl_function *f = &fl_table.functions[fl_table.probes[id].function];

	if (f->is_seldom || load_relaxed(&fl_table.rows[id].wanted) != FL_SELDOM)
		return;
	if (!seldom_head)
		begin_windows();
	f->is_seldom = 1;
	put_on_list(f);
}

void fl_sample_wanted(struct fl_function *f)
{
	if (f->is_seldom)
		be_seldom(f);
	else
		fl_period_begin(f);
}

/* A function was not marked while it was gone. Its exits have no sample to end. */
void fl_sample_armed(uint32_t from)
{
	uint32_t id = from;

	for (uint32_t k = from; k < fl_table.n; k++)
		fl_period_note_switch(k);
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

/* ---- turns, of flick's own thread ------------------------------------------------------ */

/* At random, from half of `ns` to one and a half. */
static uint64_t vary(uint64_t ns)
{
	turn.random = fl_random_next(turn.random);
	return ns / 2 + (ns ? (turn.random >> 8) % ns : 0);
}

static void draw_next(uint64_t from_ns)
{
	const struct fl_seldom *s = &fl_table.session->seldom;
	uint64_t period = load_relaxed(&s->period_us), window = load_relaxed(&s->window_us);

	if (load_relaxed(&s->gauge_probe))
		window *= 2;		/* the gauge is counted for as long */
	turn.drawn_ns = from_ns;
	turn.next_ns = from_ns + vary((period > window ? period - window : 0) * 1000);
}

/* Each epoch has a group. A turn that is late by more than an epoch begins several groups. */
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
		n += fl_period_begin_group(turn.group);
	}
	return n;
}

/* Windows may be wanted more often than when the next one was drawn: then it comes no later
 * than if it were drawn by the new period. */
static void hasten(void)
{
	const struct fl_seldom *s = &fl_table.session->seldom;
	uint64_t latest = turn.drawn_ns + load_relaxed(&s->period_us) * 1500ull;

	if (seldom_head && turn.next_ns > latest)
		draw_next(turn.drawn_ns);
}

static uint32_t begin_epoch(uint64_t now_ns)
{
	uint32_t n = rearm_due(now_ns) + heed();

	hasten();
	return seldom_head && now_ns >= turn.next_ns ? n + open_window() : n;
}

/* The turn comes late where other programs have the CPUs. */
static void begin_at_cut(struct fl_seldom *s)
{
	fl_edge_read_as_of(&turn.closed, turn.cut_tsc);
	store_relaxed(&s->cut_ns, turn.closed.ns);
	store_relaxed(&s->closed_ns, turn.closed.ns);
}

/* What is to be done now, and in how many microseconds again. */
static uint64_t take_turn(uint32_t *n)
{
	const struct fl_seldom *s = &fl_table.session->seldom;
	uint64_t now_ns = fl_os_monotonic_ns(), us, left;

	if (fl_switches_are_frozen() || fl_table.holds)
		return fl_table.holds ? WATCH_US : UNLOADING_US;
	if (seldom_head && !turn.closed.ns) {	/* the first was cut */
		begin_at_cut(&fl_table.session->seldom);
		draw_next(now_ns);
	}
	if (fl_seldom_window.is_open && seldom_head && now_ns < turn.until)
		return (turn.until - now_ns) / 1000 + 1;
	if (!seldom_head) {
		fl_seldom_window.is_open = fl_seldom_window.is_timing = false;
		turn.gauge = NULL;
		tell_open();
	}
	if (turn.gauge) {
		*n = close_gauge();
		draw_next(now_ns);
	} else if (fl_seldom_window.is_open || fl_seldom_window.is_timing) {
		*n = fl_seldom_window.is_open ? close_window() : end_timing();
		draw_next(now_ns);
	} else {
		*n = begin_epoch(now_ns);
	}
	if (turn.gauge || fl_seldom_window.is_open || fl_seldom_window.is_timing)
		return load_relaxed(&s->window_us);
	us = load_relaxed(&s->epoch_us);
	if (seldom_head) {
		left = turn.next_ns > now_ns ? (turn.next_ns - now_ns) / 1000 + 1 : 1;
		us = left < us ? left : us;
	}
	return us < WATCH_US ? us : WATCH_US;
}

/* An image begins at any moment between two windows, or in a window: the image may be over
 * before its first turn comes. */
static void draw_moment(void)
{
	const struct fl_seldom *s = &fl_table.session->seldom;
	uint64_t period = load_relaxed(&s->period_us) * 1000ull, now = fl_os_monotonic_ns();
	uint64_t window = load_relaxed(&s->window_us) * 1000ull, at;

	turn.random = (fl_arch_ticks() ^ now << 20) * 0x9e3779b97f4a7c15ull | 1;
	at = period ? (turn.random >> 8) % period : 0;
	begin_outside();
	turn.opened = turn.closed;
	turn.is_to_time = fl_seldom_window.is_timing = false;
	turn.gauge = NULL;
	fl_seldom_window.is_open = at < window;
	tell_open();
	turn.drawn_ns = now;
	turn.until = now + at;
	turn.next_ns = fl_seldom_window.is_open ? now : now + at - window;
}

/* What other processes of the tree have cut, or the reader wished, is seldom from the first. */
void fl_sample_open(void)
{
	fl_period_open();
	seldom_head = 0;		/* an earlier recorder may have been here */
	__builtin_memset(&turn, 0, sizeof(turn));
	fl_seldom_window = (struct fl_seldom_window){ .is_open = false };
	/* (C) pairs with (A) in session/budget/budget.c */
	turn.heeded = load_acquire(&fl_table.session->seldom.wish);
	fl_edge_open();
	if (!turn.heeded)
		return;
	draw_moment();
	fl_channel_heed(turn.heeded);
}

/* Drop frames of threads that ended in timed calls: now and then, so that at the end nearly all
 * frames are of open calls. */
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
	uint64_t at = fl_seldom_window.is_open ? turn.until : turn.next_ns;

	turn.begun = true;
	turn.epoch_ns = now;
	if (us)
		fl_pick_note_cycle();
	if (turn.heeded && at < now + us * 1000)
		us = at > now ? (at - now) / 1000 + 1 : 1;
	if (!turn.heeded)
		turn.random = fl_arch_ticks() | 1;
	return us < WATCH_US ? us : WATCH_US;
}

/* The program has ended, or is another one: nobody is left here. Calls since the last window
 * were not counted: other windows stand for them. */
void fl_sample_end(void)
{
	if (turn.gauge)
		tell_gauge();
	if (seldom_head && turn.closed.ns)
		fl_edge_tell_end(&turn.closed, fl_seldom_window.is_open ? &turn.opened : NULL);
	fl_channel_each_frames(false, fl_frames_tell);
}

/* Switch all sites of a function or none: while modules are being unloaded, none. */
uint64_t fl_sample_turn(void)
{
	uint64_t signals, inner, us, t0 = fl_arch_ticks();
	uint32_t n = 0;

	if (!turn.begun)			/* all is on, except what is seldom */
		return begin_turns();
	look_for_dead(fl_os_monotonic_ns());
	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	us = take_turn(&n);
	if (!fl_switches_are_frozen() && !fl_table.holds &&
	    fl_period_let_go(fl_os_monotonic_ns(), &n) && us > FL_LASTS_US / 2)
		us = FL_LASTS_US / 2;
	fl_switches_unlock(&inner);
	fl_table_unlock(&signals);
	__atomic_fetch_add(&fl_table.session->toggles, 2 * n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&fl_table.session->rearm_ticks, fl_arch_ticks() - t0,
			   __ATOMIC_RELAXED);
	return us;
}

/* ---- fork -------------------------------------------------------------------------------- */

void fl_sample_in_child(void)
{
	uint64_t signals;

	fl_switches_lock(&signals);
	/* (C) pairs with (A) in session/budget/budget.c */
	turn.heeded = load_acquire(&fl_table.session->seldom.wish);
	mark_functions();
	draw_moment();
	fl_period_unlist_all();
	for (uint32_t i = 0; i < fl_table.n_functions; i++) {
		struct fl_function *f = &fl_table.functions[i];

		fl_period_in_child(f);
		if (f->is_seldom)
			be_seldom(f);
	}
	fl_seldom_window.is_open = fl_seldom_window.is_open && seldom_head;
	tell_open();
	fl_channel_heed(turn.heeded);
	fl_switches_unlock(&signals);
}
