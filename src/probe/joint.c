/*
 * joint.c - a second recorder wants probes of a program that one records.
 *
 * It is a second session as a program's own (second.c): a bit of each probe, a dispatch word
 * that leads to FL_ACT_BOTH where this session wants the probe, and sets that are one step
 * (set.c). Two things differ. Its probes put an event or a count into its own region
 * (channel/other.c). And what it has chosen is armed, bodies too, but no more. So a call that
 * it does not want costs nothing of it.
 *
 * INVARIANT
 *	1 A call that both want is told to each once, with one time where both want times.
 *	2 What one is told does not depend on what the other wants, nor on whether it lives.
 * WHY
 *	1 A glue goes to one routine, and FL_ACT_BOTH does what each one wants. Where both time
 *	  a call its word says so by itself (FL_ACT_TWICE), except while either is changed.
 *	2 Each has bits of its own. The first one's `holds` are not asked for the second. A
 *	  recorder that is gone has no bits (fl_joint_close()), or is held off
 *	  (fl_probes_end_first()); a thread that is between the two finds its channel closed.
 */
#include "arm.h"
#include "goal.h"
#include "handler.h"
#include "joint.h"
#include "os/os.h"
#include "patch/patch.h"
#include "second.h"
#include "switch.h"

enum { ENDLESS = FL_SELDOM + 1 };	/* in joint[]: refused to this recorder alone */

static uint32_t joint_action;		/* enum fl_action: COUNT or TIME; W with both locks */

/* ---- a thread ----------------------------------------------------------------------- */

void fl_joint_second(uint32_t id, uint32_t sp)
{
	if (!fl_inside_wants(id))
		return;
	if (load_relaxed(&joint_action) == FL_ACT_COUNT)
		fl_other_count(id);
	else
		fl_other_put(&(struct flick_record){ fl_arch_ticks(), id, sp });
}

void fl_joint_put_second(uint32_t id, uint64_t tsc, uint32_t sp)
{
	fl_other_put(&(struct flick_record){ tsc, id, sp });
}

void fl_joint_put(uint32_t id, uint64_t tsc, uint32_t sp)
{
	fl_channel_put_one(&(struct flick_record){ tsc, id, sp });
	fl_joint_put_second(id, tsc, sp);
}

bool fl_joint_times(uint32_t id)
{
	uint8_t wants = load_relaxed(&fl_goal_of(id)->wants);

	return fl_table.is_joint && joint_action == FL_ACT_TIME &&
	       (wants & FL_BESIDE_RECORDER) == FL_BESIDE_RECORDER;
}

void fl_joint_hit(uint32_t id, uintptr_t caller, uint32_t sp)
{
	const struct fl_goal *g = fl_goal_of(id);
	bool first = load_relaxed(&g->wants) & FL_SESSION && !fl_goal_holds(id);
	enum fl_action action = load_relaxed(&g->action);

	if (first && action == FL_ACT_TIME && load_relaxed(&joint_action) == FL_ACT_TIME &&
	    fl_inside_wants(id)) {
		fl_joint_put(id, fl_arch_ticks(), sp);
		return;
	}
	if (first)
		fl_second_first(id, action, caller, sp);
	fl_joint_second(id, sp);
}

/* ---- what it wants ------------------------------------------------------------------ */

int fl_joint_open(enum fl_action action)
{
	uint64_t signals, inner;
	int err = 0;

	fl_second_lock(&signals, &inner);
	if (!fl_table.joint)
		fl_table.joint = fl_table_map(fl_table.max);
	if (!fl_table.joint)
		err = -ENOMEM;
	if (!err)
		err = fl_second_begin();
	if (!err) {
		store_relaxed(&joint_action, action);
		fl_table.had_joint = true;
		store_relaxed(&fl_table.is_joint, true);
	}
	fl_second_unlock(&signals, &inner);
	return err;
}

/* A thread may be in the glue of a probe that was on: it asks once more. */
void fl_joint_close(void)
{
	uint64_t signals, inner;

	fl_second_close();
	fl_second_lock(&signals, &inner);
	store_relaxed(&fl_table.is_joint, false);
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (fl_table.joint[id])
			fl_table.joint[id] = FL_UNWANTED;
	fl_second_unlock(&signals, &inner);
}

static bool is_wanted(uint32_t id)
{
	return fl_table.joint[id] == FL_WANTED || fl_table.joint[id] == FL_SELDOM;
}

/* A body is made once, for what the first recorder wants of calls. Where that is their number,
 * nothing in the body tells when a call ends. */
static bool has_no_end(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];
	uint32_t i = fl_table.functions[p->function].probes;

	if (!fl_probe_is_body(p))
		return false;
	while (i != FL_NO_PROBE && (!is_wanted(i) || fl_probe_is_switched(i)))
		i = fl_table.next[i];
	return i != FL_NO_PROBE;
}

