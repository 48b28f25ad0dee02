/*
 * paths.h - numbers for the paths through a function. Private to copy.
 *
 * The caller draws a graph of blocks, in the order of their addresses, and says where
 * a path may begin. He gets numbers from 0 to n - 1, and what to add on which edge so that
 * the sum is the number of the path that was gone.
 */
#ifndef FL_COPY_PATHS_H
#define FL_COPY_PATHS_H

#include "site/site.h"

enum { FL_PATH_NONE = UINT32_MAX };
#define FL_PATHS_MAX (UINT32_C(1) << 31)	/* a function's */
#define FL_PATHS_OWN (UINT32_C(1) << 17)	/* ... that may have cells of their own */

enum fl_path_cut {
	FL_PATH_GOES_ON,
	FL_PATH_CUT_BACK,		/* else a path would have no end */
	FL_PATH_CUT_LONG		/* else there were too many paths */
};
struct fl_path_edge {
	uint32_t from, to;		/* blocks; to FL_PATH_NONE: out of the function */
	uint8_t cut;			/* W: enum fl_path_cut; one path ends here */
	bool jumps;			/* out, or on to who knows which start */
	uint32_t value;			/* W: what of a path's number the edge stands for */
	uint32_t add;			/* W: to the sum, which then is told if the path ends */
};
struct fl_path_start {
	uint32_t block;
	uint32_t value;			/* W: as of an edge */
	uint32_t set;			/* W: what the sum begins with */
};

/*
 * n_blocks, n_edges, n_given, edges, starts and memory are the caller's. Edges ascend by
 * `from`, of two blocks there may be several; each block has one at least that leaves it.
 * n_given <= n_starts <= n_given + n_blocks, which is the room of `starts`.
 */
struct fl_paths {
	uint32_t n_blocks, n_edges, n_given, n_starts;
	struct fl_path_edge *edges;
	struct fl_path_start *starts;	/* those given; then those of who comes by a cut */
	uint32_t n;			/* paths */
	uint32_t *first;		/* by block: its first edge; one more */
	uint32_t *begins;		/* by block: the start of who comes by a cut; NONE */
	uint32_t *count;		/* by block: ways from there to a path's end */
	uint32_t *order;		/* blocks, each behind those that follow it in a path */
	uint32_t *stack, *next, *state;	/* while the order is made */
	uint32_t *depth;		/* by block: loops around it, about; one more */
	uint32_t *parent, *offset;	/* while sums are placed; one more */
};

static inline bool fl_path_ends(const struct fl_path_edge *e)
{
	return e->cut || e->to == FL_PATH_NONE;
}

/* So much memory for that many blocks, aligned to 4. */
size_t fl_paths_memory(uint32_t n_blocks);
/* 0, or -E2BIG: more than FL_PATHS_MAX, however they are cut. */
int fl_paths_number(struct fl_paths *, void *memory);
/* The path of that number: its start, an index, and its edges, indices, of which there are
 * no more than blocks. How many; 0: no path has the number. */
uint32_t fl_paths_find(const struct fl_paths *, uint32_t number, uint32_t *start,
		       uint32_t *edges);

/* ---- of a function (blocks.c) ------------------------------------------------------ */

/*
 * A block is steps that are run one after the other, to the last one, if the first is. It
 * has an edge out of the function, or to what is behind it, or where it jumps; a block that
 * ends with a branch has a second one, for when it is taken.
 */
struct fl_blocks {
	const struct fl_shape *shape;
	struct fl_paths paths;		/* the first start is the entry */
	uint32_t *of;			/* by step: its block */
	uint32_t *steps;		/* by block: its first step; one more */
	uint32_t *begins_at;		/* by given start: the step, maybe amid a block */
};
/* So much memory, aligned to 8. */
size_t fl_blocks_memory(const struct fl_shape *);
/* 0, or what fl_paths_number() says. */
int fl_blocks_number(struct fl_blocks *, const struct fl_shape *, void *memory);
/* The step that paths begin with that have this start. */
uint32_t fl_blocks_begin(const struct fl_blocks *, uint32_t start);

#endif
