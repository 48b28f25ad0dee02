/*
 * window.c - `record --rate`: every event recorded for a while, then calls counted
 * for longer.
 *
 * A part of all events is recorded by recording all events a part of the time: a
 * window. Between windows exits are off and entries add one to a counter, which
 * costs a tenth of a record. flick's own thread opens and closes windows; the
 * reader takes the events that lie in one (channel/filter.c).
 *
 * PROTOCOL	of an edge, the time at which a window begins or ends
 *	flick's thread				reader
 *	to open: switch, sync all cores		load records of a ring	(acquire)
 *	and let SKEW pass			load published	(D)
 *	announced + 1, fence	(A)		load announced	(B)
 *	read the clock				equal: every record is before or
 *	edges[published] = it			  behind each edge as the table says
 *	store_release published + 1	(C)	else: look again later
 *	to close: let SKEW pass, switch		copy edges, load announced (I)
 *	the next one when taken allows	(H)	then taken		(G)
 * INVARIANT
 *	1. An event of a thread lies in a window if its time does: on <= t < off.
 *	2. Between on and off every entry and exit of a wanted probe is enqueued,
 *	   in every thread, with its time.
 *	3. Windows stand for their program in the proportion that `rates` says.
 * WHY
 *	1. (A), (B): a reader that does not see an edge announced reads before its
 *	   clock is read, and the records it has loaded were written, and their times
 *	   read, before that. (C), (D): a reader that sees it published sees the time.
 *	2. A thread that runs after the sync fetches what is on; a probe goes off
 *	   only after `off` was read. Clocks of two cores differ by less than SKEW.
 *	   Sites that are found inside a window are armed on, others off (goal.c).
 *	3. Time is CPU time: of the recorded threads in a window, of the process
 *	   between them. A thread that waits, for a full ring or a core, is not
 *	   recorded less than its share. A window of t that is recorded at a rate r
 *	   stands for t / r. With own_ns() as the axis:
 *
 *		due_ns   what all windows so far stand for, end to end
 *		next_ns  due_ns and up to half a gap, at random: the next one opens
 *
 *	   A window that opens late, because a timer was, adds no more to due_ns than
 *	   it stands for: so the next one is not late. An image's first window is no
 *	   sample: its rate is 1, it stands for itself.
 *	   Recording slows a thread down, so a window holds less of its program than
 *	   its time says, and of busy functions least. No clock tells how much, so
 *	   every entry is counted all the time: the calls of a function are known
 *	   exactly, and windows only say who made them and how long they took.
 * FAILURE	Killed between (A) and (C): probes are as they were before, so a
 *	window that was open is open for all records there are. An image that exec
 *	replaces leaves its last window open: the next one closes it, and opens its
 *	first, whatever taken says. So an edge may take the place of one that was
 *	not copied: by (I) the reader knows, and that window holds nothing.
 */
#include "arch/arch.h"
#include "channel/channel.h"
#include "edge.h"
#include "goal.h"
#include "os/os.h"
#include "switch.h"

enum {
	PERIOD_US = 3000,		/* from one window to the next */
	LEAST_US = 50,			/* a window */
	OPEN_US = 10000,		/* between two looks at one that stays open */
	SHORT_US = 50,			/* a sleep */
	UNLOADING_US = 500,		/* while modules are being unloaded */
	LATE_PERIODS = 30,		/* that are made up for */
	QUICK_US = 50, TRIES = 8,	/* of read_clock() */
	WATCH_US = 100000,		/* before begin() */
	SWITCH_SHARE = 20,		/* switching takes at most 1/20 of a period */
	SKEW = 2000			/* ticks */
};

static struct {
	uint32_t begun;			/* futex */
	uint64_t began;			/* the last window: ticks */
	uint64_t ended_ns;		/* monotonic */
	uint64_t base_ns;		/* CPU time before begin(): own_ns() leaves it out */
	uint64_t due_ns;		/* of own_ns(): up to here windows stand for it */
	uint64_t next_ns;		/* of own_ns(): when the next one opens */
	uint64_t paused_ns;		/* own_ns() when the last one closed */
	bool idle;			/* nobody enqueued in the last one; sum_threads() */
	uint64_t switch_us;		/* to switch all on and off, when not held up */
	uint64_t on_us;			/* to switch all on, last time */
	uint64_t random;
	uint64_t cpu_ns;		/* of the window that ends: sum_threads() */
} self;

