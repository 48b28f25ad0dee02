/*
 * slot.h - private to channel/: the shape of a ring and the marks of the kernel.
 *
 * The first word of a robust mutex, its futex, tells whether the owner lives: the
 * kernel puts FUTEX_OWNER_DIED there, in place of the owner's thread id, when that
 * thread ends in any way (set_robust_list(2); glibc registers the list for each of
 * its threads before the thread runs).
 */
#ifndef FL_CHANNEL_SLOT_H
#define FL_CHANNEL_SLOT_H

#include <linux/futex.h>

#include "channel/channel.h"
#include "os/os.h"

_Static_assert(sizeof(struct fl_slot) <= FL_SLOT_HEADER_BYTES, "slot header");
_Static_assert(sizeof(struct flick_record) == 16, "two words, see glue");
_Static_assert(offsetof(struct fl_slot, ring[0].ptr) == FL_SLOT_PTR &&
	       offsetof(struct fl_slot, ring[0].limit) == FL_SLOT_LIMIT &&
	       offsetof(struct fl_slot, ring[0].n_counters) == FL_SLOT_N_COUNTERS &&
	       offsetof(struct fl_slot, ring[0].cells) == FL_SLOT_CELLS &&
	       FL_SLOT_HEADER_BYTES == FL_SLOT_COUNTERS, "arch/layout.h");
_Static_assert(sizeof(struct flick_record) == FL_PATH_CELL_BYTES &&
	       offsetof(struct flick_record, probe) == FL_PATH_CELL_KEY &&
	       offsetof(struct flick_record, sp) == FL_PATH_CELL_KEY + 4, "arch/layout.h");
_Static_assert(FL_COUNT_ONE >> 32 == FL_COUNT_ONE_HIGH && FL_COUNT_FULL == 1ull << 63,
	       "what routines add, and that its sign says full");
_Static_assert(offsetof(struct fl_timed, loose) == FL_TIMED_LOOSE, "arch/layout.h");

/* The chunks a ring begins with lie in its slot, behind counters. */
#define FL_HOME_CHUNKS 2

/* A caller sees all that the owner of `mutex` stored before it ended. */
static inline uint32_t fl_owner_word(const pthread_mutex_t *mutex)
{
	/* ordering: none of ours to pair with, the kernel's mark is the release */
	return __atomic_load_n((const uint32_t *)mutex, __ATOMIC_ACQUIRE);
}

static inline bool fl_owner_died(const pthread_mutex_t *mutex)
{
	return fl_os_has_died(fl_owner_word(mutex));
}

static inline bool fl_owner_lives(const pthread_mutex_t *mutex)
{
	uint32_t word = fl_owner_word(mutex);

	return (word & FUTEX_TID_MASK) && !fl_os_has_died(word);
}

/* Invariants, see valid.c. */
FL_HIDDEN bool fl_region_is_valid(const struct fl_region *);
FL_HIDDEN bool fl_session_is_valid(const struct fl_shm_session *);
FL_HIDDEN bool fl_slot_is_valid(const struct fl_slot *, const struct fl_shm_session *);
FL_HIDDEN bool fl_ring_is_valid(const struct fl_ring *, const struct fl_shm_session *);

/* Is this image run by an emulator that is recorded itself? Then stores to the image's code do
 * not reach the code that executes, and the process belongs to the emulator. */
FL_HIDDEN bool fl_process_is_emulated(struct fl_region *);

/* ---- reader side, and the consumer of a public ring ------------------------- */

/* Take lines that were read out of the producer's cache, by storing to each line what it
 * holds. If both caches have a line, the producer's next store waits until the other copy
 * is gone, and no two such stores overlap (70 to 250 ticks a line on Zen 4). Lines that
 * only this cache has are fetched ahead. CAB gets the same from clearing each word; one
 * word a line is enough. Called before the memory is given back to the producer. */
static inline void fl_own_lines(const void *at, uint64_t bytes)
{
	volatile uint64_t *word = (uint64_t *)(uintptr_t)at;

	for (; bytes >= 64; bytes -= 64, word += 8)
		*word = *word;
}

/* The first bytes of [*from, *to), offsets in the region, that anybody may have stored
 * to; false: there are none. */
