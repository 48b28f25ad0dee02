/*
 * unwind.h - how a body is unwound: for build.c, and for code that asks in the name of an
 * unwinder. Private to copy.
 */
#ifndef FL_COPY_UNWIND_H
#define FL_COPY_UNWIND_H

#include "copy/copy.h"
#include "copy/dwarf.h"
#include "site/site.h"

/* The code from `offset` on, in its piece, belongs to the original's instruction at `at`.
 * There the stack pointer is `push` bytes below where the original has it before that
 * instruction. Several rows may have one `at`. Instructions in the `bytes` from `at` on stand
 * as they do in the original; 0: this is said of the first instruction alone. */
struct fl_unwind_row {
	uintptr_t at;
	uint32_t offset;
	uint16_t push, bytes;
};

enum fl_piece_kind {
	FL_PIECE_BODY,			/* its landing pads are in pieces of this kind */
	FL_PIECE_ASIDE,			/* so are those of what a body has aside: long ways,
					 * landings among others. A thread that is cancelled
					 * at any instruction may land from there */
	FL_PIECE_LANDINGS		/* no landing pads; landings of look-ups, for each step
					 * in a row, FL_ARCH_LANDED_BYTES behind the one before.
					 * They say what rows would: FL_ARCH_LOOKUP_KEPT is
					 * pushed up to FL_ARCH_LANDED_UP, and nothing behind */
};

/* Code of a body that one FDE of the original describes. rows[0].offset is 0, offsets do not
 * descend, `at` does not descend, and each `at` lies in that FDE. */
struct fl_unwind_piece {
	uintptr_t fde;			/* the original's, in memory */
	uintptr_t start, end;
	const struct fl_unwind_row *rows;
	const struct fl_shape_step *steps;	/* of LANDINGS, in place of rows */
	uint32_t n;
	enum fl_piece_kind kind;
};

struct fl_unwind_body {
	const struct fl_module *m;
	const struct fl_unwind_piece *pieces;	/* ascending */
	uint32_t n;
	bool is_leaf;			/* calls nothing: nobody needs to unwind the body */
};

/* ---- an area of bodies ------------------------------------------------------------ */

/* What unwinders read of the bodies in [lo, hi): a table in the form of .eh_frame_hdr, and
 * behind the table the FDEs that its entries lead to. */
struct fl_unwind {
	uintptr_t lo, hi;
	struct fl_unwind_table *table;
	uint32_t room;			/* entries */
	unsigned char *next, *end;	/* where FDEs go; W fl_unwind_emit() */
	struct fl_unwind_cie {
		uintptr_t original;
		const unsigned char *at;
	} cies[4];			/* written last */
	uint32_t n_cies;
	struct fl_fde read;		/* of the original's, last: most have one CIE */
};

/* Open an area that has code at [lo, hi): unwinders find it from now on, for ever. `data` is
 * `n` bytes of zeros, within 2 GiB of the code and of the module. 0 or -ENOMEM. One
 * call of open at a time, and one of emit for an area. */
int fl_unwind_open(struct fl_unwind *, uintptr_t lo, uintptr_t hi, void *data, size_t n);
/* Add a body behind all others of the area. 0; FLE_UNWIND with the piece in *datum;
 * FLE_UNFOUND: unwinders would not find it; -ENOSPC: the area is full. After an error nothing
 * has changed. */
int fl_unwind_emit(struct fl_unwind *, const struct fl_unwind_body *, uint64_t *datum);

/* Jumps that stand before entries (before.c). note: a jump is at `at` from now on; 0 or
 * -ENOSPC. forget: its module is gone. Both with the table's lock. find: what unwinders find
 * for such a jump, as fl_unwind_find(). */
