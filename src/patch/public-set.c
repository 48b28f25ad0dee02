/*
 * public-set.c - flick/patch.h: many places at once, and one for good.
 *
 * Hides the array a set lives in.
 */
#include <sys/mman.h>

#include "fork.h"
#include "os/os.h"
#include "public.h"

static int stage(struct fl_set *set, const struct flick_change *c)
{
	struct fl_patch *p = &fl_place_of(c->patch)->patch;
	int to = c->to == FLICK_ON ? FL_ON : FL_OFF;

	if (!p->claimed)
		return -EINVAL;
	return p->state == to ? 0 : fl_set_stage(set, p, p->state, to);
}

static int stage_all(struct fl_set *set, const struct flick_change *c, size_t n,
		     size_t *bad)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = stage(set, &c[i]);
		*bad = i;
	}
	return err;
}

/* Places that stand as wanted are not in the set: find the index again. */
static size_t index_of(const struct flick_change *c, const struct fl_patch *p)
{
	size_t i = 0;

	while (&fl_place_of(c[i].patch)->patch != p)
		i++;
	return i;
}

static int commit(struct fl_set *set, const struct flick_change *c, size_t *bad)
{
	size_t at;
	int err = set->n ? fl_set_commit(set, &at) : 0;

	if (!err)
		return 0;
	*bad = index_of(c, set->changes[at].patch);
	if (err == FLE_CHANGED &&
	    set->changes[at].patch->state != set->changes[at].from)
		err = FLE_BUSY;
	return err;
}

int flick_patch_commit(const struct flick_change *c, size_t n, size_t *bad)
{
	size_t bytes = (n + 1) * sizeof(struct fl_change), none;
	struct fl_set set = {
		.room = n,
		.changes = fl_os_map(NULL, bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0),
	};
	int err;

	if (fl_is_err(set.changes))
		return -ENOMEM;
	if (!bad)
		bad = &none;
	err = stage_all(&set, c, n, bad);
	fl_fork_enter();
	if (!err)
		err = commit(&set, c, bad);
	fl_fork_leave();
	fl_os_unmap(set.changes, bytes);
	return err;
}

int flick_patch(void *at, const void *bytes, size_t n)
{
	struct flick_patch h;
	int err = flick_patch_init(&h, at, bytes, n);

	if (err)
		return err;
	err = flick_patch_switch(&h, FLICK_ON);
	fl_fork_enter();
	fl_place_unclaim(&fl_place_of(&h)->patch);
	fl_fork_leave();
	return err;
}
