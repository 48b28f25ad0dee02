/*
 * ring.c - the producer's side of a thread's ring.
 *
 * A ring is a row of chunks that the reader grants, one by one, and that are
 * filled in order. The glue appends to the current chunk by itself while `ptr`
 * has not reached `limit`; everything else happens here, once a chunk or less:
 * counting a full chunk, claiming the next one, waiting for it to be granted.
 *
 * PROTOCOL
 *	thread                                  reader (drain.c, lease.c)
 *	write record                            load_acquire owner word
 *	store_release ptr            (E)        load_acquire filled        (B)
 *	... chunk is full:                      read chunks below filled
 *	store_release filled + 1     (A)        place[granted] = ...
 *	fence                        (M)        store_release granted + 1  (C)
 *	wake if the reader sleeps               fence                      (P)
 *	claimed + 1, fence           (Q)        wake if waiting
 *	load_acquire granted         (D)        ... thread lies still:
 *	claimed <= granted: move ptr            load_acquire ptr           (F)
 *	else claimed - 1, waiting + 1           ... too many granted:
 *	fence                        (O)        granted - n, fence         (R)
 *	load_acquire granted, futex_wait        claimed > granted: granted + n
 *	waiting - 1                             ... nothing to do:
 *	                                        sleeps = 1, fence          (N)
 *	                                        load_acquire filled, futex_wait
 *
 * INVARIANT
 *	1. Every record below `ptr` is whole.
 *	2. The thread writes only chunks that are granted to it.
 *	3. The reader reads no record that is not whole, none twice, none late.
 *	4. A sleeping reader is woken by a ring that is running full, a waiting
 *	   thread by a grant; if either is missed, a time-out comes instead.
 *	5. No two chunks from `consumed` to `granted` have one place, of any rings.
 * WHY
 *	1. The store of `ptr` commits: (E) orders the record before it. In glue
 *	   a plain store does (x86-TSO), in a restartable sequence, so that a
 *	   handler that interrupts it and enqueues is not overwritten. Here all
 *	   signals are blocked instead. Death between two instructions leaves
 *	   `ptr` where it was.
 *	   A handler that forks in between leaves the child no slot: what it goes
 *	   on with is looked for in the sequence, or with signals blocked.
 *	   A child of vfork writes in its parent's slot, and may be killed
 *	   anywhere: what it leaves is told apart in next_chunk(). A chunk is
 *	   counted only if it was entered, and written to its end.
 *	2. A chunk is entered only after it was claimed, and then seen granted
 *	   at (D), with its place by (C). The reader takes a grant back only when
 *	   it finds the chunk not claimed after (R). (Q) and (R) stand between a
 *	   store and a load on either side: either the thread sees that the grant
 *	   is gone, and undoes the claim; or the reader sees the claim, and grants
 *	   the chunk again. Both may happen, and then the thread asks again.
 *	   tests/model/lease.pml has a twin for each step of this.
 *	3. Chunks below `filled` are full by (A). The head of drain.c proves the
 *	   half-filled one.
 *	4. (M) and (N), (O) and (P) stand between a store and a load on either
 *	   side, so that not both sides can miss the other's store. A wait for
 *	   room names the low half of the `granted` it saw, so a grant in between
 *	   makes it return. Only the thread changes `waiting`, so no wake is lost
 *	   to a reader that clears it late; a handler that waits, too, counts it
 *	   up and down again.
 *	5. Places are handed out in lease.c, which has them in private memory.
 * FAILURE
 *	The reader dies: waiting ends at most one time-out later and the event
 *	is counted in lost[FL_LOST_READER]. The channel is closed: enqueueing
 *	returns at once and counts nothing, as this process is not recorded.
 *	Death with a claim that is being undone: nothing of it is in the ring, and
 *	a parent whose slot it is makes it again.
 */
#include "arch/arch.h"
#include "channel/channel.h"
#include "channel/slot.h"
#include "os/os.h"

#define WAIT_US 10000

static void ring_bell(struct fl_bell *b)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (M) pairs with (N) in drain.c */
	if (!load_relaxed(&b->sleeps))
		return;
	store_relaxed(&b->sleeps, 0);		/* one wake is enough */
	/* ordering: none of ours to pair with, the sleeper's futex call reads it;
	 * a release, so that `sleeps = 0` comes before the sleeper can wake */
	__atomic_fetch_add(&b->rung, 1, __ATOMIC_RELEASE);
	fl_os_futex_wake(&b->rung, 1);
}

void fl_ring_doorbell(const struct fl_slot *s)
{
	uint64_t number = ((uintptr_t)s - (uintptr_t)fl_shm_slot(fl_region, 0)) /
			  fl_region->slot_bytes;

	ring_bell(&fl_session->bells[number % fl_session->n_readers]);
}

void fl_channel_doorbell(void)
{
	ring_bell(&fl_session->bells[0]);
}