int fl_before_note(uintptr_t at);
void fl_before_forget(uintptr_t at);
bool fl_before_find(uintptr_t pc, struct fl_unwind_found *);
/* A table of one row that holds anywhere: `pushed` bytes lie above the way back. NULL: none. */
const void *fl_before_table(int pushed);
/* Glue (in-glue.c). note: as fl_builder's `glue`; with the table's lock. */
void fl_in_glue_note(uintptr_t lo, uintptr_t hi, bool (*keeps)(uint32_t id));
bool fl_in_glue_find(uintptr_t pc, struct fl_unwind_found *);

/* The area's CIEs and FDEs, in .eh_frame's form, with the 0 that ends them. */
const unsigned char *fl_unwind_frames(const struct fl_unwind *, size_t *n);

/* ---- pure: one piece ------------------------------------------------------------ */

/* Write a CIE like the original's, for all pieces whose originals have that CIE. 0, or
 * FLE_UNWIND. */
int fl_cie_write(struct fl_out *, const struct fl_fde *);
/* Write an FDE for one piece of the body, with its LSDA; its CIE has been written at `cie`. 0,
 * or FLE_UNWIND. A lack of room is noted in the output. */
int fl_fde_write(struct fl_out *, const struct fl_fde *, const struct fl_unwind_body *,
		 const struct fl_unwind_piece *, const unsigned char *cie);
/* Write the program of a CIE, or of an FDE in body offsets (rows.c); and below, the calls
 * whose exceptions are caught (lsda.c). */
int fl_cie_rows_write(struct fl_out *, const struct fl_fde *);
int fl_rows_write(struct fl_out *, const struct fl_fde *, const struct fl_unwind_piece *);
/* How far above the stack pointer the frame's address is, before the original's instruction at
 * `at`; this is 0 at an entry where calls store nothing. FL_HEIGHT_UNKNOWN: the table does not
 * tell by the stack pointer. */
#define FL_HEIGHT_UNKNOWN UINT64_MAX
uint64_t fl_rows_height(const struct fl_fde *, uintptr_t at);
/* The same by any register: how far above which one. FL_HEIGHT_UNKNOWN: an expression tells.
 * This holds for instructions in [from, to), of which the one at `at` is one. */
struct fl_rows_frame {
	uint64_t offset, reg;
	uintptr_t from, to;
};
void fl_rows_frame(const struct fl_fde *, uintptr_t at, struct fl_rows_frame *);
int fl_lsda_write(struct fl_out *, const struct fl_fde *, const struct fl_unwind_body *,
		  const struct fl_unwind_piece *);
/* Write where in the original the piece's code is (origins.c); and read that for the place so
 * far from the piece's start. */
void fl_origins_write(struct fl_out *, const struct fl_fde *, const struct fl_unwind_piece *);
uintptr_t fl_origins_find(struct fl_in *, uint32_t offset);
/* Of an FDE that fl_fde_write() wrote, in bytes from `begin` on; `pc`: the FDE lies. */
uintptr_t fl_fde_origin(struct fl_in *fde, const unsigned char *begin, uintptr_t pc);

/* Index of the first row of an instruction at `at` or behind; n: none. */
static inline uint32_t fl_unwind_row_of(const struct fl_unwind_piece *p, uintptr_t at)
{
	return (uint32_t)fl_rows_from(p->rows, p->n, sizeof *p->rows, at - 1);
}

/* Does `at` lie in the bytes of the row? */
static inline bool fl_unwind_is_inside(const struct fl_unwind_row *r, uintptr_t at)
{
	return at - r->at < r->bytes;
}

static inline uint32_t fl_unwind_offset(const struct fl_unwind_row *r, uintptr_t at)
{
	return r->offset + (uint32_t)(at - r->at);
}

/* The address in the piece that stands for `at`; the piece's end if there is none. */
static inline uintptr_t fl_unwind_place(const struct fl_unwind_piece *p, uintptr_t at)
{
	uint32_t i = fl_unwind_row_of(p, at);

	if (i && fl_unwind_is_inside(&p->rows[i - 1], at))
		return p->start + fl_unwind_offset(&p->rows[i - 1], at);
	return i < p->n ? p->start + p->rows[i].offset : p->end;
}

#endif
