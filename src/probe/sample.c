/*
 * sample.c - the profiler of paper 1 section 9: a function is timed until K of
 * its calls have ended, then the thread that ended the last one switches the
 * function's exits off, and lets its entries count; flick's own thread has them
 * timed again once an epoch. What an entry does is data. So each call is counted,
 * and few are timed.
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
 */
#include "os/os.h"
#include "table.h"

static uint32_t off_head;	/* index + 1 of functions that switched off; W with the
				 * switches' lock, as what fl_function says is */

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
		fl_probe_flip_locked(id, state);
		n++;
	}
	return n;
}

static void note_off(struct fl_function *f)
{
	f->next_off = off_head;
	off_head = (uint32_t)(f - fl_table.functions) + 1;
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
	direct_entries(f, FL_ACT_COUNT);
	flip_all(f, FL_OFF, false);
	if (!was_off)
		note_off(f);
	fl_switches_unlock(&signals);
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
	f->tsc = fl_arch_ticks();
}

/* Of a function that is off an entry may come here that was found since, or whose
 * thread had loaded where to go; and each that no glue serves. */
static void enter(struct fl_frames *of, const struct fl_probe *p, uint32_t sp)
{
	struct fl_function *f = &fl_table.functions[p->function];
	uint32_t generation = load_acquire(&f->generation);	/* (B) pairs with (A) */

	fl_channel_count(fl_probe_id(p));
	if (load_relaxed(&f->is_off)) {
		if (!p->by_call)
			switch_off(f);
		return;
	}
	count_entry(f);
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

static void end_sample(const struct fl_frame *f, uint32_t exit, uint32_t sp, uint64_t now)
{
	struct fl_function *fn = &fl_table.functions[f->function];
	const struct flick_record pair[2] = {
		{ .tsc = f->tsc, .probe = f->probe, .sp = f->sp },
		{ .tsc = now, .probe = exit, .sp = sp },
	};

	fl_channel_put_pair(pair);
	if (__atomic_add_fetch(&fn->taken, 1, __ATOMIC_RELAXED) >= fl_table.shm->samples)
		switch_off(fn);
}

void fl_sample_hit(uint32_t id, uint32_t sp)
{
	uint64_t now = fl_arch_ticks();
	const struct fl_probe *p = &fl_table.probes[id];
	struct fl_slot *slot = fl_channel_slot();
	struct fl_frame f;

	if (!slot)
		fl_channel_lose_slotless();
	else if (fl_table.sites[id].kind == FL_ENTRY) {
		enter(slot->frames, p, sp);
	} else if (pop_frame(slot->frames, p, sp, &f)) {
		end_sample(&f, id, sp, now);
	}
}

/* No locked instruction: it would wait until the code of the function before has
 * come from the core that runs it. While a function is on the list, nobody else
 * changes its generation. */
static uint32_t rearm_one(struct fl_function *f)
{
	uint32_t n;

	store_relaxed(&f->taken, 0);
	store_relaxed(&f->entered, 0);
	store_relaxed(&f->generation, f->generation + 1);
	/* ordering: none other, who sees the old one pushes no frame */
	store_release(&f->is_off, 0);
	n = flip_all(f, FL_ON, false);
	direct_entries(f, FL_ACT_SAMPLE);
	return n;
}

static uint32_t rearm_all(void)
{
	uint32_t n = 0;

	while (off_head && !fl_table.closing) {
		struct fl_function *f = &fl_table.functions[off_head - 1];

		off_head = f->next_off;
		n += 2 * rearm_one(f);			/* off before, on now */
	}
	return n;
}

/* All sites of a function or none: while modules are being unloaded, none. */
void fl_sample_rearm(void)
{
	uint64_t signals, inner, n = 0, t0 = fl_arch_ticks();

	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	if (!fl_switches_are_frozen())
		n = rearm_all();
	fl_switches_unlock(&inner);
	fl_table_unlock(&signals);
	__atomic_fetch_add(&fl_table.shm->toggles, n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&fl_table.shm->rearm_ticks, fl_arch_ticks() - t0,
			   __ATOMIC_RELAXED);
}

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
	off_head = 0;
	for (uint32_t i = 0; i < fl_table.n_functions; i++)
		if (fl_table.functions[i].is_off)
			finish_switch_off(&fl_table.functions[i]);
	fl_switches_unlock(&signals);
}
