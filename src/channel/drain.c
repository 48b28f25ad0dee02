/*
 * drain.c - the reader's side of all rings.
 *
 * READER code: it stays out of the target.
 *
 * Feeds chunks to the sink and frees them. Knows from a bitmap which slots live, so a
 * poll touches two cache lines of each living thread, and none of other slots.
 *
 * TRUST	The target can write anything into the region at any time. All that
 *		the reader takes from the region is copied once, then checked, then
 *		used. The same goes for records: an analysis checks each index that it
 *		takes from one. Accesses in words are not copied; the sink loads each
 *		word once, and any word will do for it. Geometry and the reader's own
 *		indices are private from before the target started.
 *
 * The letters are explained in ring.c and thread.c, where their mates are.
 *
 * THE HALF-FILLED CHUNK
 *	A thread that is idle or has ended leaves records in a chunk that is not counted; a
 *	thread that runs has some there at any moment. To take them the reader needs two words
 *	that the thread stores one after the other: how many chunks are full, and how far the
 *	one in hand is written. The reader looks in this order:
 *
 *	f = filled	(B)	and takes all chunks below f
 *	p = ptr		(F)	and takes of chunk f what lies below p
 *
 *	The thread may store both words anew between these looks. RULE: p counts only if chunk f
 *	is granted and start(f) < p <= end(f). Then the records in [start(f), p) are whole, and
 *	nobody overwrites them until f is consumed. Else chunk f counts as empty, and a later
 *	poll sees the rest.
 * WHY	Chunks f to granted - 1 have pages of their own (INVARIANT 5 of ring.c), and chunks do
 *	not overlap. Let chunk c be in hand when the thread stored the p that was read.
 *
 *	c was		p is		so the rule takes
 *	f		as (E) says	what is whole of f
 *	f, all of it	end(f)		all of f, which is full
 *	f, nothing yet	start(f)	nothing, and there is nothing
 *	above f		in another	nothing; but where start(c) is end(f), as the two pages
 *			page		touch, all of f: f is full, as c is above it
 *	f - 1		end(f - 1)	nothing, unless f had the page of f - 1: it never has
 *	below f - 1	-		it cannot be read: the thread stored end(f - 1) before
 *					it counted f - 1 (A), and (B) saw that count
 *
 *	Chunk f never has the page of f - 1: the reader grants two chunks at least, and
 *	grants the page of the oldest one anew (lease.c).
 *	One look at `filled` suffices, before `ptr`. A ring that overwrites needs another look
 *	behind `ptr`. If a thread has ended, the kernel's mark is read before both words: so
 *	both are final, and no record is left behind.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "channel/channel.h"
#include "channel/cells.h"
#include "channel/lease.h"
#include "channel/filter.h"
#include "channel/slot.h"
#include "os/os.h"

#define TICK_NS 100000000ull	/* how long a thread lies still to count as idle */
#define NO_THREAD UINT32_MAX
#define COPIED 1024			/* records; they stay in the first cache */

/* A thread as the reader follows it. */
struct life {
	struct fl_slot *slot;
	struct fl_ring *ring;		/* of the slot */
	struct fl_lease lease;
	uint32_t number;		/* of the slot */
	uint32_t thread;		/* index into threads */
	uint32_t image, process;	/* as the slot says */
	uint64_t taken;			/* bytes of chunk `consumed` delivered already */
	uint64_t rest;			/* records that belong to one that is passed over */
	uint64_t seen_filled, seen_ptr;	/* at the last tick */
	uint64_t alive;			/* the clock when it was seen to live last */
	uint64_t named_filled, named_tick;	/* when its name was asked for */
	struct fl_cursor cursor;		/* where there are windows */
	uint64_t *counted;		/* delivered of its counters; NULL: nothing yet */
	uint32_t heeded;		/* by its process, before that was delivered */
};

