/*
 * lease.h - private to channel/, READER side: which chunks a thread may fill.
 */
#ifndef FL_CHANNEL_LEASE_H
#define FL_CHANNEL_LEASE_H

#include "channel/channel.h"

/*
 * How long rings may be, in a copy of the reader's own, as the target may overwrite
 * the region; and the pool's chunks that this reader hands out, by their first pages.
 * The last one that came back goes out first, its memory is there.
 *
 *	free[0 .. cold)		their memory was given back to the system
 *	free[cold .. n)		still have it; those below `low` since the last tick
 */
struct fl_pool {
	struct fl_region *shm;
	uint64_t chunk_bytes, before_home;	/* constant; of a slot's data */
	uint32_t most_chunks;		/* of a ring; constant */
	bool has_windows;		/* constant */
	uint32_t *free;
	uint32_t n, cold, low;
};

/* Of the reader's share, `number` of `readers`. 0 or -ENOMEM. */
int fl_pool_open(struct fl_pool *, struct fl_region *, uint32_t number, uint32_t readers);
void fl_pool_close(struct fl_pool *);
/* Now and then: what nobody needed since the last time gives its memory back. */
void fl_pool_tick(struct fl_pool *);

/*
 * What one thread may fill. Its truth is here; the slot has a copy.
 *
 *	consumed <= filled <= claimed <= granted	(ring.c)
 *	2 <= want <= most_chunks
 */
struct fl_lease {
	struct fl_ring *ring;
	uint32_t home;			/* page of the slot's own first one, as in ring.c */
	uint64_t consumed, granted;	/* chunk numbers */
	uint64_t heard;			/* granted when who waits was woken last */
	uint32_t want;			/* how many should be granted at a time */
	uint32_t peak;			/* most that were full at a time since the last tick */
	uint32_t page[FL_RING_CHUNKS];	/* of chunks consumed to granted - 1 */
	uint32_t spare[2];		/* of the slot's own that are not granted */
	uint32_t n_spare;
};

/* As the thread began it at its claim. */
void fl_lease_begin(struct fl_lease *, struct fl_slot *, const struct fl_pool *);
/* `filled` chunks are full: a ring in which nothing is left grows, and one that is
 * shorter than it should be. */
void fl_lease_grow(struct fl_lease *, struct fl_pool *, uint64_t filled);
/* How many chunks the thread has, those that are full with them. */
static inline uint32_t fl_lease_length(const struct fl_lease *l)
{
	return (uint32_t)(l->granted - l->consumed);
}

/* Chunk `consumed` was read. Who waits for room is woken when half the ring is free. */
void fl_lease_next(struct fl_lease *, struct fl_pool *);
/* Or now, as nothing more is read for a while. */
void fl_lease_wake(struct fl_lease *);
/* Now and then: a ring that was far longer than needed shrinks. */
void fl_lease_tick(struct fl_lease *, struct fl_pool *);
/* See valid.c. */
bool fl_lease_is_valid(const struct fl_lease *, const struct fl_pool *);
/* The thread has ended, and everything of it was read. */
void fl_lease_end(struct fl_lease *, struct fl_pool *);

#endif
