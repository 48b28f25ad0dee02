/*
 * state.c - many probes on and off: arming, forks, the end.
 *
 * Hides sets and text permissions. Arming is a set of patches. When text may be
 * stored to at all is switch.c's; who stores here has its lock.
 */

#include <sys/mman.h>

#include "os/os.h"
#include "table.h"

/* ---- arming ----------------------------------------------------------------- */

/* One that asks and is not wanted is on for other functions that are. */
static bool is_for_others(uint32_t id)
{
	return fl_table.probes[id].asks && !fl_table.session->own && !fl_table_wants(id);
}

/* What a fresh probe should become; FL_OLD: leave it alone. One that has no glue, or no
 * site, goes on to call; a program of its own may want any probe later. */
static int goal_of(uint32_t id)
{
	const struct fl_shm_site *s = &fl_table.sites[id];

	if (s->state != FL_SITE_FOUND || fl_table.probes[id].by_call || fl_table.closing)
		return FL_OLD;
	if (fl_table_wants(id))
		return fl_table.between && s->kind != FL_ENTRY ? FL_OFF : FL_ON;
	if (is_for_others(id))
		return FL_ON;
	return fl_table.session->own ? FL_OFF : FL_OLD;
}

static void drop(struct fl_set *set, size_t i, int err)
{
	struct fl_patch *p = set->changes[i].patch;

	fl_table_refuse(fl_patch_id(p), err, p->at);
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
	return err == FLE_SIGBLOCK || is_errno(err) || (err == FLE_THREADS && p->rows);
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

static struct fl_switch switch_of(uint32_t id, bool is_on)
{
	const struct fl_patch *p = &fl_table.patches[id];
	struct fl_switch s = {
		.at = p->at + p->view + p->flip_at, .is_on = is_on,
		.is_wanted = fl_table_wants(id),
		.is_entry = fl_table.sites[id].kind == FL_ENTRY,
	};

	for (int state = 0; state < FL_N_STATES; state++)
		s.byte[state] = p->flip[state];
	return s;
}

/* Who is to be on is switched on: from the old bytes the way is by `off`. Who is seldom
 * waits for a window. How many may be on. */
static int note_armed(const struct fl_set *set)
{
	int on = 0;

	for (size_t i = 0; i < set->n; i++) {
		struct fl_patch *p = set->changes[i].patch;
		uint32_t id = fl_patch_id(p);
		bool is_on = goal_of(id) == FL_ON, is_hushed = fl_sample_hushes(id);

		if (is_on && !is_hushed)
			fl_patch_flip(p, FL_ON);
		is_on = is_on && fl_table_wants(id);
		fl_table.switches[id] = switch_of(id, is_on && !is_hushed);
		/* ordering: none other, who switches may just have been told of it */
		store_release(&fl_table.switches[id].armed,
			      p->tactic == FL_FLIP ? FL_ARMED_FLIP : FL_ARMED_WORD);
		/* (B) pairs with (A) in late.c */
		store_release(&fl_table.sites[id].state, FL_SITE_READY);
		on += is_on;
	}
	return on;
}

/* Windows up to `end`, one after the other, that lie in pages [lo, hi). */
struct run {
	size_t end;
	uintptr_t lo, hi;
};

/* The next window; false: it lies apart. */
static bool join(struct run *r, uintptr_t at, size_t len)
{
	uintptr_t lo = fl_round_down(at, FL_PAGE), hi = fl_round_up(at + len, FL_PAGE);

	if (!r->hi)
		r->lo = lo;
	else if (lo < r->lo || lo > r->hi)
		return false;
	r->hi = hi > r->hi ? hi : r->hi;
	return true;
}

/* Of the set, from its i-th on. */
static struct run run_at(const struct fl_set *set, size_t i)
{
	struct run r = { .end = i };

	while (r.end < set->n && join(&r, set->changes[r.end].patch->at,
				      set->changes[r.end].patch->len))
		r.end++;
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
			fl_table_refuse(fl_patch_id(p), err ? err : FLE_NOTEXT, p->at);
			fl_unclaim(p);
		}
	}
	set->n = kept;
}

/* ---- calls that nobody wants ------------------------------------------------- */

/*
 * They are many, and cost a call each: each gets one byte that switches it off for good.
 * No core has to be synchronised for that: one that calls all the same finds a probe that
 * is not wanted.
 */
static bool is_to_mute(uint32_t id)
{
	return fl_table.probes[id].is_mute && fl_table.sites[id].state == FL_SITE_FOUND;
}

