/*
 * public-take.c - the consumer's side of flick/channel.h.
 *
 * Hands out whole chunks where they lie, and gives them back. Hands out half-filled
 * chunks when they were flushed, or when their producer has gone; and copies of
 * bursts when sampling. Believes no value in the ring that could lead outside:
 * geometry and the consumer's own position are private copies. Sets an adaptive
 * producer's rate.
 *
 * The letters are explained in public-put.c, where their mates are.
 */
#include <string.h>

#include "channel/public.h"
#include "os/os.h"

#define MAX_SKIP 1023u

static uint64_t freed(const struct flick_consumer *k)
{
	return k->consumed / k->chunk_words;
}

/* Words of the first chunk not freed that were delivered already. */
static uint64_t taken(const struct flick_consumer *k)
{
	return k->consumed % k->chunk_words;
}

/* Full chunks not freed; -1 when the last one was taken before it was counted. */
static int64_t behind(const struct flick_consumer *k, uint64_t filled)
{
	return (int64_t)(filled - freed(k));
}

static const char *chunk_at(const struct flick_consumer *k, uint64_t chunk)
{
	return (const char *)k->channel + k->data_at +
	       chunk % k->chunks * k->chunk_words * k->word_bytes;
}

static uint64_t load_filled(const struct fl_public *r)
{
	/* (B) pairs with (A) in public-put.c */
	return load_acquire(&r->filled);
}

/* Does nobody fill this ring any more? All that the producer did is seen after this: the
 * kernel's mark, or the producer's own unlocking, is the release. */
static bool is_over(const struct fl_public *r)
{
	uint32_t word = fl_owner_word(&r->producer);

	return !word || fl_owner_died(&r->producer);
}

/* ---- giving back --------------------------------------------------------- */

/* If more than half of the ring is held, the rate falls to a half. If no more than an eighth is
 * held, a quarter fewer halves are left out. Called once a chunk. */
static void set_rate(struct fl_public *r, int64_t held, int64_t chunks)
{
	uint32_t skip = load_relaxed(&r->skip);

	if (r->mode != FLICK_ADAPTIVE)
		return;
	if (held * 2 > chunks)
		skip = skip * 2 + 1 < MAX_SKIP ? skip * 2 + 1 : MAX_SKIP;
	else if (held * 8 <= chunks)
		skip -= (skip + 3) / 4;
	store_relaxed(&r->skip, skip);
}

static void wake_producer(const struct flick_consumer *k, struct fl_public *r)
{
	/* (W) pairs with (X) in public-put.c */
	store_release(&r->freed_word, r->freed_word + 1);
	/* (P) pairs with (O) in public-put.c */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!load_relaxed(&r->waiting) ||
	    behind(k, load_relaxed(&r->filled)) + 2 > (int64_t)k->chunks)
		return;
	store_relaxed(&r->waiting, 0);
	fl_os_futex_wake(&r->freed_word, 1);
}

/* One store counts words as delivered, and gives their room back. */
static void consume(struct flick_consumer *k, uint64_t words)
{
	struct fl_public *r = fl_public_of(k->channel);
	uint64_t before = freed(k);

	k->consumed += words;
	/* (C) pairs with (D) in public-put.c */
	store_release(&r->consumed, k->consumed);
	if (freed(k) == before)
		return;
	set_rate(r, behind(k, load_relaxed(&r->filled)), (int64_t)k->chunks);
	wake_producer(k, r);
}

static void give_back(struct flick_consumer *k)
{
	struct fl_public *r = fl_public_of(k->channel);

	if (k->from_deferred) {
		store_relaxed(&r->deferred_delivered, r->deferred_delivered + k->from_deferred);
		store_relaxed(&r->deferred_n, 0);
		store_relaxed(&r->deferred_moved, 0);
		k->from_deferred = 0;
	}
	if (k->handed && r->mode != FLICK_SAMPLING)
		fl_own_lines(chunk_at(k, freed(k)) + taken(k) * k->word_bytes,
			     k->handed * k->word_bytes);
	if (k->handed)
		consume(k, k->handed);
	k->handed = 0;
}

/* ---- chunks -------------------------------------------------------------- */

