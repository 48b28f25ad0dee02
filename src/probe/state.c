/*
 * state.c - probes on and off.
 *
 * Hides sets, text permissions and the exclusion against dlclose. Arming is a
 * set of patches; a switch of an armed probe is one store.
 *
 * EXCLUSION	a switch			fl_probes_freeze()
 *		toggling++	    (plain)	frozen = 1
 *		load frozen	    (plain)	sync every core		(OS1)
 *		store to text			wait until every toggling == 0
 *		toggling--	    (plain)	... modules are unmapped ...
 * WHY	The sync orders both sides: a switch that did not see `frozen` has its
 *	`toggling` visible after the sync, and is waited for; a later one sees
 *	`frozen` and takes the table's lock, which freeze holds. The switch
 *	itself pays no fence.
 */
#include <sys/mman.h>

#include "os/os.h"
#include "table.h"

static uint32_t frozen;
static uint64_t frozen_signals;

/* ---- arming ----------------------------------------------------------------- */

/* What a fresh probe should become; FL_OLD: leave it alone. A profiling call
 * that nobody wants still costs a call, so it is armed and off; a program of
 * its own may want any probe later. */
static int goal_of(uint32_t id)
{
	const struct fl_shm_site *s = &fl_table.sites[id];

	if (s->state != FL_SITE_FOUND || fl_table.probes[id].is_virtual)
		return FL_OLD;
	if (s->wanted)
		return FL_ON;
	return fl_table.probes[id].bare && !fl_table.shm->own ? FL_OLD : FL_OFF;
}

static struct fl_known *known_of(uint32_t id)
{
	for (uint32_t i = 0; i < fl_table.n_known; i++)
		if (id >= fl_table.known[i].first && id < fl_table.known[i].end)
			return &fl_table.known[i];
	return NULL;
}

/* Pages that the set's windows touch, as runs; `change` opens or closes one. */
static int each_run(const struct fl_set *set,
		    int (*change)(uintptr_t, uintptr_t, int))
{
	uintptr_t lo = 0, hi = 0;
	int prot = 0, err = 0;

	for (size_t i = 0; i < set->n && !err; i++) {
		const struct fl_patch *p = set->changes[i].patch;
		uintptr_t a = fl_round_down(p->at, FL_PAGE);
		uintptr_t b = fl_round_up(p->at + p->len, FL_PAGE);
		const struct fl_probe *probe = (const void *)p;

		if (a >= lo && a <= hi && hi) {
			hi = b > hi ? b : hi;
			continue;
		}
		err = hi ? change(lo, hi, prot) : 0;
		lo = a;
		hi = b;
		prot = known_of(fl_probe_id(probe))->prot;
	}
	return err || !hi ? err : change(lo, hi, prot);
}

static void refuse(uint32_t id, int err, uint64_t datum)
{
	fl_table.sites[id].refusal = err;
	fl_table.sites[id].datum = datum;
	fl_table.sites[id].state = FL_SITE_REFUSED;
}

static void drop(struct fl_set *set, size_t i, int err)
{
	struct fl_patch *p = set->changes[i].patch;

	refuse(fl_probe_id((const void *)p), err, p->at);
	fl_unclaim(p);
	set->changes[i] = set->changes[--set->n];
}

/* What stands against one change by its kind stands against all of the kind. */
static bool same_fate(const struct fl_patch *p, int err)
{
	return (err == FLE_TRAPBLOCK && p->park_is_trap) ||
	       (err == FLE_THREADS && p->n_starts);
}

/* Commit; a change that is refused leaves the set, the others go on. */
static int commit_or_drop(struct fl_set *set)
{
	size_t bad = 0;
	int err;

	while ((err = fl_set_commit(set, &bad)) && set->n) {
		drop(set, bad, err);
		for (size_t i = set->n; i-- > 0;)
			if (same_fate(set->changes[i].patch, err))
				drop(set, i, err);
	}
	return err;
}