/* In a page that can be stored to. A place of the program's may have its bytes. */
static void mute_one(uint32_t id)
{
	struct fl_shm_site *s = &fl_table.sites[id];
	const struct fl_probe *p = &fl_table.probes[id];
	uintptr_t flip_at;
	fl_unit to;
	int at = fl_arch_mute(p->form, (const unsigned char *)s->at, &to);

	if (at < 0 || fl_claim_meets(s->at, p->room)) {
		fl_table_refuse(id, at < 0 ? FLE_CHANGED : FLE_OVERLAP, s->at);
		return;
	}
	flip_at = s->at + (uintptr_t)at;
	fl_arch_flip_unit(flip_at + (uintptr_t)fl_text_shift(flip_at), to);
	/* (B) pairs with (A) in late.c */
	store_release(&s->state, FL_SITE_READY);
}

/* The next of them from `id` on that lie in one run of pages. */
static struct run run_of_mute(uint32_t id)
{
	struct run r = { .end = id };

	while (r.end < fl_table.n && (!is_to_mute((uint32_t)r.end) ||
				      join(&r, fl_table.sites[r.end].at,
					   fl_table.probes[r.end].room)))
		r.end++;
	return r;
}

static void mute_run(uint32_t id, const struct run *r)
{
	int err = fl_text_open(r->lo, r->hi, FL_TEXT_PROBES);

	if (!err)			/* all at once: a fault for each takes longer */
		fl_os_advise((void *)r->lo, r->hi - r->lo, MADV_POPULATE_WRITE);
	for (; id < r->end; id++)
		if (is_to_mute(id) && err)
			fl_table_refuse(id, err, fl_table.sites[id].at);
		else if (is_to_mute(id))
			mute_one(id);
}

static void mute_all(uint32_t from)
{
	struct run r;

	for (uint32_t id = from; id < fl_table.n; id = (uint32_t)r.end) {
		r = run_of_mute(id);
		if (r.hi)
			mute_run(id, &r);
	}
}

/* ---- a set -------------------------------------------------------------------- */

/* Mute what is to be from `mute` on, then the set. Claims are held until the site has its
 * old bytes again. Pages that are open already may be made anew: no switch of a single
 * probe meanwhile. */