bool fl_shm_touched(struct fl_region *m, uint64_t *from, uint64_t *to);

/* ---- target side, shared by thread.c and ring.c ---------------------------- */

/* A thread's slot and the address of its cells, or 0 for both; what the port's glue loads. */
struct fl_pointee {
	struct fl_slot *slot;
	uint64_t cells;
	uint64_t own[FL_ARCH_POINTEE_OWN];
};
_Static_assert(offsetof(struct fl_pointee, cells) == FL_POINTEE_CELLS &&
	       offsetof(struct fl_pointee, own) == FL_POINTEE_OWN, "layout.h");

/* What this process's threads write to: a recorder's region, and their parts of it. fl_first
 * belongs to the recorder that owns the probes. fl_other belongs to a second recorder
 * (other.c), and is NULL while there is none; each second recorder has a channel of its own,
 * for ever. */
struct fl_channel {
	struct fl_region *region;	/* NULL until open */
	struct fl_shm_session *session;
	/* [0] is not NULL while this process may enqueue; [n + 1] is for the thread that has
	 * slot n. The kernel zeroes all in fork's child (OS15); a child that is followed sets
	 * [0] again. */
	struct fl_pointee *pointees;
	uint32_t n_pointees;
	struct fl_frames *frames;	/* of slot n's thread; NULL: nothing is sampled */
	uint32_t image, row;		/* the process's own numbers in the region */
	/* Where the process's threads take rows of bodies: body.c. */
	uint32_t bodies;		/* 1 + a block, which may be another image's by now;
					 * atomic, as: */
	uint32_t full_at;		/* 1 + the count of freed blocks when none was free */
};
extern struct fl_channel fl_first FL_HIDDEN, *fl_other FL_HIDDEN;
/* Put a row of a body that an image has told, this process's or another one. */
FL_HIDDEN void fl_body_put(struct fl_channel *, uint32_t image, const struct fl_body_row *);
/* The calling thread's slot, or NULL: also in a fork's child, and where the slot is another
 * recorder's by now. With signals blocked the answer stays true. */
static inline struct fl_slot *fl_own_slot(const struct fl_channel *c)
{
	struct fl_slot *s = c == &fl_first ? *fl_tls_slot : *fl_tls_other;

	return (uintptr_t)s - (uintptr_t)c->region < c->region->bytes ? s : NULL;
}

extern struct fl_region *fl_region FL_HIDDEN;	/* NULL until open */
extern struct fl_shm_session *fl_session FL_HIDDEN;	/* fl_region's; likewise */
extern uint32_t fl_own_row FL_HIDDEN;		/* of processes[]; processes.c */
/* Enter the row into the index, to be found by that pid; false: the index is damaged. */
FL_HIDDEN bool fl_process_index(struct fl_region *m, int pid, uint32_t row);
/* Are pids here those of the reader's namespace? */
bool fl_shm_is_in_space(const struct fl_region *m);
/* This process's threads may enqueue again. */
FL_HIDDEN void fl_tls_reopen(void);
/* Wake the reader of a slot if it sleeps. */
FL_HIDDEN void fl_ring_doorbell(const struct fl_channel *, const struct fl_slot *);
/* A fresh slot's ring: empty, at its first chunk. */
FL_HIDDEN void fl_ring_start(const struct fl_channel *, struct fl_ring *);
/* The calling thread's slot, claimed at first use; NULL when none is free. */
FL_HIDDEN struct fl_slot *fl_slot_of(const struct fl_channel *);
/* Make the channel that of region `m`: 0 or -ENOMEM; and end it. */
FL_HIDDEN int fl_threads_open(struct fl_channel *, struct fl_region *m);
FL_HIDDEN void fl_threads_close(struct fl_channel *);
static inline bool fl_threads_are_closed(const struct fl_channel *c)
{
	return !c->pointees || !load_relaxed(&c->pointees[0].slot);
}
/* Is the calling thread one that has no slot, and whose events are neither told nor lost?
 * fl_channel_nobody(). */
bool fl_thread_is_nobody(void) FL_HIDDEN;
/* Add one to a loss counter; a signal handler may do so in between. */
static inline void fl_lost_add(uint64_t *lost)
{
	__atomic_fetch_add(lost, 1, __ATOMIC_RELAXED);
}

#endif
