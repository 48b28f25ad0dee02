/*
 * in-glue.c - what unwinders are told of glue.
 *
 * Hides that nothing is kept of a glue but where all glue is. What lies on the stack above the
 * way back into the site follows from the instructions up to the glue's end, which are few: who
 * asks for a place in glue has them read. So each answer is a constant table (before.c).
 * Handlers ask in any thread: the list grows, and what is in it stays.
 *
 *	note (with the table's lock)		find
 *	write a range, store n	(A)		load n	(B), look at as many
 */
#include "copy/unwind.h"

enum { BLOCKS = 512 };			/* one or two a module; of more nothing is told */

static struct {
	uintptr_t lo, hi;
} blocks[BLOCKS];
static uint32_t n_blocks;
static bool (*keeps_registers)(uint32_t id);	/* a probe's glue; as the blocks */

void fl_in_glue_note(uintptr_t lo, uintptr_t hi, bool (*keeps)(uint32_t id))
{
	if (n_blocks == BLOCKS)
		return;
	keeps_registers = keeps;
	blocks[n_blocks].lo = lo;
	blocks[n_blocks].hi = hi;
	store_release(&n_blocks, n_blocks + 1);		/* (A) pairs with (B) */
}

bool fl_in_glue_find(uintptr_t pc, struct fl_unwind_found *found)
{
	uint32_t i = load_acquire(&n_blocks);		/* (B) pairs with (A) */
	int pushed;

	while (i && pc - blocks[i - 1].lo >= blocks[i - 1].hi - blocks[i - 1].lo)
		i--;
	if (!i)
		return false;
	pushed = fl_arch_glue_pushed(blocks[i - 1].lo, blocks[i - 1].hi, pc, keeps_registers);
	*found = (struct fl_unwind_found){ pc, pc + 1, fl_before_table(pushed) };
	return found->table;
}