static int arm(struct fl_set *set, uint32_t mute)
{
	uint64_t signals;
	int err;

	fl_fork_enter();
	if (fl_text_is_aliased())
		fl_switches_hold();
	fl_claims_lock(&signals);
	mute_all(mute);
	open_text(set);
	if (fl_text_is_aliased())
		fl_switches_let();
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
		struct fl_patch *p = &fl_table.patches[id];
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

		if (!fl_table.probes[id].by_call || s->state != FL_SITE_FOUND)
			continue;
		fl_table.switches[id] = (struct fl_switch){
			.is_entry = is_entry, .is_wanted = is_wanted,
			.is_on = is_wanted && (!fl_table.between || is_entry) &&
				 !fl_sample_hushes(id),
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

/* There is no memory for the set. */
static void refuse_all(uint32_t from, int err)
{
	for (uint32_t id = from; id < fl_table.n; id++)
		if (goal_of(id) != FL_OLD)
			fl_table_refuse(id, err, fl_table.sites[id].at);
}

static int commit_locked(uint32_t from, enum fl_moment moment)
{
	struct fl_set set = { 0 };
	int err = fl_set_make(&set, count_goals(from));

	if (err)
		refuse_all(from, err);
	set.quiet = moment == FL_LOADING;
	stage_goals(&set, from);
	ready_calls(from);
	err = arm(&set, from);
	if (!err)
		err = note_armed(&set);
	fl_sample_armed(from);
	if (set.changes)
		fl_set_free(&set);
	return err;
}

/* What is wanted is known now. */
static void make_glue(const struct fl_known *k, void *arg)
{
	uint32_t from = *(const uint32_t *)arg;

	if (k->end > from)
		fl_glue_make(k, k->first > from ? k->first : from, k->end, true);
}

static int commit_from(uint32_t from, enum fl_moment moment)
{
	fl_known_each(make_glue, &from);
	if (from <= fl_table.unarmed)
		fl_table.unarmed = FL_NO_PROBE;
	return commit_locked(from, moment);
}

/* Of a module that may be going, or be gone by now, nothing is armed but the place
 * that a call just came from. */
int fl_probes_commit(uint32_t from, enum fl_moment moment)
{
	uint64_t signals, inner;
	int on = 0;

	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	if (fl_table.closing)
		from = fl_table.n;
	else if (moment == FL_RUNNING && fl_switches_are_unloading())
		fl_table.unarmed = from;
	else
		on = commit_from(from, moment);
	fl_switches_unlock(&inner);
	fl_table_publish(from);
	fl_table_unlock(&signals);
	return on;
}

/* ---- what the program writes itself --------------------------------------------- */

/*
 * Pads and sleds are for whoever wants them: XRay's runtime patches its own while
 * threads run, by stores that are harmless over the bytes that it expects there, and over
 * no others. It asks for the right to write first. Then they are given back, so that it
 * finds what it expects; and when it has given up that right, those that have been
 * left alone are taken again. A profiling call is nobody's but the compiler's.
 */
static bool is_within(uint32_t id, uintptr_t lo, uintptr_t hi)
{
	const struct fl_patch *p = &fl_table.patches[id];

	return fl_table.probes[id].bare && p->at < hi && p->at + p->len > lo;
}

static void give(struct fl_set *set, uint32_t id)
{
	struct fl_patch *p = &fl_table.patches[id];

	fl_table.probes[id].is_yielded = 1;
	fl_table.switches[id].armed = 0;
	fl_patch_flip(p, FL_OFF);
	fl_set_stage(set, p, FL_OFF, FL_OLD);
}

/* What is wished meanwhile is kept as long as it counts as yielded. */
static void take_back(struct fl_set *set, uint32_t id)
{
	fl_set_stage(set, &fl_table.patches[id], FL_OLD, FL_OFF);
}

/* Those of [lo, hi) that are armed, or not any more. Nobody switches them. */
static int stage_within(struct fl_set *set, uintptr_t lo, uintptr_t hi, bool yielded)
{
	uint32_t n = 0;
	int err;

	for (uint32_t id = 0; id < fl_table.n; id++)
		n += is_within(id, lo, hi);
	err = n ? fl_set_make(set, n) : -ENOENT;
	for (uint32_t id = 0; id < fl_table.n && !err; id++)
		if (is_within(id, lo, hi) && (yielded ? fl_table.probes[id].is_yielded :
						       fl_table.switches[id].armed))
			(yielded ? take_back : give)(set, id);
	return err;
}

/* As they were wished to be meanwhile. Who finds one neither armed nor yielded looks
 * again whether it is armed (switch.c): that comes first. */
static void note_back(const struct fl_set *set, uintptr_t lo, uintptr_t hi)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct fl_patch *p = set->changes[i].patch;
		uint32_t id = fl_patch_id(p);
		struct fl_switch *s = &fl_table.switches[id];

		s->at = p->at + (uintptr_t)p->view + p->flip_at;
		/* ordering: none other, as in note_armed() */
		store_release(&s->armed, p->tactic == FL_FLIP ? FL_ARMED_FLIP : FL_ARMED_WORD);
		fl_probe_follow(id);
	}
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (is_within(id, lo, hi))
			/* ordering: none other, behind `armed` */
			store_release(&fl_table.probes[id].is_yielded, 0);
}

static void count(uint32_t *what, uint32_t n)
{
	__atomic_fetch_add(what, n, __ATOMIC_RELAXED);
}

static void yield_locked(uintptr_t lo, uintptr_t hi)
{
	struct fl_set set;

	fl_switches_hold();
	if (stage_within(&set, lo, hi, false) == 0) {
		count(&fl_table.shm->n_yielded, set.n);
		fl_fork_enter();
		commit_rest(&set);
		fl_fork_leave();
		fl_set_free(&set);
	}
	fl_switches_let();
}

/* Once armed, and refused since. */
static void note_overwritten(uintptr_t lo, uintptr_t hi)
{
	for (uint32_t id = 0; id < fl_table.n; id++) {
		struct fl_shm_site *s = &fl_table.sites[id];

		if (!is_within(id, lo, hi) || s->refusal != FLE_CHANGED ||
		    !fl_table.switches[id].at)
			continue;
		fl_table_refuse(id, FLE_OVERWRITTEN, s->at);
		store_relaxed(&fl_table.switches[id].is_on, 0);
		count(&fl_table.shm->n_overwritten, 1);
	}
}

