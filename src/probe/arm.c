/*
 * arm.c - probes that are new are armed, as one set.
 *
 * Hides sets and text permissions. A probe that is wanted, or may be, is armed; a call that
 * nobody wants is muted; a probe without a site or glue goes on to call (goal.h). switch.c says
 * when text may be stored to at all; code that stores here has its lock.
 */

#include <sys/mman.h>

#include "arm.h"
#include "glue.h"
#include "goal.h"
#include "known.h"
#include "os/os.h"
#include "switch.h"

/* ---- a set ----------------------------------------------------------------------- */

/* Is a fresh probe to be armed? One that asks serves other functions, though nobody wants it. A
 * program of its own may want any probe later. */
static bool is_to_arm(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];

	if (p->state != FL_PROBE_FOUND || p->reached != FL_REACHED_BY_GLUE || fl_table.holds)
		return false;
	return fl_table_wants_too(id) || p->asks || p->carries || fl_table_wants_all() ||
	       (!p->bare && !fl_arch_mutes(p->form));
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

/* Nobody can be led out of the bytes of a loop: whoever asks for one hears of that one. */
static bool is_loop(const struct fl_patch *p)
{
	uint8_t to[FL_ARCH_SITE_MAX];
	uintptr_t copy = p->at;

	return p->rows && !fl_arch_inner(p, &copy, to);
}

/* What stands against one change by its kind stands against all of its kind; what the system
 * refuses, it refuses to all. */
static bool same_fate(const struct fl_patch *p, int err)
{
	return err == FLE_SIGBLOCK || is_errno(err) ||
	       ((err == FLE_THREADS || err == FLE_STUCK) && p->rows) ||
	       (err == FLE_LOOPS && is_loop(p));
}

/* How long is waited in all, while a set is committed. */
struct grace {
	uint64_t *signals;		/* of the claims' lock; NULL: it is not had */
	uint64_t until;			/* 0: nothing has been */
	int rounds;
};

/* A thread stands where it will not stand for long, or does not stop just now: the set may be
 * tried once more, a moment later. Forks and claims go on meanwhile, because nothing is half
 * done. A call of the program's does not wait: the thread that stands there may wait for the
 * caller. */
static bool is_waited_for(struct grace *p, int err)
{
	enum { ROUNDS = 8 };
	const uint64_t LONGEST_NS = 1000000000, now = fl_os_monotonic_ns();

	if (fl_table.session->own)
		return false;
	p->until = p->until ? p->until : now + LONGEST_NS;
	if ((err != FLE_STANDS && err != FLE_STUCK) || now >= p->until || p->rounds++ >= ROUNDS)
		return false;
	if (p->signals)
		fl_claims_unlock(p->signals);
	fl_fork_leave();
	fl_halt_await(p->until);
	fl_fork_enter();
	if (p->signals)
		fl_claims_lock(p->signals);
	return true;
}

/* Commit. A change that is refused leaves the set, and the others go on. The system may refuse
 * for a moment only. */
static int commit_or_drop(struct fl_set *set, struct grace *p)
{
	enum { TRIES = 3 };
	size_t bad = 0;
	int err;

	for (int i = 1; (err = fl_set_commit(set, &bad)) && set->n; i++) {
		if ((is_errno(err) && i < TRIES) || is_waited_for(p, err))
			continue;
		drop(set, bad, err);
		for (size_t k = set->n; k-- > 0;)
			if (same_fate(set->changes[k].patch, err))
				drop(set, k, err);
	}
	return err;
}

/* What stands against one change that takes held threads stands against all such changes. */
static void keep_as_they_are(struct fl_set *set)
{
	struct fl_move m[FL_ARCH_MOVES];

	for (size_t k = set->n; k-- > 0;) {
		const struct fl_change *c = &set->changes[k];

		if (fl_arch_moves(c->patch, c->from, c->to, m) < 0)
			set->changes[k] = set->changes[--set->n];
	}
}

static void restore_part(struct fl_set *set, struct grace *p)
{
	enum { TRIES = 3 };
	size_t bad = 0;
	int err;

	for (int i = 1; (err = fl_set_commit(set, &bad)) && set->n; i++) {
		if (p && is_waited_for(p, err))
			continue;
		if (!is_errno(err) || i >= TRIES)
			set->changes[bad] = set->changes[--set->n];
		if (err == FLE_THREADS || err == FLE_STUCK)
			keep_as_they_are(set);
	}
}

