/*
 * build.h - private to copy/: from a shape to code (build.c), and the near memory that the
 * code stands in (area.c).
 */
#ifndef FL_COPY_BUILD_H
#define FL_COPY_BUILD_H

#include "copy/unwind.h"
#include "patch/patch.h"
#include "site/site.h"

/* ---- near memory of one module ----------------------------------------------------- */

/* A block: code, ascending, and the data that belongs to it. */
struct fl_ground_block {
	struct fl_near near;
	size_t used, data_used;
	unsigned char *ready[3];	/* pages of code, data and tables for unwinders have
					 * been faulted in up to these (area.c) */
	uint32_t n_names, name_bytes;	/* jit.c's */
	struct fl_unwind unwind;
};
/* The blocks of one builder, which can be written to. All 0: there are none. */
struct fl_copies {
	uintptr_t lo, hi;		/* of the module */
	uintptr_t from, to;		/* of the function whose copy comes next */
	uintptr_t glue, glue_end;	/* what copies call; 0: glue may be anywhere */
	uintptr_t none_near;		/* a function near which nothing was free; 0: none */
	size_t none_of;			/* ... for so much code */
	uint32_t n;
	struct fl_ground_block blocks[24];	/* the last one has room */
	void *scratch;			/* for plans, one after the other */
	size_t scratch_bytes;
	uint32_t weaves;		/* enum fl_weaves; W fl_make_begin() */
	int pid;			/* likewise: whose bodies are told, ... */
	uintptr_t bias;			/* ... and places: of the module, ... */
	uint32_t module;		/* ... whose row in the region this is */
	enum fl_exclusive exclusive;	/* likewise: what is done with pairs, ... */
	intptr_t pairs_at;		/* ... and where a thread has what pairs need */
};
/* Room for a copy: `at`, aligned to 16, is where the copy is executed; `write` is where it
 * is written; `data` is aligned to 8, and 0. */
struct fl_ground {
	uintptr_t at;
	unsigned char *write, *data;
	struct fl_unwind *unwind;
};
/* Begin: copies of functions of the module at [lo, hi) come. Lead: from now on copies call
 * glue in [lo, hi). */
void fl_copies_begin(struct fl_copies *, uintptr_t lo, uintptr_t hi);
void fl_copies_lead(struct fl_copies *, uintptr_t lo, uintptr_t hi);
/* Reserve room for so much at most. 0, -ENOMEM, FLE_NOREACH. Take: so much of the room is
 * used. */
int fl_copies_reserve(struct fl_copies *, size_t code, size_t data, struct fl_ground *);
void fl_copies_take(struct fl_copies *, size_t code, size_t data);
/* The last block takes no more. */
void fl_copies_fill(struct fl_copies *);
/* All that was taken becomes executable, and no longer writable. 0 or -errno. */
int fl_copies_end(struct fl_copies *);
/* The block that has the address; NULL: none. */
struct fl_ground_block *fl_copies_block(const struct fl_copies *, uintptr_t at);

/* ---- a second body --------------------------------------------------------------------- */

/* Where a return, a jump that may leave, or a point stands in the original, and its place. */
struct fl_copy_place {
	uintptr_t at;
	uint32_t offset;		/* of the place, from the copy's code on */
	uint16_t call;			/* of a call of glue, from the place on; 0: none */
	uint8_t form;			/* FL_FORM_BODY_RET, _TAIL, _SWITCH, _POINT */
};
struct fl_copy {
	uintptr_t function, entry;	/* the original's; entry: behind its landing pad */
	uintptr_t code, on, off;	/* on, off: where the entry jumps to; off: the body */
	uint32_t n_code, n_places;
	uint32_t call;			/* offset of the call of glue in `on` */
	uint8_t copies[FL_ARCH_INNER];	/* in `off`, see struct fl_plan_in */
	uint8_t first;			/* bytes of instructions that the entry's jump covers */
	const struct fl_copy_place *places;	/* ascending by `at` */
	struct fl_path_tell *tells;	/* in the body's data; W place.c `probe` */
	uint32_t n_tells;
};
/* Build a body. 0 or why there can be none. */
int fl_copy_build(struct fl_copies *, const struct fl_shape *, struct fl_copy *,
		  uint64_t *datum);

/* ---- pairs of exclusives (pairs.c) --------------------------------------------------- */

/* Set what is done with pairs in this process, and where a thread keeps what they need. */
void fl_copies_pairs(struct fl_copies *);

/* ---- bodies that tell accesses (gate.c) --------------------------------------------- */

/* The gate of a body that tells accesses, in its data, aligned to FL_ARCH_CS_BYTES. */
struct fl_gate {
	uint64_t tells;			/* 0: the body tells nothing; it looks here */
	struct fl_gate *next;
	uintptr_t room;			/* a function that makes room in the ring */
	uintptr_t unused;
};
/* Such a body is about to run. With the table's lock, as fl_copy_hush(). */
void fl_gate_open(struct fl_gate *);

/* ---- what gdb is told (jit.c) ------------------------------------------------------------ */

enum { FL_JIT_BYTES = 640 };		/* of a block's data, the first ones */
/* Name a copy, which is in the block, after its function. Tell gdb of all that are named. */
void fl_jit_name(struct fl_ground_block *, const struct fl_copy *, const char *name);
void fl_jit_tell(struct fl_ground_block *);

#endif
