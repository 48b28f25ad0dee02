/*
 * emit.h - private to copy/: a body while it is built. emit.c makes its bytes, pieces.c its
 * rows for unwinders, and build.c all the rest.
 */
#ifndef FL_COPY_EMIT_H
#define FL_COPY_EMIT_H

#include "copy/build.h"
#include "copy/paths.h"
#include "copy/plan.h"

struct fl_build {
	struct fl_copies *copies;
	struct fl_plan plan;
	struct fl_ground ground;
	uint32_t n_code;
	uint32_t pad;			/* unused bytes before the first item */
	struct fl_copy_place *places;
	void *tables[FL_SHAPE_PARTS];	/* of indirect jumps */
	uintptr_t *routines;			/* by enum fl_path_what */
	struct fl_path_tell *tells;
	intptr_t path_at;			/* fl_path_at_thread() */
	uint32_t cells;				/* the first cell of its own */
	struct fl_gate *gate;
	unsigned char *sequences;	/* of groups, FL_ARCH_CS_BYTES each */
	struct fl_unwind_row *rows;
	uint64_t datum;
};

/* ---- bytes of items (emit.c) ----------------------------------------------------------- */

/* Measure all items with every branch in its long form. Then shorten branches whose targets
 * are near even so. 0, or FLE_UNKNOWN: an instruction cannot be moved. */
int fl_emit_measure(struct fl_build *);
void fl_emit_shorten(struct fl_build *);
/* Write all items to the ground. 0 or FLE_NOREACH. */
int fl_emit_write(struct fl_build *);
/* Put one item's bytes: how many, and what is known of them. */
size_t fl_emit_lookup(const struct fl_build *, const struct fl_item *, unsigned char *out,
		      struct fl_lookup *);
size_t fl_emit_tell(const struct fl_build *, uint32_t group, unsigned char *out,
		    struct fl_tell *);
size_t fl_emit_path_cold(const struct fl_build *, const struct fl_item *, unsigned char *out,
			 struct fl_path_code *);
size_t fl_emit_pair(const struct fl_build *, const struct fl_item *, unsigned char *out,
		    struct fl_exclusive_code *);

/* ---- rows for unwinders (pieces.c) --------------------------------------------------- */

/* Write the body's tables for unwinders. 0, or an error of fl_unwind_emit(). */
int fl_pieces_tell(struct fl_build *);

#endif
