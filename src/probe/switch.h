/*
 * switch.h - private to probe/: when text may be stored to, and how a byte of it is
 * (switch.c). What is to be stored is goal.c's.
 */
#ifndef FL_SWITCH_H
#define FL_SWITCH_H

#include "table.h"

/* lock: whoever stores to text of several probes, or must find no switch half done, has it.
 * try: does not wait, and fails where nothing may be switched. hold, until let: nobody switches
 * a single probe either, and the lock's holder may remap text. frozen: no text of a module may
 * be stored to, except where it runs. */
void fl_switches_open(void);
void fl_switches_lock(uint64_t *signals);
bool fl_switches_try(uint64_t *signals);
void fl_switches_unlock(const uint64_t *signals);
void fl_switches_hold(void);
void fl_switches_let(void);
bool fl_switches_are_frozen(void);
/* Are modules being unmapped? By the calling thread? How often was that begun? */
bool fl_switches_are_unloading(void);
bool fl_switches_is_unloader(void);
uint32_t fl_switches_unloads(void);
/* The caller holds no lock. Returns at once in the thread that unloads. */
void fl_switches_wait_for_thaw(void);
/* Wait for a thread that arms where text is aliased: it holds switches for as long as it takes
 * to make pages anew, and waits for nobody. Does not wait for the loader, nor for flick's end,
 * because either may wait for the caller. False: text is still frozen. */
bool fl_switches_wait_for_arming(void);
/* In fork's child, alone: begin anew. False: text may be half unmapped. */
bool fl_switches_in_child(void);

/* prepare: take from its patch how text of the probe is switched, while `armed` is still 0.
 * publish: it is armed. */
void fl_switch_prepare(uint32_t id);
void fl_switch_publish(uint32_t id);

/* Ways of storing to text of a probe that may be armed. */
typedef enum fl_flipped fl_switch_storing(uint32_t id, enum fl_state, enum fl_flip_when);
/* Any thread. Waits for the lock's holder; nothing is stored while text is frozen
 * (FL_FLIP_HELD). */
fl_switch_storing fl_switch_store_waiting;
/* With the lock. later: it is stored at the thaw. first: the probe is not armed yet, and its
 * text is `off`. */
fl_switch_storing fl_switch_store_later;
fl_switch_storing fl_switch_store_first;
/* Text is not as is wanted: it is made so when it is frozen no more. Any thread. */
void fl_switch_defer(uint32_t id);

/* What a single switch looks at. */
struct fl_switching {
	uint32_t frozen;		/* how many want no stores to text; W with the lock,
					 * R any (A) in switch.c */
	bool restarts;			/* a single switch is a restartable sequence */
	bool is_aliased;		/* text is stored to in another mapping; constant */
	bool is_short;			/* a single switch may be that sequence alone: false
					 * where is_aliased, or with a second session */
};
extern struct fl_switching fl_switching;

/* Is the text this process's? A child of a bare clone, which took no leave in
 * fl_probes_leave(), must not store to text that it shares with its parent. */
static inline bool fl_switches_may_store(void)
{
	return !fl_switching.is_aliased || !fl_channel_is_closed() || fl_table.holds;
}

/* Any thread. Nothing is stored while text is frozen (FL_FLIP_HELD). */
static inline enum fl_flipped fl_switch_store(uint32_t id, enum fl_state state,
					      enum fl_flip_when when)
{
	const struct fl_switch *s = &fl_table.switches[id];

	if (load_relaxed(&fl_switching.restarts) && s->armed == FL_ARMED_FLIP)
		return fl_arch_flip_unless(&fl_switching.frozen, (const struct fl_flip *)s,
					   state, when);
	return fl_switch_store_waiting(id, state, when);
}

/* With the lock: it is stored at once. */
static inline enum fl_flipped fl_switch_store_locked(uint32_t id, enum fl_state state,
						     enum fl_flip_when when)
{
	const struct fl_switch *s = &fl_table.switches[id];
	fl_unit unit = s->byte[state];

	if (s->armed == FL_ARMED_WORD)
		fl_patch_flip(&fl_table.patches[id], state);
	else if (s->armed && (when == FL_FLIP_ALWAYS ||
			      load_relaxed((const fl_unit *)s->at) != unit))
		fl_arch_flip_unit(s->at, unit);
	return FL_FLIPPED;
}

#endif