/* Either all of a function is wanted, or it is refused to this recorder. */
static void give_up_endless(uint32_t from)
{
	for (uint32_t id = from; id < fl_table.n; id++)
		if (is_wanted(id) && fl_probe_is_switched(id) && has_no_end(id))
			fl_table.joint[id] = ENDLESS;
}

/* Arm what it wants from `from` on and what is not armed yet. */
static void arm_wanted(uint32_t from, enum fl_moment moment)
{
	while (from < fl_table.n && (!is_wanted(from) || fl_probe_is_switched(from)))
		from++;
	if (from == fl_table.n)
		return;
	fl_arm_unmute(is_wanted);
	fl_arm_from(from, moment);
	FL_POINT("joint.armed");
	fl_outline_forget();
	fl_table_publish(from);
}

void fl_joint_show(uint32_t from)
{
	fl_other_show(fl_table.sites, from, fl_table.n);
	for (uint32_t id = from; id < fl_table.n; id++)
		if (fl_table.joint[id] == ENDLESS)
			fl_other_refuse(id, FLE_COUNTED);
}

void fl_joint_want(const struct fl_shm_site *rows, uint32_t n, uint32_t from,
		   enum fl_moment moment)
{
	uint64_t signals, inner;

	fl_second_lock(&signals, &inner);
	for (uint32_t id = from; id < fl_table.n && id < n; id++)
		if (load_relaxed(&rows[id].wanted) != fl_table.joint[id])
			fl_table.joint[id] = load_relaxed(&rows[id].wanted) ? FL_WANTED :
									      FL_UNWANTED;
	if (fl_table.holds) {
		from = fl_table.n;
	} else if (moment == FL_RUNNING && fl_switches_are_unloading()) {
		fl_table.unarmed = from < fl_table.unarmed ? from : fl_table.unarmed;
		from = fl_table.n;
	} else {
		arm_wanted(from, moment);
		give_up_endless(from);
	}
	for (uint32_t id = from; id < fl_table.n; id++)
		if (is_wanted(id))
			fl_goal_wish_second(id, FL_ON);
	fl_second_unlock(&signals, &inner);
}

/* ---- what it wants changes ---------------------------------------------------------- */

static bool stage_is_on(uint8_t stage)
{
	return stage == FL_STAGE_ON || stage == FL_STAGE_COUNT;
}

/* How many cannot be armed: if any, all is as it was. */
static uint32_t arm_staged(const uint8_t *staged, uint32_t n)
{
	uint32_t refused = 0;

	for (uint32_t id = 0; id < n; id++)
		if (stage_is_on(staged[id]) && !is_wanted(id))
			fl_table.joint[id] = FL_SELDOM;	/* as yet */
	arm_wanted(0, FL_RUNNING);
	for (uint32_t id = 0; id < n; id++)
		refused += stage_is_on(staged[id]) && !fl_probe_is_switched(id) &&
			   fl_table.probes[id].state != FL_PROBE_GONE;	/* when it is back */
	for (uint32_t id = 0; id < n; id++)
		if (fl_table.joint[id] == FL_SELDOM)
			fl_table.joint[id] = refused ? FL_UNWANTED : FL_WANTED;
	return refused;
}

/* Fill in the goals of a set by what is staged. */
static void make_goals(uint8_t *goal, const uint8_t *staged, uint32_t n)
{
	for (uint32_t id = 0; id < n; id++) {
		if (!staged[id] || staged[id] >= FL_N_STAGES)
			continue;
		goal[id] = stage_is_on(staged[id]) ? FL_ON : FL_OFF;
		if (!stage_is_on(staged[id]))
			fl_table.joint[id] = FL_UNWANTED;
	}
}

static int change_all(const uint8_t *staged, uint32_t n, struct fl_change_box *box)
{
	uint64_t signals, inner;
	size_t bytes = fl_round_up(n + 1, FL_PAGE);
	uint8_t *goal = fl_table_map(bytes);
	int err = fl_table.holds ? FLE_GONE : 0;

	if (!goal)
		return -ENOMEM;
	fl_second_lock(&signals, &inner);
	if (fl_switches_are_frozen())
		err = -EAGAIN;
	if (!err)
		box->n_refused = arm_staged(staged, n);
	if (!err && box->n_refused)
		err = FLE_REFUSED;
	if (!err)
		make_goals(goal, staged, n);
	fl_second_unlock(&signals, &inner);
	if (!err)
		err = fl_probes_switch_set(goal, n);
	fl_os_unmap(goal, bytes);
	if (err < 0)
		return err;
	box->n_switched = (uint32_t)err;
	box->generation++;
	return 0;
}

int fl_joint_change(const uint8_t *staged, uint32_t n, struct fl_change_box *box)
{
	int err;

	box->n_switched = box->n_refused = box->n_late = 0;
	box->begun = fl_arch_ticks();
	err = change_all(staged, n < fl_table.n ? n : fl_table.n, box);
	box->switched = box->passed = box->ended = fl_arch_ticks();
	return err;
}
