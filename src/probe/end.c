/*
 * end.c - probes are switched off for the last time, and what a fork does to them.
 *
 * Hides that nobody has to wait for a thread that switches just now, and that a child which
 * is not recorded copies no page of code that it does not run.
 */
#include "arm.h"
#include "goal.h"
#include "os/os.h"
#include "switch.h"

/* ---- fork -------------------------------------------------------------------------- */

enum { HOLD_US = 2000000, SETTLE_US = 2000 };

bool fl_probes_hold(uint64_t *signals)
{
	return fl_table_lock_within(HOLD_US, signals);
}

void fl_probes_release(const uint64_t *signals)
{
	fl_table_unlock(signals);
}

void fl_probes_settle(void)
{
	uint64_t signals;

	if (!fl_probes_keep_modules(SETTLE_US))
		return;
	if (fl_table_lock_within(SETTLE_US, &signals))
		fl_table_unlock(&signals);
	fl_probes_let_modules();
}

/* May the program write there itself? */
static bool is_others_too(uint32_t id)
{
	return fl_table.probes[id].bare && !fl_probe_is_body(&fl_table.probes[id]);
}

/*
 * In a child that is not recorded probes do nothing. To switch all off would copy each page
 * of code that has one, and many children call a few functions and are gone. So the first
 * probe that is met in a page switches off all of that page: its code runs, so nobody
 * unmaps it. Bare probes go off before, because others may write there later. Nothing but
 * text is written.
 */
static void switch_page_off(uint32_t id)
{
	const struct fl_shm_site *sites = fl_table.sites;
	uint32_t lo = id, hi = id;
	uintptr_t page;

	if (id >= fl_table.n || fl_switches_are_frozen())
		return;
	page = sites[id].at / FL_PAGE;
	while (lo && sites[lo - 1].at / FL_PAGE == page)
		lo--;
	while (hi < fl_table.n && sites[hi].at / FL_PAGE == page)
		hi++;
	for (; lo < hi; lo++)
		if (!is_others_too(lo))
			fl_goal_make_off(lo);
}

/* From now on no wish is noted, and nobody stores to text of probes. */
static void end_all(void)
{
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (fl_goal_may(fl_table.probes[id].state, FL_PROBE_ENDED))
			fl_goal_move(id, FL_PROBE_ENDED);
}

/* What another thread was changing may be half done, or unmapped: it is left alone, and so is
 * text that is still the parent's. Probes there find no channel and do nothing. */
void fl_probes_leave(void)
{
	bool calls_handlers = fl_table.session->own || fl_table.had_second;
	bool is_whole = fl_switches_in_child() && !fl_table_is_cut() && !fl_text_is_shared();
	uint64_t signals, inner;

	if (!is_whole)
		end_all();
	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	if (fl_probe_builder)
		fl_probe_builder->hush();
	fl_goal_hold_all(FL_HOLD_CHILD);
	for (uint32_t id = 0; id < fl_table.n && (calls_handlers || fl_table.has_bare); id++)
		if (is_others_too(id) || calls_handlers)
			fl_goal_make_off(id);
	fl_switches_unlock(&inner);
	fl_table_unlock(&signals);
	if (is_whole && !calls_handlers)
		fl_channel_on_left = switch_page_off;
}

int fl_probes_take_over(void)
{
	if (!fl_switches_in_child() || fl_text_is_shared())
		return -ENOMEM;
	if (fl_table.session->action == FL_ACT_SAMPLE)
		fl_sample_in_child();
	return 0;
}

/* ---- the end --------------------------------------------------------------------- */

/* First none can be switched on, and then all are off: a handler may switch one just now. No
 * module goes before let_end(). If the calling thread is inside the loader, which deletes a
 * module, text stays as it is. */