static struct {			/* of a slot, when the window opened */
	int32_t tid;
	uint64_t filled, ptr, cpu_ns;
} stood[FL_MAX_SLOTS];

static struct fl_windows *windows(void)
{
	return &fl_table.session->windows;
}

static bool is_open(void)
{
	return windows()->published % 2;	/* own index */
}

/* ---- events -------------------------------------------------------------------- */

void fl_window_virtual(uint32_t id, uint32_t sp)
{
	if (fl_table.sites[id].kind == FL_ENTRY)
		fl_channel_count(id);
	if (!load_relaxed(&fl_table.between))
		fl_channel_put(id, fl_arch_ticks(), sp);
}

void fl_window_hit(uint32_t id, uintptr_t caller, uint32_t sp)
{
	const struct flick_record pair[2] = {
		{ .tsc = fl_arch_ticks(), .probe = id, .sp = sp },
		{ .tsc = caller, .probe = fl_typed(FLICK_TYPE_CALLER, id), .sp = sp },
	};

	fl_channel_count(id);
	fl_channel_put_pair(pair);
}

/* ---- time ------------------------------------------------------------------------ */

static void wait_skew(void)
{
	uint64_t from = fl_arch_ticks();

	while (fl_arch_ticks() - from < SKEW)
		fl_arch_pause();
}

static uint64_t random_below(uint64_t n)
{
	self.random = fl_random_next(self.random);
	return n ? (self.random >> 8) % n : 0;
}

/* CPU time of the process since it began, without flick's own thread. */
static uint64_t all_ns(void)
{
	uint64_t all = fl_os_cpu_ns(0);
	uint64_t flick = fl_os_cpu_ns(fl_os_own_thread());

	store_relaxed(&fl_table.shm->watch_ns, flick);
	return all > flick ? all - flick : 0;
}

/* The program's CPU time since begin(), and of earlier images. */
static uint64_t own_ns(void)
{
	struct fl_windows *w = windows();
	uint64_t all = all_ns();

	w->own_tsc = fl_arch_ticks();
	w->own_ns = all > self.base_ns ? all - self.base_ns : 0;
	return w->own_ns;
}

/* ---- what is recorded ------------------------------------------ */

static void note_threads(void)
{
	for (uint32_t i = 0; i < fl_table.shm->n_slots_used; i++) {
		const struct fl_slot *s = fl_shm_slot(fl_table.shm, i);
		bool lives = load_relaxed(&s->state) == FL_SLOT_LIVE;

		stood[i].tid = lives ? s->tid : 0;
		stood[i].filled = load_relaxed(&s->ring[0].filled);
		stood[i].ptr = load_relaxed(&s->ring[0].ptr);
		stood[i].cpu_ns = lives ? fl_os_cpu_ns(s->tid) : 0;
	}
}

static bool stands_still(uint32_t i, const struct fl_slot *s)
{
	return stood[i].tid == s->tid && stood[i].filled == load_relaxed(&s->ring[0].filled) &&
	       stood[i].ptr == load_relaxed(&s->ring[0].ptr);
}

/* What threads did since the window opened. All of a new thread counts, also of one that has
 * the slot and the id of a thread that ended. */
static void sum_threads(void)
{
	self.idle = true;
	self.cpu_ns = 0;
	for (uint32_t i = 0; i < fl_table.shm->n_slots_used; i++) {
		const struct fl_slot *s = fl_shm_slot(fl_table.shm, i);
		uint64_t cpu = fl_os_cpu_ns(s->tid), stood_ns = stood[i].cpu_ns;

		if (load_relaxed(&s->state) != FL_SLOT_LIVE)
			continue;
		self.idle &= stands_still(i, s);
		self.cpu_ns += stood[i].tid == s->tid && cpu >= stood_ns ? cpu - stood_ns : cpu;
	}
}

/* ---- switching ------------------------------------------------------------------- */

