/*
 * stage.c - a set of changes before its commit, and the choice of a sync.
 *
 * Hides that a set is an array the caller lends; staging writes nothing to
 * text and may be abandoned at any point.
 */
#include "patch.h"
#include "sync.h"
#include "tactic.h"

static const struct fl_sync *const syncs[] = { &fl_sync_membarrier };

const struct fl_sync *fl_sync;

int fl_patch_open(void)
{
	for (size_t i = 0; i < ARRAY_LEN(syncs) && !fl_sync; i++)
		if (syncs[i]->probe() == 0)
			fl_sync = syncs[i];
	return fl_sync ? 0 : FLE_NOSYNC;
}

const char *fl_patch_sync_name(void)
{
	return fl_sync ? fl_sync->name : "none";
}

void fl_patch_sync(void)
{
	fl_sync->all_cores();
}

int fl_set_stage(struct fl_set *set, const struct fl_patch *p, int from, int to)
{
	if (set->n == set->room)
		return -ENOSPC;
	set->changes[set->n] = (struct fl_change){
		.patch = p, .from = (uint8_t)from, .to = (uint8_t)to,
	};
	set->changes[set->n].tactic = fl_tactic_of(&set->changes[set->n]);
	set->n++;
	return 0;
}