static bool begin_end(enum fl_hold who, uint64_t *signals, uint64_t *inner)
{
	bool may_store;

	for (;;) {
		fl_switches_wait_for_thaw();
		fl_table_lock(signals);
		fl_switches_lock(inner);
		may_store = !fl_switches_are_unloading();
		if (may_store || fl_switches_is_unloader())
			break;
		fl_switches_unlock(inner);
		fl_table_unlock(signals);
	}
	fl_switches_hold();
	fl_goal_hold_all(who);
	for (uint32_t id = 0; may_store && id < fl_table.n; id++)
		fl_goal_make_off(id);
	FL_POINT("probes.closing");
	if (fl_probe_builder)
		fl_probe_builder->hush();
	return may_store;
}

static void let_end(const uint64_t *signals, const uint64_t *inner)
{
	end_all();
	fl_switches_let();
	fl_switches_unlock(inner);
	fl_table_unlock(signals);
}

static void unclaim_all(void)
{
	uint64_t signals;

	fl_claims_lock(&signals);
	for (uint32_t id = 0; id < fl_table.n; id++)
		fl_unclaim(&fl_table.patches[id]);
	fl_claims_unlock(&signals);
}

static bool is_any(uint32_t id)
{
	(void)id;
	return true;
}

static bool is_armed(uint32_t id)
{
	return fl_table.probes[id].state == FL_PROBE_ARMED;
}

/* While it is off, too, each of its calls takes a jump. */
static bool leads_away(uint32_t id)
{
	return is_armed(id) && fl_probe_is_body_entry(&fl_table.probes[id]);
}

/* It has ended, and does not have its old bytes. */
static bool is_left(uint32_t id)
{
	const struct fl_patch *p = &fl_table.patches[id];

	return fl_table.probes[id].state == FL_PROBE_ENDED && p->len &&
	       !__builtin_memcmp((const void *)p->at, p->bytes[FL_OFF], p->len);
}

/* Stage those from *id on, as many as the set takes; false: none is left. */
static bool stage_original(struct fl_set *set, uint32_t *id, bool (*which)(uint32_t id))
{
	for (set->n = 0; *id < fl_table.n && set->n < set->room; ++*id)
		if (which(*id))
			fl_set_stage(set, &fl_table.patches[*id], FL_OFF, FL_OLD);
	return set->n != 0;
}

/* Restore all at once, or a few at a time where there is no memory for the set. */
static void restore_text(bool (*which)(uint32_t id))
{
	struct fl_change few[32];
	struct fl_set all, set = { .changes = few, .room = ARRAY_LEN(few) };
	bool is_mapped = fl_set_make(&all, fl_table.n) == 0;
	uint32_t id = 0;

	if (is_mapped)
		set = all;
	fl_fork_enter();
	while (stage_original(&set, &id, which)) {
		if (which == is_left)
			fl_arm_open_again(&set);
		else
			fl_arm_reopen(&set);
		fl_arm_restore(&set);
	}
	if (is_mapped)
		fl_set_free(&all);
	fl_text_close(0, UINTPTR_MAX, FL_TEXT_PROBES);
	fl_fork_leave();
}

/* Entries of bodies get their old bytes, as far as that can be under running threads: a thread
 * in a body goes on in it. Other places stay armed, and are nobody else's. */
void fl_probes_retire(void)
{
	uint64_t signals, inner;
	bool may_store = begin_end(FL_HOLD_READER, &signals, &inner);

	fl_outline_forget();
	if (may_store)
		restore_text(leads_away);
	else
		fl_text_close(0, UINTPTR_MAX, FL_TEXT_PROBES);
	let_end(&signals, &inner);
}

int fl_probes_give_back(void)
{
	uint64_t signals, inner;
	bool may_store = begin_end(FL_HOLD_CLOSED, &signals, &inner);
	int err = may_store ? fl_arm_open_muted() : -EAGAIN;

	if (!err) {
		fl_arm_unmute(is_any);
		restore_text(is_left);
	}
	for (uint32_t id = 0; !err && id < fl_table.n; id++)
		err = is_left(id) ? FLE_THREADS : 0;
	let_end(&signals, &inner);
	return err;
}

void fl_probes_close(void)
{
	uint64_t signals, inner;

	if (begin_end(FL_HOLD_CLOSED, &signals, &inner)) {
		fl_arm_unmute(is_any);
		restore_text(is_armed);
	}
	unclaim_all();
	let_end(&signals, &inner);
}
