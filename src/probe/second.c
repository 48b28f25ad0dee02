/*
 * second.c - a program that switches probes of its own beside a recorder.
 *
 * The program's session has nothing in the region: no reader takes from it. What it wants of a
 * probe is a bit of its own (goal.h). Its probes call what is bound, as without a recorder
 * (handler.c): a function, which counts where the program has given none. So one routine,
 * FL_ACT_BOTH, serves two sessions: fl_second_before() does what the recorder wants at this
 * moment, if anything, and then what is bound is called, if the program wants it.
 *
 * PROTOCOL	of a probe
 *	the program				the recorder's thread
 *	with the switches' lock:		with the switches' lock:
 *	wants |= or &= FL_SECOND		holds |= or &= its bit
 *	dispatch word, then text: goal.c	dispatch word, then text: goal.c
 * INVARIANT
 *	1 A probe that is on for the program calls what is bound, once a call.
 *	2 What the recorder is told does not depend on what the program switches.
 * WHY
 *	1 The word leads to FL_ACT_BOTH before text is on, and as long as the program wants
 *	  it. Nobody switches its text off meanwhile: all who switch have the lock.
 *	2 A call is recorded by the routine of the action, or by FL_ACT_BOTH; a glue goes to
 *	  one of the two. FL_ACT_BOTH looks whether the recorder wants the probe now, which
 *	  text would say otherwise. Where the recorder does not, the word leads nowhere but to
 *	  FL_ACT_BOTH, also after the program has switched the probe off: a thread may still
 *	  be in the glue, and finds there that nobody wants it. A glue that counts by itself
 *	  does that, or goes where the word says (glue.c).
 * FAILURE	The recorder dies: each probe is held off for the recorder alone, and all that
 *	the program wants goes on. A child that is not recorded has neither session.
 */
#include "arm.h"
#include "goal.h"
#include "joint.h"
#include "os/os.h"
#include "second.h"
#include "switch.h"

static uint64_t *hits;			/* by probe; atomic */

static void count_hit(uint32_t id, void *arg)
{
	(void)arg;
	__atomic_fetch_add(&hits[id], 1, __ATOMIC_RELAXED);
}

uint64_t fl_second_hits(uint32_t id)
{
	return id < fl_table.n ? load_relaxed(&hits[id]) : 0;
}

void fl_second_lock(uint64_t *signals, uint64_t *inner)
{
	fl_table_lock(signals);
	fl_switches_lock(inner);
}

void fl_second_unlock(const uint64_t *signals, const uint64_t *inner)
{
	fl_switches_unlock(inner);
	fl_table_unlock(signals);
}

int fl_second_begin(void)
{
	if (fl_table.holds)
		return FLE_RECORDED;
	if (fl_switches_are_frozen())
		return -EAGAIN;
	fl_table.second = fl_table.had_second = true;
	store_relaxed(&fl_table.handles, FL_SECOND);
	fl_switching.is_short = false;
	return 0;
}

/* What the recorder does not want has no glue yet, or was muted. A thread that calls it from
 * now on waits for the decision of the caller, who has the negotiation's lock. */
static int arm_all(void)
{
	int err = fl_second_begin();

	if (err)
		return err;
	fl_arm_unmute(NULL);
	fl_arm_from(0, FL_RUNNING);
	return 0;
}

/* A thread may still be on its way to a handler that an earlier use has bound. */
static int begin_counting(void)
{
	if (!hits)
		hits = fl_table_map(fl_table.shm->max_sites * sizeof *hits);
	if (!hits)
		return -ENOMEM;
	for (uint32_t id = 0; fl_table.had_second && id < fl_table.n; id++)
		if (load_relaxed(&hits[id]))
			store_relaxed(&hits[id], 0);
	fl_handlers_reset(count_hit);
	return 0;
}

int fl_second_open(void)
{
	uint64_t signals, inner;
	int err;

	fl_second_lock(&signals, &inner);
	err = begin_counting();
	if (!err)
		err = arm_all();
	fl_table_publish(0);
	fl_second_unlock(&signals, &inner);
	return err;
}

void fl_second_close(void)
{
	uint64_t signals, inner;

	fl_second_lock(&signals, &inner);
	fl_table.second = false;
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (load_relaxed(&fl_goal_of(id)->wants) & FL_BESIDE_RECORDER)
			fl_goal_wish_second(id, FL_OFF);
	fl_second_unlock(&signals, &inner);
	fl_patch_sync();
}

int fl_second_switch(uint32_t id, int state)
{
	uint64_t signals;
	int err;

	if (!fl_switches_may_store())
		return -EPERM;
	fl_switches_lock(&signals);
	err = fl_goal_wish_second(id, state);
	fl_switches_unlock(&signals);
	return err;
}

void fl_second_first(uint32_t id, enum fl_action action, uintptr_t caller, uint32_t sp)
{
	switch ((int)action) {
	case FL_ACT_COUNT:
		fl_channel_count(id);
		break;
	case FL_ACT_TIME:
		fl_channel_put_one(&(struct flick_record){ fl_arch_ticks(), id, sp });
		break;
	case FL_ACT_SAMPLE:
		fl_sample_hit(id, sp);
		break;
	case FL_ACT_AFTER:
		fl_sample_after(id, sp);
		break;
	case FL_ACT_WINDOW:
		fl_window_hit(id, caller, sp);
		break;
	}
}

/* Whoever sees that the second session wants the probe sees what is bound to it. */
uint32_t fl_second_before(uint32_t id, uintptr_t caller, uint32_t sp)
{
	const struct fl_goal *g = fl_goal_of(id);
	uint8_t wants = load_acquire(&g->wants);	/* (A) pairs with (M) in goal.c */

	if (load_relaxed(&fl_table.is_joint)) {
		fl_joint_hit(id, caller, sp);
		return 0;
	}
	if (wants & FL_SESSION && !fl_goal_holds(id))
		fl_second_first(id, load_relaxed(&g->action), caller, sp);
	return wants & FL_BESIDE_RECORDER && !load_relaxed(&fl_table.holds);
}

void fl_probes_end_first(void)
{
	uint64_t signals, inner;

	fl_second_lock(&signals, &inner);
	fl_table.first_ended = true;
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (fl_probe_is_switched(id))
			fl_goal_hold(id, FL_HOLD_READER);
	fl_second_unlock(&signals, &inner);
}
