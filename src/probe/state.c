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
 *	itself pays no fence. A thread that ends in between, or lets a handler
 *	leave by siglongjmp(), leaves its mark: it is waited for while it lives.
 *	Sampling switches with signals blocked, so that it cannot.
 */
#include <sys/mman.h>

#include "os/os.h"
#include "table.h"

static uint32_t frozen;
static uint64_t frozen_signals;
static bool is_unloading;		/* between freeze and thaw; under the loader's lock */

/* ---- no switches ------------------------------------------------------------------ */

static void wait_for_switches(const struct fl_slot *own)
{
	struct fl_shm *m = fl_table.shm;

	for (uint32_t i = 0; i < m->n_slots_used; i++) {
		const struct fl_slot *s = fl_shm_slot(m, i);

		while (s != own && s->image == fl_channel_image() &&
		       load_relaxed(&s->toggling) && fl_channel_has_thread(s))
			fl_arch_pause();
	}
}

/* The table is locked, so no other switch begins. One of the calling thread's
 * own, which a signal handler of the program interrupted, is not waited for. */
static void freeze(const struct fl_slot *own)
{
	store_relaxed(&frozen, 1);
	fl_patch_sync();
	wait_for_switches(own);
}

/* A child of a bare clone, which took no leave in fl_probes_leave(), must
 * not store to text that it shares with its parent. */
static bool may_store(void)
{
	return !fl_text_is_aliased() || !fl_channel_is_closed() || fl_table.closing;
}

/* ---- arming ----------------------------------------------------------------- */

/* One that asks and is not wanted is on for other functions that are. */
static bool is_for_others(uint32_t id)
{
	return fl_table.probes[id].asks && !fl_table.shm->own && !fl_table_wants(id);
}

/* One that has no glue, or no site, must go on to call, unless nobody will ever want
 * its calls. */
static bool has_to_call(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];

	return p->by_call && (!p->patch.len || p->asks || fl_table.shm->own ||
			      fl_table_wants(id));
}

/* What a fresh probe should become; FL_OLD: leave it alone. A profiling call
 * that nobody wants still costs a call, so it is armed and off; a program of
 * its own may want any probe later. */
static int goal_of(uint32_t id)
{
	const struct fl_shm_site *s = &fl_table.sites[id];

	if (s->state != FL_SITE_FOUND || has_to_call(id) || fl_table.closing)
		return FL_OLD;
	if (fl_table_wants(id))
		return fl_table.between && s->kind != FL_ENTRY ? FL_OFF : FL_ON;
	if (is_for_others(id))
		return FL_ON;
	return fl_table.probes[id].bare && !fl_table.shm->own ? FL_OLD : FL_OFF;
}

static void drop(struct fl_set *set, size_t i, int err)
{
	struct fl_patch *p = set->changes[i].patch;

	fl_table_refuse(fl_probe_id((const void *)p), err, p->at);
	fl_unclaim(p);
	set->changes[i] = set->changes[--set->n];
}

static bool is_errno(int err)
{
	return err < 0 && err > -4096;
}

/* What stands against one change by its kind stands against all of the kind;
 * what the system refuses, against all. */
static bool same_fate(const struct fl_patch *p, int err)
{
	return err == FLE_TRAPBLOCK || is_errno(err) || (err == FLE_THREADS && p->rows);
}

/* Commit; a change that is refused leaves the set, the others go on. The
 * system may refuse for a moment only. */
static int commit_or_drop(struct fl_set *set)
{
	enum { TRIES = 3 };
	size_t bad = 0;
	int err;

	for (int i = 1; (err = fl_set_commit(set, &bad)) && set->n; i++) {
		if (is_errno(err) && i < TRIES)
			continue;
		drop(set, bad, err);
		for (size_t k = set->n; k-- > 0;)
			if (same_fate(set->changes[k].patch, err))
				drop(set, k, err);
	}
	return err;
}

static struct fl_switch switch_of(uint32_t id, bool is_on)
{
	const struct fl_patch *p = &fl_table.probes[id].patch;
	struct fl_switch s = {
		.at = p->at + p->view + p->flip_at, .armed = 1, .is_on = is_on,
		.is_word = p->tactic != FL_FLIP, .is_wanted = fl_table_wants(id),
		.is_entry = fl_table.sites[id].kind == FL_ENTRY,
	};

	for (int state = 0; state < FL_N_STATES; state++)
		s.byte[state] = p->bytes[state][p->flip_at];
	return s;
}

