/*
 * gate.c - whether bodies tell accesses to memory.
 *
 * Hides where each body looks: at a byte of its block's data, which it reaches. All are one
 * set, which is told until the reader has gone, or this is a child that is not recorded. The
 * list is changed, and gone through, by who has the table's lock.
 */
#include "copy/build.h"

static struct fl_gate *gates;

void fl_gate_open(struct fl_gate *g)
{
	g->room = (uintptr_t)fl_probe_room;
	g->next = gates;
	gates = g;
	store_relaxed(&g->tells, 1);
}

void fl_copy_hush(void)
{
	for (struct fl_gate *g = gates; g; g = g->next)
		store_relaxed(&g->tells, 0);
}
