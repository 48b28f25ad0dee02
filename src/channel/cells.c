/*
 * cells.c - what a thread has counted of paths, as its reader takes it.
 *
 * READER code: it stays out of the target.
 *
 * PROTOCOL  Of FL_CELLS in its slot a thread gives one to a path that has none, says whose it
 *	is, and adds one to it each time the path is gone (routines.h, COUNT_IN_CELL). It gives
 *	none back. Of a path whose cells are others' it writes records. When the thread
 *	has ended, or the recording, the reader takes each cell's count and clears it.
 * WHY	A killed program loses none: the key is stored before the count, which x86-TSO keeps
 *	(HW5), and a cell without a count is passed over. The next thread of the slot begins
 *	with cells that are nobody's, as the slot is free only then.
 * TRUST As of records (drain.c): a cell is copied once.
 */
#include "channel/cells.h"
#include "channel/slot.h"

static bool take_cell(struct flick_record *cell, struct flick_record *out)
{
	*out = (struct flick_record){ load_relaxed(&cell->tsc), load_relaxed(&cell->probe),
				      load_relaxed(&cell->sp) };
	if (out->probe)
		*cell = (struct flick_record){ 0 };
	return out->tsc && fl_record_type(out) == FLICK_TYPE_PATH;
}

/* The next cells in pages that threads of the slot have counted in; false: there are none. */
static bool find_touched(struct fl_cells *c, uint32_t *end)
{
	uint64_t from = c->at + c->i * sizeof(struct flick_record);
	uint64_t to = c->at + FL_CELLS * sizeof(struct flick_record);

	if (from >= to || !fl_shm_touched(c->shm, &from, &to))
		return false;
	c->i = (uint32_t)((from - c->at) / sizeof(struct flick_record));
	*end = (uint32_t)((to - c->at) / sizeof(struct flick_record));
	return true;
}

size_t fl_cells_next(struct fl_cells *c, struct flick_record *out, size_t n, uint64_t *paths)
{
	struct flick_record *cells = (void *)((char *)c->shm + c->at);
	size_t k = 0;
	uint32_t end;

	*paths = 0;
	while (k < n && find_touched(c, &end))
		for (; c->i < end && k < n; c->i++)
			if (take_cell(&cells[c->i], &out[k]))
				*paths += out[k++].tsc;
	return k;
}