static struct fl_switch switch_of(const struct fl_patch *p, bool is_on)
{
	struct fl_switch s = {
		.at = p->at + p->view + p->flip_at, .armed = 1, .is_on = is_on,
		.is_word = p->tactic != FL_FLIP,
	};

	for (int state = 0; state < FL_N_STATES; state++)
		s.byte[state] = p->bytes[state][p->flip_at];
	return s;
}

static int note_armed(const struct fl_set *set)
{
	int on = 0;

	for (size_t i = 0; i < set->n; i++) {
		struct fl_probe *p = (struct fl_probe *)set->changes[i].patch;

		bool is_on = set->changes[i].to == FL_ON;

		fl_table.switches[fl_probe_id(p)] = switch_of(&p->patch, is_on);
		fl_table.sites[fl_probe_id(p)].state = FL_SITE_READY;
		on += is_on;
	}
	return on;
}

/* Claims are held until the site has its old bytes again. */
static int arm(struct fl_set *set)
{
	uint64_t signals;
	int err = each_run(set, fl_text_open);

	if (err)
		return err;
	fl_claims_lock(&signals);
	err = commit_or_drop(set);
	fl_claims_unlock(&signals);
	return err;
}

/* Stage what has a goal and whose bytes are nobody else's. */
static void stage_goals(struct fl_set *set, uint32_t from)
{
	const struct fl_patch *other;
	uint64_t signals;

	fl_claims_lock(&signals);
	for (uint32_t id = from; id < fl_table.n; id++) {
		struct fl_patch *p = &fl_table.probes[id].patch;
		int to = goal_of(id);
		int err = to == FL_OLD ? 0 : fl_claim(p, &other);

		if (err)
			refuse(id, err, err == FLE_OVERLAP ? other->at : p->at);
		else if (to != FL_OLD)
			fl_set_stage(set, p, FL_OLD, to);
	}
	fl_claims_unlock(&signals);
}

/* A virtual probe is data alone. */
static void ready_virtual(uint32_t from)
{
	for (uint32_t id = from; id < fl_table.n; id++) {
		if (!fl_table.probes[id].is_virtual)
			continue;
		fl_table.sites[id].state = FL_SITE_READY;
		fl_table.switches[id].is_on = fl_table.sites[id].wanted;
	}
}

