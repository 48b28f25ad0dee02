/*
 * sample.c - the profiler of paper 1 section 9: a function is timed until K of
 * its calls have ended, then the thread that ended the last one switches the
 * function's exits off, and lets its entries count; flick's own thread has them
 * timed again once an epoch. What an entry does is data. So each call is counted,
 * and few are timed.
 *
 * A function that is called too often for that is seldom, which the reader decides
 * (cli/budget.c): it is off but for short windows, and counted in them; in one window an
 * epoch it is timed, too.
 *
 * A call is paired inside the thread that makes it, so what reaches the reader
 * is only whole samples, an entry and an exit record side by side.
 *
 * INVARIANT  A sample's entry and exit belong to one call of one function.
 * WHY	1 Between two changes of a function's generation its sites are all on,
 *	  so no entry in between went unseen; or it counts, and makes no frames. A
 *	  frame of an older generation is never matched: the generation changes
 *	  before a site is switched off, and before one is switched on.
 *	2 All of an inner machine frame lies below all of an outer one. An exit
 *	  by jump stands at its frame's top: of the frames of its function that
 *	  began below it, the outermost is its own, the others were left by
 *	  longjmp or an exception. An exit by call stands where its entry did, in
 *	  code of fixed frame size; of several there (bodies inlined into
 *	  themselves) the innermost ends first. An exit for which neither holds
 *	  ends a sample only when no other frame of the function could be meant.
 *	3 What is dropped by mistake, here or in push_frame(), is a sample less.
 *	4 Frames are the process's own memory: a child that a handler forks in the middle
 *	  of this changes its copy.
 *
 * PROTOCOL	of windows
 *	reader					flick's thread, now and then
 *	sites[].wanted = who is FL_SELDOM	load wish	(C)
 *	store_release wish + 1	(A)		mark functions; what is seldom goes on
 *	...					opened = the clock
 *	load heeded	(B)			let window_us pass
 *	equal: counts, `passed` and `open`	closed = the clock; what is seldom goes off
 *	  are from now on of these windows	passed, open += ...
 *						store_release processes[].heeded (channel)
 *						store_release heeded	(D)
 * INVARIANT  Windows stand for the time between them: calls x ran / ran_open.
 * WHY	Both are times in which the program ran. When windows begin, and how long they last,
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
#include "os/os.h"
#include "table.h"

/* Index + 1 of functions that switched off, and of those that are seldom; W with the
 * switches' lock, as what fl_function says is. */
static uint32_t off_head, seldom_head;

enum {
	UNLOADING_US = 500,		/* while modules are being unloaded */
	WATCH_US = 100000		/* how soon a dead reader is noticed, or a wish */
};

static struct {
	bool begun, has_heeded;		/* has a wish come since the image began? */
	bool is_open, is_timed;		/* is there a window just now? is the next one timed? */
	uint32_t heeded;		/* the wish that functions are marked by */
	bool has_one_cpu;
	uint64_t opened, closed;	/* the last window: monotonic, ns, as all these, ... */
	uint64_t ran_opened, ran_closed;	/* ... but these: program_ns() */
	uint64_t until;			/* it is not to be closed before: not by a first turn */
	uint64_t epoch_ns;		/* when functions were last timed again */
	uint64_t next_ns;		/* when there is a window again */
	uint64_t random;
} turn;

/* Is stack pointer a below b? They are the low halves of addresses. */
static bool is_below(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* Is this one to be switched, in this pass? An exit that other functions share is
 * theirs, too, while this one is off. */
static bool is_due(uint32_t id, int state, bool entries)
{
	const struct fl_switch *s = &fl_table.switches[id];

	if (s->is_entry != entries || !s->is_wanted)
		return false;
	return entries || state == FL_ON || !fl_table.probes[id].is_shared;
}

/* What the entries do: data, and no thread fetches code anew. */
static void direct_entries(const struct fl_function *f, enum fl_action action)
{
	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (is_due(id, FL_ON, true))
			fl_probe_action(id, action);
}

/* How many were switched, with the switches' lock. */
static uint32_t flip_all(struct fl_function *f, int state, bool entries)
{
	uint32_t n = 0;

	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id]) {
		if (!is_due(id, state, entries))
			continue;
		n += fl_table.switches[id].is_on != (state == FL_ON);
		fl_probe_flip_locked(id, state);
	}
	return n;
}

