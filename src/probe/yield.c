/*
 * yield.c - text that the program is about to write itself has its old bytes meanwhile.
 *
 * Pads and sleds are for whoever wants them. XRay's runtime patches its own while threads run,
 * by stores that are harmless over the bytes that it expects there, and over no others. It asks
 * for the right to write first. Then pads and sleds are given back, so that the runtime finds
 * what it expects. When it has given up that right, those that it has left alone are armed
 * again. A profiling call is nobody's but the compiler's.
 */
#include "arm.h"
#include "goal.h"
#include "os/os.h"
#include "switch.h"

static bool is_within(uint32_t id, uintptr_t lo, uintptr_t hi)
{
	const struct fl_patch *p = &fl_table.patches[id];

	return fl_table.probes[id].bare && p->at < hi && p->at + p->len > lo;
}

/* Stage those of [lo, hi) that are in `state`, ARMED or YIELDED. Nobody switches them. */
static int stage_within(struct fl_set *set, uintptr_t lo, uintptr_t hi,
			enum fl_probe_state state)
{
	int from = state == FL_PROBE_ARMED ? FL_OFF : FL_OLD;
	uint32_t n = 0;
	int err;

	for (uint32_t id = 0; id < fl_table.n; id++)
		n += is_within(id, lo, hi);
	err = n ? fl_set_make(set, n) : -ENOENT;
	for (uint32_t id = 0; id < fl_table.n && !err; id++)
		if (is_within(id, lo, hi) && fl_table.probes[id].state == state)
			fl_set_stage(set, &fl_table.patches[id], from,
				     from == FL_OFF ? FL_OLD : FL_OFF);
	return err;
}

static void count(uint32_t *what, uint32_t n)
{
	__atomic_fetch_add(what, n, __ATOMIC_RELAXED);
}

static void yield_locked(uintptr_t lo, uintptr_t hi)
{
	struct fl_set set;

	fl_switches_hold();
	if (stage_within(&set, lo, hi, FL_PROBE_ARMED) == 0) {
		for (size_t i = 0; i < set.n; i++) {
			fl_goal_move(fl_patch_id(set.changes[i].patch), FL_PROBE_YIELDED);
			fl_patch_flip(set.changes[i].patch, FL_OFF);
		}
		count(&fl_table.shm->n_yielded, set.n);
		fl_fork_enter();
		fl_arm_restore_at_once(&set);
		fl_fork_leave();
		fl_set_free(&set);
	}
	fl_switches_let();
}

/* Probes that were once armed, and were refused since. */
static void note_overwritten(uintptr_t lo, uintptr_t hi)
{
	for (uint32_t id = 0; id < fl_table.n; id++) {
		const struct fl_shm_site *s = &fl_table.sites[id];

		if (!is_within(id, lo, hi) || s->refusal != FLE_CHANGED ||
		    !fl_table.switches[id].at)
			continue;
		fl_table_refuse(id, FLE_OVERWRITTEN, s->at);
		count(&fl_table.shm->n_overwritten, 1);
	}
}

static void unyield_locked(uintptr_t lo, uintptr_t hi)
{
	struct fl_set set;

	if (stage_within(&set, lo, hi, FL_PROBE_YIELDED))
		return;
	if (set.n)
		fl_arm_set(&set, fl_table.n);
	for (size_t i = 0; i < set.n; i++)
		fl_goal_resume(fl_patch_id(set.changes[i].patch));
	note_overwritten(lo, hi);
	fl_set_free(&set);
	fl_table_publish(0);
}

static void with_text(void (*do_it)(uintptr_t lo, uintptr_t hi), uintptr_t lo, uintptr_t hi)
{
	uint64_t signals, inner;

	if (!fl_text_reaches(lo, hi) || fl_os_holds_locks())
		return;
	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	if (!fl_table.holds && !fl_switches_are_unloading() && fl_switches_may_store())
		do_it(lo, hi);
	fl_switches_unlock(&inner);
	fl_table_unlock(&signals);
}

void fl_probes_yield(uintptr_t lo, uintptr_t hi)
{
	with_text(yield_locked, lo, hi);
}

void fl_probes_unyield(uintptr_t lo, uintptr_t hi)
{
	with_text(unyield_locked, lo, hi);
}
