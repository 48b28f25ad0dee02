/*
 * origins.c - where in its function a place of a body is.
 *
 * Hides how that is kept: with the piece's FDE, where who unwinds comes by anyway, and of
 * which nobody else takes notice. A body's instructions stand in the order of the
 * function's, mostly in its distances. So what is kept is where distances differ:
 *
 *	distance to the function's first address in the piece
 *	n | more	in `n` bytes of the piece the function has n + `more`, behind which
 *			the next ones begin; once for each run of bytes
 *	0
 *
 * Of these n the first ones are the function's own, the others were written by us.
 */
#include "copy/unwind.h"

static void put_run(struct fl_out *o, uint32_t bytes, uintptr_t original)
{
	fl_out_uleb(o, bytes);
	fl_out_sleb(o, (int64_t)(original - bytes));
}

/* Of landings the first one's instruction is told: code is a few instructions there. */
void fl_origins_write(struct fl_out *o, const struct fl_fde *f, const struct fl_unwind_piece *p)
{
	uintptr_t at = p->kind == FL_PIECE_LANDINGS ? p->steps[0].at : p->rows[0].at;
	uint32_t offset = 0, n = p->kind == FL_PIECE_LANDINGS ? 0 : p->n;
	uintptr_t end = p->kind == FL_PIECE_BODY ? f->end : n ? p->rows[n - 1].at : at;

	fl_out_offset(o, at);
	for (const struct fl_unwind_row *r = p->rows; n--; r++) {
		if (r->offset == offset || r->at - at == r->offset - offset)
			continue;
		put_run(o, r->offset - offset, r->at - at);
		offset = r->offset;
		at = r->at;
	}
	put_run(o, (uint32_t)(p->end - p->start) - offset, end - at);
	fl_out_u8(o, 0);
}

/* At the end of a run the next one begins: it is where a call returns to that ends the run. */
uintptr_t fl_origins_find(struct fl_in *in, uint32_t offset)
{
	uintptr_t at = fl_in_pointer(in, NULL, FL_PE_PCREL | FL_PE_SDATA4);
	uint64_t n;

	while ((n = fl_in_uleb(in)) && !in->is_bad) {
		uint64_t in_original = n + (uint64_t)fl_in_sleb(in);

		if (offset < n)
			return at + (offset < in_original ? offset : in_original);
		offset -= (uint32_t)n;
		at += in_original;
	}
	return at;
}
