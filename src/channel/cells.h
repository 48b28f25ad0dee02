/*
 * cells.h - private to channel/, reader side: what threads have counted of paths.
 */
#ifndef FL_CHANNEL_CELLS_H
#define FL_CHANNEL_CELLS_H

#include "channel/channel.h"

/* A look at the cells of a thread that has ended. */
struct fl_cells {
	struct fl_region *shm;
	uint64_t at;			/* offset of the first one */
	uint32_t i;			/* 0 at first; W fl_cells_next() */
};

/* Moves up to n cells to `out`, each as a record: how many; 0: there are no more. *paths: the
 * sum of their counts. */
size_t fl_cells_next(struct fl_cells *, struct flick_record *out, size_t n, uint64_t *paths);

#endif