/* Between windows an entry counts: what it does is data. The other probes are off. */
static void turn_all(void)
{
	for (uint32_t id = 0; id < fl_table.n && !fl_table.holds; id++) {
		if (!fl_probe_is_switched(id) || !fl_goal_is_wanted(id) ||
		    fl_table.sites[id].kind == FL_AT_POINT)
			continue;
		if (fl_table.switches[id].is_entry)
			/* ordering: none, loads of the old routine are before the edge */
			fl_goal_direct(id, fl_goal_action(id));
		else if (fl_table.between)
			fl_goal_hold(id, FL_HOLD_WINDOW);
		else
			fl_goal_let(id, FL_HOLD_WINDOW);
	}
	fl_patch_sync();
}

bool fl_probes_open_window(void)
{
	uint64_t signals, inner;
	bool can;

	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	can = !fl_switches_are_frozen();
	if (can) {
		fl_table.between = false;
		turn_all();
	}
	fl_switches_unlock(&inner);
	fl_table_unlock(&signals);
	return can;
}

void fl_probes_close_window(void)
{
	uint64_t signals, inner;

	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	fl_table.between = true;
	turn_all();
	fl_switches_unlock(&inner);
	fl_table_unlock(&signals);
}

/* ---- edges ---------------------------------------------------------------------------- */

/* What threads have done so far is read just before the clock. Both are read again when this
 * thread was held up in between. */
static uint64_t read_clock(void (*look)(void))
{
	uint64_t most = (QUICK_US + fl_table.shm->n_slots_used) * fl_edge_ticks_per_us();
	uint64_t begin, now;
	int tries = 0;

	do {
		begin = fl_arch_ticks();
		look();
		fl_arch_serialise();
		now = fl_arch_ticks();
	} while (now - begin > most && ++tries < TRIES);
	return now;
}

static void announce_edge(void)
{
	struct fl_windows *w = windows();

	store_relaxed(&w->announced, w->published + 1);
	/* (A) pairs with (B) in channel/filter.c, (A) pairs with (I) in channel/filter.c */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	FL_POINT("window.announced");
}

static uint64_t publish_edge(void (*look)(void))
{
	struct fl_windows *w = windows();
	uint64_t i = w->published, now = read_clock(look);	/* own index */

	store_relaxed(&w->edges[i % FL_EDGES], now);
	store_release(&w->published, i + 1);	/* (C) pairs with (D) in channel/filter.c */
	return now;
}

/* The rate of window `k`, which stands for 1 / rate of itself. */
static uint32_t *rate_at(uint64_t k)
{
	return &windows()->rates[k % (FL_EDGES / 2)];
}

static void open_window(uint32_t rate)
{
	wait_skew();
	announce_edge();
	store_relaxed(rate_at(windows()->published / 2), rate);
	self.began = publish_edge(note_threads);
}

static uint64_t end_window(void)
{
	announce_edge();
	return publish_edge(sum_threads);
}

/* The window has ended: what does it stand for? */
static void add_up(void)
{
	struct fl_windows *w = windows();
	uint64_t rate = *rate_at(w->published / 2 - 1) & ~FL_WINDOW_FRESH;

	w->on_ns += self.cpu_ns;
	self.due_ns += self.cpu_ns * FL_RATE_ALL / rate;
}

/* When is the next one? At a random time in the first half of its gap, so that a program
 * that does the same thing once a period is not always met at the same point of it. */
static void plan_next(uint64_t gap_us, uint64_t period_us)
{
	self.ended_ns = fl_os_monotonic_ns();
	self.paused_ns = own_ns();
	if (self.paused_ns > self.due_ns + LATE_PERIODS * 1000 * period_us)
		self.due_ns = self.paused_ns;	/* too late to make up for */
	self.next_ns = self.due_ns + random_below(gap_us * 1000 / 2);
}

/* ---- turns ----------------------------------------------------------------------------- */

/* The period is longer where windows would become too short, or switching would take too
 * much. */
static uint64_t period_of(uint64_t rate)
{
	uint64_t period = PERIOD_US, least = LEAST_US * (uint64_t)FL_RATE_ALL / rate;

	period = least > period ? least : period;
	least = self.switch_us * SWITCH_SHARE;
	return least > period ? least : period;
}

static uint64_t gap_of(uint64_t rate)
{
	return period_of(rate) * (FL_RATE_ALL - rate) / FL_RATE_ALL;
}

