/*
 * unwind.h - how a body is unwound: for build.c and for who asks in the name of an
 * unwinder. Private to copy.
 */
#ifndef FL_COPY_UNWIND_H
#define FL_COPY_UNWIND_H

#include "copy/copy.h"
#include "copy/dwarf.h"

/* From `offset` on, of its piece, stands what belongs to the original's instruction at
 * `at`; there the stack pointer is `push` bytes below where the original has it before
 * that instruction. Several rows may have one `at`. Instructions in the `bytes` from `at` on
 * stand as they do in the original; 0: but for the first one that is not said. */
struct fl_unwind_row {
	uintptr_t at;
	uint32_t offset;
	uint16_t push, bytes;
};

enum fl_piece_kind {
	FL_PIECE_BODY,			/* its landing pads are in the body */
	FL_PIECE_BARE			/* calls nothing: landing stubs of indirect jumps */
};

/* Code of a body that one FDE of the original describes. rows[0].offset is 0, offsets
 * ascend, `at` does not descend, all of it lies in that FDE. */
struct fl_unwind_piece {
	uintptr_t fde;			/* the original's, in memory */
	uintptr_t start, end;
	const struct fl_unwind_row *rows;
	uint32_t n;
	enum fl_piece_kind kind;
};

struct fl_unwind_body {
	const struct fl_module *m;
	const struct fl_unwind_piece *pieces;	/* ascending */
	uint32_t n;
	bool is_leaf;			/* calls nothing: nobody needs to unwind it */
};

/* ---- an area of bodies ------------------------------------------------------------ */

/* What unwinders read of the bodies in [lo, hi): a table as .eh_frame_hdr is, and behind
 * it what its entries lead to. */
struct fl_unwind {
	uintptr_t lo, hi;
	struct fl_unwind_table *table;
	uint32_t room;			/* entries */
	unsigned char *next, *end;	/* where FDEs go; W who emits */
	struct fl_unwind_cie {
		uintptr_t original;
		const unsigned char *at;
	} cies[4];			/* written last */
	uint32_t n_cies;
};

/* Of an area that has code at [lo, hi): unwinders find it from now on, for ever. `data` is
 * `n` bytes of zeros, within 2 GiB of the code and of the module. 0 or -ENOMEM. One
 * call at a time of open and emit. */
int fl_unwind_open(struct fl_unwind *, uintptr_t lo, uintptr_t hi, void *data, size_t n);
/* A body behind all that there are in the area. 0; FLE_UNWIND with the piece in *datum;
 * FLE_UNFOUND: who unwinds would not find it; -ENOSPC, the area is full; then nothing
 * has changed. */
int fl_unwind_emit(struct fl_unwind *, const struct fl_unwind_body *, uint64_t *datum);

/* Jumps that stand before entries (before.c): one is at `at` from now on, or its module is
 * gone. 0 or -ENOSPC. With the table's lock. What unwinders find for one, as
 * fl_unwind_find(). */
int fl_before_note(uintptr_t at);
void fl_before_forget(uintptr_t at);
bool fl_before_find(uintptr_t pc, struct fl_unwind_found *);

/* What it has in .eh_frame's form, to the end that readers look for. */
const unsigned char *fl_unwind_frames(const struct fl_unwind *, size_t *n);

/* ---- pure: one piece ------------------------------------------------------------ */

/* A CIE like the original's, for all pieces whose originals have that. 0, or FLE_UNWIND. */
int fl_cie_write(struct fl_out *, const struct fl_fde *);
/* One piece of the body, with its LSDA, by a CIE that has been written at `cie`. 0, or
 * FLE_UNWIND. What finds no room is noted in the output. */
int fl_fde_write(struct fl_out *, const struct fl_fde *, const struct fl_unwind_body *,
		 const struct fl_unwind_piece *, const unsigned char *cie);
/* The programs of both, in body offsets (rows.c); the calls whose exceptions are caught
 * (lsda.c). */
int fl_cie_rows_write(struct fl_out *, const struct fl_fde *);
int fl_rows_write(struct fl_out *, const struct fl_fde *, const struct fl_unwind_piece *);
/* How far above the stack pointer the frame's address is, before the original's instruction
 * at `at`: 0, too, where a call stores nothing. UNKNOWN: it is told in another way. */
#define FL_HEIGHT_UNKNOWN UINT64_MAX
uint64_t fl_rows_height(const struct fl_fde *, uintptr_t at);
/* How far above a register, which, whatever that is; FL_HEIGHT_UNKNOWN: it is told by an
 * expression. It is so for what stands in [from, to), where `at` is. */
struct fl_rows_frame {
	uint64_t offset, reg;
	uintptr_t from, to;
};
void fl_rows_frame(const struct fl_fde *, uintptr_t at, struct fl_rows_frame *);
int fl_lsda_write(struct fl_out *, const struct fl_fde *, const struct fl_unwind_body *,
		  const struct fl_unwind_piece *);

/* The first row of an instruction at `at` or behind it; n: none. */
static inline uint32_t fl_unwind_row_of(const struct fl_unwind_piece *p, uintptr_t at)
{
	return (uint32_t)fl_rows_from(p->rows, p->n, sizeof *p->rows, at - 1);
}

/* Is it in the bytes of the row, behind the first instruction? */
static inline bool fl_unwind_is_inside(const struct fl_unwind_row *r, uintptr_t at)
{
	return at - r->at < r->bytes;
}

static inline uint32_t fl_unwind_offset(const struct fl_unwind_row *r, uintptr_t at)
{
	return r->offset + (uint32_t)(at - r->at);
}

/* Where that is in the piece; its end without. */
static inline uintptr_t fl_unwind_place(const struct fl_unwind_piece *p, uintptr_t at)
{
	uint32_t i = fl_unwind_row_of(p, at);

	if (i && fl_unwind_is_inside(&p->rows[i - 1], at))
		return p->start + fl_unwind_offset(&p->rows[i - 1], at);
	return i < p->n ? p->start + p->rows[i].offset : p->end;
}

#endif