struct fl_reader {
	struct fl_region *shm;
	struct fl_shm_session *session;
	struct fl_sink sink;
	uint64_t chunk_bytes, slots_at, slot_bytes;	/* constant */
	uint64_t processes_at;				/* constant */
	uint32_t n_slots, n_counters, n_cells;		/* constant */
	uint32_t number, n_readers;			/* constant; its slots */
	struct fl_pool pool;
	uint64_t *copy;			/* room for COPIED records */
	struct flick_record *made;	/* from words; room for COPIED */
	void (*give_words)(void *arg, struct fl_words *);	/* NULL: as records */
	const struct fl_place_row *places;	/* constant */
	uint32_t n_places;			/* constant */
	struct life *lives;		/* room for n_slots */
	size_t n_lives;
	struct fl_thread *threads;
	size_t n_threads, room;
	uint32_t slotless;		/* index of the pseudo thread, or NO_THREAD */
	uint64_t delivered;
	uint64_t tick_ns;		/* of the last tick */
	bool counts;			/* constant: there are counters alone */
	uint32_t heeded;		/* of the life whose counter is delivered now */
	/* Where there are windows: */
	bool sifts;			/* constant */
	bool untold;			/* in which window records lie is not known yet */
	uint32_t fullest;		/* ring of this poll, in thousandths */
	struct fl_filter filter;
	struct fl_pace pace;
	bool is_over;			/* target_gone has been said */
};

static void copy_constants(struct fl_reader *r, const struct fl_region *m, uint32_t number)
{
	const struct fl_shm_session *s = r->session;

	r->chunk_bytes = s->chunk_bytes;
	r->n_slots = m->n_slots;
	r->places = fl_shm_places(r->shm);
	r->n_places = m->max_places < FL_WORD_PLACES ? m->max_places : FL_WORD_PLACES;
	r->processes_at = m->processes_at;
	r->slots_at = m->slots_at;
	r->slot_bytes = m->slot_bytes;
	r->number = number;
	r->n_readers = s->n_readers;
	r->n_counters = s->counter_bytes / 8;
	r->n_cells = s->cell_bytes / sizeof(struct flick_record);
	r->counts = s->action == FL_ACT_COUNT;
	r->slotless = NO_THREAD;
	r->sifts = s->windows.rate != 0;
}