/* Between windows. Where calls of other functions come through an entry it stays, for
 * these alone. */
static uint32_t hush_entries(const struct fl_function *f)
{
	uint32_t n = 0;

	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id]) {
		const struct fl_probe *p = &fl_table.probes[id];

		if (!is_due(id, FL_OFF, true))
			continue;
		if (p->asks && p->go) {
			store_relaxed(p->go, fl_arch_routine_idle());
			continue;
		}
		n += fl_table.switches[id].is_on;
		fl_probe_flip_locked(id, FL_OFF);
	}
	return n;
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

/* Again for a function that is off: one of its sites was found and armed since.
 * Nobody waits: where another thread switches, or modules are being unloaded, the next
 * sample tries again. Re-arming has the same lock, so nobody who was held up in here
 * switches off what is on again. */
static void switch_off(struct fl_function *f)
{
	uint64_t signals;
	bool was_off;

	if (!fl_switches_try(&signals))
		return;
	FL_POINT("probe.switching");
	was_off = f->is_off;
	store_relaxed(&f->is_off, 1);
	store_release(&f->generation, f->generation + !was_off);	/* (A) pairs with (B) */
	if (!was_off || !f->is_seldom || turn.is_open)	/* else its window is over */
		direct_entries(f, FL_ACT_COUNT);
	flip_all(f, FL_OFF, false);
	if (!was_off && !f->is_seldom)
		note_off(f);
	fl_switches_unlock(&signals);
}

/* What a probe takes is taken out of times by the reader, as it is taken nearly always.
 * What it takes now and then, to switch a function off or to wake the reader, is not of
 * the calls that this thread is in: they began as much later. */
static void take_out_since(struct fl_frames *of, uint64_t tsc)
{
	enum { NEARLY_ALWAYS = 1000 };
	uint64_t took = fl_arch_ticks() - tsc;

	for (uint32_t i = 0; took > NEARLY_ALWAYS && i < of->n; i++)
		of->at[i].tsc += took;
}

/* A function whose calls never seem to end (exits without a site, calls that
 * longjmp leaves) must not stay on for that. */
enum { ENTRIES_A_SAMPLE = 16 };

static void count_entry(struct fl_function *f)
{
	uint32_t n = __atomic_add_fetch(&f->entered, 1, __ATOMIC_RELAXED);

	if (n >= fl_table.shm->samples * ENTRIES_A_SAMPLE)
		switch_off(f);
}

static bool is_current(const struct fl_frame *f)
{
	return f->generation == load_relaxed(&fl_table.functions[f->function].generation);
}

/* Frames whose function has been switched since are never matched again. */
static uint32_t drop_stale(struct fl_frames *of)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < FL_FRAMES; i++)
		if (is_current(&of->at[i]))
			of->at[kept++] = of->at[i];
	return kept;
}

/* Within one machine frame gcc lets up to 16 bytes of arguments stand. */
enum { ARGUMENTS = 16 };

/* Where a frame at `sp` goes. A signal handler may come at any step and leave
 * frames of its own: the number is read once, so it stays one of the table's. */
static uint32_t next_frame(struct fl_frames *of, uint32_t sp)
{
	uint32_t n = load_relaxed(&of->n);

	while (n && is_below(of->at[n - 1].sp + ARGUMENTS, sp))
		n--;				/* left without an exit */
	if (n == FL_FRAMES)
		n = drop_stale(of);
	return n < FL_FRAMES ? n : 0;		/* too deep: begin anew */
}

static void push_frame(struct fl_frames *of, const struct fl_probe *p, uint32_t generation,
		       uint32_t sp)
{
	uint32_t n = next_frame(of, sp);
	struct fl_frame *f = &of->at[n];

	FL_POINT("sample.frame");
	store_relaxed(&of->n, n + 1);
	f->function = p->function;
	f->generation = generation;
	f->sp = sp;
	f->probe = fl_probe_id(p);
	f->tsc = fl_arch_ticks_apart();
}

/* Of a function that is off an entry may come here that was found since, or whose
 * thread had loaded where to go; and each that no glue serves. */
