/*
 * originals.h - private to cli/: of whose function is an address in near memory (originals.c)?
 */
#ifndef FL_ORIGINALS_H
#define FL_ORIGINALS_H

#include "channel/channel.h"

/* Rows of the region's, as they were copied; zeros: none. */
struct fl_originals {
	struct fl_region *shm;
	const struct fl_glue_range *blocks;	/* the region's; most_blocks at most */
	uint32_t most_blocks;
	const struct fl_body_row *rows;	/* the region's; most of them at most */
	uint32_t most;
	struct fl_body_row *of;		/* copies, by place */
	size_t n;
	uint32_t told;			/* rows that were claimed when they were made */
	uint64_t credit;		/* rows that may be copied, however they change */
};

void fl_originals_open(struct fl_originals *, struct fl_region *);
/* The function that a sample of process `pid` at address `at` stood in the body of; where
 * it stood in none, `at`. */
uint64_t fl_originals_at(struct fl_originals *, int32_t pid, uint64_t at);
/* The block of bodies that the address is in, with what unwinds them; of several the one that
 * was told last. */
bool fl_originals_block(const struct fl_originals *, uint64_t at, struct fl_glue_range *);
/* Each of the process's, ascending. */
void fl_originals_each(struct fl_originals *, int32_t pid,
		       void (*each)(void *arg, const struct fl_body_row *), void *arg);
void fl_originals_close(struct fl_originals *);

#endif