static bool hand_out(struct flick_consumer *k, struct flick_batch *b, uint64_t upto)
{
	uint64_t from = taken(k);

	if (upto <= from)
		return false;
	b->words = chunk_at(k, freed(k)) + from * k->word_bytes;
	b->n = upto - from;
	k->handed = b->n;
	return true;
}

/* Words of chunk `filled` that are committed: the rule of drain.c. `resume` stands
 * for a pointer that has gone aside. */
static uint64_t in_half(const struct flick_consumer *k, const struct fl_public *r,
			uint64_t filled)
{
	/* (F) pairs with (E) in public-put.c;
	 * (F) pairs with (E) in include/flick/channel.h */
	const char *at = load_acquire(&r->hot.ptr);

	if (fl_public_is_aside(r, at))
		at = load_relaxed(&r->resume);
	return fl_public_half_filled(filled, (uintptr_t)at - (uintptr_t)r->base, k->chunks,
				     k->chunk_words * k->word_bytes) / k->word_bytes;
}

static bool hand_out_half(struct flick_consumer *k, struct flick_batch *b)
{
	const struct fl_public *r = fl_public_of(k->channel);
	uint64_t filled = load_filled(r);

	if (behind(k, filled) < 0)
		return false;
	if (behind(k, filled) > 0)		/* filled up meanwhile */
		return hand_out(k, b, k->chunk_words);
	return hand_out(k, b, in_half(k, r, filled));
}

/* Words that handlers left in the deferred queue of a producer that has gone. */
static bool hand_out_deferred(struct flick_consumer *k, struct flick_batch *b)
{
	struct fl_public *r = fl_public_of(k->channel);
	/* (T) pairs with (S) in public-put.c */
	uint64_t n = load_acquire(&r->deferred_n), m = fl_public_deferred(r);

	if (!m || n > FL_DEFERRED_WORDS || m > n)
		return false;
	for (uint64_t i = 0; i < m; i++)
		if (k->word_bytes == 4)
			((flick_word32 *)k->burst)[i] = (uint32_t)r->deferred[n - m + i];
		else
			k->burst[i] = r->deferred[n - m + i];
	b->words = k->burst;
	b->n = m;
	k->from_deferred = (uint32_t)m;
	return true;
}

static int take_chunk(struct flick_consumer *k, struct flick_batch *b, bool over)
{
	struct fl_public *r = fl_public_of(k->channel);
	/* (J) pairs with (I) in public-put.c */
	uint64_t flushed = load_acquire(&r->flushed);
	int64_t full = behind(k, load_filled(r));

	if (full < -1 || full > (int64_t)k->chunks)
		return -EINVAL;
	if (full > 0)
		return hand_out(k, b, k->chunk_words);
	if (!over && flushed == k->flushed)
		return FLICK_TAKE_NONE;
	if (hand_out_half(k, b))
		return FLICK_TAKE_BATCH;
	k->flushed = flushed;
	return FLICK_TAKE_NONE;
}

/* ---- bursts -------------------------------------------------------------- */

static void skip_chunks(struct flick_consumer *k, struct fl_public *r, uint64_t n)
{
	uint64_t words = n * k->chunk_words - taken(k);

	consume(k, words);
	store_relaxed(&r->overwritten, r->overwritten + words);
}

/* Copy a burst out of the first `n` words of the first chunk not freed. The burst's place moves
 * from chunk to chunk by the golden section, so that no phase of the producer's is seen more
 * often than another. */
static uint64_t copy_burst(struct flick_consumer *k, uint64_t n)
{
	uint64_t from = taken(k);
	uint64_t burst = k->burst_words < n - from ? k->burst_words : n - from;
	uint64_t lines = (n - from - burst) * k->word_bytes / 64 + 1;
	uint64_t line = (freed(k) * 0x9e3779b97f4a7c15ull >> 32) * lines >> 32;

	memcpy(k->burst, chunk_at(k, freed(k)) + from * k->word_bytes + line * 64,
	       burst * k->word_bytes);
	return burst;
}

