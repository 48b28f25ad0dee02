/*
 * ring.c - the producer's side of a thread's ring.
 *
 * A ring is n chunks. The glue appends to the current chunk by itself while
 * `ptr` has not reached `limit`; everything else happens here, once a chunk or
 * less: counting a full chunk, moving on to a free one, waiting for one.
 *
 * PROTOCOL
 *	thread                                  reader (drain.c)
 *	write record                            load_acquire owner word
 *	store_release ptr            (E)        load_acquire filled        (B)
 *	... chunk is full:                      read chunks below filled
 *	store_release filled + 1     (A)        store_release freed + 1    (C)
 *	fence                        (M)        fence                      (P)
 *	wake if reader_sleeps                   wake if waiting
 *	load_acquire freed           (D)        ... idle or ended thread:
 *	filled - freed < n: move ptr, limit     load_acquire ptr           (F)
 *	else waiting = 1, fence      (O)        ... nothing to do:
 *	load_acquire freed, futex_wait          reader_sleeps = 1, fence   (N)
 *	                                        load_acquire filled, futex_wait
 *
 * INVARIANT
 *	1. Every record below `ptr` is whole.
 *	2. The thread writes no chunk that the reader has not freed.
 *	3. The reader reads no record that is not whole, none twice, none late.
 *	4. A sleeping reader is woken by a full chunk, a waiting thread by a
 *	   freed one; if either is missed, a time-out comes instead.
 * WHY
 *	1. The store of `ptr` commits: (E) orders the record before it. In glue
 *	   a plain store does (x86-TSO), in a restartable sequence, so that a
 *	   handler that interrupts it and enqueues is not overwritten. Here all
 *	   signals are blocked instead. Death between two instructions leaves
 *	   `ptr` where it was.
 *	2. next_chunk() moves to chunk number c only after c - freed < n was
 *	   seen at (D): chunk c - n, which had the same place, is freed; (C).
 *	3. Chunks below `filled` are full by (A). The head of drain.c proves the
 *	   half-filled one.
 *	4. (M) and (N), (O) and (P) stand between a store and a load on either
 *	   side, so that not both sides can miss the other's store. A wait for
 *	   room names the low half of the `freed` it saw, so a chunk freed in
 *	   between makes it return. A handler may itself wait and be woken in
 *	   place of the code it interrupted: `freed` has changed then too.
 * FAILURE
 *	The reader dies: waiting ends at most one time-out later and the event
 *	is counted in lost[FL_LOST_READER]. The channel is closed: enqueueing
 *	returns at once and counts nothing, as this process is not recorded.
 */
#include "arch/arch.h"
#include "channel/channel.h"
#include "channel/slot.h"
#include "os/os.h"

#define WAIT_US 10000

void fl_ring_doorbell(struct fl_shm *m)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (M) pairs with (N) in drain.c */
	if (!load_relaxed(&m->reader_sleeps))
		return;
	store_relaxed(&m->reader_sleeps, 0);	/* one wake is enough */
	__atomic_fetch_add(&m->doorbell, 1, __ATOMIC_RELAXED);
	fl_os_futex_wake(&m->doorbell, 1);
}

static uint64_t chunk_start(const struct fl_slot *s, uint64_t chunk)
{
	return s->data + chunk % fl_ring_chunks(fl_region) * fl_region->chunk_bytes;
}

static uint64_t chunk_end(const struct fl_slot *s, uint64_t chunk)
{
	return chunk_start(s, chunk) + fl_region->chunk_bytes;
}

void fl_ring_start(struct fl_slot *s)
{
	store_relaxed(&s->ptr, s->data);
	s->limit = s->data;			/* counting: no ring at all */
	if (!s->n_counters)
		s->limit += fl_region->chunk_bytes;
}

static bool has_room(const struct fl_slot *s, uint64_t freed)
{
	return s->filled - freed < fl_ring_chunks(fl_region);	/* own index */
}