static void enter(struct fl_frames *of, const struct fl_probe *p, uint32_t sp, uint64_t now)
{
	struct fl_function *f = &fl_table.functions[p->function];
	uint32_t generation = load_acquire(&f->generation);	/* (B) pairs with (A) */

	fl_channel_count(fl_probe_id(p));
	if (load_relaxed(&f->is_off)) {
		if (!p->by_call)
			switch_off(f);
		return;
	}
	if (load_relaxed(&f->cold)) {
		store_relaxed(&f->cold, f->cold - 1);
		return;
	}
	count_entry(f);
	take_out_since(of, now);
	push_frame(of, p, generation, sp);
}

#define NO_FRAME UINT32_MAX

/* An exit by jump: the outermost frame of the function that began below. */
static uint32_t find_below(const struct fl_frames *of, uint32_t function, uint32_t sp)
{
	uint32_t found = NO_FRAME;

	for (uint32_t i = of->n; i-- > 0;)
		if (of->at[i].function == function &&
		    is_below(of->at[i].sp, sp))
			found = i;
	return found;
}

/* An exit by call: the innermost frame that began just there; else the only
 * one there is, when nothing stands above it. */
static uint32_t find_at(const struct fl_frames *of, uint32_t function, uint32_t sp)
{
	uint32_t n = 0;

	for (uint32_t i = of->n; i-- > 0;) {
		if (of->at[i].function != function)
			continue;
		if (of->at[i].sp == sp)
			return i;
		n++;
	}
	if (n == 1 && of->at[of->n - 1].function == function)
		return of->n - 1;
	return NO_FRAME;
}

/* The frame that ends at `sp`; see INVARIANT. Frames above it are dropped. */
static bool pop_frame(struct fl_frames *of, const struct fl_probe *p, uint32_t sp,
		      struct fl_frame *out)
{
	bool jump = fl_table.sites[fl_probe_id(p)].jump;
	uint32_t i = jump ? find_below(of, p->function, sp)
			  : find_at(of, p->function, sp);

	if (i == NO_FRAME)
		return false;
	*out = of->at[i];
	of->n = i;
	return is_current(out);
}

static void end_sample(struct fl_frames *of, const struct fl_frame *f, uint32_t exit,
		       uint32_t sp, uint64_t now)
{
	struct fl_function *fn = &fl_table.functions[f->function];
	const struct flick_record pair[2] = {
		{ .tsc = f->tsc, .probe = f->probe, .sp = f->sp },
		{ .tsc = now, .probe = exit, .sp = sp },
	};

	fl_channel_put_pair(pair);
	if (__atomic_add_fetch(&fn->taken, 1, __ATOMIC_RELAXED) >= fl_table.shm->samples)
		switch_off(fn);
	take_out_since(of, now);
}

void fl_sample_hit(uint32_t id, uint32_t sp)
{
	uint64_t now = fl_arch_ticks_apart();
	const struct fl_probe *p = &fl_table.probes[id];
	struct fl_slot *slot = fl_channel_slot();
	struct fl_frame f;

	if (!slot)
		fl_channel_lose_slotless(id);
	else if (fl_table.sites[id].kind == FL_ENTRY) {
		enter(slot->frames, p, sp, now);
	} else if (pop_frame(slot->frames, p, sp, &f)) {
		end_sample(slot->frames, &f, id, sp, now);
	}
}

/* ---- epochs, by flick's own thread ---------------------------------------------------- */

/* The first calls in a window meet code and counters that their core has not, and are not
 * what nearly all calls are: of a function of ten ns they took five hundred. Who is called
 * as often as a seldom function soon has others. */
enum { COLD_CALLS = 32 };

/* No locked instruction: it would wait until the code of the function before has
 * come from the core that runs it. While a function is on the list, nobody else
 * changes its generation. */
static uint32_t rearm_one(struct fl_function *f)
{
	uint32_t n;

	store_relaxed(&f->cold, f->is_seldom ? COLD_CALLS : 0);
	store_relaxed(&f->taken, 0);
	store_relaxed(&f->entered, 0);
	store_relaxed(&f->generation, f->generation + 1);
	/* ordering: none other, who sees the old one pushes no frame */
	store_release(&f->is_off, 0);
	n = flip_all(f, FL_ON, false);
	direct_entries(f, FL_ACT_SAMPLE);
	return n + flip_all(f, FL_ON, true);
}