/* Counting: no ring at all. Else the two chunks of the slot are granted. */
void fl_ring_start(struct fl_slot *s)
{
	bool has_ring = fl_session->action != FL_ACT_COUNT;
	uint64_t start = s->data + fl_session->counter_bytes;
	uint64_t at = start - (uintptr_t)fl_region;

	for (uint32_t i = 0; i < FL_HOME_CHUNKS; i++, at += fl_session->chunk_bytes)
		s->place[i] = (uint32_t)(at / FL_PAGE);
	s->granted = has_ring ? FL_HOME_CHUNKS : 0;
	s->granted_word = (uint32_t)s->granted;
	s->ring_at = 1;
	s->waiting = 0;
	s->claimed = has_ring;
	s->entered = has_ring;
	s->limit = start + (has_ring ? fl_session->chunk_bytes : 0);
	store_relaxed(&s->ptr, start);
}

/* Take chunks below `claimed` into use, one more than are or the same; false: it is
 * not granted (yet, or any more). */
static bool claim_chunks(struct fl_slot *s, uint64_t claimed)
{
	store_relaxed(&s->claimed, claimed);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (Q) pairs with (R) in lease.c */
	FL_POINT("ring.claimed");
	if (claimed <= load_acquire(&s->granted))	/* (D) pairs with (C) in lease.c */
		return true;
	store_relaxed(&s->claimed, claimed - 1);
	return false;
}

/* Tell the reader that the current chunk is full. */
static void count_chunk(struct fl_slot *s)
{
	store_release(&s->filled, s->filled + 1);	/* (A) pairs with (B) in drain.c */
	FL_POINT("ring.counted");
	if (load_relaxed(&s->granted) - s->filled <= load_relaxed(&s->ring_at))
		fl_ring_doorbell(s);
}

/* What stands above is there before what stands below, when a kill comes between. */
static void in_order(void)
{
	/* ordering: none between threads */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Write to chunk `filled` from now on, which is claimed. There is no room, and no
 * chunk that is full, while `limit` is not that of `ptr`. */
static void enter_chunk(struct fl_slot *s)
{
	uint64_t at = (uintptr_t)fl_region +
		(uint64_t)s->place[s->filled % FL_RING_CHUNKS] * FL_PAGE;

	s->limit = 0;
	in_order();
	FL_POINT("ring.leaving");
	s->paused[s->filled % FL_RING_CHUNKS] = 0;
	store_relaxed(&s->ptr, at);
	s->entered = s->filled + 1;
	in_order();
	FL_POINT("ring.entering");
	s->limit = at + fl_session->chunk_bytes;
	FL_POINT("ring.moved");
}

/* Move on to the next chunk; false while it is not granted. Called with signals
 * blocked and no room. Looks at the state alone: a child of vfork may have been
 * killed anywhere in here, in its parent's slot. */
static bool next_chunk(struct fl_slot *s)
{
	if (s->entered > s->filled && s->ptr == s->limit)
		count_chunk(s);
	if (!claim_chunks(s, s->filled + 1))
		return false;
	enter_chunk(s);
	return true;
}

static uint64_t room_left(const struct fl_slot *s)
{
	return s->ptr < s->limit ? (s->limit - s->ptr) / sizeof(struct flick_record) : 0;
}

/* In this chunk, or in the next one, or what does not fit here in the next one. */
static bool make_room(struct fl_slot *s, size_t n)
{
	if (room_left(s) >= n)
		return true;
	if (!room_left(s))
		return next_chunk(s);
	return claim_chunks(s, s->filled + 2);
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
		count_chunk(s);
		enter_chunk(s);			/* make_room() claimed it */
		r += here;
		n -= here;
	}
	append(s, r, n);
}

