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
 *	following - freed < n: move ptr         load_acquire ptr           (F)
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

void fl_channel_doorbell(void)
{
	fl_ring_doorbell(fl_region);
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

/* The number of the chunk that comes after the one `limit` belongs to. */
static uint64_t following(const struct fl_slot *s)
{
	return s->filled + (s->limit == chunk_end(s, s->filled));	/* own index */
}

static bool following_is_free(const struct fl_slot *s)
{
	uint64_t freed = load_acquire(&s->freed);	/* (D) pairs with (C) in drain.c */

	return following(s) - freed < fl_ring_chunks(fl_region);
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
	if (!following_is_free(s))
		return false;
	store_relaxed(&s->ptr, chunk_start(s, s->filled));
	s->limit = chunk_end(s, s->filled);
	FL_POINT("ring.moved");
	return true;
}

static uint64_t room_left(const struct fl_slot *s)
{
	return (s->limit - s->ptr) / sizeof(struct flick_record);
}

/* In this chunk, or in a free one, or what does not fit here in a free one. */
static bool make_room(struct fl_slot *s, size_t n)
{
	if (room_left(s) >= n)
		return true;
	return room_left(s) ? following_is_free(s) : next_chunk(s);
}

static void append(struct fl_slot *s, const struct flick_record *r, size_t n)
{
	struct flick_record *to = (void *)s->ptr;

	for (size_t i = 0; i < n; i++)
		to[i] = r[i];
	store_release(&s->ptr, (uintptr_t)(to + n));	/* (E) pairs with (F) in drain.c */
}

/* One commit, or two where a chunk ends in between. */
static void append_across(struct fl_slot *s, const struct flick_record *r, size_t n)
{
	size_t here = room_left(s);

	if (here < n) {
		append(s, r, here);
		next_chunk(s);			/* make_room() saw it free */
		r += here;
		n -= here;
	}
	append(s, r, n);
}

/* All or nothing; false when the ring is full. Closing may have come between. */
static bool try_append(const struct flick_record *r, size_t n)
{
	struct fl_slot *s;
	uint64_t mask;
	bool done = true;

	fl_os_signals_block(&mask);
	s = *fl_cell;
	if (s) {				/* else closed meanwhile: done */
		done = make_room(s, n);
		if (done)
			append_across(s, r, n);
	}
	fl_os_signals_restore(&mask);
	return done;
}

/* Sleep until the reader frees a chunk; false when there is no reader. Signal
 * handlers run in here and may enqueue: nothing of the ring is held, and they
 * may have made the room that is waited for. */
static bool wait_room(struct fl_slot *s, size_t n)
{
	uint64_t freed;

	store_relaxed(&s->waiting, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (O) pairs with (P) in drain.c */
	freed = load_acquire(&s->freed);		/* (D) pairs with (C) in drain.c */
	if (room_left(s) >= n || following(s) - freed < fl_ring_chunks(fl_region))
		return true;
	if (!fl_channel_reader_lives())
		return false;
	FL_POINT("ring.wait");
	fl_os_futex_wait(&s->freed_word, (uint32_t)freed, WAIT_US);
	return true;
}

static void lose(uint64_t *lost, size_t n)
{
	while (n--)
		fl_lost_add(lost);
}

static void lose_slotless(size_t n)
{
	if (!fl_channel_is_closed())
		lose(&fl_region->lost[FL_LOST_SLOT], n);
}

/* Where there are counters there is no ring. */
static void count_all(const struct flick_record *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fl_channel_count(r[i].probe);
}

static void put_all(const struct flick_record *r, size_t n)
{
	struct fl_slot *s;

	if (fl_region && fl_region->action == FL_ACT_COUNT) {
		count_all(r, n);
		return;
	}
	s = fl_channel_slot();
	if (!s)
		lose_slotless(n);
	while (s && !try_append(r, n)) {
		if (wait_room(s, n))
			continue;
		lose(&s->lost[FL_LOST_READER], n);
		return;
	}
}

void fl_channel_put(uint32_t probe, uint64_t tsc, uint32_t sp)
{
	const struct flick_record r = { .tsc = tsc, .probe = probe, .sp = sp };

	put_all(&r, 1);
}

/* First the short path of glue, for two records. */
void fl_channel_put_pair(const struct flick_record pair[2])
{
	if (!fl_arch_put_pair(pair))
		put_all(pair, 2);
}

void fl_channel_count(uint32_t probe)
{
	struct fl_slot *s = fl_channel_slot();

	if (!s)
		lose_slotless(1);
	else if (probe < s->n_counters)
		__atomic_fetch_add((uint64_t *)s->data + probe, 1, __ATOMIC_RELAXED);
	else
		fl_lost_add(&s->lost[FL_LOST_ROOM]);
}

void fl_channel_word(uint32_t probe, uint64_t tsc, uint32_t sp)
{
	struct fl_slot *s = fl_channel_slot();

	if (s)
		s->word = (struct flick_record){ .tsc = tsc, .probe = probe, .sp = sp };
}