/* Tell the reader that the current chunk is full. The thread may have a name
 * by now that it did not have when it met its first probe. */
static void count_chunk(struct fl_slot *s)
{
	store_release(&s->filled, s->filled + 1);	/* (A) pairs with (B) in drain.c */
	FL_POINT("ring.counted");
	fl_os_thread_name(s->name);
	fl_ring_doorbell(fl_region);
}

/* Move on to the next chunk; false while it is not free. Called with signals
 * blocked and ptr == limit; limit tells whether the chunk has been counted. */
static bool next_chunk(struct fl_slot *s)
{
	if (s->limit == chunk_end(s, s->filled))
		count_chunk(s);
	if (!has_room(s, load_acquire(&s->freed)))	/* (D) pairs with (C) in drain.c */
		return false;
	store_relaxed(&s->ptr, chunk_start(s, s->filled));
	s->limit = chunk_end(s, s->filled);
	FL_POINT("ring.moved");
	return true;
}

static void append(struct fl_slot *s, const struct flick_record *r)
{
	*(struct flick_record *)s->ptr = *r;
	store_release(&s->ptr, s->ptr + sizeof(*r));	/* (E) pairs with (F) in drain.c */
}

/* One try; false when the ring is full. Closing may have come in between. */
static bool try_append(const struct flick_record *r)
{
	struct fl_slot *s;
	uint64_t mask;
	bool done = true;

	fl_os_signals_block(&mask);
	s = fl_self;
	if (s != &fl_no_slot && !fl_channel_is_closed()) {
		done = s->ptr < s->limit || next_chunk(s);
		if (done)
			append(s, r);
	}
	fl_os_signals_restore(&mask);
	return done;
}

/* Sleep until the reader frees a chunk; false when there is no reader. Signal
 * handlers run in here and may enqueue: nothing of the ring is held. */
static bool wait_room(struct fl_slot *s)
{
	uint64_t freed;

	store_relaxed(&s->waiting, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (O) pairs with (P) in drain.c */
	freed = load_acquire(&s->freed);		/* (D) pairs with (C) in drain.c */
	if (has_room(s, freed))
		return true;
	if (!fl_channel_reader_lives())
		return false;
	FL_POINT("ring.wait");
	fl_os_futex_wait(&s->freed_word, (uint32_t)freed, WAIT_US);
	return true;
}

static void lose_slotless(void)
{
	if (!fl_channel_is_closed())
		fl_lost_add(&fl_region->lost[FL_LOST_SLOT]);
}

void fl_channel_put(uint32_t probe, uint64_t tsc, uint32_t sp)
{
	const struct flick_record r = { .tsc = tsc, .probe = probe, .sp = sp };
	struct fl_slot *s;

	if (fl_region && fl_region->action == FL_ACT_COUNT) {
		fl_channel_count(probe);	/* the ring's place holds counters */
		return;
	}
	s = fl_channel_slot();
	if (!s)
		lose_slotless();
	while (s && !try_append(&r)) {
		if (wait_room(s))
			continue;
		fl_lost_add(&s->lost[FL_LOST_READER]);
		return;
	}
}

/* The short path of glue, for two records; where it ends (a full chunk) each
 * takes the long one, and a handler's pair may come in between. */
void fl_channel_put_pair(const struct flick_record pair[2])
{
	if (fl_arch_put_pair(pair))
		return;
	fl_channel_put(pair[0].probe, pair[0].tsc, pair[0].sp);
	fl_channel_put(pair[1].probe, pair[1].tsc, pair[1].sp);
}

void fl_channel_count(uint32_t probe)
{
	struct fl_slot *s = fl_channel_slot();

	if (!s)
		lose_slotless();
	else if (probe < s->n_counters)
		__atomic_fetch_add((uint64_t *)s->data + probe, 1, __ATOMIC_RELAXED);
	else
		fl_lost_add(&s->lost[FL_LOST_ROOM]);
}