/* Changes that take held threads go last, so that threads are held once. How many come
 * before. */
static uint32_t put_held_last(struct fl_set *set)
{
	struct fl_move m[FL_ARCH_MOVES];
	uint32_t n = set->n;

	for (uint32_t k = 0; k < n;) {
		const struct fl_change c = set->changes[k];

		if (fl_arch_moves(c.patch, c.from, c.to, m) >= 0) {
			k++;
			continue;
		}
		set->changes[k] = set->changes[--n];
		set->changes[n] = c;
	}
	return n;
}

/* A thread that comes to a parked place waits there, busy, until all changes of the set are
 * through. In a large set nearly all threads would come to one, and take the CPU from the
 * thread that writes and would let them go. So the set goes in parts, and few threads come to
 * any. */
static void restore(struct fl_set *set, struct grace *p)
{
	enum { PART = 256 };
	uint32_t n = put_held_last(set);

	for (uint32_t from = 0; from < set->n;) {
		uint32_t left = from < n ? n - from : set->n - from;
		struct fl_set part = {
			.changes = set->changes + from, .quiet = set->quiet,
			.n = from < n && left > PART ? PART : left,
			.room = set->room - from,
		};

		from += part.n;
		restore_part(&part, p);
	}
}

void fl_arm_restore(struct fl_set *set)
{
	struct grace p = { .rounds = 0 };

	restore(set, &p);
}

void fl_arm_restore_at_once(struct fl_set *set)
{
	restore(set, NULL);
}

/* The set is armed. How many are wanted. */
static int note_armed(const struct fl_set *set)
{
	int wanted = 0;

	for (size_t i = 0; i < set->n; i++) {
		uint32_t id = fl_patch_id(set->changes[i].patch);

		fl_goal_begin(id, FL_PROBE_ARMED);
		wanted += fl_table_wants(id);
	}
	return wanted;
}

/* Changes up to `end`, one after the other, that lie in pages [lo, hi). */
struct run {
	size_t end;
	uintptr_t lo, hi;
};

/* Add the next one to the run; false: it lies apart. Bodies that a helper has built stand with
 * the last one first (copy/make.c). */
static bool join(struct run *r, uintptr_t at, size_t len)
{
	uintptr_t lo = fl_round_down(at, FL_PAGE), hi = fl_round_up(at + len, FL_PAGE);

	if (!r->hi)
		r->lo = lo;
	else if (hi < r->lo || lo > r->hi)
		return false;
	r->lo = lo < r->lo ? lo : r->lo;
	r->hi = hi > r->hi ? hi : r->hi;
	return true;
}

/* The run of the set that begins with its i-th change. */
static struct run run_at(const struct fl_set *set, size_t i)
{
	struct run r = { .end = i };

	while (r.end < set->n && join(&r, set->changes[r.end].patch->at,
				      set->changes[r.end].patch->len))
		r.end++;
	return r;
}

/* Each page of the run is stored to, and a fault for each takes longer than one call. */
static int open_pages(const struct run *r)
{
	int err = fl_text_open(r->lo, r->hi, FL_TEXT_PROBES);

	if (!err)
		fl_os_advise((void *)r->lo, r->hi - r->lo, MADV_POPULATE_WRITE);
	return err;
}

/* Where the window's bytes are stored to. False: the window lies in two
 * mappings and would need two views. */
static bool find_view(struct fl_patch *p)
{
	uintptr_t last = p->at + p->len - 1;

	p->view = fl_text_shift(p->at);
	return p->at / FL_PAGE == last / FL_PAGE || fl_text_shift(last) == p->view;
}

/* Open every page that the set touches. Changes in a page that cannot be opened leave the
 * set. */