static void unyield_locked(uintptr_t lo, uintptr_t hi)
{
	struct fl_set set;

	if (stage_within(&set, lo, hi, true))
		return;
	if (set.n)
		arm(&set, fl_table.n);
	note_back(&set, lo, hi);
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
	if (!fl_table.closing && !fl_switches_are_unloading() && fl_switches_may_store())
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

/* ---- the end --------------------------------------------------------------------- */

static void all_off(void (*flip)(uint32_t id, int state))
{
	fl_table.closing = true;
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (!fl_table.probes[id].is_mute)
			flip(id, FL_OFF);
}

/* Nobody stores to them any more. */
static void disarm_all(void)
{
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (!fl_table.probes[id].is_mute)
			fl_table.switches[id].armed = fl_table.switches[id].is_on = 0;
}

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

/*
 * In a child that is not recorded probes do nothing. To switch all off would copy each page
 * of code that has one, and many a child calls a few functions and is gone. So the first
 * one that is met in a page switches off those of the page: its code runs, so nobody
 * unmaps it. Bare ones are off before, as others may write there later.
 */
static void hush_page(uint32_t id)
{
	const struct fl_shm_site *sites = fl_table.sites;
	uint32_t lo = id, hi = id;
	uintptr_t page;

	if (id >= fl_table.n)
		return;
	page = sites[id].at / FL_PAGE;
	while (lo && sites[lo - 1].at / FL_PAGE == page)
		lo--;
	while (hi < fl_table.n && sites[hi].at / FL_PAGE == page)
		hi++;
	for (; lo < hi; lo++)
		if (fl_table.switches[lo].armed && !fl_table.probes[lo].bare)
			fl_probe_hush(lo, FL_OFF);
}

static void hush_at_once(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];

	if (!p->is_mute && (p->bare || fl_table.session->own))
		fl_probe_hush(id, FL_OFF);
}

/* What another thread was changing may be half done, or unmapped: it is left alone, as
 * is text that is still the parent's. There probes find no channel and do nothing. */
void fl_probes_leave(void)
{
	bool is_whole = fl_switches_in_child() && !fl_table_is_cut() && !fl_text_is_shared();
	uint64_t signals, inner;

	if (!is_whole)
		disarm_all();
	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	fl_table.closing = true;
	for (uint32_t id = 0;
	     id < fl_table.n && (fl_table.session->own || fl_table.has_bare); id++)
		hush_at_once(id);
	fl_switches_unlock(&inner);
	fl_table_unlock(&signals);
	if (is_whole && !fl_table.session->own)
		fl_channel_on_left = hush_page;
}

int fl_probes_take_over(void)
{
	if (!fl_switches_in_child() || fl_text_is_shared())
		return -ENOMEM;
	if (fl_table.session->action == FL_ACT_SAMPLE)
		fl_sample_in_child();
	return 0;
}

/* ---- the end, for good ------------------------------------------------------------- */

/* None can be switched on, and then all are off: a handler may switch one just now. No
 * module goes before let_end(). The calling thread may be in what the loader calls
 * while it deletes: then text stays as it is. */
static bool begin_end(uint64_t *signals, uint64_t *inner)
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
	all_off(may_store ? fl_probe_flip_held : fl_probe_flip_locked);
	FL_POINT("probes.closing");
	return may_store;
}

static void let_end(const uint64_t *signals, const uint64_t *inner)
{
	disarm_all();
	fl_switches_let();
	fl_switches_unlock(inner);
	fl_table_unlock(signals);
}

/* Places stay armed, and are nobody else's. */
void fl_probes_retire(void)
{
	uint64_t signals, inner;

	begin_end(&signals, &inner);
	fl_text_close(0, UINTPTR_MAX, FL_TEXT_PROBES);
	let_end(&signals, &inner);
}

static void unclaim_all(void)
{
	uint64_t signals;

	fl_claims_lock(&signals);
	for (uint32_t id = 0; id < fl_table.n; id++)
		fl_unclaim(&fl_table.patches[id]);
	fl_claims_unlock(&signals);
}

/* The armed probes from *id on, as many as the set takes; false: none is left. */
static bool stage_original(struct fl_set *set, uint32_t *id)
{
	for (set->n = 0; *id < fl_table.n && set->n < set->room; ++*id)
		if (fl_table.switches[*id].armed)
			fl_set_stage(set, &fl_table.patches[*id], FL_OFF, FL_OLD);
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
	bool is_mapped = fl_set_make(&all, fl_table.n) == 0;
	uint32_t id = 0;

	if (is_mapped)
		set = all;
	fl_fork_enter();
	while (stage_original(&set, &id)) {
		reopen_text(&set);
		commit_rest(&set);
	}
	if (is_mapped)
		fl_set_free(&all);
	fl_text_close(0, UINTPTR_MAX, FL_TEXT_PROBES);
	fl_fork_leave();
}

void fl_probes_close(void)
{
	uint64_t signals, inner;

	if (begin_end(&signals, &inner))
		restore_text();
	unclaim_all();
	let_end(&signals, &inner);
}
