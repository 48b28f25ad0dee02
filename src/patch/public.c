/*
 * public.c - flick/patch.h: places of the caller's own.
 *
 * Hides that a place is a claimed patch, and that an asynchronous switch is a
 * set of one that lies in the place itself.
 */
#include "claim.h"
#include "os/os.h"
#include "public.h"
#include "sync.h"
#include "tactic.h"

int flick_patch_open(const char *sync)
{
	return fl_patch_open(sync);
}

const char *flick_patch_sync(void)
{
	return fl_patch_sync_name();
}

void flick_patch_barrier(void)
{
	fl_patch_sync();
}

/* ---- taking a place and giving it up ----------------------------------- */

static int claim(struct fl_patch *p)
{
	const struct fl_patch *other;
	uint64_t signals;
	int err;

	fl_claims_lock(&signals);
	err = fl_claim(p, &other);
	if (!err)
		p->claimed = FL_CLAIM_PLACE;
	fl_claims_unlock(&signals);
	return err;
}

static void unclaim(struct fl_patch *p)
{
	uint64_t signals;

	fl_claims_lock(&signals);
	fl_unclaim(p);
	fl_claims_unlock(&signals);
	fl_claims_settle();
}

/* The switch between off and on, once and for all. */
static void choose_tactic(struct fl_patch *p)
{
	struct fl_span s;
	enum fl_tactic tactic = fl_tactic_of(p, FL_OFF, FL_ON, &s);

	if (tactic == FL_N_TACTICS) {		/* on is off: any store will do */
		tactic = FL_FLIP;
		s = (struct fl_span){ 0, 0 };
	}
	p->tactic = tactic;
	p->flip_at = s.first;
	p->flip_bytes = s.last + 1u - s.first;
}

/* Commit a change of this place alone. */
static int change(struct fl_place *l, int from, int to)
{
	struct fl_change c;
	struct fl_set set = { .changes = &c, .room = 1, .often = true };
	size_t bad;

	fl_set_stage(&set, &l->patch, from, to);
	return c.tactic == FL_N_TACTICS ? 0 : fl_set_commit(&set, &bad);
}

/* The plan is made; the place is to stand in `state` when we return. */
static int take_place(struct fl_place *l, int state)
{
	struct fl_patch *p = &l->patch;
	int err = fl_text_view(p->at, p->len, &p->view);

	if (!err)
		err = claim(p);
	if (err)
		return err;
	choose_tactic(p);
	p->state = (uint8_t)state;
	err = change(l, FL_OLD, state);
	if (err)
		unclaim(p);
	return err;
}

int flick_patch_init(struct flick_patch *h, void *at, const void *on, size_t n)
{
	struct fl_place *l = fl_place_of(h);
	intptr_t view;
	int err = fl_text_view((uintptr_t)at, n, &view);

	*l = (struct fl_place){ 0 };
	if (!err)
		err = fl_arch_plan_insn(&l->patch, (uintptr_t)at, on, n);
	return err ? err : take_place(l, FL_OFF);
}

int flick_call_init(struct flick_patch *h, void *at, const void *target,
		    unsigned int flags)
{
	struct fl_place *l = fl_place_of(h);
	intptr_t view;
	int err = fl_text_view((uintptr_t)at, 1, &view);
	bool was_nop;

	*l = (struct fl_place){ 0 };
	if (flags & ~(unsigned int)FLICK_FLAGS_DEAD)
		return FLE_OPTION;
	if (!err)
		err = fl_arch_plan_call(&l->patch, (uintptr_t)at, (uintptr_t)target,
					flags & FLICK_FLAGS_DEAD, &was_nop);
	return err ? err : take_place(l, was_nop ? FL_OFF : FL_ON);
}

int flick_patch_release(struct flick_patch *h)
{
	struct fl_place *l = fl_place_of(h);
	int err;

	if (!l->patch.claimed)
		return -EINVAL;
	err = load_relaxed(&l->under_way) ? FLE_BUSY
					  : change(l, l->patch.state, FL_OLD);
	if (!err)
		unclaim(&l->patch);
	return err;
}

/* ---- switching --------------------------------------------------------- */