static void open_text(struct fl_set *set)
{
	uint32_t kept = 0;
	struct run r;

	for (size_t i = 0; i < set->n; i = r.end) {
		int err;

		r = run_at(set, i);
		err = open_pages(&r);
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

/* Take fresh pages if there are any: what children of a bare clone execute should not change.
 * Otherwise the pages that are open will do. */
void fl_arm_reopen(const struct fl_set *set)
{
	for (size_t i = 0; fl_text_is_aliased() && i < set->n;) {
		struct run r = run_at(set, i);

		fl_text_open(r.lo, r.hi, FL_TEXT_PROBES);
		i = r.end;
	}
}

void fl_arm_open_again(struct fl_set *set)
{
	uint32_t kept = 0;
	struct run r;

	for (size_t i = 0; i < set->n; i = r.end) {
		bool is_open;

		r = run_at(set, i);
		is_open = !fl_text_open(r.lo, r.hi, FL_TEXT_PROBES);
		for (; i < r.end; i++)
			if (is_open && find_view(set->changes[i].patch))
				set->changes[kept++] = set->changes[i];
	}
	set->n = kept;
}

/* ---- calls that nobody wants ------------------------------------------------- */

/*
 * Such calls are many, and cost a call each: each gets one byte that switches it off for good.
 * No core has to be synchronised for that: a thread that calls all the same finds a probe that
 * is not wanted. A call between exclusives is refused, and is muted all the same, for good.
 */
static bool is_to_mute(uint32_t id)
{
	return fl_table.probes[id].reached == FL_REACHED_NEVER &&
	       fl_table.probes[id].state == FL_PROBE_FOUND;
}

/* May the byte that is `at` into the site change? A place of the program's may have it. */
static bool may_flip(uint32_t id, int at)
{
	uintptr_t site = fl_table.sites[id].at;

	if (at >= 0 && !fl_claim_meets(site, fl_table.probes[id].room))
		return true;
	fl_table_refuse(id, at < 0 ? FLE_CHANGED : FLE_OVERLAP, site);
	return false;
}

/* The page can be stored to. */
static void flip(uint32_t id, int at, fl_unit to)
{
	uintptr_t flip_at = fl_table.sites[id].at + (uintptr_t)at;

	fl_arch_flip_unit(flip_at + (uintptr_t)fl_text_shift(flip_at), to);
}

static void mute_one(uint32_t id)
{
	const unsigned char *code = (const unsigned char *)fl_table.sites[id].at;
	fl_unit to;
	int at = fl_arch_mute(fl_table.probes[id].form, code, &to);

	if (!may_flip(id, at))
		return;
	__builtin_memcpy(&fl_table.probes[id].was, code + at, sizeof(fl_unit));
	flip(id, at, to);
	fl_goal_move(id, FL_PROBE_MUTED);
}

/* The next of these calls from `id` on that lie in one run of pages. */
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
	int err = open_pages(r);

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

/* It calls again, as a probe that nobody has decided about. */
static void unmute_one(uint32_t id)
{
	struct fl_probe *p = &fl_table.probes[id];
	fl_unit to;
	int at = fl_arch_unmute(p->form, (const unsigned char *)fl_table.sites[id].at, p->was,
				&to);

	if (!may_flip(id, at))
		return;
	p->reached = FL_REACHED_UNKNOWN;
	fl_goal_move(id, FL_PROBE_FOUND);
	flip(id, at, to);
}

int fl_arm_open_muted(void)
{
	int err = 0;

	for (uint32_t id = 0; id < fl_table.n && !err; id++) {
		uintptr_t at = fl_table.sites[id].at;

		if (fl_table.probes[id].state == FL_PROBE_MUTED)
			err = fl_text_open(at, at + fl_table.probes[id].room,
					   FL_TEXT_PROBES);
	}
	return err;
}

/* Pages of what was muted can be stored to since then. */
void fl_arm_unmute(bool (*which)(uint32_t id))
{
	uint64_t signals;

	fl_fork_enter();
	fl_claims_lock(&signals);
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (fl_table.probes[id].state == FL_PROBE_MUTED &&
		    (which ? which(id) : !fl_table.sites[id].refusal))
			unmute_one(id);
	fl_claims_unlock(&signals);
	fl_fork_leave();
}

/* ---- a set -------------------------------------------------------------------- */

/* Mute what is to be muted from `mute` on, then arm the set. The claims' lock is held until a
 * site that is refused has its old bytes again. Pages that are open already may be made anew:
 * no single probe is switched meanwhile. */
int fl_arm_set(struct fl_set *set, uint32_t mute)
{
	uint64_t signals;
	struct grace p = { .signals = &signals };
	int err;

	fl_fork_enter();
	if (fl_text_is_aliased())
		fl_switches_hold();
	fl_claims_lock(&signals);
	mute_all(mute);
	open_text(set);
	if (fl_text_is_aliased())
		fl_switches_let();
	err = set->n ? commit_or_drop(set, &p) : 0;
	fl_claims_unlock(&signals);
	fl_fork_leave();
	return err;
}

static void stage_one(struct fl_set *set, uint32_t id)
{
	struct fl_patch *p = &fl_table.patches[id];
	const struct fl_patch *other;
	int err = 0;

	if (fl_table.probes[id].form == FL_FORM_BODY_BEFORE)
		err = fl_probe_builder->before(p->at);
	if (!err)
		err = fl_claim(p, &other);
	if (err)
		fl_table_refuse(id, err, err == FLE_OVERLAP ? other->at : p->at);
	else
		fl_set_stage(set, p, FL_OLD, FL_OFF);
}

/* Stage what is to be armed and whose bytes are nobody else's. Places in bodies come
 * behind the others: so those in one page are neighbours. */
static void stage_fresh(struct fl_set *set, uint32_t from)
{
	uint64_t signals;
	bool has_apart = false;

	fl_claims_lock(&signals);
	for (uint32_t id = from; id < fl_table.n; id++) {
		bool is_apart = fl_probe_is_apart(&fl_table.probes[id]);

		has_apart |= is_apart;
		if (!is_apart && is_to_arm(id))
			stage_one(set, id);
	}
	for (uint32_t id = from; has_apart && id < fl_table.n; id++)
		if (fl_probe_is_apart(&fl_table.probes[id]) && is_to_arm(id))
			stage_one(set, id);
	fl_claims_unlock(&signals);
}

static void begin_calls(uint32_t from)
{
	for (uint32_t id = from; id < fl_table.n; id++)
		if (fl_table.probes[id].reached == FL_REACHED_BY_CALL &&
		    fl_table.probes[id].state == FL_PROBE_FOUND)
			fl_goal_begin(id, FL_PROBE_CALLING);
}

static uint32_t count_fresh(uint32_t from)
{
	uint32_t n = 0;

	for (uint32_t id = from; id < fl_table.n; id++)
		n += is_to_arm(id);
	return n;
}

/* There is no memory for the set. */
static void refuse_all(uint32_t from, int err)
{
	for (uint32_t id = from; id < fl_table.n; id++)
		if (is_to_arm(id))
			fl_table_refuse(id, err, fl_table.sites[id].at);
}

static int commit_locked(uint32_t from, enum fl_moment moment)
{
	enum { MANY = 1024 };
	struct fl_set set = { 0 };
	int err = fl_set_make(&set, count_fresh(from));

	if (err)
		refuse_all(from, err);
	else if (set.room >= MANY)	/* nearly all of it is used */
		fl_os_expect(set.changes,
			     set.room * (sizeof *set.changes + sizeof *set.wide));
	set.quiet = moment == FL_LOADING;
	stage_fresh(&set, from);
	begin_calls(from);
	err = fl_arm_set(&set, from);
	if (!err)
		err = note_armed(&set);
	if (set.changes)
		fl_set_free(&set);
	return err;
}

/* Now it is known what is wanted. */
static void make_glue(const struct fl_known *k, void *arg)
{
	uint32_t from = *(const uint32_t *)arg;

	if (k->end > from)
		fl_glue_make(k, k->first > from ? k->first : from, k->end,
			     FL_DECIDED);
}

int fl_arm_from(uint32_t from, enum fl_moment moment)
{
	fl_known_each(make_glue, &from);
	if (from <= fl_table.unarmed)
		fl_table.unarmed = FL_NO_PROBE;
	return commit_locked(from, moment);
}

/* In a module that may be going, or be gone by now, nothing is armed except the place that a
 * call just came from. */
int fl_probes_commit(uint32_t from, enum fl_moment moment)
{
	uint64_t signals, inner;
	int on = 0;

	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	if (fl_table.holds) {
		from = fl_table.n;
	} else if (moment == FL_RUNNING && fl_switches_are_unloading()) {
		fl_table.unarmed = from;
	} else {
		on = fl_arm_from(from, moment);
		fl_sample_armed(from);
	}
	fl_switches_unlock(&inner);
	fl_outline_forget();
	fl_table_publish(from);
	fl_table_unlock(&signals);
	return on;
}