static uint32_t rearm_all(void)
{
	uint32_t n = 0;

	while (off_head && !fl_table.closing) {
		struct fl_function *f = &fl_table.functions[off_head - 1];

		off_head = f->next_off;
		n += rearm_one(f);
	}
	return n;
}

/* Of a function that is seldom each entry is. What was unloaded may have been
 * another's, at the same place. */
static bool is_to_be_seldom(const struct fl_function *f)
{
	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (is_due(id, FL_ON, true) && fl_table.sites[id].state != FL_SITE_GONE &&
		    load_relaxed(&fl_table.rows[id].wanted) == FL_SELDOM)
			return true;
	return false;
}

/* Counted alone, as nothing else is as short. */
static uint32_t count_one(struct fl_function *f)
{
	direct_entries(f, FL_ACT_COUNT);
	return flip_all(f, FL_ON, true);
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
	store_relaxed(&s->closed_ns, turn.closed);
	/* (D) pairs with (B) in cli/budget.c */
	store_release(&s->heeded, turn.heeded);
}

/* Where flick's process has the program's one CPU, the program does not run while a window
 * is opened and closed, nor until that process is off it: then its CPU time is exact. On
 * other CPUs it lags, and nobody waits. */
static uint64_t program_ns(void)
{
	return turn.has_one_cpu ? fl_os_program_ns() : fl_os_monotonic_ns();
}

/* As if a window had been closed just now. */
static void begin_outside(void)
{
	turn.closed = fl_os_monotonic_ns();
	turn.ran_closed = program_ns();
}

static uint32_t heed(void)
{
	struct fl_seldom *s = &fl_table.shm->seldom;
	uint32_t wish = load_acquire(&s->wish), n;	/* (C) pairs with (A) in cli/budget.c */

	if (wish == turn.heeded)
		return 0;
	if (!seldom_head)
		begin_outside();
	n = mark_functions();
	turn.heeded = wish;
	turn.has_heeded = true;
	if (!seldom_head)
		say_heeded(s);
	return n;
}

static uint32_t open_window(void)
{
	bool timed = turn.is_timed;
	uint32_t n = 0;

	turn.is_timed = false;
	turn.opened = fl_os_monotonic_ns();
	turn.ran_opened = program_ns();
	turn.is_open = true;
	for (uint32_t i = seldom_head; i; i = fl_table.functions[i - 1].next_off) {
		struct fl_function *f = &fl_table.functions[i - 1];

		if (f->is_off)
			n += timed ? rearm_one(f) : count_one(f);
	}
	turn.ran_opened += (program_ns() - turn.ran_opened) / 2;
	turn.opened += (fl_os_monotonic_ns() - turn.opened) / 2;
	turn.until = 0;
	return n;
}

/* What is open in a window and has not ended is no sample. */
static uint32_t shut_one(struct fl_function *f)
{
	uint32_t n;
	bool was_off = f->is_off;

	store_relaxed(&f->is_off, 1);
	/* ordering: none other, who sees the old one has entered before */
	store_release(&f->generation, f->generation + !was_off);
	n = hush_entries(f);
	return n + flip_all(f, FL_OFF, false);
}

static uint32_t close_window(void)
{
	struct fl_seldom *s = &fl_table.shm->seldom;
	uint64_t now = fl_os_monotonic_ns(), ran = program_ns();
	uint32_t n = 0;

	for (uint32_t i = seldom_head; i; i = fl_table.functions[i - 1].next_off)
		n += shut_one(&fl_table.functions[i - 1]);
	ran += (program_ns() - ran) / 2;
	now += (fl_os_monotonic_ns() - now) / 2;
	__atomic_fetch_add(&s->passed_ns, now - turn.closed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->open_ns, now - turn.opened, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->ran_ns, ran - turn.ran_closed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->ran_open_ns, ran - turn.ran_opened, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->windows, 1, __ATOMIC_RELAXED);
	turn.closed = now;
	turn.ran_closed = ran;
	turn.is_open = false;
	say_heeded(s);
	return n;
}

/* ---- what costs more than there is credit for ------------------------------------------ */

