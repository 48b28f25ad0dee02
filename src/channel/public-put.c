/*
 * public-put.c - the producer's side of flick/channel.h.
 *
 * The short path appends while `ptr` has not reached `limit`. flick_channel_put64()
 * and _put32() are in the port (arch/x86_64/word.S); a cursor's short path is in the
 * header. Everything else happens here, once a chunk or less: counting a full chunk,
 * moving on to a free one, waiting for one, leaving words out, and keeping what
 * signal handlers enqueue while the thread is inside.
 *
 * WHERE THE NEXT WORD GOES
 *	To `ptr`, which points into one of two memories. In the chunk in hand words are
 *	recorded. In the aside, two halves of 1 KiB that nobody reads, words are left out. So
 *	leaving a word out is the same work as recording it, and the short path has no test
 *	for it. `resume` has the ring's place meanwhile. As in ring.c `filled` counts chunks
 *	that are full and `claimed` those that were begun; `consumed` says in words how many
 *	chunks are freed.
 *	`limit` is where the short path has to ask move_on(). Whoever wants the next word to
 *	ask earlier makes `limit` NULL. move_on() goes by the state alone, in this order:
 *
 *	1 ptr is in the aside, and there is more to leave out	it goes on there
 *	2 an adaptive ring has just recorded a burst, and the	aside, for as many halves as
 *	  consumer wants it to rest				`skip` says
 *	3 the chunk in hand has room				it goes on there
 *	4 the chunk in hand is full				it is counted, and the next one
 *								entered, if that is free
 *	5 none is free						adaptive, or the consumer died:
 *								aside for one half; else the
 *								producer waits, guard down
 *
 * PROTOCOL
 *	producer                                consumer (public-take.c)
 *	write word                              load_acquire filled        (B)
 *	store_release ptr            (E)        read chunks below filled
 *	... chunk is full:                      store_release consumed     (C)
 *	store_release filled + 1     (A)        freed_word + 1
 *	fence, when sampling         (G)        fence                      (P)
 *	fence                        (M)        wake if waiting
 *	wake if the consumer sleeps             ... flushed, or no producer:
 *	load_acquire consumed        (D)        load_acquire ptr           (F)
 *	no room: waiting = 1, fence  (O)        ... nothing to do:
 *	load_acquire consumed, futex_wait       sleeps = 1, fence          (N)
 *	... flush:                              load_acquire filled, futex_wait
 *	store_release flushed + 1    (I)        ... sampling: copy the burst
 *	                                        fence                      (H)
 *	                                        load filled again
 *
 *	guard   the thread                      a handler that interrupts it
 *	0       one word, a restartable         enqueues, and is through; what was
 *	        sequence: loads ptr and         interrupted in the sequence never
 *	        word_limit, writes, stores ptr  was, and the word is enqueued here
 *	        (without rseq, with the guard up: word_limit is nobody's)
 *	1       word_limit = NULL               enqueues, and is through
 *	1       here, or with a cursor:         appends to the deferred queue; limit = NULL,
 *	        loads ptr, writes, stores ptr   word_limit = 1
 *	1       NULL? word_limit = limit        enqueues, while word_limit lets it
 *	0       is done                         enqueues behind it
 *
 * INVARIANT
 *	1. Every word below `ptr` is whole, and none is overwritten by its own
 *	   producer before it was delivered, unless sampling.
 *	2. fl_public_total() is the number of words enqueued at every instruction,
 *	   so that SIGKILL at any of them leaves an exact count.
 *	3. A burst that the consumer delivers was not overwritten meanwhile.
 *	4. The thread's state can be taken up where a handler abandoned it by
 *	   siglongjmp(): see move_on().
 *	5. Neither side sleeps when what it waits for has happened, or only for a time-out.
 * WHY
 *	1. The store of `ptr` commits. `ptr` is loaded with the guard up and
 *	   word_limit NULL, so no handler can use the same place; with the guard
 *	   down `ptr` is past the word. Or `ptr` is loaded in a restartable sequence,
 *	   of which nothing is left when a handler comes before the store (OS5).
 *	   seek_room() enters chunk c only when c - freed < chunks was seen at (D).
 *	   The head of drain.c proves the half-filled chunk.
 *	2. Each of these is one store: a word (ptr), a chunk counted (filled; the
 *	   offset in the chunk falls to 0 with it), a lap counted (laps; ptr is in
 *	   the other half from then on), going aside and back (ptr; `resume` has
 *	   the ring's place before). A deferred word is in exactly one of queue and
 *	   ring by `deferred_moved`, see public.h.
 *	3. Words of chunk c + n are written behind (G), and the burst of c is read
 *	   before (H): if the burst has a word of c + n, then filled >= c + n is seen.
 *	4. While anything is half done, `limit` is NULL and everything is worked out
 *	   anew from ptr, filled and claimed.
 *	5. (M) and (N), (O) and (P) stand between a store and a load on either side.
 *	   A sleeper reads the futex's value before it looks, and names that value to
 *	   the kernel. A sleeper that reads the new value sees what it was changed
 *	   for: that is stored before the value, (U) and (W), and the sleeper's fence
 *	   is between its two looks, (V) and (X). By (U), too, `sleeps` = 0 is not
 *	   stored over the next wait's 1.
 * FAILURE
 *	The consumer dies: an exhaustive producer goes on into the aside, and words
 *	that it leaves out are counted. The deferred queue is full: the handler's
 *	word is lost, and counted.
 */