/* Room for the changes of probes [from, n). */
static int set_map(struct fl_set *set, size_t n)
{
	void *p = fl_os_map(NULL, (n + 1) * sizeof *set->changes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	*set = (struct fl_set){ .changes = p, .room = n + 1 };
	return fl_is_err(p) ? -ENOMEM : 0;
}

static void set_unmap(struct fl_set *set)
{
	fl_os_unmap(set->changes, set->room * sizeof *set->changes);
}

static int commit_locked(uint32_t from, enum fl_moment moment)
{
	struct fl_set set;
	int err = set_map(&set, fl_table.n - from);

	if (err)
		return err;
	set.quiet = moment == FL_LOADING;
	stage_goals(&set, from);
	ready_virtual(from);
	err = set.n ? arm(&set) : 0;
	if (!err)
		err = note_armed(&set);
	set_unmap(&set);
	return err;
}

int fl_probes_commit(uint32_t from, enum fl_moment moment)
{
	uint64_t signals;
	int on;

	fl_table_lock(&signals);
	on = commit_locked(from, moment);
	fl_table_unlock(&signals);
	return on;
}

/* ---- switching ---------------------------------------------------------------- */

static void flip(uint32_t id, int state)
{
	struct fl_switch *s = &fl_table.switches[id];

	if (!s->armed)
		return;
	s->is_on = state == FL_ON;
	if (s->is_word)
		fl_patch_flip(&fl_table.probes[id].patch, state);
	else
		fl_arch_store_byte(s->at, s->byte[state]);
}

/* A virtual probe is data alone; any other has a reason not to be armed. */
static int switch_unarmed(uint32_t id, int state)
{
	if (fl_table.sites[id].state == FL_SITE_GONE)
		return FLE_GONE;
	if (!fl_table.probes[id].is_virtual)
		return FLE_REFUSED;
	fl_table.switches[id].is_on = state == FL_ON;
	return 0;
}

void fl_probe_flip_locked(uint32_t id, int state)
{
	flip(id, state);
}

static void switch_locked(uint32_t id, int state)
{
	uint64_t signals;

	fl_table_lock(&signals);
	flip(id, state);
	fl_table_unlock(&signals);
}

int fl_probe_switch(uint32_t id, int state)
{
	struct fl_slot *slot = fl_channel_slot();

	if (id >= fl_table.n)
		return FLE_NOPROBE;
	if (!fl_table.switches[id].armed)
		return switch_unarmed(id, state);
	if (!slot) {
		switch_locked(id, state);
		return 0;
	}
	slot->toggling++;
	/* ordering: none at run time, the sync of freeze does the rest */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (load_relaxed(&frozen)) {
		slot->toggling--;
		switch_locked(id, state);
		return 0;
	}
	flip(id, state);
	/* ordering: none at run time, x86-TSO keeps the store to text first */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->toggling--;
	return 0;
}

int fl_probes_switch_set(const uint8_t *goal, uint32_t n)
{
	uint64_t signals;
	int switched = 0;

	fl_table_lock(&signals);
	for (uint32_t id = 0; id < n && !fl_table.closing; id++) {
		if (!goal[id] || !fl_table.switches[id].armed)
			continue;
		flip(id, goal[id]);
		switched++;
	}
	fl_patch_sync();
	fl_table_unlock(&signals);
	return switched;
}

bool fl_probe_is_on(uint32_t id)
{
	return id < fl_table.n && fl_table.switches[id].is_on;
}

static void wait_for_switches(void)
{
	struct fl_shm *m = fl_table.shm;

	for (uint32_t i = 0; i < m->n_slots_used; i++)
		while (load_relaxed(&fl_shm_slot(m, i)->toggling))
			fl_arch_pause();
}

void fl_probes_freeze(void)
{
	fl_table_lock(&frozen_signals);
	store_relaxed(&frozen, 1);
	fl_patch_sync();
	wait_for_switches();
}

void fl_probes_thaw(void)
{
	if (!load_relaxed(&frozen))
		return;
	fl_table_forget_gone();
	store_relaxed(&frozen, 0);
	fl_table_unlock(&frozen_signals);
}

/* ---- the end --------------------------------------------------------------------- */

static void all_off(void)
{
	fl_table.closing = true;
	for (uint32_t id = 0; id < fl_table.n; id++)
		flip(id, FL_OFF);
}

void fl_probes_off(void)
{
	uint64_t signals;

	fl_table_lock(&signals);
	all_off();
	fl_table_unlock(&signals);
}

void fl_probes_hold(uint64_t *signals)
{
	fl_table_lock(signals);
}

void fl_probes_release(const uint64_t *signals)
{
	fl_table_unlock(signals);
}

void fl_probes_release_off(const uint64_t *signals)
{
	all_off();
	fl_table_unlock(signals);
}

static void unclaim_all(void)
{
	uint64_t signals;

	fl_claims_lock(&signals);
	for (uint32_t id = 0; id < fl_table.n; id++) {
		fl_table.switches[id].armed = 0;
		fl_unclaim(&fl_table.probes[id].patch);
	}
	fl_claims_unlock(&signals);
	fl_claims_settle();
}

/* Every site that can be has its old bytes again. */
static void disarm(void)
{
	struct fl_set set;
	size_t bad;

	if (set_map(&set, fl_table.n))
		return;
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (fl_table.switches[id].armed)
			fl_set_stage(&set, &fl_table.probes[id].patch, FL_OFF, FL_OLD);
	while (fl_set_commit(&set, &bad) && set.n)
		set.changes[bad] = set.changes[--set.n];
	each_run(&set, fl_text_close);
	set_unmap(&set);
}

void fl_probes_close(void)
{
	uint64_t signals;

	fl_probes_off();
	fl_table_lock(&signals);
	disarm();
	unclaim_all();
	fl_table_unlock(&signals);
}
