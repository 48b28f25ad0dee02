/*
 * ring.c - the producer's side of a thread's ring.
 *
 * A ring is a row of chunks with numbers 0, 1, 2, ..., which the reader grants one by one
 * and the thread fills in order. The glue appends to the chunk in hand by itself while
 * `ptr` has not reached `limit`. Everything else happens here, once a chunk or less: to
 * count a full chunk, to move to the next one, to wait for it.
 *
 * A record has 16 bytes, an access told in a word 8. `limit` is 8 bytes before the chunk's end:
 * where `ptr` is below `limit` there is room for 16 bytes. The rest of a chunk is filled with
 * words that say nothing.
 *
 * THE LIFE OF CHUNK c	Four counters say how far chunks have come; each store of one is
 * a step of the chunk's life, in this order.
 *
 *	step     by      store                    from then on
 *	grant    reader  granted = c + 1    (C)   c has a page, and the thread may claim c
 *	claim    thread  claimed = c + 1    (Q)   the reader does not take c back
 *	enter    thread  ptr, entered = c + 1     records go to c
 *	         thread  limit = end of c - 8     the glue may write to c
 *	write    thread  ptr += 16, or 8    (E)   one more record of c is whole
 *	fill     thread  filled = c + 1     (A)   c is full; the thread never writes to c again
 *	consume  reader  (in its own memory)      the page of c is free for another chunk
 *
 * So  filled <= entered <= claimed <= granted,  and entered <= filled + 1: one chunk at most
 * is in hand. That is chunk `filled`, and it is in hand while entered > filled.
 *
 * PROTOCOL
 *	thread                                  reader (drain.c, lease.c)
 *	write record                            load_acquire owner word
 *	store_release ptr            (E)        load_acquire filled        (B)
 *	... chunk is full:                      read chunks below filled
 *	store_release filled + 1     (A)        page[granted] = ...
 *	fence                        (M)        store_release granted + 1  (C)
 *	wake if the reader sleeps               fence                      (P)
 *	claimed + 1, fence           (Q)        wake if waiting
 *	load_acquire granted         (D)        ... thread lies still:
 *	claimed <= granted: enter               load_acquire ptr           (F)
 *	else claimed - 1, waiting + 1           ... too many granted:
 *	fence                        (O)        granted - n, fence         (R)
 *	load_acquire granted, futex_wait        claimed > granted: granted + n
 *	waiting - 1                             ... nothing to do:
 *	                                        sleeps = 1, fence          (N)
 *	                                        load_acquire filled, futex_wait
 *
 * INVARIANT
 *	1. Every record below `ptr` is whole, and none lies in two chunks.
 *	2. The thread writes only chunks that are granted to it.
 *	3. The reader reads no record that is not whole, none twice, none late.
 *	4. A sleeping reader is woken by a ring that is running full, a waiting
 *	   thread by a grant; if either is missed, a time-out comes instead.
 *	5. No two chunks from `consumed` to `granted` have one page, of any rings.
 * WHY
 *	1. The store of `ptr` commits: (E) orders the record before that store. So
 *	   does the port's short path, whose restartable sequence also keeps the
 *	   record of a handler that interrupts it and enqueues. Here all signals
 *	   are blocked instead. Death between two instructions leaves `ptr` where
 *	   it was.
 *	   A handler that forks in between leaves the child no slot: the child loads
 *	   its slot anew in the sequence, or with signals blocked.
 *	   A child of vfork writes in its parent's slot, and may be killed
 *	   anywhere: next_chunk() tells apart what the child leaves. A chunk is
 *	   counted only if it was entered, and written to its end.
 *	2. A chunk is entered only after it was claimed, and then seen granted
 *	   at (D), with its page by (C). The reader takes a grant back only when
 *	   it finds the chunk not claimed after (R). (Q) and (R) stand between a
 *	   store and a load on either side: either the thread sees that the grant
 *	   is gone, and undoes the claim; or the reader sees the claim, and grants
 *	   the chunk again. Both may happen, and then the thread asks again.
 *	   tests/model/lease.pml has a twin for each of these steps.
 *	3. Chunks below `filled` are full by (A). The head of drain.c proves the
 *	   half-filled one.
 *	4. (M) and (N), (O) and (P) stand between a store and a load on either
 *	   side, so that not both sides can miss the other's store. A wait for
 *	   room names the low half of the `granted` it saw, so a grant in between
 *	   makes it return. Only the thread changes `waiting`, with signals
 *	   blocked, so no wake is lost to a reader that clears it late.
 *	5. lease.c hands out pages, and keeps their numbers in private memory.
 * FAILURE
 *	The reader dies: waiting ends at most one time-out later and the event
 *	is counted in lost[FL_LOST_READER]. The channel is closed: enqueueing
 *	returns at once and counts nothing, because this process is not recorded.
 *	Death while a claim is being undone: nothing was written to the claimed
 *	chunk. If the slot is a parent's, the parent makes the claim again.
 */
