/*
 * goal-rig.h - a probe whose text is one byte of the test's own.
 */
#ifndef GOAL_RIG_H
#define GOAL_RIG_H

#include "channel-rig.h"
#include "patch/patch.h"
#include "probe/goal.h"
#include "probe/glue.h"
#include "probe/known.h"
#include "probe/switch.h"

enum { OFF_BYTE = 10, ON_BYTE = 11 };

/* Probe `id`, which was found and is wanted, gets that text and is armed: it is on. */
static inline void rig_arm(uint32_t id, uint8_t *text)
{
	struct fl_patch *p = &fl_table.patches[id];
	uint64_t signals;

	*text = OFF_BYTE;
	*p = (struct fl_patch){ .at = (uintptr_t)text, .tactic = FL_FLIP, .len = 1 };
	p->bytes[FL_OFF][0] = OFF_BYTE;
	p->bytes[FL_ON][0] = ON_BYTE;
	fl_patch_note_flip(p);
	fl_table.probes[id].reached = FL_REACHED_BY_GLUE;
	fl_table.rows[id].wanted = FL_WANTED;
	fl_switches_lock(&signals);
	fl_goal_begin(id, FL_PROBE_ARMED);
	fl_switches_unlock(&signals);
	NEED(*text == ON_BYTE && fl_probe_is_on(id));
}

/* It is held off, or no more, as by a thread that samples. */
static inline void rig_hold(uint32_t id, enum fl_hold who)
{
	uint64_t signals;

	fl_switches_lock(&signals);
	fl_goal_hold(id, who);
	fl_switches_unlock(&signals);
}

static inline void rig_let(uint32_t id, enum fl_hold who)
{
	uint64_t signals;

	fl_switches_lock(&signals);
	fl_goal_let(id, who);
	fl_switches_unlock(&signals);
}

#endif