/* The reader takes it out of the thread's time. */
static void note_pause(struct fl_slot *s, uint64_t ticks)
{
	uint64_t units = ticks / FL_PAUSE_TICKS;

	s->paused[(s->entered - 1) % FL_RING_CHUNKS] =
		units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

/* All or nothing; false when the ring is full. Closing may have come between. The
 * thread has waited for `ticks`. */
static bool try_append(const struct flick_record *r, size_t n, uint64_t ticks)
{
	struct fl_slot *s;
	uint64_t mask;
	bool done = true;

	fl_os_signals_block(&mask);	/* no site is executed until they are back */
	s = *fl_tls_slot;
	if (s) {				/* else closed meanwhile: done */
		done = make_room(s, n);
		if (done && ticks)
			note_pause(s, ticks);
		if (done)
			append_across(s, r, n);
	}
	fl_os_signals_restore(&mask);
	return done;
}

/* A handler that interrupts the wait counts up and down again. If it forks, the child
 * comes out of the wait, too, and has no slot: the count is its parent's. */
static void count_waiting(uint32_t by)
{
	struct fl_slot *s;
	uint64_t mask;

	fl_os_signals_block(&mask);
	s = *fl_tls_slot;
	if (s)
		store_relaxed(&s->waiting, s->waiting + by);
	fl_os_signals_restore(&mask);
}

/* Is there room, by what was granted meanwhile? Else sleep until there may be;
 * false when there is no reader. */
static bool sleep_for_room(struct fl_slot *s, size_t n)
{
	uint64_t granted = load_acquire(&s->granted);	/* (D) pairs with (C) in lease.c */

	if (room_left(s) >= n || s->claimed < granted)
		return true;
	if (!fl_channel_reader_lives())
		return false;
	FL_POINT("ring.wait");
	fl_os_futex_wait(&s->granted_word, (uint32_t)granted, WAIT_US);
	return true;
}

/* Signal handlers run in here and may enqueue: nothing of the ring is held, and
 * they may have made the room that is waited for. */
static bool wait_room(struct fl_slot *s, size_t n)
{
	bool may_come;

	count_waiting(1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (O) pairs with (P) in lease.c */
	may_come = sleep_for_room(s, n);
	count_waiting(-1u);
	return may_come;
}

/* The word `at` bytes into the thread's own slot, which a handler's child has not. */
static void add_own(size_t at, uint64_t n)
{
	struct fl_slot *s;
	uint64_t mask;

	if (fl_arch_has_rseq()) {
		fl_arch_add_own(at, n);
		return;
	}
	fl_os_signals_block(&mask);
	s = *fl_tls_slot;
	if (s)
		*(uint64_t *)((char *)s + at) += n;
	fl_os_signals_restore(&mask);
}

static void lose(enum fl_lost why, size_t n)
{
	add_own(offsetof(struct fl_slot, lost) + why * sizeof(uint64_t), n);
}

/* Who called is no event of its own. */
static size_t events(const struct flick_record *r, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += r[i].probe != FL_PROBE_CALLER;
	return sum;
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
	uint64_t from;

	if (fl_region && fl_session->action == FL_ACT_COUNT) {
		count_all(r, n);
		return;
	}
	s = fl_channel_slot();
	for (size_t i = s ? 0 : events(r, n); i > 0; i--)
		fl_channel_lose_slotless(r->probe);
	if (!s || try_append(r, n, 0))
		return;
	from = fl_arch_ticks();
	do {
		if (wait_room(s, n))
			continue;
		lose(FL_LOST_READER, events(r, n));
		return;
	} while (!try_append(r, n, fl_arch_ticks() - from));
}

void fl_channel_put(uint32_t probe, uint64_t tsc, uint32_t sp)
{
	const struct flick_record r = { .tsc = tsc, .probe = probe, .sp = sp };

	put_all(&r, 1);
}

/* First the short path of glue. */
void fl_channel_put_one(const struct flick_record *r)
{
	if (!fl_arch_put_one(r))
		put_all(r, 1);
}

/* The same for two records. */
void fl_channel_put_pair(const struct flick_record pair[2])
{
	if (!fl_arch_put_pair(pair))
		put_all(pair, 2);
}

/* Where calls are counted an exit is none. */
void fl_channel_lose_unplaced(enum fl_kind kind)
{
	struct fl_slot *s = fl_channel_slot();

	if (fl_channel_is_closed() ||
	    (fl_session->action == FL_ACT_COUNT && kind != FL_ENTRY))
		return;
	if (s)
		lose(FL_LOST_SITE, 1);
	else
		fl_channel_lose_slotless(UINT32_MAX);
}

void (*fl_channel_on_block)(uint32_t probe);

static size_t counter_at(uint32_t probe)
{
	return FL_SLOT_HEADER_BYTES + probe * sizeof(uint64_t);
}

/* False: it is not full, as a handler that came in between has done it; or the slot is
 * not this process's. */
static bool end_own_block(size_t at)
{
	struct fl_slot *s;
	uint64_t mask, now;

	if (fl_arch_has_rseq())
		return fl_arch_end_block(at);
	fl_os_signals_block(&mask);
	s = *fl_tls_slot;
	now = s ? *(uint64_t *)((char *)s + at) : 0;
	if (now & FL_COUNT_FULL)
		store_relaxed((uint64_t *)((char *)s + at), now - FL_COUNT_FULL + 1);
	fl_os_signals_restore(&mask);
	return now & FL_COUNT_FULL;
}

void fl_channel_end_block(uint32_t probe)
{
	if (end_own_block(counter_at(probe)) && fl_channel_on_block)
		fl_channel_on_block(probe);
}

static void count_own(const struct fl_slot *s, uint32_t probe)
{
	const uint64_t *counter = (void *)((char *)s + counter_at(probe));

	add_own(counter_at(probe), FL_COUNT_ONE);
	if (load_relaxed(counter) & FL_COUNT_FULL)
		fl_channel_end_block(probe);
}

void fl_channel_count(uint32_t probe)
{
	struct fl_slot *s = fl_channel_slot();
	bool is_event = fl_region && fl_session->action == FL_ACT_COUNT;

	if (s && probe < s->n_counters)
		count_own(s, probe);
	else if (is_event && s)
		lose(FL_LOST_ROOM, 1);
	else if (!s)				/* of samples too: its calls are not counted */
		fl_channel_lose_slotless(probe);
}