#include "arch/arch.h"
#include "channel/channel.h"
#include "channel/slot.h"
#include "os/os.h"

#define WAIT_US 10000

/* ---- bells ----------------------------------------------------------------- */

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

void fl_ring_doorbell(const struct fl_channel *c, const struct fl_slot *s)
{
	uint64_t number = ((uintptr_t)s - (uintptr_t)fl_shm_slot(c->region, 0)) /
			  c->region->slot_bytes;

	ring_bell(&c->session->bells[number % c->session->n_readers]);
}

void fl_shm_doorbell(struct fl_region *m)
{
	ring_bell(&m->session[0].bells[0]);
}

void fl_channel_doorbell(void)
{
	fl_shm_doorbell(fl_region);
}

/* ---- a chunk's life: claim, enter, fill -------------------------------------- */

/* Start the ring of a fresh slot: the slot's own two chunks are granted, and the first of them
 * is in hand. Where calls are only counted there are no chunks. */
void fl_ring_start(const struct fl_channel *c, struct fl_ring *g)
{
	bool has_chunks = c->session->action != FL_ACT_COUNT;
	uint64_t start = g->data + c->session->counter_bytes + c->session->cell_bytes;
	uint64_t at = start - (uintptr_t)c->region;

	for (uint32_t i = 0; i < FL_HOME_CHUNKS; i++, at += c->session->chunk_bytes)
		g->page[i] = (uint32_t)(at / FL_PAGE);
	g->granted = has_chunks ? FL_HOME_CHUNKS : 0;
	g->granted_word = (uint32_t)g->granted;
	g->bell_at = 1;
	g->waiting = 0;
	g->claimed = has_chunks;
	g->entered = has_chunks;
	g->limit = start + (has_chunks ? c->session->chunk_bytes - FL_RING_TAIL : 0);
	store_relaxed(&g->ptr, start);
}

/* Claim all chunks below `upto`: one chunk more than is claimed, or none if a killed child had
 * claimed it already. False: the last one is not granted yet, or not any more, and nothing has
 * changed. */
static bool claim_chunks(struct fl_ring *g, uint64_t upto)
{
	store_relaxed(&g->claimed, upto);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (Q) pairs with (R) in lease.c */
	FL_POINT("ring.claimed");
	if (upto <= load_acquire(&g->granted))	/* (D) pairs with (C) in lease.c */
		return true;
	store_relaxed(&g->claimed, upto - 1);
	return false;
}

