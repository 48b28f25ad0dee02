/*
 * cells.c - the reader takes what a thread has counted of paths.
 *
 * READER code: it stays out of the target.
 *
 * PROTOCOL  A slot has FL_CELLS cells. The slot's thread gives a cell to a path that has none,
 *	stores the path's key in the cell, and adds one to the cell each time that it goes the
 *	path (routines.h, COUNT_IN_CELL). The thread takes no cell back. Where other paths have
 *	both cells of a path, the thread writes records of that path. When the thread or the
 *	recording has ended, the reader takes each cell's count and clears the cell.
 * WHY	A killed program loses no count: the key is stored before the count, an order that
 *	x86-TSO keeps (HW5), and a cell without a count is passed over. The next thread of the
 *	slot begins with empty cells, because the slot is not free before they are cleared.
 * TRUST The same as for records (drain.c): a cell is copied once.
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

/* Find the next cells in pages that threads of the slot have counted in; false: no more. */
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
