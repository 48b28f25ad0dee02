/*
 * stage.c - a set of changes before its commit.
 *
 * Hides that a set is an array the caller lends; staging writes nothing to
 * text and may be abandoned at any point.
 */
#include "patch.h"
#include "tactic.h"

int fl_set_stage(struct fl_set *set, struct fl_patch *p, int from, int to)
{
	struct fl_span span;

	if (set->n == set->room)
		return -ENOSPC;
	set->changes[set->n++] = (struct fl_change){
		.patch = p, .from = (uint8_t)from, .to = (uint8_t)to,
		.tactic = fl_tactic_of(p, from, to, &span),
	};
	return 0;
}