/* One store, while the place is ours. */
static int switch_at_once(struct fl_patch *p, int to)
{
	uint32_t motion = load_relaxed(&p->motion);

	/* (A) pairs with (A): what the last owner did is done. */
	if ((motion & 1) ||
	    !__atomic_compare_exchange_n(&p->motion, &motion, motion + 1, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return FLE_BUSY;
	if (p->state != to)
		fl_patch_flip(p, to);
	p->state = (uint8_t)to;
	store_release(&p->motion, motion + 2);		/* (A) pairs with (A) */
	return 0;
}

/* Another's switch between our look at the state and ours taking the place. */
static int or_busy(const struct fl_patch *p, int from, int err)
{
	return err == FLE_CHANGED && p->state != from ? FLE_BUSY : err;
}

static int switch_wide(struct fl_place *l, int to)
{
	int from = l->patch.state;

	if (load_relaxed(&l->patch.motion) & 1)
		return FLE_BUSY;
	return from == to ? 0 : or_busy(&l->patch, from, change(l, from, to));
}

static int state_of(enum flick_state s)
{
	return s == FLICK_ON ? FL_ON : FL_OFF;
}

int flick_patch_switch(struct flick_patch *h, enum flick_state to)
{
	struct fl_place *l = fl_place_of(h);

	if (!l->patch.claimed)
		return -EINVAL;
	if (l->patch.tactic != FL_WIDE)
		return switch_at_once(&l->patch, state_of(to));
	return switch_wide(l, state_of(to));
}

/* ---- without waiting --------------------------------------------------- */

static int begin(struct fl_place *l, int from, int to)
{
	size_t bad;

	l->set = (struct fl_set){
		.changes = &l->change, .room = 1, .may_wait = true, .often = true,
	};
	fl_set_stage(&l->set, &l->patch, from, to);
	return or_busy(&l->patch, from, fl_set_begin(&l->set, &bad));
}

int flick_patch_start(struct flick_patch *h, enum flick_state to)
{
	struct fl_place *l = fl_place_of(h);
	uint32_t no = 0;
	int err = 0;

	if (!l->patch.claimed)
		return -EINVAL;
	/* (B) pairs with (B): the last finish is done with the set. */
	if (!__atomic_compare_exchange_n(&l->under_way, &no, 1, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return FLE_BUSY;
	__atomic_store_n(&l->stepping, 1, __ATOMIC_RELAXED);
	if (l->patch.state != state_of(to))
		err = begin(l, l->patch.state, state_of(to));
	else
		l->set = (struct fl_set){ 0 };
	if (err)
		store_release(&l->under_way, 0);	/* (B) pairs with (B) */
	store_release(&l->stepping, 0);			/* (C) pairs with (C) */
	return err;
}

/* Has the ticket passed, or could it be made to? A trapped thread may hold
 * nobody up, and waits for nobody. */
static bool pass(const struct fl_place *l, bool trapped)
{
	if (trapped)
		return fl_sync_try(l->set.ticket);
	if (!fl_set_passed(&l->set) && fl_patch_sync_waits())
		return false;
	fl_set_wait(&l->set);
	return true;
}

/* 0 when the set is complete; the caller has `stepping`. */
static int step(struct fl_place *l, bool trapped)
{
	if (!l->set.n)
		return 0;
	if (!pass(l, trapped))
		return -EAGAIN;
	return fl_set_step(&l->set) > 0 ? -EAGAIN : 0;
}

static int finish(struct fl_place *l, bool trapped)
{
	uint32_t no = 0;
	int err;

	/* (C) pairs with (C): one thread at a time steps. */
	if (!__atomic_compare_exchange_n(&l->stepping, &no, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return -EAGAIN;
	err = load_relaxed(&l->under_way) ? step(l, trapped) : 0;
	if (!err)
		store_release(&l->under_way, 0);	/* (B) pairs with (B) */
	store_release(&l->stepping, 0);			/* (C) pairs with (C) */
	return err;
}

int flick_patch_finish(struct flick_patch *h)
{
	return finish(fl_place_of(h), false);
}

void fl_place_help(struct fl_patch *p)
{
	finish((struct fl_place *)p, true);
}

/* ---- what it is -------------------------------------------------------- */

enum flick_state flick_patch_state(const struct flick_patch *h)
{
	const struct fl_patch *p = &((const struct fl_place *)h)->patch;

	return p->state == FL_ON ? FLICK_ON : FLICK_OFF;
}

const char *flick_patch_tactic(const struct flick_patch *h)
{
	return fl_tactic_names[((const struct fl_place *)h)->patch.tactic];
}

static const char *why(const struct fl_patch *p)
{
	switch (p->tactic) {
	case FL_FLIP:
		return "one byte changes";
	case FL_WORD:
		return "the bytes that change lie in one aligned word of 8";
	case FL_LINE:
		return "the bytes that change lie in one cache line, and this "
		       "machine has been seen to fetch a store to one whole";
	default:
		return p->park_is_trap
			? "the bytes that change cross a boundary of 8; threads "
			  "that come by meanwhile meet a trap"
			: "the bytes that change cross a boundary of 8; threads "
			  "that come by meanwhile jump over them";
	}
}

void flick_patch_why(const struct flick_patch *h, char *text, size_t n)
{
	const char *w = why(&((const struct fl_place *)h)->patch);
	size_t i = 0;

	for (; i + 1 < n && w[i]; i++)
		text[i] = w[i];
	if (n)
		text[i] = '\0';
}