/* Who is to be on is switched on: from the old bytes the way is by `off`. */
static int note_armed(const struct fl_set *set)
{
	int on = 0;

	for (size_t i = 0; i < set->n; i++) {
		struct fl_patch *p = set->changes[i].patch;
		uint32_t id = fl_probe_id((const void *)p);
		bool is_on = goal_of(id) == FL_ON;

		if (is_on)
			fl_patch_flip(p, FL_ON);
		is_on = is_on && fl_table_wants(id);
		fl_table.switches[id] = switch_of(id, is_on);
		/* (B) pairs with (A) in late.c */
		store_release(&fl_table.sites[id].state, FL_SITE_READY);
		on += is_on;
	}
	return on;
}

/* Changes [i, end) of the set, whose windows lie in pages [lo, hi). */
struct run {
	size_t i, end;
	uintptr_t lo, hi;
};

static struct run run_at(const struct fl_set *set, size_t i)
{
	struct run r = { .i = i, .end = i };

	for (; r.end < set->n; r.end++) {
		const struct fl_patch *p = set->changes[r.end].patch;
		uintptr_t lo = fl_round_down(p->at, FL_PAGE);
		uintptr_t hi = fl_round_up(p->at + p->len, FL_PAGE);

		if (r.end == i)
			r.lo = lo;
		else if (lo < r.lo || lo > r.hi)
			break;
		r.hi = r.end == i || hi > r.hi ? hi : r.hi;
	}
	return r;
}

/* Where the window's bytes are stored to. False: it lies in two mappings and
 * would need two views. */
static bool find_view(struct fl_patch *p)
{
	uintptr_t last = p->at + p->len - 1;

	p->view = fl_text_shift(p->at);
	return p->at / FL_PAGE == last / FL_PAGE || fl_text_shift(last) == p->view;
}

/* Every page that the set touches; changes in one that cannot be opened leave
 * the set. */
static void open_text(struct fl_set *set)
{
	uint32_t kept = 0;
	struct run r;

	for (size_t i = 0; i < set->n; i = r.end) {
		int err;

		r = run_at(set, i);
		err = fl_text_open(r.lo, r.hi, FL_TEXT_PROBES);
		for (; i < r.end; i++) {
			struct fl_patch *p = set->changes[i].patch;

			if (!err && find_view(p)) {
				set->changes[kept++] = set->changes[i];
				continue;
			}
			fl_table_refuse(fl_probe_id((const void *)p),
					err ? err : FLE_NOTEXT, p->at);
			fl_unclaim(p);
		}
	}
	set->n = kept;
}

/* Claims are held until the site has its old bytes again. Pages that are open
 * already may be made anew: no switch meanwhile. */
static int arm(struct fl_set *set)
{
	uint64_t signals;
	int err;

	fl_fork_enter();
	if (fl_text_is_aliased())
		freeze(fl_channel_own_slot());
	fl_claims_lock(&signals);
	open_text(set);
	store_relaxed(&frozen, 0);
	err = set->n ? commit_or_drop(set) : 0;
	fl_claims_unlock(&signals);
	fl_fork_leave();
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
			fl_table_refuse(id, err, err == FLE_OVERLAP ? other->at : p->at);
		if (err || to == FL_OLD)
			continue;
		if (is_for_others(id))
			*fl_table.probes[id].go = fl_arch_routine_idle();
		fl_set_stage(set, p, FL_OLD, FL_OFF);
	}
	fl_claims_unlock(&signals);
}

/* What goes on to call is data alone. */
static void ready_calls(uint32_t from)
{
	for (uint32_t id = from; id < fl_table.n; id++) {
		struct fl_shm_site *s = &fl_table.sites[id];
		bool is_entry = s->kind == FL_ENTRY, is_wanted = fl_table_wants(id);

		if (!has_to_call(id) || s->state != FL_SITE_FOUND)
			continue;
		fl_table.switches[id] = (struct fl_switch){
			.is_entry = is_entry, .is_wanted = is_wanted,
			.is_on = is_wanted && (!fl_table.between || is_entry),
		};
		/* (B) pairs with (A) in late.c */
		store_release(&s->state, FL_SITE_READY);
	}
}

static uint32_t count_goals(uint32_t from)
{
	uint32_t n = 0;

	for (uint32_t id = from; id < fl_table.n; id++)
		n += goal_of(id) != FL_OLD;
	return n;
}