/* Keep the least time so far, and forget it slowly: sites may have been added. */
static void note_switch(uint64_t us)
{
	bool is_first = !self.switch_us;

	self.switch_us += self.switch_us / 16 + 1;
	if (is_first || us < self.switch_us)
		self.switch_us = us;
}

static uint64_t turn_on(uint64_t per_us)
{
	uint64_t begin = fl_arch_ticks();

	if (!fl_probes_open_window())
		return UNLOADING_US;
	self.on_us = (fl_arch_ticks() - begin) / per_us;
	open_window(load_relaxed(&windows()->rate));
	return 0;
}

static uint64_t turn_off(uint64_t rate, uint64_t per_us)
{
	uint64_t begin = end_window();

	add_up();
	wait_skew();
	fl_probes_close_window();
	note_switch(self.on_us + (fl_arch_ticks() - begin) / per_us);
	plan_next(gap_of(rate), period_of(rate));
	return 0;
}

/* A window is open: close it when its time is over. At the full rate it stays open, until
 * another rate is wished. Microseconds until the next look; 0: at once. */
static uint64_t turn_open(uint64_t rate, uint64_t per_us)
{
	uint64_t now_us = (fl_arch_ticks() - self.began) / per_us;
	uint64_t wish_us = period_of(rate) * rate / FL_RATE_ALL;

	if (rate == FL_RATE_ALL && *rate_at(windows()->published / 2) >= FL_RATE_ALL)
		return OPEN_US;
	if (now_us < wish_us)
		return wish_us - now_us;
	return turn_off(rate, per_us);
}

/* The reader copies edges before their place is needed again. */
static bool has_room(void)
{
	const struct fl_windows *w = windows();

	/* (H) pairs with (G) in channel/filter.c */
	return w->published - load_acquire(&w->taken) + 2 <= FL_EDGES;
}

/* No window is open: open one when own_ns() comes to next_ns. How long that takes is guessed
 * from how much CPU time has passed since the last window ended (ran_us), in how much time
 * (passed_us). Where nobody recorded anything in the last window a whole gap passes, because
 * all threads may wait and use no CPU time; otherwise at least a 16th of a gap. */
static uint64_t turn_closed(uint64_t rate, uint64_t per_us)
{
	uint64_t passed_us = (fl_os_monotonic_ns() - self.ended_ns) / 1000 + 1;
	uint64_t own = own_ns(), ran_us = (own - self.paused_ns) / 1000;
	uint64_t least_us = self.idle ? gap_of(rate) : gap_of(rate) / 16;
	uint64_t left_us = own < self.next_ns ? (self.next_ns - own) / 1000 : 0;

	if (passed_us < least_us)
		return least_us - passed_us + SHORT_US;
	if (left_us > SHORT_US) {
		left_us = ran_us ? left_us * passed_us / ran_us : PERIOD_US;
		return left_us < SHORT_US ? SHORT_US :
		       left_us > PERIOD_US ? PERIOD_US : left_us;
	}
	return has_room() ? turn_on(per_us) : PERIOD_US;
}

uint64_t fl_windows_turn(void)
{
	uint64_t rate;

	/* (E) pairs with (F) */
	if (!load_acquire(&self.begun)) {
		fl_os_futex_wait(&self.begun, 0, WATCH_US);
		return 0;
	}
	rate = load_relaxed(&windows()->rate);
	if (is_open())
		return turn_open(rate, fl_edge_ticks_per_us());
	return turn_closed(rate, fl_edge_ticks_per_us());
}

/* What an earlier image left: an edge that was only announced does not count, and an open
 * window ends here, without being added up. */
static void end_earlier(void)
{
	struct fl_windows *w = windows();

	store_relaxed(&w->announced, w->published);
	if (is_open())
		end_window();
}

void fl_windows_open(void)
{
	__builtin_memset(&self, 0, sizeof(self));
}

void fl_windows_begin(void)
{
	uint64_t earlier = windows()->own_ns;

	end_earlier();
	self.random = fl_arch_ticks() | 1;
	self.base_ns = all_ns();
	self.base_ns -= earlier < self.base_ns ? earlier : self.base_ns;
	self.due_ns = earlier;
	open_window(FL_RATE_ALL | FL_WINDOW_FRESH);
	store_release(&self.begun, 1);		/* (F) pairs with (E) */
	fl_os_futex_wake(&self.begun, 1);
}