#include "arch/arch.h"
#include "channel/public.h"
#include "os/os.h"

#define WAIT_US 10000
#define SPINS 2048		/* before a full ring is slept on: some 30 us */

/* ---- where the producer stands ------------------------------------------- */

static uint64_t words_of(const struct fl_public *r, uint64_t bytes)
{
	return r->word_bytes == 4 ? bytes / 4 : bytes / 8;
}

static char *chunk_start(const struct fl_public *r, uint64_t chunk)
{
	return r->base + chunk % r->chunks * r->chunk_bytes;
}

static char *chunk_end(const struct fl_public *r, uint64_t chunk)
{
	return chunk_start(r, chunk) + r->chunk_bytes;
}

static bool is_aside(const struct fl_public *r)
{
	return fl_public_is_aside(r, r->hot.ptr);
}

/* Where the ring's next word goes. */
static char *ring_at(const struct fl_public *r)
{
	return is_aside(r) ? r->resume : r->hot.ptr;
}

static void set_ring_at(struct fl_public *r, char *at)
{
	store_relaxed(is_aside(r) ? &r->resume : &r->hot.ptr, at);
}

uint64_t fl_public_position(const struct fl_public *r)
{
	uint64_t in_chunk = fl_public_half_filled(r->filled,
						  (uintptr_t)ring_at(r) - (uintptr_t)r->base,
						  r->chunks, r->chunk_bytes);

	return r->filled * words_of(r, r->chunk_bytes) + words_of(r, in_chunk);
}

uint64_t fl_public_total(const struct fl_public *r)
{
	uint64_t in = fl_public_in_half(r, r->hot.ptr);
	uint64_t aside = fl_public_laps(r) * FL_HALF_BYTES;

	return fl_public_position(r) +
	       words_of(r, aside + (in <= FL_HALF_BYTES ? in : 0));
}

/* ---- chunks -------------------------------------------------------------- */

void fl_public_doorbell(struct fl_public *r)
{
	/* (M) pairs with (N) in public-take.c */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!load_relaxed(&r->sleeps))
		return;
	store_relaxed(&r->sleeps, 0);
	/* (U) pairs with (V) in public-take.c */
	__atomic_fetch_add(&r->doorbell, 1, __ATOMIC_RELEASE);
	fl_os_futex_wake(&r->doorbell, 1);
}

/* Are `n` chunks from number `filled` on free? */
static bool is_free(const struct fl_public *r, uint64_t n)
{
	/* (D) pairs with (C) in public-take.c */
	uint64_t consumed = load_acquire(&r->consumed);

	return r->filled - consumed / words_of(r, r->chunk_bytes) + n <= r->chunks;
}

static void count_chunk(struct fl_public *r)
{
	/* (A) pairs with (B) in public-take.c */
	store_release(&r->filled, r->filled + 1);
	if (r->mode == FLICK_SAMPLING)
		/* (G) pairs with (H) in public-take.c */
		__atomic_thread_fence(__ATOMIC_RELEASE);
	FL_POINT("public.counted");
	fl_public_doorbell(r);
}

/* Is there room for a word in the ring? Then the word's place is ring_at(). */
static bool seek_room(struct fl_public *r)
{
	if (r->claimed != r->filled && ring_at(r) == chunk_end(r, r->filled))
		count_chunk(r);
	if (r->claimed != r->filled)
		return true;
	if (r->mode != FLICK_SAMPLING && !is_free(r, 1))
		return false;
	set_ring_at(r, chunk_start(r, r->filled));
	r->claimed = r->filled + 1;
	FL_POINT("public.moved");
	return true;
}

/* ---- the aside ----------------------------------------------------------- */

static char *half_start(const struct fl_public *r)
{
	return r->base - r->data_at + offsetof(struct fl_public, aside) +
	       fl_public_laps(r) % 2 * FL_HALF_STEP;
}

static void enter_half(struct fl_public *r)
{
	/* (E) pairs with (F) in public-take.c: `resume` is stored before */
	store_release(&r->hot.ptr, half_start(r));
	r->hot.limit = half_start(r) + FL_HALF_BYTES;
}

