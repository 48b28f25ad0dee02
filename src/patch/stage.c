/*
 * stage.c - a set of changes before its commit.
 *
 * Hides that a set is an array the caller lends; staging writes nothing to
 * text and may be abandoned at any point.
 */
#include "patch.h"
#include "tactic.h"

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
