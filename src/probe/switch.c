/*
 * switch.c - stores to text, and the loader that unmaps what they would store to.
 *
 * Hides when text may be stored to. Bits say what is to be stored (goal.c). A switch of an
 * armed probe is one store, and pays no fence. The loader says when it begins to unmap
 * modules, and when it has ended.
 *
 * PROTOCOL
 *	one probe (flick_on): a			fl_probes_freeze(): the loader
 *	restartable sequence (arch)		begins to delete
 *	  load frozen		(A)		lock `switching`
 *	  load armed, at			frozen + 1		(C)
 *	  store to text				restart all sequences	(OS21)
 *	several, sampling's, arming:		unlock
 *	lock `switching`			... the loader and the program run:
 *	  load frozen				modules are unmapped, free() is called
 *	  store to text				fl_probes_thaw(): it has ended
 *	unlock					armed = 0 of what is gone
 *	frozen: the bits are set,		lock `switching`
 *	deferred = 1, fence	(D)		frozen - 1		(B)
 *	load frozen: if it is not any more,	fence, load deferred	(E)
 *	all again				make what was deferred so
 *						unlock
 *	Where the kernel restarts no sequences, each switch takes the lock.
 * INVARIANT
 *	1 From freeze to thaw nobody stores to text that may be unmapped.
 *	2 A thread that switches waits for no thread that is in the loader or the program.
 *	3 While nothing is frozen, and nobody is switching, text is as the bits say; except that
 *	  after two wishes for one probe at one time text may follow one and the bits the other.
 * WHY
 *	1 A sequence that loaded `frozen` before (C), and has not stored when restarts come,
 *	  begins again and sees (C). A thread that had the lock has stored before freeze gets
 *	  it. A thread that sees the 0 of the thaw, (A) of (B), sees which probes are not armed
 *	  any more. A place that is armed in between was met by a call: its code runs.
 *	2 From freeze to thaw no lock is held. The holder of `switching` stores, asks the
 *	  kernel, and synchronises cores. Sampling does not even wait for that.
 *	3 Of (D) and (E) one sees the other: the thread that deferred tries again, or the thaw
 *	  finds its probe. Deferred text is made anew until the bits did not change meanwhile.
 *	At the end text is held first and then switched off: a switch in a handler, which no
 *	lock keeps out, finds text held.
 *	All of it is in tests/model/freeze.pml, with a twin for each step and each letter.
 * FAILURE
 *	The kernel denies restarts later (seccomp): from then on each switch takes the
 *	lock, and each freeze waits a millisecond for threads that are in the middle of five
 *	instructions, or saw that there were restarts and are on their way to those five.
 *	A fork between freeze and thaw waits for the thaw, but not for long;
 *	if that does not come the child stores to no text, and is not recorded.
 */
#include "goal.h"
#include "os/os.h"
#include "switch.h"

_Static_assert(offsetof(struct fl_switch, at) == offsetof(struct fl_flip, at) &&
	       offsetof(struct fl_switch, byte) == offsetof(struct fl_flip, unit) &&
	       offsetof(struct fl_switch, armed) == offsetof(struct fl_flip, armed) &&
	       sizeof(struct fl_switch) == sizeof(struct fl_flip), "it begins as one");

enum { PAUSE_US = 200 };

/* (A) is in the sequence itself: (A) pairs with (B), (A) pairs with (C). */

static struct fl_lock switching = { .rank = FL_LOCK_SWITCHES };	/* W of all below */
struct fl_switching fl_switching;
static uint32_t deferred;		/* 1: some switch is left to the thaw; W any (D) */
static uint32_t unloads;		/* how often modules were about to go; R any */
static int unloader;			/* the thread, from freeze to thaw; 0: none; R any */
static uint32_t holding;		/* forks that want no freeze */
static bool had_restarts;		/* at first; constant */

/* For fork's child, and at a later use. A thread that unloads just now finds at the thaw that
 * it is not the unloader any more. */
