/*
 * paths.h - numbers for the paths through a function. Private to copy.
 *
 * The caller draws a graph of blocks, in the order of their addresses, and says where
 * a path may begin. The caller gets numbers from 0 to n - 1, and what to add on which edge
 * so that the sum is the number of the path that was gone.
 */
#ifndef FL_COPY_PATHS_H
#define FL_COPY_PATHS_H

#include "site/site.h"

enum { FL_PATH_NONE = UINT32_MAX };
#define FL_PATHS_MAX (UINT32_C(1) << 31)	/* of a function */
#define FL_PATHS_OWN (UINT32_C(1) << 17)	/* of one whose paths have their own cells */

enum fl_path_cut {
	FL_PATH_GOES_ON,
	FL_PATH_CUT_BACK,		/* else a path would have no end */
	FL_PATH_CUT_LONG		/* else there were too many paths */
};
struct fl_path_edge {
	uint32_t from, to;		/* blocks; to FL_PATH_NONE: out of the function */
	uint8_t cut;			/* W: enum fl_path_cut; one path ends here */
	bool jumps;			/* out, or on to an unknown start */
	uint32_t value;			/* W: the edge's part of a path's number */
	uint32_t add;			/* W: to the sum, which then is told if the path ends */
};
struct fl_path_start {
	uint32_t block;
	uint32_t value;			/* W: the start's part of a path's number */
	uint32_t set;			/* W: the sum begins with this */
};

/*
 * The caller sets n_blocks, n_edges, n_given, edges, starts and memory. Edges ascend by
 * `from`; two blocks may have several edges between them; each block has at least one edge
 * that leaves it. n_given <= n_starts <= n_given + n_blocks, which is the room of `starts`.
 */
struct fl_paths {
	uint32_t n_blocks, n_edges, n_given, n_starts;
	struct fl_path_edge *edges;
	struct fl_path_start *starts;	/* those given; then the starts behind cuts */
	uint32_t n;			/* paths */
	uint32_t *first;		/* by block: its first edge; one more */
	uint32_t *begins;		/* by block: the start behind cuts to it; NONE */
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

/* Bytes of memory for that many blocks, aligned to 4. */
size_t fl_paths_memory(uint32_t n_blocks);
/* 0, or -E2BIG: there are more than FL_PATHS_MAX paths, however they are cut. */
int fl_paths_number(struct fl_paths *, void *memory);
/* Find the path of that number: the index of its start, and the indices of its edges, at most
 * as many as there are blocks. How many edges; 0: no path has the number. */
uint32_t fl_paths_find(const struct fl_paths *, uint32_t number, uint32_t *start,
		       uint32_t *edges);

/* ---- the paths of a function (blocks.c) -------------------------------------------- */

/*
 * A block is a row of steps: if the first one runs, all run, one after the other. A block has
 * an edge out of the function, or to the block behind it, or to where it jumps. A block that
 * ends with a branch has a second edge, for the branch when it is taken.
 */
struct fl_blocks {
	const struct fl_shape *shape;
	struct fl_paths paths;		/* the first start is the entry */
	uint32_t *of;			/* by step: its block */
	uint32_t *steps;		/* by block: its first step; one more */
	uint32_t *begins_at;		/* by given start: the step, maybe amid a block */
};
/* Bytes of memory, aligned to 8. */
size_t fl_blocks_memory(const struct fl_shape *);
/* 0, or an error of fl_paths_number(). */
int fl_blocks_number(struct fl_blocks *, const struct fl_shape *, void *memory);
/* The first step of paths that have this start. */
uint32_t fl_blocks_begin(const struct fl_blocks *, uint32_t start);

#endif
