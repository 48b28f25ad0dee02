/*
 * lease.h - private to channel/, READER side: which chunks a thread may fill.
 */
#ifndef FL_CHANNEL_LEASE_H
#define FL_CHANNEL_LEASE_H

#include "channel/channel.h"

/*
 * How long rings may be: a copy of the reader's own, because the target may overwrite the
 * region. And the pool's chunks that this reader hands out, by their first pages. The chunk
 * that came back last goes out first, because its memory is there.
 *
 *	free[0 .. cold)		their memory was given back to the system
 *	free[cold .. n)		have memory; those below `low` were free since the last tick
 */
struct fl_pool {
	struct fl_region *shm;
	uint64_t chunk_bytes, before_home;	/* constant; before_home: of a slot's data */
	uint32_t most_chunks;		/* of a ring; constant */
	bool has_windows;		/* constant */
	uint32_t *free;
	uint32_t n, cold, low;
};

/* Open the pool of one reader's share, `number` of `readers`. 0 or -ENOMEM. */
int fl_pool_open(struct fl_pool *, struct fl_region *, uint32_t number, uint32_t readers);
void fl_pool_close(struct fl_pool *);
/* Called now and then: chunks that nobody needed since the last call give their memory back. */
void fl_pool_tick(struct fl_pool *);

/*
 * The chunks that one thread may fill. This struct decides; the slot has a copy.
 *
 *	consumed <= filled <= claimed <= granted	(ring.c)
 *	2 <= want <= most_chunks
 */
struct fl_lease {
	struct fl_ring *ring;
	uint32_t home;			/* page of the slot's own first chunk, as in ring.c */
	uint64_t consumed, granted;	/* chunk numbers */
	uint64_t heard;			/* `granted` when the thread was woken last */
	uint32_t want;			/* chunks that should be granted at a time */
	uint32_t peak;			/* most chunks full at a time since the last tick */
	uint32_t page[FL_RING_CHUNKS];	/* of chunks consumed to granted - 1 */
	uint32_t spare[2];		/* pages of the slot's own that are not granted */
	uint32_t n_spare;
};

/* Begin a lease in the state that the thread gave its ring when it claimed the slot. */
void fl_lease_begin(struct fl_lease *, struct fl_slot *, const struct fl_pool *);
/* `filled` chunks are full: the ring grows if no chunk is left, or if it is shorter than it
 * should be. */
void fl_lease_grow(struct fl_lease *, struct fl_pool *, uint64_t filled);
/* How many chunks the thread has, full ones included. */
static inline uint32_t fl_lease_length(const struct fl_lease *l)
{
	return (uint32_t)(l->granted - l->consumed);
}

/* Chunk `consumed` was read. A thread that waits is woken when half the ring is free. */
void fl_lease_next(struct fl_lease *, struct fl_pool *);
/* Wake that thread now, because nothing more is read for a while. */
void fl_lease_wake(struct fl_lease *);
/* Called now and then: a ring that was far longer than needed shrinks. */
void fl_lease_tick(struct fl_lease *, struct fl_pool *);
/* See valid.c. */
bool fl_lease_is_valid(const struct fl_lease *, const struct fl_pool *);
/* The thread has ended, and all its records were read. */
void fl_lease_end(struct fl_lease *, struct fl_pool *);

#endif