/* Stores above are in memory before stores below, also if a kill comes in between. */
static void in_order(void)
{
	/* ordering: none between threads */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Chunk `filled`, which is claimed, is in hand from now on. While `limit` is 0 there is no
 * room, and no full chunk either: a child killed in between leaves nothing to be counted. */
static void enter_chunk(const struct fl_channel *c, struct fl_ring *g)
{
	uint64_t at = (uintptr_t)c->region +
		(uint64_t)g->page[g->filled % FL_RING_CHUNKS] * FL_PAGE;

	g->limit = 0;
	in_order();
	FL_POINT("ring.leaving");
	g->paused[g->filled % FL_RING_CHUNKS] = 0;
	/* (E) pairs with (F) in drain.c: `at` may be where the chunk before ends */
	store_release(&g->ptr, at);
	g->entered = g->filled + 1;
	in_order();
	FL_POINT("ring.entering");
	g->limit = at + c->session->chunk_bytes - FL_RING_TAIL;
	FL_POINT("ring.moved");
}

/* Fill the rest of the chunk in hand with words that say nothing. */
static void pad_chunk(struct fl_ring *g)
{
	while (g->limit && g->ptr < g->limit + FL_RING_TAIL) {
		*(uint64_t *)g->ptr = FL_WORD_NOTHING;
		/* (E) pairs with (F) in drain.c */
		store_release(&g->ptr, g->ptr + sizeof(uint64_t));
	}
}

/* The chunk in hand is full: the reader is told, and woken when it should hurry. */
static void count_chunk(const struct fl_channel *c, struct fl_slot *s, struct fl_ring *g)
{
	pad_chunk(g);
	store_release(&g->filled, g->filled + 1);	/* (A) pairs with (B) in drain.c */
	FL_POINT("ring.counted");
	if (load_relaxed(&g->granted) - g->filled <= load_relaxed(&g->bell_at))
		fl_ring_doorbell(c, s);
}

/* Called with no room: move to the next chunk; false while that is not granted. This goes by
 * the state of the ring alone, because a child of vfork may have been killed anywhere in here,
 * in its parent's slot. */
static bool next_chunk(const struct fl_channel *c, struct fl_slot *s, struct fl_ring *g)
{
	if (g->entered > g->filled && g->limit && g->ptr >= g->limit)
		count_chunk(c, s, g);
	if (!claim_chunks(g, g->filled + 1))
		return false;
	enter_chunk(c, g);
	return true;
}

/* ---- records ------------------------------------------------------------------- */

static uint64_t room_left(const struct fl_ring *g)
{
	return g->ptr >= g->limit ? 0 :
	       (g->limit + FL_RING_TAIL - g->ptr) / sizeof(struct flick_record);
}

static void append(struct fl_ring *g, const struct flick_record *r, size_t n)
{
	struct flick_record *to = (void *)g->ptr;

	for (size_t i = 0; i < n; i++)
		to[i] = r[i];
	store_release(&g->ptr, (uintptr_t)(to + n));	/* (E) pairs with (F) in drain.c */
}

/* Note how long it took to begin the chunk, from the moment on when a record wanted it. The
 * thread waited for room, or woke the reader, which took the CPU. The reader takes that pause
 * out of the time of the thread's calls. */
static void note_pause(struct fl_ring *g, uint64_t since)
{
	uint64_t pause = (fl_arch_ticks() - since) / FL_PAUSE_TICKS;

	g->paused[g->filled % FL_RING_CHUNKS] =
		pause < UINT32_MAX ? (uint32_t)pause : UINT32_MAX;
}

/* Append all of `n` records or none; false: there is no room. There is one commit, or two
 * where a chunk ends in between: then the next chunk is claimed before the first record is
 * written. */
static bool append_across(const struct fl_channel *c, struct fl_slot *s,
			  const struct flick_record *r, size_t n, uint64_t since)
{
	struct fl_ring *g = &s->ring[0];
	size_t here;

	if (!room_left(g)) {
		if (!next_chunk(c, s, g))
			return false;
		note_pause(g, since);
	}
	here = room_left(g) < n ? room_left(g) : n;
	if (here < n && !claim_chunks(g, g->filled + 2))
		return false;
	append(g, r, here);
	if (here < n) {
		count_chunk(c, s, g);
		enter_chunk(c, g);
		note_pause(g, since);
		append(g, r + here, n - here);
	}
	return true;
}

/* False when the ring is full. If the channel was closed meanwhile there is nothing to do. */
static bool try_append(const struct fl_channel *c, const struct flick_record *r, size_t n,
		       uint64_t since)
{
	struct fl_slot *s;
	uint64_t mask;
	bool done;

	fl_os_signals_block(&mask);	/* no site is executed until they are back */
	s = fl_own_slot(c);
	done = !s || append_across(c, s, r, n, since);
	FL_MUST(!s || fl_ring_is_valid(&s->ring[0], c->session));
	fl_os_signals_restore(&mask);
	return done;
}

/* ---- waiting ------------------------------------------------------------------- */

/* Sleep until a grant may have made room, for WAIT_US at most. False when there is no reader,
 * or the reader has given the slot up: then nobody grants anything, and a program that waited
 * would hang. Called with signals blocked. */
static bool sleep_until_granted(const struct fl_channel *c, struct fl_slot *s, size_t n)
{
	struct fl_ring *g = &s->ring[0];
	bool may_come = true;
	uint64_t granted;

	store_relaxed(&g->waiting, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (O) pairs with (P) in lease.c */
	granted = load_acquire(&g->granted);		/* (D) pairs with (C) in lease.c */
	if (room_left(g) < n && g->claimed >= granted) {
		may_come = fl_owner_lives(&c->session->reader) &&
			   load_relaxed(&s->state) == FL_SLOT_LIVE;
		if (may_come) {
			FL_POINT("ring.wait");
			fl_os_futex_wait(&g->granted_word, (uint32_t)granted, WAIT_US);
		}
	}
	store_relaxed(&g->waiting, 0);
	return may_come;
}

/* Signals come when the sleep is over, as they do to a thread that has no CPU: if handlers that
 * may nest slept here one above the other, the stack would end. A handler that came before may
 * have found room, or be a child's, which has no slot. */
static bool wait_room(const struct fl_channel *c, size_t n)
{
	struct fl_slot *s;
	bool may_come;
	uint64_t mask;

	fl_os_signals_block(&mask);
	s = fl_own_slot(c);
	may_come = !s || sleep_until_granted(c, s, n);
	fl_os_signals_restore(&mask);
	return may_come;
}

/* ---- the door ------------------------------------------------------------------ */

/* The short path of either channel. The second channel has one where a recorder may attach. */
static bool add_shortly(const struct fl_channel *c, size_t at, uint64_t n)
{
	return c == &fl_first ? fl_arch_add_own(at, n) :
	       FL_ARCH_ATTACHES && fl_arch_add_other(at, n);
}

/* A short path does nothing when it is interrupted, which others on this CPU do by chance. To
 * block signals is a system call, and in seccomp's strict mode the thread's end: so a short
 * path is tried some times. A thread that a debugger steps is interrupted each time. */
enum { TRIES = 4 };

/* Add to the word `at` bytes into the thread's own slot; a handler's child has no slot. */
static void add_own(const struct fl_channel *c, size_t at, uint64_t n)
{
	struct fl_slot *s;
	uint64_t mask;

	for (int i = 0; fl_arch_has_rseq() && i < TRIES; i++)
		if (add_shortly(c, at, n))
			return;
	fl_os_signals_block(&mask);
	s = fl_own_slot(c);
	if (s)
		*(uint64_t *)((char *)s + at) += n;
	fl_os_signals_restore(&mask);
}

static void lose(const struct fl_channel *c, enum fl_lost why, size_t n)
{
	add_own(c, offsetof(struct fl_slot, ring[0].lost) + why * sizeof(uint64_t), n);
}

static size_t events(const struct flick_record *r, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += fl_is_event(&r[i]);
	return sum;
}

/* Count an event of a thread without a slot as lost. */
static void lose_slotless(const struct fl_channel *c, uint32_t probe)
{
	if (c == &fl_first)
		fl_channel_lose_slotless(probe);
	else if (!fl_threads_are_closed(c) && !fl_thread_is_nobody())
		fl_lost_add(&c->session->lost[FL_LOST_SLOT]);
}

/* Enqueue `n` records with nothing between them, or count their events as lost. */
static void put_waiting(const struct fl_channel *c, const struct flick_record *r, size_t n)
{
	struct fl_slot *s = fl_slot_of(c);
	uint64_t since = fl_arch_ticks();

	for (size_t i = s ? 0 : events(r, n); i > 0; i--)
		lose_slotless(c, r->probe);
	while (s && !try_append(c, r, n, since)) {
		if (wait_room(c, n))
			continue;
		lose(c, FL_LOST_READER, events(r, n));
		return;
	}
}

/* Where there are only counters, count each record as a call. */
static void put_all(const struct flick_record *r, size_t n)
{
	if (fl_region && fl_session->action == FL_ACT_COUNT)
		for (size_t i = 0; i < n; i++)
			fl_channel_count(r[i].probe);
	else
		put_waiting(&fl_first, r, n);
}

void fl_channel_put(uint32_t probe, uint64_t tsc, uint32_t sp)
{
	const struct flick_record r = { .tsc = tsc, .probe = probe, .sp = sp };

	put_all(&r, 1);
}

/* Tries the short path of glue first. */
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

/* ---- room that glue fills itself ------------------------------------------------- */

/* Make room for `n` records and some more, so that glue finds `limit` not passed at each of
 * them. False: the next chunk is not granted yet. */
static bool try_room(size_t n)
{
	struct fl_slot *s;
	uint64_t mask;
	bool done;

	fl_os_signals_block(&mask);	/* no site is executed until they are back */
	s = *fl_tls_slot;
	done = !s || room_left(&s->ring[0]) > n;
	if (!done) {
		pad_chunk(&s->ring[0]);
		done = next_chunk(&fl_first, s, &s->ring[0]);
	}
	fl_os_signals_restore(&mask);
	return done;
}

static bool lose_all(uint32_t n)
{
	while (n--)
		fl_channel_lose_slotless(UINT32_MAX);
	return false;
}

bool fl_channel_make_room(uint32_t n)
{
	struct fl_slot *s = fl_channel_slot();

	if (!s)
		return lose_all(n);
	while (!try_room(n)) {
		if (wait_room(&fl_first, n))
			continue;
		lose(&fl_first, FL_LOST_READER, n);
		return false;
	}
	return *fl_tls_slot != NULL;
}

/* Where calls are counted, an exit is no event. */
void fl_channel_lose_unplaced(enum fl_kind kind)
{
	struct fl_slot *s = fl_channel_slot();

	if (fl_channel_is_closed() ||
	    (fl_session->action == FL_ACT_COUNT && !fl_kind_counts(kind)))
		return;
	if (s)
		lose(&fl_first, FL_LOST_SITE, 1);
	else
		fl_channel_lose_slotless(UINT32_MAX);
}

void (*fl_channel_on_block)(uint32_t probe);

static size_t counter_at(uint32_t probe)
{
	return FL_SLOT_HEADER_BYTES + probe * sizeof(uint64_t);
}

static bool end_shortly(const struct fl_channel *c, size_t at)
{
	return c == &fl_first ? fl_arch_end_block(at) :
	       FL_ARCH_ATTACHES && fl_arch_end_block_other(at);
}

/* False: the block is not full any more, because a handler in between has ended it; or the
 * slot is not this process's. */
static bool end_own_block(const struct fl_channel *c, size_t at)
{
	struct fl_slot *s;
	uint64_t mask, now;

	for (int i = 0; fl_arch_has_rseq() && i < TRIES; i++)
		if (end_shortly(c, at))
			return true;
	fl_os_signals_block(&mask);	/* it was interrupted, or the block is not full */
	s = fl_own_slot(c);
	now = s ? *(uint64_t *)((char *)s + at) : 0;
	if (now & FL_COUNT_FULL)
		store_relaxed((uint64_t *)((char *)s + at), now - FL_COUNT_FULL + 1);
	fl_os_signals_restore(&mask);
	return now & FL_COUNT_FULL;
}

void fl_channel_end_block(uint32_t probe)
{
	if (end_own_block(&fl_first, counter_at(probe)) && fl_channel_on_block)
		fl_channel_on_block(probe);
}

static bool count_own(const struct fl_channel *c, const struct fl_slot *s, uint32_t probe)
{
	const uint64_t *counter = (void *)((char *)s + counter_at(probe));

	add_own(c, counter_at(probe), FL_COUNT_ONE);
	return load_relaxed(counter) & FL_COUNT_FULL;
}

void fl_channel_count(uint32_t probe)
{
	struct fl_slot *s = fl_channel_slot();
	bool is_event = fl_region && fl_session->action == FL_ACT_COUNT;

	if (s && probe < s->ring[0].n_counters) {
		if (count_own(&fl_first, s, probe))
			fl_channel_end_block(probe);
	} else if (is_event && s) {
		lose(&fl_first, FL_LOST_ROOM, 1);
	} else if (!s) {			/* of samples too: its calls are not counted */
		fl_channel_lose_slotless(probe);
	}
}

/* ---- the second recorder's -------------------------------------------------------- */

void fl_other_count(uint32_t probe)
{
	/* (S) pairs with (T) in other.c */
	const struct fl_channel *c = load_acquire(&fl_other);
	struct fl_slot *s = c ? fl_slot_of(c) : NULL;

	if (!c)
		return;
	if (!s)
		lose_slotless(c, probe);
	else if (probe >= s->ring[0].n_counters)
		lose(c, FL_LOST_ROOM, 1);
	else if (count_own(c, s, probe))
		end_own_block(c, counter_at(probe));
}

void fl_other_put(const struct flick_record *r)
{
	const struct fl_channel *c;

	if (FL_ARCH_ATTACHES && fl_arch_put_other(r))
		return;
	c = load_acquire(&fl_other);			/* (S) pairs with (T) in other.c */
	if (c)
		put_waiting(c, r, 1);
}
