/*
 * public-set.c - flick/patch.h: many places at once, and one for good.
 */
#include "claim.h"
#include "fork.h"
#include "os/os.h"
#include "public.h"

/* Only a wide switch can be begun and not finished. */
static inline int stage(struct fl_set *set, const struct flick_change *c)
{
	struct fl_place *l = fl_place_of(c->patch);
	struct fl_patch *p = &l->patch;

	if (p->claimed != FL_CLAIM_PLACE)
		return -EINVAL;
	if (p->tactic == FL_WIDE && fl_place_is_begun(l))
		return FLE_BUSY;
	fl_set_stage_switch(set, p, fl_state_of(c->to));
	return 0;
}

/* Stage and take MANY places before the next ones: they stay in the cache meanwhile. */
static int take_some(struct fl_set *set, const struct flick_change *c, size_t n, size_t *bad)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		*bad = set->n;
		if (set->n + FL_AHEAD < set->room)
			__builtin_prefetch(c[i + FL_AHEAD].patch, 1);
		err = stage(set, &c[i]);
	}
	return err ? err : fl_set_take(set, bad);
}

static int take_all(struct fl_set *set, const struct flick_change *c, size_t n, size_t *bad)
{
	enum { MANY = 256 };
	int err = 0;

	for (size_t i = 0; i < n && !err; i += MANY)
		err = take_some(set, c + i, n - i < MANY ? n - i : MANY, bad);
	return err;
}

static int commit(struct fl_set *set, const struct flick_change *c, size_t n, size_t *bad)
{
	int err = take_all(set, c, n, bad);

	if (err)
		fl_set_abandon(set);
	return err ? err : fl_set_commit(set, bad);
}

int flick_patch_commit(const struct flick_change *c, size_t n, size_t *bad)
{
	struct fl_set set;
	uint64_t signals;
	size_t none;
	int err = fl_set_make(&set, n);

	if (err)
		return err;
	if (!bad)
		bad = &none;
	fl_os_signals_block(&signals);		/* no handler forks meanwhile */
	fl_fork_enter_own();
	err = commit(&set, c, n, bad);
	fl_fork_leave_own();
	fl_os_signals_restore(&signals);
	fl_set_free(&set);
	return err;
}

int flick_patch(void *at, const void *bytes, size_t n)
{
	struct flick_patch h;
	int err = flick_patch_init(&h, at, bytes, n);

	if (err)
		return err;
	err = flick_patch_switch(&h, FLICK_ON);
	fl_fork_enter_own();
	fl_unclaim_alone(&fl_place_of(&h)->patch);
	fl_fork_leave_own();
	return err;
}