static void go_aside(struct fl_public *r, enum fl_aside why, uint64_t halves)
{
	store_relaxed(&r->resume, ring_at(r));
	store_relaxed(&r->aside_kind, why);
	r->aside_left = halves - 1;
	enter_half(r);
}

/* Count the lap that has come to its end; is there more to leave out? */
static bool stay_aside(struct fl_public *r)
{
	uint64_t in = fl_public_in_half(r, r->hot.ptr);

	if (in < FL_HALF_BYTES) {
		r->hot.limit = half_start(r) + FL_HALF_BYTES;
		return true;
	}
	if (in == FL_HALF_BYTES)
		store_relaxed(&r->laps[r->aside_kind], r->laps[r->aside_kind] + 1);
	r->rested = r->resume;
	if (!r->aside_left)
		return false;
	r->aside_left--;
	enter_half(r);
	return true;
}

/* ---- moving on ----------------------------------------------------------- */

/* With the guard up: find a place for the next word, ptr < limit; false when there is none
 * and the producer has to wait. The numbers are those of the head of this file. Also called in
 * a chunk's middle, when the deferred queue has words. */
static bool move_on(struct fl_public *r)
{
	uint64_t skip = load_relaxed(&r->skip);	/* the consumer changes it: read once */
	uint64_t in_ring;
	char *at;

	r->hot.limit = NULL;
	flick_in_order();
	if (is_aside(r)) {					/* 1 */
		if (stay_aside(r))
			return true;
	} else if (skip && r->hot.ptr != r->rested &&		/* 2 */
		   (uint64_t)(r->hot.ptr - r->base) % FL_HALF_BYTES == 0) {
		seek_room(r);			/* counts a chunk that is full */
		go_aside(r, FL_ASIDE_RATE, skip);
		return true;
	}
	if (!seek_room(r)) {					/* 5 */
		if (r->mode != FLICK_ADAPTIVE && !fl_owner_died(&r->consumer))
			return false;
		go_aside(r, r->mode == FLICK_ADAPTIVE ? FL_ASIDE_FULL : FL_ASIDE_DEAD, 1);
		return true;
	}
	at = ring_at(r);					/* 3, 4 */
	store_relaxed(&r->hot.ptr, at);		/* back from the aside, or as it is */
	flick_in_order();
	in_ring = (uint64_t)(at - r->base);
	r->hot.limit = skip ? r->base + fl_round_up(in_ring + 1, FL_HALF_BYTES) :
		       chunk_end(r, r->filled);
	return true;
}

static bool make_room(struct fl_public *r)
{
	return r->hot.ptr < r->hot.limit || move_on(r);
}

static void append(struct fl_public *r, uint64_t word)
{
	char *at = r->hot.ptr;

	if (r->word_bytes == 4)
		*(flick_word32 *)at = (uint32_t)word;
	else
		*(flick_word64 *)at = word;
	/* (E) pairs with (F) in public-take.c */
	store_release(&r->hot.ptr, at + r->word_bytes);
}

/* ---- the deferred queue ------------------------------------------------------------ */

/* How many words of the deferred queue are in the ring, or in the aside. */
static uint64_t moved(const struct fl_public *r)
{
	uint64_t m = load_relaxed(&r->deferred_moved);

	return m & 1 ? fl_public_total(r) - (m >> 1) : m >> 1;
}

uint64_t fl_public_deferred(const struct fl_public *r)
{
	uint64_t n = load_relaxed(&r->deferred_n), m = moved(r);

	return n > m ? n - m : 0;
}

/* Called by a handler that interrupted its thread inside. */
static void put_deferred(struct fl_public *r, uint64_t word)
{
	uint64_t mask, n;

	fl_os_signals_block(&mask);
	n = r->deferred_n;
	if (n < FL_DEFERRED_WORDS) {
		r->deferred[n] = word;
		/* (S) pairs with (T) in public-take.c */
		store_release(&r->deferred_n, n + 1);
	} else {
		store_relaxed(&r->deferred_lost, r->deferred_lost + 1);
	}
	store_relaxed(&r->hot.limit, NULL);	/* the next word comes to fl_public_put() */
	store_relaxed(&r->hot.word_limit, (char *)1);
	fl_os_signals_restore(&mask);
}

static void announce_flush(struct fl_public *r)
{
	/* (I) pairs with (J) in public-take.c */
	store_release(&r->flushed, r->flushed + 1);
	fl_public_doorbell(r);
}

static bool move_deferred(struct fl_public *r)
{
	uint64_t i = moved(r);

	store_relaxed(&r->deferred_moved, (fl_public_total(r) - i) << 1 | 1);
	for (; i < r->deferred_n; i++) {
		if (!make_room(r)) {
			store_relaxed(&r->deferred_moved, i << 1);
			return false;
		}
		append(r, r->deferred[i]);
	}
	FL_POINT("public.deferred.moved");
	store_relaxed(&r->deferred_n, 0);
	FL_POINT("public.deferred.empty");
	store_relaxed(&r->deferred_moved, 0);
	if (r->deferred_flush)
		announce_flush(r);
	r->deferred_flush = 0;
	return true;
}