/* The reader, and other processes, hear of it by its rows. */
static void say_seldom(const struct fl_function *f)
{
	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (is_due(id, FL_ON, true))
			store_relaxed(&fl_table.rows[id].wanted, FL_SELDOM);
	store_relaxed(&fl_table.shm->seldom.has_cut, 1);
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
			turn.closed = 0;
		f->is_seldom = 1;
		put_on(&seldom_head, f);
		shut_one(f);
		say_seldom(f);
	}
	fl_switches_unlock(&signals);
	fl_os_rouse();
	return true;
}

void fl_sample_block(uint32_t id)
{
	struct fl_function *f = &fl_table.functions[fl_table.probes[id].function];
	uint64_t now = fl_arch_ticks();
	struct fl_slot *slot;

	if (load_relaxed(&f->is_seldom) || fl_fuse_takes(f) || !cut(f))
		return;
	slot = fl_channel_own_slot();
	if (slot)
		take_out_since(slot->frames, now);
}

/* An entry whose function was unloaded may be back, or be found late. Until a wish is
 * heeded its function is as before; an image begins with what is wished. */
static bool is_to_wait(uint32_t id)
{
	const struct fl_function *f = &fl_table.functions[fl_table.probes[id].function];

	if (load_relaxed(&fl_table.rows[id].wanted) != FL_SELDOM)
		return false;
	return f->is_seldom || !turn.has_heeded ||
	       turn.heeded == load_relaxed(&fl_table.shm->seldom.wish);
}

bool fl_sample_hushes(uint32_t id)
{
	return !turn.is_open && is_to_wait(id);
}

/* The first function that is seldom is there: what it is not in is no time of windows. */
static void begin_windows(void)
{
	begin_outside();
	if (!turn.is_open)
		return;
	turn.until += turn.closed - turn.opened;
	turn.opened = turn.closed;
	turn.ran_opened = turn.ran_closed;
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

	while (id < fl_table.n &&
	       (fl_table.sites[id].state != FL_SITE_READY || !is_to_wait(id)))
		id++;
	if (id >= fl_table.n)
		return;
	if (!seldom_head)
		begin_windows();
	mark_functions();
	for (; id < fl_table.n; id++) {
		if (fl_table.sites[id].state == FL_SITE_READY && is_to_wait(id))
			be_seldom(&fl_table.functions[fl_table.probes[id].function]);
	}
}

/* From half of it to one and a half. */
static uint64_t vary(uint64_t ns)
{
	turn.random ^= turn.random << 13;
	turn.random ^= turn.random >> 7;
	turn.random ^= turn.random << 17;
	return ns / 2 + (ns ? (turn.random >> 8) % ns : 0);
}

static uint32_t begin_epoch(uint64_t now_ns)
{
	const struct fl_shm *m = fl_table.shm;
	uint64_t us = load_relaxed(&m->seldom.epoch_us);
	uint32_t n = 0;

	us = us > m->epoch_us ? us : m->epoch_us;
	if (now_ns - turn.epoch_ns >= us * 900) {	/* a timer may be early by a little */
		turn.epoch_ns = now_ns;
		turn.is_timed = true;
		n = rearm_all();
	}
	n += heed();
	return seldom_head && now_ns >= turn.next_ns ? n + open_window() : n;
}

/* What is to be done now, and in how many microseconds again. */
static uint64_t take_turn(uint32_t *n)
{
	const struct fl_seldom *s = &fl_table.shm->seldom;
	uint64_t now_ns = fl_os_monotonic_ns(), us, left;

	if (fl_switches_are_frozen() || fl_table.closing)
		return fl_table.closing ? WATCH_US : UNLOADING_US;
	if (seldom_head && !turn.closed) {	/* the first was cut just now */
		begin_outside();
		turn.next_ns = now_ns + vary(load_relaxed(&s->period_us) * 1000ull);
	}
	if (turn.is_open && seldom_head && now_ns < turn.until)
		return (turn.until - now_ns) / 1000 + 1;
	if (turn.is_open && !seldom_head) {
		turn.is_open = false;
		return 1;
	}
	if (turn.is_open) {
		*n = close_window();
		turn.next_ns = now_ns + vary(load_relaxed(&s->period_us) * 1000ull);
	} else {
		*n = begin_epoch(now_ns);
	}
	if (turn.is_open)
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
	const struct fl_seldom *s = &fl_table.shm->seldom;
	uint64_t period = load_relaxed(&s->period_us) * 1000ull, now = fl_os_monotonic_ns();
	uint64_t window = load_relaxed(&s->window_us) * 1000ull, at;

	turn.random = (fl_arch_ticks() ^ now << 20) * 0x9e3779b97f4a7c15ull | 1;
	at = period ? (turn.random >> 8) % period : 0;
	begin_outside();
	turn.opened = turn.closed;
	turn.ran_opened = turn.ran_closed;
	turn.is_timed = false;
	turn.is_open = at < window;
	turn.until = now + at;
	turn.next_ns = turn.is_open ? now : now + at - window;
}