/* Room for n changes. */
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

/* There is no memory for the set. */
static int refuse_all(uint32_t from, int err)
{
	for (uint32_t id = from; id < fl_table.n; id++)
		if (goal_of(id) != FL_OLD)
			fl_table_refuse(id, err, fl_table.probes[id].patch.at);
	return err;
}

static int commit_locked(uint32_t from, enum fl_moment moment)
{
	struct fl_set set;
	int err = set_map(&set, count_goals(from));

	if (err)
		return refuse_all(from, err);
	set.quiet = moment == FL_LOADING;
	stage_goals(&set, from);
	ready_calls(from);
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
	fl_table_publish(from);
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

/* A probe that gets another handler while it is on. To store the byte that is
 * there already would cost the cores that execute it as much as a new one, some
 * hundred cycles each. The text decides: is_on may be ahead of it. */
static bool stands_so(const struct fl_switch *s, int state)
{
	return s->is_on == (state == FL_ON) && !s->is_word &&
	       load_relaxed((const uint8_t *)s->at) == s->byte[state];
}

/* A virtual probe is data alone; any other has a reason not to be armed. */
static int switch_unarmed(uint32_t id, int state)
{
	if (fl_table.sites[id].state == FL_SITE_GONE)
		return FLE_GONE;
	if (!fl_table.probes[id].by_call)
		return FLE_REFUSED;
	fl_table.switches[id].is_on = state == FL_ON;
	return 0;
}

void fl_probe_flip_locked(uint32_t id, int state)
{
	struct fl_switch *s = &fl_table.switches[id];

	if (s->armed && !stands_so(s, state))
		flip(id, state);
	else if (!s->armed && fl_table.probes[id].by_call)
		s->is_on = state == FL_ON;
}

static int switch_locked(uint32_t id, int state)
{
	uint64_t signals;

	if (fl_table_is_mine())
		return -EDEADLK;
	fl_table_lock(&signals);
	flip(id, state);
	fl_table_unlock(&signals);
	return 0;
}

int fl_probe_switch(uint32_t id, int state)
{
	struct fl_slot *slot = fl_channel_slot();

	if (id >= fl_table.n)
		return FLE_NOPROBE;
	if (!fl_table.switches[id].armed)
		return switch_unarmed(id, state);
	if (!slot && !may_store())
		return -EPERM;
	if (!slot)
		return switch_locked(id, state);
	slot->toggling++;
	/* ordering: none at run time, the sync of freeze does the rest */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (load_relaxed(&frozen)) {
		slot->toggling--;
		return switch_locked(id, state);
	}
	FL_POINT("probe.switching");
	if (!stands_so(&fl_table.switches[id], state))
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

	if (!may_store())
		return -EPERM;
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

/* Between windows an entry counts: what it does is data. The other probes are off. */
static void switch_wanted(uint32_t id, bool between)
{
	struct fl_probe *p = &fl_table.probes[id];
	bool is_entry = fl_table.sites[id].kind == FL_ENTRY;
	int state = between && !is_entry ? FL_OFF : FL_ON;

	if (is_entry && p->go)
		/* ordering: none, who loads the old routine ran before the edge */
		store_relaxed(p->go, fl_glue_routine(p, fl_window_action(id)));
	else if (fl_table.switches[id].armed)
		flip(id, state);
	if (p->by_call)
		fl_table.switches[id].is_on = state == FL_ON;
}

static void switch_all_wanted(bool between)
{
	uint64_t signals;

	fl_table_lock(&signals);
	fl_table.between = between;
	for (uint32_t id = 0; id < fl_table.n && !fl_table.closing; id++)
		if (fl_table_wants(id))
			switch_wanted(id, between);
	fl_patch_sync();
	fl_table_unlock(&signals);
}

void fl_probes_open_window(void)
{
	switch_all_wanted(false);
}

void fl_probes_close_window(void)
{
	switch_all_wanted(true);
}

bool fl_probe_is_on(uint32_t id)
{
	return id < fl_table.n && fl_table.switches[id].is_on;
}

bool fl_probes_are_held(void)
{
	return fl_table_is_mine();
}

void fl_probes_freeze(void)
{
	fl_table_lock(&frozen_signals);
	is_unloading = true;
	freeze(fl_channel_own_slot());
}

void fl_probes_thaw(void)
{
	if (!is_unloading)
		return;
	is_unloading = false;
	fl_table_forget_gone();
	store_relaxed(&frozen, 0);
	fl_table_unlock(&frozen_signals);
}

/* ---- the end --------------------------------------------------------------------- */

static void all_off(void)
{
	fl_table.closing = true;
	for (uint32_t id = 0; id < fl_table.n; id++) {
		flip(id, FL_OFF);
		fl_table.switches[id].is_on = 0;
	}
}

static void disarm_all(void)
{
	for (uint32_t id = 0; id < fl_table.n; id++)
		fl_table.switches[id].armed = 0;
}

/* ---- fork -------------------------------------------------------------------------- */

enum { HOLD_US = 2000000, SETTLE_US = 2000 };

bool fl_probes_hold(uint64_t *signals)
{
	return !fl_table_is_mine() && fl_table_lock_within(HOLD_US, signals);
}

void fl_probes_release(const uint64_t *signals)
{
	fl_table_unlock(signals);
}

void fl_probes_settle(void)
{
	uint64_t signals;

	if (!fl_table_is_mine() && fl_table_lock_within(SETTLE_US, &signals))
		fl_table_unlock(&signals);
}

/* What another thread was changing may be half done, or unmapped: it is left alone, as
 * is text that is still the parent's. There probes find no channel and do nothing. */
void fl_probes_leave(void)
{
	uint64_t signals;

	if (fl_table_is_cut() || is_unloading || fl_text_is_shared())
		disarm_all();
	is_unloading = false;
	store_relaxed(&frozen, 0);
	fl_table_lock(&signals);
	all_off();
	fl_table_unlock(&signals);
}

int fl_probes_take_over(void)
{
	if (fl_text_is_shared())
		return -ENOMEM;
	if (fl_table.shm->action == FL_ACT_SAMPLE)
		fl_sample_in_child();
	return 0;
}

/* ---- the end, for good ------------------------------------------------------------- */

/* Nobody switches any more: places stay armed, and are nobody else's. */
void fl_probes_retire(void)
{
	uint64_t signals;

	fl_table_lock(&signals);
	all_off();
	freeze(NULL);
	disarm_all();
	fl_text_close(0, UINTPTR_MAX, FL_TEXT_PROBES);
	store_relaxed(&frozen, 0);
	fl_table_unlock(&signals);
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

/* What cannot be changed stays off; the system may refuse for a moment only. */
static void commit_rest(struct fl_set *set)
{
	enum { TRIES = 3 };
	size_t bad = 0;
	int err;

	for (int i = 1; (err = fl_set_commit(set, &bad)) && set->n; i++)
		if (!is_errno(err) || i >= TRIES)
			set->changes[bad] = set->changes[--set->n];
}

/* The armed probes from *id on, as many as the set takes; false: none is left. */
static bool stage_original(struct fl_set *set, uint32_t *id)
{
	for (set->n = 0; *id < fl_table.n && set->n < set->room; ++*id)
		if (fl_table.switches[*id].armed)
			fl_set_stage(set, &fl_table.probes[*id].patch, FL_OFF, FL_OLD);
	return set->n != 0;
}

/* Fresh pages if there are any to be had: what children of a bare clone execute
 * should not change. Otherwise those that are open will do. */
static void reopen_text(const struct fl_set *set)
{
	for (size_t i = 0; fl_text_is_aliased() && i < set->n;) {
		struct run r = run_at(set, i);

		fl_text_open(r.lo, r.hi, FL_TEXT_PROBES);
		i = r.end;
	}
}

/* All at once, or a few at a time where there is no memory for the set. */
static void restore_text(void)
{
	struct fl_change few[32];
	struct fl_set all, set = { .changes = few, .room = ARRAY_LEN(few) };
	bool is_mapped = set_map(&all, fl_table.n) == 0;
	uint32_t id = 0;

	if (is_mapped)
		set = all;
	fl_fork_enter();
	while (stage_original(&set, &id)) {
		reopen_text(&set);
		commit_rest(&set);
	}
	if (is_mapped)
		set_unmap(&all);
	fl_text_close(0, UINTPTR_MAX, FL_TEXT_PROBES);
	fl_fork_leave();
}

void fl_probes_close(void)
{
	uint64_t signals;

	fl_table_lock(&signals);
	all_off();
	freeze(NULL);
	restore_text();
	unclaim_all();
	store_relaxed(&frozen, 0);
	fl_table_unlock(&signals);
}