int fl_reader_open(struct fl_reader **out, struct fl_region *m, const struct fl_sink *sink,
		   uint32_t number)
{
	struct fl_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->shm = m;
	r->session = &m->session[0];
	r->sink = *sink;
	copy_constants(r, m, number);
	r->lives = calloc(r->n_slots, sizeof(*r->lives));
	r->copy = malloc(COPIED * sizeof(struct flick_record));
	r->made = malloc(COPIED * sizeof(*r->made));
	if (!r->lives || !r->copy || !r->made ||
	    fl_pool_open(&r->pool, m, number, r->n_readers)) {
		fl_reader_close(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

static void forget_counted(struct fl_reader *r, struct life *l)
{
	if (l->counted)
		munmap(l->counted, r->n_counters * 8ull);
	l->counted = NULL;
}

void fl_reader_close(struct fl_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->lives && i < r->n_lives; i++)
		forget_counted(r, &r->lives[i]);
	fl_filter_free(&r->filter);
	fl_pool_close(&r->pool);
	free(r->threads);
	free(r->lives);
	free(r->copy);
	free(r->made);
	free(r);
}

const struct fl_thread *fl_reader_threads(const struct fl_reader *r, size_t *n)
{
	*n = r->n_threads;
	return r->threads;
}

/* ---- threads --------------------------------------------------------------- */

static uint64_t sum_lost(const struct fl_thread *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < FL_N_LOST; i++)
		sum += t->lost[i];
	return sum;
}

/* Take losses as they are now, so that the equation of struct fl_thread holds again. */
static void refresh(struct fl_thread *t, const uint64_t *lost)
{
	for (size_t i = 0; i < FL_N_LOST; i++)
		t->lost[i] = load_relaxed(&lost[i]);
	t->produced = t->delivered + t->filtered + sum_lost(t);
}

/* NO_THREAD when there is no memory. */
static uint32_t add_thread(struct fl_reader *r)
{
	if (r->n_threads == r->room) {
		size_t room = r->room ? r->room * 2 : 64;
		struct fl_thread *t = realloc(r->threads, room * sizeof(*t));

		if (!t)
			return NO_THREAD;
		r->threads = t;
		r->room = room;
	}
	r->threads[r->n_threads] = (struct fl_thread){ 0 };
	return (uint32_t)r->n_threads++;
}

/* The thread's number in the session. */
static uint32_t thread_number(const struct fl_reader *r, const struct life *l)
{
	return r->number + l->thread * r->n_readers;
}

/* Threads that never had a slot share one entry of threads[], so that sums match. */
static void count_slotless(struct fl_reader *r, bool target_gone)
{
	struct fl_thread all = { .name = "(no slot)" };

	if (r->number)
		return;			/* the first reader's business */
	refresh(&all, r->session->lost);
	if (all.produced && r->slotless == NO_THREAD)
		r->slotless = add_thread(r);
	if (r->slotless == NO_THREAD)
		return;
	all.ended = target_gone;
	r->threads[r->slotless] = all;
}

/* ---- lives ----------------------------------------------------------------- */

static struct fl_slot *slot_of(const struct fl_reader *r, uint32_t number)
{
	return (void *)((char *)r->shm + r->slots_at + number * r->slot_bytes);
}

static struct fl_process *process_of(const struct fl_reader *r, const struct life *l)
{
	return (struct fl_process *)((char *)r->shm + r->processes_at) + l->process;
}

/* If exec has replaced the life's image, the row belongs to another image by now. */
static uint32_t heeded_now(const struct fl_reader *r, const struct life *l)
{
	/* (O) pairs with (N) in processes.c */
	uint32_t heeded = load_acquire(&process_of(r, l)->heeded);

	return load_relaxed(&process_of(r, l)->image) == l->image ? heeded : l->heeded;
}

static uint32_t program_now(const struct fl_reader *r, const struct life *l)
{
	uint32_t program = load_relaxed(&process_of(r, l)->program);

	return load_relaxed(&process_of(r, l)->image) == l->image &&
	       program <= FL_MAX_PROGRAMS ? program : 0;
}

static bool adopt(struct fl_reader *r, uint32_t number)
{
	struct fl_slot *s = slot_of(r, number);
	uint32_t thread = add_thread(r);
	struct fl_thread *t;

	if (thread == NO_THREAD)
		return false;
	t = &r->threads[thread];
	r->lives[r->n_lives] = (struct life){
		.slot = s, .ring = &s->ring[0], .number = number, .thread = thread,
		.image = load_relaxed(&s->image),
		.process = load_relaxed(&s->process) % FL_MAX_PROCESSES,
		.heeded = load_relaxed(&s->heeded),
	};
	t->tid = load_relaxed(&s->tid);
	t->pid = load_relaxed(&process_of(r, &r->lives[r->n_lives])->pid);
	t->image = r->lives[r->n_lives].image;
	t->program = program_now(r, &r->lives[r->n_lives]);
	memcpy(t->name, s->name, sizeof(t->name) - 1);
	fl_os_thread_name_of(t->pid, t->tid, t->name);
	refresh(t, s->ring[0].lost);
	fl_lease_begin(&r->lives[r->n_lives++].lease, s, &r->pool);
	return true;
}

static bool is_adopted(const struct fl_reader *r, const struct fl_slot *s)
{
	for (size_t i = 0; i < r->n_lives; i++)
		if (r->lives[i].slot == s)
			return true;
	return false;
}

/* adopt_rest() may have found the slot before its bit was there. */
static bool is_due(const struct fl_reader *r, uint32_t number)
{
	struct fl_slot *s = slot_of(r, number);

	/* (L) pairs with (K) in thread.c */
	return load_acquire(&s->state) == FL_SLOT_LIVE &&
	       !(r->is_over && is_adopted(r, s));
}

/* A slot that cannot be taken in now keeps its bit. */
static void adopt_word(struct fl_reader *r, uint32_t word, uint64_t bits)
{
	for (; bits; bits &= bits - 1) {
		uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(bits);

		if (slot < r->n_slots && r->n_lives < r->n_slots && is_due(r, slot) &&
		    !adopt(r, slot))
			__atomic_fetch_or(&r->session->fresh[word], bits & -bits,
					  __ATOMIC_RELAXED);
	}
}

/* The bits of this reader's slots in word `w` of fresh[]. */
static uint64_t own_bits(const struct fl_reader *r, uint32_t w)
{
	uint32_t first = (r->number + r->n_readers - w * 64 % r->n_readers) % r->n_readers;
	uint64_t bits = 0;

	for (uint32_t i = first; i < 64; i += r->n_readers)
		bits |= 1ull << i;
	return bits;
}

static void adopt_fresh(struct fl_reader *r)
{
	for (uint32_t w = 0; w < (r->n_slots + 63) / 64; w++) {
		uint64_t own = load_relaxed(&r->session->fresh[w]);

		if (own)
			own &= own_bits(r, w);
		if (own)
			/* (H) pairs with (G) in thread.c */
			adopt_word(r, w, own & __atomic_fetch_and(&r->session->fresh[w], ~own,
								  __ATOMIC_ACQUIRE));
	}
}

/* Adopt slots whose thread was killed after the slot was LIVE, but before its bit was set. No
 * event is in such a slot, but it has an end like any other. Slots that nobody ever had are not
 * looked at: a look would make a page for each. */
static void adopt_rest(struct fl_reader *r)
{
	uint32_t used = load_relaxed(&r->shm->n_slots_used);
	uint32_t n = used < r->n_slots ? used : r->n_slots;

	for (uint32_t i = r->number; i < n && r->n_lives < r->n_slots; i += r->n_readers)
		if (is_due(r, i))
			adopt(r, i);
}

/* ---- records --------------------------------------------------------------- */

/* Offset in the region of the chunk that is consumed next. */
static uint64_t chunk_start(const struct life *l)
{
	const struct fl_lease *a = &l->lease;

	return (uint64_t)a->page[a->consumed % FL_RING_CHUNKS] * FL_PAGE;
}

static void count_delivered(struct fl_reader *r, const struct life *l, uint64_t events)
{
	r->delivered += events;
	r->threads[l->thread].delivered += events;
	r->threads[l->thread].produced += events;
}

static void deliver(struct fl_reader *r, const struct life *l, const struct fl_batch *b,
		    uint64_t events)
{
	if (r->sink.feed)
		r->sink.feed(r->sink.arg, b);
	count_delivered(r, l, events);
}

/* Deliver the records that lie in a window. Other records are filtered. */
static void sift(struct fl_reader *r, struct life *l, struct fl_batch b)
{
	size_t left = b.n;

	for (; left; b.records += b.n) {
		struct fl_sifted s = fl_filter_next(&r->filter, &l->cursor, b.records, left);

		b.n = s.n;
		b.window = &s.window;
		left -= s.n;
		if (s.is_in) {
			deliver(r, l, &b, s.events);
			continue;
		}
		r->threads[l->thread].filtered += s.events;
		r->threads[l->thread].produced += s.events;
	}
}

static uint64_t pause_before(const struct life *l)
{
	uint64_t c = l->lease.consumed;

	return (uint64_t)load_relaxed(&l->ring->paused[c % FL_RING_CHUNKS]) * FL_PAUSE_TICKS;
}

/* Feed `n` records, of which some may be of unknown types. A pause belongs to the first run. */
static void feed_known(struct fl_reader *r, struct life *l, struct fl_batch *b,
		       const struct flick_record *of, size_t n)
{
	struct fl_known_records k;

	for (size_t at = 0; at < n; at += k.from + k.n) {
		k = fl_records_known(of + at, n - at, &l->rest);
		r->threads[l->thread].filtered += k.passed;
		r->threads[l->thread].produced += k.passed;
		b->records = of + at + k.from;
		b->n = k.n;
		if (r->sifts)
			sift(r, l, *b);
		else if (b->n)
			deliver(r, l, b, k.events);
		b->paused = 0;
	}
}

/* Make the records of a word's accesses: how many. A word whose place is not known makes one
 * record, which is padding. */
static size_t make_records(const struct fl_reader *r, struct flick_record *of, uint64_t word)
{
	uint32_t place = fl_word_place(word), what, k = 0;

	do {
		what = place + k < r->n_places ? load_relaxed(&r->places[place + k].what) : 0;
		if (k && !(what & FL_PLACE_WITH))
			break;
		of[k] = (struct flick_record){
			.tsc = fl_word_address(word) + (what >> FL_PLACE_ABOVE),
			.probe = fl_typed(FLICK_TYPE_ACCESS, place + k),
			.sp = what & FL_PLACE_ACCESS,
		};
	} while (++k < FL_PLACES_IN_WORD);
	return k;
}

/* Give the sink the words that come next, up to a record, if it takes words: how many; 0: none.
 * Padding is only at the end. */
static size_t hand_words(struct fl_reader *r, const struct life *l, const uint64_t *words,
			 size_t n)
{
	struct fl_words w = {
		.thread = thread_number(r, l), .of = words, .n = n,
		.places = r->places, .n_places = r->n_places,
	};
	size_t padding;

	if (!r->give_words || r->sifts || l->rest)
		return 0;
	while (w.n && load_relaxed(&words[w.n - 1]) == FL_WORD_NOTHING)
		w.n--;
	padding = n - w.n;
	n = w.n;
	if (n)
		r->give_words(r->sink.arg, &w);
	count_delivered(r, l, w.n);
	return w.n + (w.n == n ? padding : 0);
}

static void feed_words(struct fl_reader *r, struct life *l, struct fl_batch *b,
		       const uint64_t *words, size_t n)
{
	if (hand_words(r, l, words, n))
		return;
	while (n && words[n - 1] == FL_WORD_NOTHING)
		n--;
	for (size_t some; n; feed_known(r, l, b, r->made, some))
		for (some = 0; n && some <= COPIED - FL_PLACES_IN_WORD; words++, n--)
			some += make_records(r, &r->made[some], *words);
}

static void feed(struct fl_reader *r, struct life *l, uint64_t upto)
{
	const char *chunk = (const char *)r->shm + chunk_start(l);
	struct fl_batch b = { .thread = thread_number(r, l), .paused = pause_before(l) };
	struct fl_run_of_words w;

	if (l->taken)
		b.paused = 0;
	for (size_t n, at; l->taken < upto; l->taken += at * sizeof(*r->copy)) {
		n = (upto - l->taken) / sizeof(*r->copy);
		at = hand_words(r, l, (const uint64_t *)(chunk + l->taken), n);
		if (at)
			continue;
		n = n < 2 * COPIED ? n : 2 * COPIED;
		memcpy(r->copy, chunk + l->taken, n * sizeof(*r->copy));
		for (at = 0; at < n; at += w.n) {
			w = fl_records_run(r->copy + at, n - at, l->rest);
			if (!w.n)
				break;
			if (w.are_accesses)
				feed_words(r, l, &b, r->copy + at, w.n);
			else
				feed_known(r, l, &b, (void *)(r->copy + at), w.n / 2);
		}
		at = at ? at : n;	/* half a record alone is not from flick */
	}
}

void fl_reader_give_words(struct fl_reader *r,
			  void (*give)(void *arg, struct fl_words *))
{
	r->give_words = give;
}

/* Is it known in which windows the records lie that have been loaded? */
static bool can_tell(struct fl_reader *r)
{
	r->untold = r->sifts && !fl_filter_look(&r->filter, r->shm, r->is_over);
	return !r->untold;
}

/* Note how full the ring is. Its length is what is granted, which may be less than it wants. */
static void note_full(struct fl_reader *r, const struct fl_lease *a, uint64_t chunks)
{
	uint32_t full = (uint32_t)(chunks * 1000 / fl_lease_length(a));

	r->fullest = full > r->fullest ? full : r->fullest;
}

/* A thread may choose a name after it has met its first probes. So the name is asked for with
 * the first chunk, and once in each tick in which the thread filled some. The reader asks, not
 * the thread: the target may not be allowed to ask, or may be killed for it. */
static void note_name(struct fl_reader *r, struct life *l, uint64_t filled)
{
	struct fl_thread *t = &r->threads[l->thread];

	if (filled == l->named_filled || (l->named_filled && l->named_tick == r->tick_ns))
		return;
	l->named_filled = filled;
	l->named_tick = r->tick_ns;
	fl_os_thread_name_of(t->pid, t->tid, t->name);
}

/* Take all chunks below `filled`. A number above what was granted is not from flick. */
static bool take_chunks(struct fl_reader *r, struct life *l, uint64_t filled)
{
	struct fl_lease *a = &l->lease;

	if (filled - a->consumed > a->granted - a->consumed)
		return false;
	if (!can_tell(r))
		return false;
	note_name(r, l, filled);
	fl_lease_grow(a, &r->pool, filled);
	note_full(r, a, filled - a->consumed);
	while (a->consumed != filled) {
		feed(r, l, r->chunk_bytes);
		fl_own_lines((const char *)r->shm + chunk_start(l), r->chunk_bytes);
		l->taken = 0;
		fl_lease_next(a, &r->pool);
	}
	fl_lease_wake(a);
	return true;
}

/* Bytes of the next chunk that are committed when `ptr` lies at `offset` of the
 * region; see the head. */
static uint64_t half_filled(const struct fl_reader *r, const struct life *l,
			    uint64_t offset)
{
	uint64_t start = chunk_start(l);

	return l->lease.consumed < l->lease.granted && offset > start &&
	       offset <= start + r->chunk_bytes &&
	       (offset - start) % sizeof(uint64_t) == 0 ? offset - start : 0;
}

static void take_half(struct fl_reader *r, struct life *l)
{
	const struct fl_ring *g = l->ring;
	uint64_t data = r->slots_at + l->number * r->slot_bytes + FL_SLOT_HEADER_BYTES;
	uint64_t filled, ptr, upto;

	filled = load_acquire(&g->filled);		/* (B) pairs with (A) in ring.c */
	FL_POINT("drain.looked");
	ptr = load_acquire(&g->ptr);			/* (F) pairs with (E) in ring.c */
	if (!take_chunks(r, l, filled))
		return;
	upto = half_filled(r, l, ptr - load_relaxed(&g->data) + data);
	if (upto > l->taken)
		feed(r, l, upto);
}

/* Has the thread stood still since the last tick? */
static bool is_idle(struct life *l)
{
	uint64_t filled = load_relaxed(&l->ring->filled);	/* only compared */
	uint64_t ptr = load_relaxed(&l->ring->ptr);
	bool idle = filled == l->seen_filled && ptr == l->seen_ptr;

	l->seen_filled = filled;
	l->seen_ptr = ptr;
	return idle;
}

/* ---- counters -------------------------------------------------------------- */

/* How many counters may be in use. A look at a counter makes its page, so no others are looked
 * at. A region without sites is a test's. */
static uint32_t n_counters(const struct fl_reader *r)
{
	uint32_t n = load_relaxed(&r->shm->n_sites);

	return n && n < r->n_counters ? n : r->n_counters;
}

/* Has the life memory for what was delivered of its counters? It is as sparse as they are. */
static bool has_counted(struct fl_reader *r, struct life *l)
{
	void *p = l->counted;

	if (!p)
		p = mmap(NULL, r->n_counters * 8ull, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	l->counted = p == MAP_FAILED ? NULL : p;
	return l->counted;
}

/* Deliver `n` calls of probe i. Where there is a ring, too, counters count the same calls once
 * more: these are no events. */
static void take_counter(struct fl_reader *r, const struct life *l, uint32_t i, uint64_t n)
{
	struct fl_thread *t = &r->threads[l->thread];

	r->heeded = l->heeded;
	if (r->sink.count)
		r->sink.count(r->sink.arg, thread_number(r, l), i, n);
	if (!r->counts)
		return;
	r->delivered += n;
	t->delivered += n;
	t->produced += n;
}

/* Deliver what is new of one counter. At its thread's end the counter becomes 0, for the next
 * thread. */
static void take_new(struct fl_reader *r, struct life *l, uint64_t *counter, uint32_t i,
		     bool ended)
{
	uint64_t n = fl_count_of(load_relaxed(counter));
	uint64_t before = l->counted ? l->counted[i] : 0;

	if (n && ended)
		*counter = 0;
	if (n <= before)
		return;
	if (l->counted)
		l->counted[i] = n;
	take_counter(r, l, i, n - before);
}

/* Deliver what is new of all counters. There may be a million: only pages that threads of the
 * slot have counted in are looked at. */
static void take_counters(struct fl_reader *r, struct life *l, bool ended)
{
	uint64_t *counters = (void *)((char *)l->slot + FL_SLOT_HEADER_BYTES);
	uint64_t begin = (uint64_t)((char *)counters - (char *)r->shm);
	uint64_t end = begin + n_counters(r) * 8ull, from = begin, to = end;

	for (; fl_shm_touched(r->shm, &from, &to); from = to, to = end) {
		for (uint64_t i = (from - begin) / 8; i < (to - begin) / 8; i++)
			if (load_relaxed(&counters[i]))
				take_new(r, l, &counters[i], (uint32_t)i, ended);
	}
}

/* Deliver counts of paths, which are events beside those in the ring. */
static void take_cells(struct fl_reader *r, const struct life *l)
{
	struct fl_cells c = {
		.shm = r->shm,
		.at = (uint64_t)((char *)l->slot - (char *)r->shm) + FL_SLOT_HEADER_BYTES +
		      r->n_counters * 8ull,
	};
	struct fl_batch b = { .thread = thread_number(r, l), .records = r->made };
	uint64_t paths;

	while (r->n_cells && (b.n = fl_cells_next(&c, r->made, COPIED, &paths)))
		deliver(r, l, &b, paths);
}

/* A chunk that is being filled is taken as far as it is written. The RULE of the head of this
 * file holds while the thread runs, too. */
void fl_reader_take(struct fl_reader *r)
{
	adopt_fresh(r);
	can_tell(r);
	for (size_t i = 0; !r->counts && i < r->n_lives; i++)
		take_half(r, &r->lives[i]);
}

/* Deliver counts of all threads that have begun, also of those that were not known yet. */
void fl_reader_count(struct fl_reader *r)
{
	adopt_fresh(r);
	for (size_t i = 0; i < r->n_lives; i++) {
		struct life *l = &r->lives[i];
		uint32_t heeded = heeded_now(r, l);

		if (!has_counted(r, l))
			continue;
		take_counters(r, l, false);
		l->heeded = heeded;	/* before all counts that follow */
	}
}

uint32_t fl_reader_heeded(const struct fl_reader *r)
{
	return r->heeded;
}

/* ---- the end of a thread ---------------------------------------------------- */

/* The kernel has marked the owner, or exec has replaced the thread's image. */
static bool has_ended(const struct fl_reader *r, const struct life *l)
{
	/* ordering: none of ours, the exec was before the new number */
	return fl_owner_died(&l->slot->owner) ||
	       l->image != __atomic_load_n(&process_of(r, l)->image, __ATOMIC_ACQUIRE);
}

static void free_slot(struct fl_reader *r, const struct life *l)
{
	l->ring->filled = 0;
	memset(l->ring->lost, 0, sizeof(l->ring->lost));
	/* (I) pairs with (J) in thread.c */
	store_release(&l->slot->state, FL_SLOT_FREE);
	store_relaxed(&r->shm->free_hint, l->number);
}

/* End a life. When the recording is over, a thread may be left that writes for a while: its
 * slot and its chunks stay its own. */
static void end_life(struct fl_reader *r, struct life *l)
{
	struct fl_thread *t = &r->threads[l->thread];

	__atomic_fetch_add(&r->session->seldom.n_taken, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);	/* (V) pairs with (W) in probe/edge.c */
	take_counters(r, l, true);
	take_cells(r, l);
	forget_counted(r, l);
	refresh(t, l->ring->lost);
	t->ended = true;
	t->claimed_tsc = load_relaxed(&l->slot->claimed_tsc);
	t->begun_tsc = load_relaxed(&l->slot->begun_tsc);
	t->to_ns = fl_os_monotonic_ns();
	if (r->sink.thread_end)
		r->sink.thread_end(r->sink.arg, thread_number(r, l), l->alive);
	if (r->is_over) {
		store_relaxed(&l->slot->state, FL_SLOT_LEFT);
		return;
	}
	fl_lease_end(&l->lease, &r->pool);
	free_slot(r, l);
}

/* True when the life is over. The mark is read first: see the head of this file. */
static bool drain(struct fl_reader *r, struct life *l, bool target_gone, bool tick)
{
	uint64_t now = fl_arch_ticks();
	bool ended = target_gone || has_ended(r, l);

	if (!ended)
		l->alive = now;
	if (!r->counts) {
		/* (B) pairs with (A) in ring.c */
		take_chunks(r, l, load_acquire(&l->ring->filled));
		if (ended || (tick && is_idle(l)))
			take_half(r, l);
	}
	if (ended && r->untold)
		return false;
	if (ended) {
		end_life(r, l);
	} else if (tick) {
		refresh(&r->threads[l->thread], l->ring->lost);
		fl_lease_tick(&l->lease, &r->pool);
	}
	return ended;
}

/* ---- the door --------------------------------------------------------------- */

static bool tick_is_due(struct fl_reader *r)
{
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);	/* no system call, unlike os/ */
	now = fl_ns(t.tv_sec, t.tv_nsec);
	if (now - r->tick_ns < TICK_NS)
		return false;
	r->tick_ns = now;
	return true;
}

/* Lower the rate before a thread must wait; see pace.c. */
static void adapt(struct fl_reader *r)
{
	struct fl_windows *w = &r->session->windows;

	if (w->adapts)
		store_relaxed(&w->rate, fl_pace_next(&r->pace, w->rate, r->fullest));
	r->fullest = 0;
}

uint64_t fl_reader_poll(struct fl_reader *r, bool target_gone)
{
	uint64_t before = r->delivered;
	bool tick = tick_is_due(r);

	r->is_over |= target_gone;
	adopt_fresh(r);
	if (target_gone)
		adopt_rest(r);
	can_tell(r);		/* edges are taken in where no thread has a slot, too */
	for (size_t i = 0; i < r->n_lives;) {
		if (drain(r, &r->lives[i], target_gone, tick))
			r->lives[i] = r->lives[--r->n_lives];
		else
			i++;
	}
	adapt(r);
	if (tick || target_gone) {
		fl_pool_tick(&r->pool);
		count_slotless(r, target_gone);
	}
	return r->delivered - before;
}

static bool has_work(const struct fl_reader *r)
{
	for (uint32_t w = 0; w < (r->n_slots + 63) / 64; w++)
		if (load_relaxed(&r->session->fresh[w]) &&
		    (load_relaxed(&r->session->fresh[w]) & own_bits(r, w)))
			return true;
	for (size_t i = 0; i < r->n_lives; i++)
		/* (B) pairs with (A) in ring.c */
		if (load_acquire(&r->lives[i].ring->filled) != r->lives[i].lease.consumed)
			return true;
	return false;
}

void fl_reader_wait(struct fl_reader *r, uint32_t max_us)
{
	struct fl_bell *bell = &r->session->bells[r->number];
	uint32_t rung = load_relaxed(&bell->rung);

	store_relaxed(&bell->sleeps, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (N) pairs with (M) in ring.c */
	if (!has_work(r))
		fl_os_futex_wait(&bell->rung, rung, max_us);
	store_relaxed(&bell->sleeps, 0);
}
