/*
 * gate.c - whether bodies tell accesses to memory.
 *
 * Hides where each body looks: at a word in its own data, which is within its reach. All gates
 * change together: bodies tell until the reader has gone, or in a child that is not recorded.
 * The list is changed, and gone through, with the table's lock.
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