/* With the guard up: the ring takes words that handlers left. False when the ring is full. */
static bool empty_deferred(struct fl_public *r)
{
	uint64_t mask;
	bool all;

	if (!load_relaxed(&r->deferred_n))
		return true;
	fl_os_signals_block(&mask);
	all = move_deferred(r);
	fl_os_signals_restore(&mask);
	return all;
}

/* ---- waiting ------------------------------------------------------------- */

/* Is there room for two chunks, or no consumer to wait for? One chunk would not do for long,
 * because the consumer is behind. */
static bool may_go_on(const struct fl_public *r)
{
	return is_free(r, 2) || fl_owner_died(&r->consumer);
}

/* With the guard down: a handler may come, and wait here as well. */
static void wait_room(struct fl_public *r)
{
	for (int i = 0; i < SPINS; i++) {
		if (may_go_on(r))
			return;
		fl_arch_pause();
	}
	for (;;) {
		/* (X) pairs with (W) in public-take.c; relaxed, (O) is before the look */
		uint32_t word = load_relaxed(&r->freed_word);

		store_relaxed(&r->waiting, 1);
		/* (O) pairs with (P) in public-take.c */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (may_go_on(r))
			return;
		FL_POINT("public.wait");
		fl_os_futex_wait(&r->freed_word, word, WAIT_US);
	}
}

/* ---- the door ------------------------------------------------------------ */

/* Enqueue with the guard up; false when there is no room. */
static bool try_put(struct fl_public *r, uint64_t word)
{
	if (!empty_deferred(r) || !make_room(r))
		return false;
	append(r, word);
	return true;
}

/* Words that a handler left keep the short path shut, so that the thread's next words do not
 * come before them. `limit` is made NULL again, because move_on() may have undone that. */
static void lower_guard(struct fl_public *r)
{
	FL_MUST(fl_public_is_sound(r));
	flick_in_order();
	if (load_relaxed(&r->deferred_n))
		store_relaxed(&r->hot.limit, NULL);
	flick_channel_publish(&r->hot, r->hot.ptr);
}

/* Called by the short path when it has no room, or was interrupted; and in a handler. */
void fl_public_put(struct flick_channel *c, uint64_t word)
{
	struct fl_public *r = fl_public_of(c);
	bool done;

	for (;;) {
		if (load_relaxed(&r->hot.guard)) {
			put_deferred(r, word);
			return;
		}
		flick_channel_enter(&r->hot);
		done = try_put(r, word);
		lower_guard(r);
		if (done)
			return;
		wait_room(r);
	}
}

/* The short path where there is no rseq: the guard is up from the load of ptr to its store. */
void fl_public_put_guarded(struct flick_channel *c, uint64_t word)
{
	struct fl_public *r = fl_public_of(c);
	bool done = false;

	if (!load_relaxed(&c->guard)) {
		store_relaxed(&c->guard, 1);
		flick_in_order();
		done = load_relaxed(&c->ptr) < load_relaxed(&c->limit);
		if (done)
			append(r, word);
		flick_in_order();
		store_relaxed(&c->guard, 0);
	}
	if (!done)
		fl_public_put(c, word);
}

/* Every word that the cursor has passed is committed before the guard goes down. */
char *flick_cursor_turn(struct flick_channel *c, char *at, uint64_t word)
{
	struct fl_public *r = fl_public_of(c);

	if (!at) {
		fl_public_put(c, word);
		return at;
	}
	flick_channel_publish(c, at);
	fl_public_put(c, word);
	flick_channel_enter(&r->hot);
	return load_relaxed(&c->ptr);
}

void flick_channel_flush(struct flick_channel *c)
{
	struct fl_public *r = fl_public_of(c);

	if (!load_relaxed(&r->hot.guard)) {
		flick_channel_enter(&r->hot);
		empty_deferred(r);
		lower_guard(r);
	}
	if (load_relaxed(&r->deferred_n))
		r->deferred_flush = 1;
	announce_flush(r);
}

void flick_channel_end(struct flick_channel *c)
{
	struct fl_public *r = fl_public_of(c);

	flick_channel_flush(c);
	pthread_mutex_unlock(&r->producer);
	fl_public_doorbell(r);
}

void flick_channel_recover(struct flick_channel *c)
{
	struct fl_public *r = fl_public_of(c);

	store_relaxed(&r->hot.limit, NULL);
	store_relaxed(&r->hot.word_limit, NULL);
	lower_guard(r);
}