/* What others of the family have cut, or was wished, is seldom from the first. */
void fl_sample_open(void)
{
	/* (C) pairs with (A) in cli/budget.c */
	turn.heeded = load_acquire(&fl_table.shm->seldom.wish);
	if (!turn.heeded)
		return;
	turn.has_one_cpu = fl_os_has_one_cpu() && fl_os_program_ns();
	draw_moment();
	fl_channel_heed(turn.heeded);
}

static uint64_t begin_turns(void)
{
	uint64_t us = fl_table.shm->epoch_us, now = fl_os_monotonic_ns();
	uint64_t at = turn.is_open ? turn.until : turn.next_ns;

	turn.begun = true;
	turn.epoch_ns = now;
	if (turn.heeded && at < now + us * 1000)
		us = at > now ? (at - now) / 1000 + 1 : 1;
	if (!turn.heeded) {
		turn.random = fl_arch_ticks() | 1;
		turn.has_one_cpu = fl_os_has_one_cpu() && fl_os_program_ns();
	}
	return us < WATCH_US ? us : WATCH_US;
}

/* The program has ended, or is another one: nobody is left here. What was not counted
 * since the last window is counted by those of others. */
void fl_sample_end(void)
{
	struct fl_seldom *s = &fl_table.shm->seldom;
	uint64_t now = fl_os_monotonic_ns(), ran = program_ns();
	uint64_t least = turn.is_open ? turn.ran_opened : turn.ran_closed;

	if (!seldom_head || !turn.closed)
		return;
	if (ran < least)
		ran = least;			/* 0: its end is known, and its clock gone */
	if (turn.is_open) {
		__atomic_fetch_add(&s->open_ns, now - turn.opened, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->ran_open_ns, ran - turn.ran_opened,
				   __ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&s->ran_ns, ran - turn.ran_closed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->windows, turn.is_open, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->passed_ns, now - turn.closed, __ATOMIC_RELAXED);
	store_relaxed(&s->closed_ns, now);
}

/* All sites of a function or none: while modules are being unloaded, none. */
uint64_t fl_sample_turn(void)
{
	uint64_t signals, inner, us, t0 = fl_arch_ticks();
	uint32_t n = 0;

	if (!turn.begun)			/* all is on, but for what is seldom */
		return begin_turns();
	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	us = take_turn(&n);
	fl_switches_unlock(&inner);
	fl_table_unlock(&signals);
	__atomic_fetch_add(&fl_table.shm->toggles, 2 * n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&fl_table.shm->rearm_ticks, fl_arch_ticks() - t0,
			   __ATOMIC_RELAXED);
	return us;
}

/* ---- fork -------------------------------------------------------------------------------- */

static void finish_switch_off(struct fl_function *f)
{
	direct_entries(f, FL_ACT_COUNT);
	flip_all(f, FL_OFF, false);
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
	turn.heeded = load_acquire(&fl_table.shm->seldom.wish);
	mark_functions();
	draw_moment();
	off_head = 0;
	for (uint32_t i = 0; i < fl_table.n_functions; i++) {
		struct fl_function *f = &fl_table.functions[i];

		if (f->is_seldom) {
			be_seldom(f);
		} else if (f->is_off) {
			finish_switch_off(f);
		}
	}
	turn.is_open &= seldom_head != 0;
	fl_channel_heed(turn.heeded);
	fl_switches_unlock(&signals);
}
