/*
 * change.c - what the recorder wants changes while the program runs.
 */
#include "arm.h"
#include "goal.h"
#include "os/os.h"
#include "period.h"
#include "switch.h"

/* Of the change that is being made; with both locks. */
static const uint8_t *staged;
static uint32_t n_staged;

static enum fl_stage stage_of(uint32_t id)
{
	return id < n_staged && staged[id] < FL_N_STAGES ? staged[id] : FL_STAGE_NONE;
}

static bool is_to_be_on(uint32_t id)
{
	return stage_of(id) == FL_STAGE_ON || stage_of(id) == FL_STAGE_COUNT;
}

/* ---- what may fail ----------------------------------------------------------------- */

/* What is not armed yet is, and off. */
static void arm_new(void)
{
	uint32_t first = FL_NO_PROBE;

	for (uint32_t id = n_staged; id-- > 0;) {
		if (!is_to_be_on(id) || fl_probe_is_switched(id))
			continue;
		if (!fl_table.rows[id].wanted)
			store_relaxed(&fl_table.rows[id].wanted, FL_WANTED);
		first = id;
	}
	if (first == FL_NO_PROBE)
		return;
	fl_arm_unmute(is_to_be_on);
	fl_table.is_staging = true;
	fl_arm_from(first, FL_RUNNING);
	fl_table.is_staging = false;
	fl_table_publish(first);
}

/* How many could not be. Then those that are armed stay so, and off. */
static uint32_t give_up_if_refused(void)
{
	uint32_t n = 0;

	for (uint32_t id = 0; id < n_staged; id++)
		n += is_to_be_on(id) && !fl_probe_is_switched(id);
	for (uint32_t id = 0; n && id < n_staged; id++)
		if (is_to_be_on(id) && !fl_goal_is_wanted(id))
			store_relaxed(&fl_table.rows[id].wanted, FL_UNWANTED);
	return n;
}

/* ---- the change --------------------------------------------------------------------- */

static bool wants_any(const struct fl_function *f)
{
	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (fl_goal_is_wanted(id))
			return true;
	return false;
}

/* Its periods are as is wanted now. */
static void change_function(struct fl_function *f, enum fl_stage stage)
{
	fl_period_unlist(f);
	f->counts_alone = stage == FL_STAGE_COUNT;
	if (!wants_any(f) || f->counts_alone)
		fl_period_shut(f);
	if (wants_any(f))
		fl_sample_wanted(f);
}

static bool switch_one(uint32_t id)
{
	uint8_t *wants = &fl_goal_of(id)->wants, was = load_relaxed(wants);
	bool on = is_to_be_on(id);

	store_relaxed(&fl_table.rows[id].wanted, on ? FL_WANTED : FL_UNWANTED);
	store_relaxed(wants, (uint8_t)(on ? was | FL_SESSION : was & ~FL_SESSION));
	if (was == load_relaxed(wants))
		return false;
	fl_goal_follow(id);
	return true;
}

static uint32_t switch_all(void)
{
	bool samples = fl_table.session->action == FL_ACT_SAMPLE;
	uint32_t n = 0;

	for (uint32_t id = 0; id < n_staged; id++)
		if (stage_of(id))
			n += switch_one(id);
	for (uint32_t id = 0; samples && id < n_staged; id++)
		if (stage_of(id))
			change_function(&fl_table.functions[fl_table.probes[id].function],
					stage_of(id));
	return n;
}

static int change_locked(struct fl_change_box *box)
{
	if (fl_table.holds)
		return FLE_GONE;
	if (fl_switches_are_frozen())
		return -EAGAIN;
	arm_new();
	box->n_refused = give_up_if_refused();
	if (box->n_refused)
		return FLE_REFUSED;
	box->n_switched = switch_all();
	box->generation++;
	return 0;
}

int fl_probes_change(const uint8_t *of, uint32_t n, struct fl_change_box *box)
{
	uint64_t signals, inner;

	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	staged = of;
	n_staged = n < fl_table.n ? n : fl_table.n;
	box->n_switched = box->n_refused = 0;
	box->begun = fl_arch_ticks();
	box->error = change_locked(box);
	fl_patch_sync();
	box->ended = fl_arch_ticks();
	fl_switches_unlock(&inner);
	fl_table_unlock(&signals);
	return box->error;
}