static void forget_freezes(void)
{
	uint64_t signals;

	fl_os_lock(&switching, &signals);
	fl_switching.frozen = deferred = holding = 0;
	unloader = 0;
	fl_os_unlock(&switching, &signals);
}

void fl_switches_open(void)
{
	forget_freezes();
	had_restarts = fl_arch_can_flip_unless() && fl_os_membarrier_restart_register() == 0 &&
		       fl_os_membarrier_restart() == 0;
	fl_switching.restarts = had_restarts;
	fl_switching.is_aliased = fl_text_is_aliased();
	fl_switching.is_short = !fl_switching.is_aliased;
}

/* ---- frozen ------------------------------------------------------------------------ */

bool fl_switches_are_unloading(void)
{
	return load_relaxed(&unloader) != 0;
}

uint32_t fl_switches_unloads(void)
{
	return load_acquire(&unloads);				/* (G) pairs with (F) */
}

void fl_switches_hold(void)
{
	enum { LONG_US = 1000 };

	store_release(&fl_switching.frozen, fl_switching.frozen + 1); /* (C) pairs with (A) */
	if (!had_restarts || (fl_switching.restarts && fl_os_membarrier_restart() == 0))
		return;
	store_relaxed(&fl_switching.restarts, false);
	fl_os_sleep_us(LONG_US);
}

void fl_switches_let(void)
{
	store_release(&fl_switching.frozen, fl_switching.frozen - 1);	/* (B) pairs with (A) */
}

static void make_deferred(void)
{
	for (uint32_t id = 0; id < fl_table.n; id++) {
		uint8_t *d = &fl_table.switches[id].is_deferred;

		/* ordering: none other, what is deferred later is seen later */
		if (load_relaxed(d) && __atomic_exchange_n(d, 0, __ATOMIC_SEQ_CST))
			fl_goal_follow(id);
	}
}

static bool is_deferred(void)
{
	/* (E) pairs with (D) */
	return !fl_switching.frozen && load_relaxed(&deferred) &&
	       __atomic_exchange_n(&deferred, 0, __ATOMIC_SEQ_CST);
}

void fl_switch_defer(uint32_t id)
{
	store_relaxed(&fl_table.switches[id].is_deferred, 1);
	/* (D) pairs with (E) */
	__atomic_store_n(&deferred, 1, __ATOMIC_SEQ_CST);
}

void fl_switches_lock(uint64_t *signals)
{
	fl_os_lock(&switching, signals);
}

void fl_switches_unlock(const uint64_t *signals)
{
	/* (E) pairs with (D) */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	while (is_deferred())
		make_deferred();
	fl_os_unlock(&switching, signals);
}

bool fl_switches_try(uint64_t *signals)
{
	const struct fl_slot *own = fl_channel_own_slot();

	if (fl_os_is_locked(&switching) || load_relaxed(&fl_switching.frozen))
		return false;
	FL_POINT("switches.trying");
	if (!fl_os_trylock_by(&switching, own ? own->tid : fl_os_tid(), signals))
		return false;
	if (!fl_switching.frozen && !fl_table.holds)
		return true;
	fl_switches_unlock(signals);
	return false;
}

bool fl_switches_are_frozen(void)
{
	return load_relaxed(&fl_switching.frozen) != 0;
}

/* ---- one probe ---------------------------------------------------------------------- */

void fl_switch_prepare(uint32_t id)
{
	const struct fl_patch *p = &fl_table.patches[id];
	struct fl_switch *s = &fl_table.switches[id];

	s->at = p->at + (uintptr_t)p->view + p->flip_at;
	for (int state = 0; state < FL_N_STATES; state++)
		s->byte[state] = p->flip[state];
}

void fl_switch_publish(uint32_t id)
{
	/* (K) pairs with (L) in goal.c: who finds it armed finds where to store */
	store_release(&fl_table.switches[id].armed,
		      fl_table.patches[id].tactic == FL_FLIP ? FL_ARMED_FLIP : FL_ARMED_WORD);
}

