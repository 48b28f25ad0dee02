/*
 * originals.h - private to perf/: of whose function is an address in near memory (originals.c)?
 */
#ifndef FL_ORIGINALS_H
#define FL_ORIGINALS_H

#include "channel/channel.h"
#include "perf/perf.h"

/* What one image of a process told. */
struct fl_told_image {
	uint32_t number;
	uint32_t n_blocks;		/* of the region's rows */
	struct fl_told_body *of;
	uint32_t n, n_sorted;		/* by place; those told last come behind */
	uint64_t ended_ns;		/* it had ended by then; 0: not known to */
	struct fl_told_image *older;	/* of its process */
};

/* Rows of the region's, as they were copied; zeros: none. */
struct fl_originals {
	struct fl_region *shm;
	const struct fl_glue_range *blocks;	/* the region's; most_blocks at most */
	uint32_t most_blocks;
	struct fl_body_row *rows;	/* the region's, by blocks of so many rows: */
	uint32_t n_rows;
	struct fl_body_block *told;	/* by block, whose it was and how many of its rows were
					 * met; n_told */
	uint32_t n_told;
	uint32_t *open, n_open;		/* blocks that have rows which nobody has claimed */
	uint32_t claims;		/* of blocks, that were looked at */
	struct fl_originals_of {
		int32_t pid;
		uint32_t image;		/* the one that lives, as it says; 0: not known */
		struct fl_told_image *newest;
	} *processes;
	uint32_t n;
	struct fl_hash by_pid;
	uint32_t *late;			/* rows that were not written when they were met */
	uint32_t n_late;
	uint64_t n_held;		/* rows that are kept, of all images */
	uint32_t next_number;
	uint64_t credit;		/* rows that may be copied or sorted, however they
					 * change */
	uint32_t n_used, n_ended;	/* blocks that are somebody's; images that have ended */
	uint32_t swept_claims;		/* at the last look for images that have ended */
	uint64_t swept_ns, sweep_took_ns;
	int32_t (*parent)(const void *arg, int32_t pid);	/* whose image its own was
					 * forked of; 0: nobody's. NULL: of all */
	bool (*has_heirs)(const void *arg, int32_t pid);	/* does an image live that was
					 * forked of its own? */
	const void *arg;
};

/* The body that is there, of the process's own or of its parents'; NULL: none is. It is valid
 * until the next call. */
const struct fl_told_body *fl_originals_body(struct fl_originals *, int32_t pid, uint64_t at);
/* The process that the image of `pid` was forked of; 0: none. */
int32_t fl_originals_parent(const struct fl_originals *, int32_t pid);
/* 1 + the row of the block of bodies that the address is in, of the process's own or of its
 * parents', with what unwinds them; of several rows the one that was told last. 0: in none. */
uint32_t fl_originals_block(const struct fl_originals *, int32_t pid, uint64_t at,
			    struct fl_glue_range *);
/* Give blocks back whose images have ended, where free blocks become few. Samples from before
 * `settled` have been looked at. */
void fl_originals_turn(struct fl_originals *, uint64_t settled);

#endif