/* A burst stands for the first `n` words of its chunk: the other words are left out. */
static int hand_out_burst(struct flick_consumer *k, struct flick_batch *b, uint64_t burst,
			  uint64_t n)
{
	struct fl_public *r = fl_public_of(k->channel);
	uint64_t others = n - taken(k) - burst;

	b->words = k->burst;
	b->n = burst;
	k->handed = burst;
	consume(k, others);
	store_relaxed(&r->left_out, r->left_out + others);
	return FLICK_TAKE_BATCH;
}

/* The producer writes chunk `filled`, at the place of chunk filled - chunks. */
static int take_burst(struct flick_consumer *k, struct flick_batch *b, bool over)
{
	struct fl_public *r = fl_public_of(k->channel);
	int64_t chunks = (int64_t)k->chunks, full;
	uint64_t burst;

	while ((full = behind(k, load_filled(r))) > 0) {
		if (full >= chunks)
			skip_chunks(k, r, (uint64_t)(full - chunks + 1));
		burst = copy_burst(k, k->chunk_words);
		/* (H) pairs with (G) in public-put.c */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (behind(k, load_relaxed(&r->filled)) < chunks)
			return hand_out_burst(k, b, burst, k->chunk_words);
	}
	burst = over && !full ? in_half(k, r, freed(k)) : 0;
	if (burst <= taken(k))
		return full < -1 ? -EINVAL : FLICK_TAKE_NONE;
	return hand_out_burst(k, b, copy_burst(k, burst), burst);
}

/* ---- the door ------------------------------------------------------------ */

int flick_channel_take(struct flick_consumer *k, struct flick_batch *b)
{
	struct fl_public *r = fl_public_of(k->channel);
	uint32_t state;
	bool over;
	int got;

	give_back(k);
	/* (L) pairs with (K) in public-make.c */
	state = load_acquire(&r->state);
	if (state != FL_PUBLIC_OPEN)
		return state == FL_PUBLIC_NEW ? FLICK_TAKE_NONE : FLICK_TAKE_END;
	over = is_over(r);
	got = r->mode == FLICK_SAMPLING ? take_burst(k, b, over) : take_chunk(k, b, over);
	if (got != FLICK_TAKE_NONE || !over)
		return got;
	if (hand_out_deferred(k, b))
		return FLICK_TAKE_BATCH;
	/* (Q) pairs with (R) in public-make.c */
	store_release(&r->state, FL_PUBLIC_DRAINED);
	return FLICK_TAKE_END;
}

static bool has_work(const struct flick_consumer *k)
{
	const struct fl_public *r = fl_public_of(k->channel);

	/* (J) pairs with (I) in public-put.c */
	return behind(k, load_filled(r)) > 0 || load_acquire(&r->flushed) != k->flushed ||
	       (load_relaxed(&r->state) == FL_PUBLIC_OPEN && is_over(r));
}

void flick_channel_wait(struct flick_consumer *k, uint32_t max_us)
{
	struct fl_public *r = fl_public_of(k->channel);
	/* (V) pairs with (U) in public-put.c; relaxed, (N) is before the look */
	uint32_t rung = load_relaxed(&r->doorbell);

	store_relaxed(&r->sleeps, 1);
	/* (N) pairs with (M) in public-put.c */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!has_work(k))
		fl_os_futex_wait(&r->doorbell, rung, max_us);
	store_relaxed(&r->sleeps, 0);
}

int flick_channel_consume(struct flick_consumer *k, struct flick_channel *c)
{
	struct fl_public *r = fl_public_of(c);
	int err = fl_public_lock(&r->consumer);

	if (err)
		return err;
	if (!fl_public_is_valid(r, r->bytes)) {
		pthread_mutex_unlock(&r->consumer);
		return -EINVAL;
	}
	memset(k, 0, sizeof(*k));
	k->channel = c;
	k->word_bytes = r->word_bytes;
	k->chunk_words = r->chunk_bytes / r->word_bytes;
	k->chunks = r->chunks;
	k->data_at = r->data_at;
	k->mode = r->mode;
	k->burst_words = (uint32_t)(r->burst_bytes / r->word_bytes);
	k->consumed = r->consumed;
	return 0;
}

void flick_channel_leave(struct flick_consumer *k)
{
	give_back(k);
	pthread_mutex_unlock(&fl_public_of(k->channel)->consumer);
}