enum fl_flipped fl_switch_store_first(uint32_t id, enum fl_state state,
				      enum fl_flip_when when)
{
	(void)when;
	if (state == FL_ON)
		fl_patch_flip(&fl_table.patches[id], FL_ON);
	return FL_FLIPPED;
}

enum fl_flipped fl_switch_store_later(uint32_t id, enum fl_state state,
				      enum fl_flip_when when)
{
	(void)state, (void)when;
	fl_switch_defer(id);
	return FL_FLIP_HELD;
}

enum fl_flipped fl_switch_store_waiting(uint32_t id, enum fl_state state,
					enum fl_flip_when when)
{
	enum fl_flipped how = FL_FLIP_HELD;
	uint64_t signals;

	(void)when;
	fl_switches_lock(&signals);
	if (!fl_switching.frozen) {
		FL_POINT("probe.switching");
		how = fl_switch_store_locked(id, state, FL_FLIP_ALWAYS);
	}
	fl_switches_unlock(&signals);
	return how;
}

/* ---- the loader ------------------------------------------------------------------------- */

/* A fork soon has what it wants, unless it waits for a thread that waits for us. */
static void lock_between_forks(uint64_t *signals)
{
	enum { PATIENCE_US = 100000 };

	fl_switches_lock(signals);
	for (int us = 0; holding && us < PATIENCE_US; us += PAUSE_US) {
		fl_switches_unlock(signals);
		fl_os_sleep_us(PAUSE_US);
		fl_switches_lock(signals);
	}
}

void fl_probes_freeze(void)
{
	uint64_t signals;

	FL_POINT("probes.freezing");
	lock_between_forks(&signals);
	if (!unloader)
		fl_switches_hold();
	store_relaxed(&unloader, fl_os_tid());
	store_release(&unloads, unloads + 1);			/* (F) pairs with (G) */
	fl_switches_unlock(&signals);
	FL_POINT("probes.frozen");
}

bool fl_probes_thaw(void (*each_loaded)(void (*see)(uintptr_t bias)))
{
	uint64_t signals;

	if (!fl_switches_is_unloader())
		return false;
	fl_table_forget_gone(each_loaded);
	FL_POINT("probes.thawing");
	fl_switches_lock(&signals);
	if (fl_switches_is_unloader()) {
		store_relaxed(&unloader, 0);
		fl_switches_let();
	}
	fl_switches_unlock(&signals);
	return true;
}

bool fl_switches_is_unloader(void)
{
	return load_relaxed(&unloader) == fl_os_tid();
}

void fl_switches_wait_for_thaw(void)
{
	while (fl_switches_are_unloading() && !fl_switches_is_unloader())
		fl_os_sleep_us(PAUSE_US);
}

bool fl_switches_wait_for_arming(void)
{
	enum { PATIENCE_US = 100000 };

	for (int us = 0; us < PATIENCE_US && fl_switches_are_frozen(); us += PAUSE_US) {
		if (fl_switches_are_unloading() || load_relaxed(&fl_table.holds))
			return false;
		fl_os_sleep_us(PAUSE_US);
	}
	return !fl_switches_are_frozen();
}

/* ---- fork ------------------------------------------------------------------------------- */

bool fl_probes_keep_modules(uint64_t patience_us)
{
	uint64_t signals;
	bool thawed = false;

	for (uint64_t us = 0; us < patience_us; us += PAUSE_US) {
		fl_switches_lock(&signals);
		thawed = !unloader;
		holding += thawed;
		fl_switches_unlock(&signals);
		if (thawed || fl_switches_is_unloader())
			break;
		fl_os_sleep_us(PAUSE_US);
	}
	return thawed;
}

void fl_probes_let_modules(void)
{
	uint64_t signals;

	fl_switches_lock(&signals);
	holding--;
	fl_switches_unlock(&signals);
}

/* Is text as the parent's was, or was some of it just being unmapped? */
bool fl_switches_in_child(void)
{
	bool whole = !unloader;

	forget_freezes();
	return whole;
}
