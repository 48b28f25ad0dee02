/*
 * public.h - private to channel/: the ring behind flick/channel.h.
 *
 *	struct fl_public | chunk 0 | chunk 1 | ...
 *
 * `hot.ptr`, `hot.limit`, `base` and `resume` are addresses in the producer's
 * process; the consumer uses their differences only, and checks them. Positions
 * that both sides use count words from the channel's first one.
 *
 * While words are not recorded ptr runs through the aside: two halves of 1 KiB,
 * used in turn, which nobody reads. So leaving words out costs the producer what
 * recording them costs, and the short path has no test for it. A lap through a half
 * is counted at the half's end; between the halves is a gap, so that this end is not
 * a place of the other half.
 *
 *	claimed - filled is 1 while a chunk is being written, else 0
 *	exhaustive, adaptive: claimed - freed <= chunks
 *	half in use = sum of laps % 2
 */
#ifndef FL_CHANNEL_PUBLIC_H
#define FL_CHANNEL_PUBLIC_H

#include <pthread.h>
#include <stdalign.h>

#include "../../include/flick/channel.h"
#include "base/base.h"
#include "channel/slot.h"

#define FL_PUBLIC_MAGIC 0x336e6863666cull	/* "lfchn3" */
#define FL_HALF_BYTES 1024u	/* of the aside; an adaptive ring's burst */
#define FL_HALF_STEP (FL_HALF_BYTES + 64)	/* from one half to the other */
#define FL_ASIDE_BYTES (FL_HALF_STEP + FL_HALF_BYTES)
#define FL_DEFERRED_WORDS 512u

enum fl_aside {		/* why words go aside; index of laps[] */
	FL_ASIDE_RATE,	/* adaptive: the rate leaves them out */
	FL_ASIDE_FULL,	/* adaptive: there is no room */
	FL_ASIDE_DEAD,	/* there is no room, and the consumer died */
	FL_N_ASIDE
};

enum fl_public_state {
	FL_PUBLIC_NEW,		/* no producer yet */
	FL_PUBLIC_OPEN,		/* a producer, or its words */
	FL_PUBLIC_DRAINED	/* no producer any more; all was delivered */
};

_Static_assert(offsetof(struct flick_channel, ptr) == 0 &&
	       offsetof(struct flick_channel, word_limit) == 24, "CHANNEL_* of word.S");

/* The deferred queue has words of handlers that interrupted an enqueue:
 * deferred[0..deferred_n). deferred_moved says how many of these are in the ring: the
 * count shifted left by one; or, while the producer moves them, the position of
 * deferred[0], shifted likewise, plus 1. That is one word, so that a producer killed in
 * between leaves an exact count. */
struct fl_public {
	struct flick_channel hot;

	alignas(64) char *base;		/* of chunk 0, producer's address; W producer */
	char *resume;			/* where the ring goes on; W producer, R consumer */
	char *rested;			/* where an adaptive ring went aside last */
	uint64_t claimed;		/* chunks; producer only */
	uint64_t aside_left;		/* halves still to go; producer only */
	uint32_t aside_kind;		/* enum fl_aside; W producer */
	uint32_t moving;		/* 1: ptr and resume are these bytes behind base; ... */
	uint64_t ptr_at, resume_at;	/* ... W who becomes the producer */

	alignas(64) uint64_t filled;	/* chunks; W producer (A), R consumer (B) */
	uint64_t flushed;		/* flushes; W producer (I), R consumer (J) */
	uint64_t laps[FL_N_ASIDE];	/* W producer */
	uint32_t waiting;		/* 1: producer waits for room; W producer, 0 by
					 * consumer */
	uint32_t state;			/* DRAINED by consumer (Q), OPEN by
					 * producer (K) */

	alignas(64) uint64_t consumed;	/* words; W consumer (C), R producer (D) */
	uint64_t left_out;		/* of `consumed`: sampling took another burst */
	uint64_t overwritten;		/* of `consumed`: the consumer was too slow */
	uint64_t deferred_delivered;	/* words that came from the deferred queue directly */
	uint32_t freed_word;		/* counts what makes room; the producer's futex */
	uint32_t skip;			/* adaptive: halves to leave out after each
					 * recorded; W consumer, R producer */

	alignas(64) uint32_t doorbell;	/* the consumer's futex */
	uint32_t sleeps;		/* 1 while the consumer sleeps */

	alignas(64) uint64_t magic;	/* constant, as all up to `bytes` */
	uint32_t mode, word_bytes;
	uint64_t chunk_bytes, chunks, burst_bytes, data_at, bytes;

	alignas(64) pthread_mutex_t producer;	/* robust; held while it lives */
	alignas(64) pthread_mutex_t consumer;

	alignas(64) uint64_t deferred_n;	/* W producer, signals blocked */
	uint64_t deferred_moved;
	uint64_t deferred_lost;
	uint32_t deferred_flush;		/* 1: a flush is due when all are moved */
	uint32_t pad1;
	alignas(64) uint64_t deferred[FL_DEFERRED_WORDS];
	alignas(64) char aside[FL_ASIDE_BYTES];
};

static inline struct fl_public *fl_public_of(const struct flick_channel *c)
{
	return (struct fl_public *)(uintptr_t)c;
}

static inline uint64_t fl_public_laps(const struct fl_public *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < FL_N_ASIDE; i++)
		sum += load_relaxed(&r->laps[i]);
	return sum;
}

/* Offset of `at` from the start of the half in use; beyond FL_HALF_BYTES when `at` is
 * elsewhere: in the ring, or at the end of a lap that is counted already. */
static inline uint64_t fl_public_in_half(const struct fl_public *r, const char *at)
{
	uint64_t aside = (uintptr_t)load_relaxed(&r->base) - r->data_at +
			 offsetof(struct fl_public, aside);

	return (uintptr_t)at - aside - fl_public_laps(r) % 2 * FL_HALF_STEP;
}

/* Is `at` anywhere in the aside? */
static inline bool fl_public_is_aside(const struct fl_public *r, const char *at)
{
	uint64_t aside = (uintptr_t)load_relaxed(&r->base) - r->data_at +
			 offsetof(struct fl_public, aside);

	return (uintptr_t)at - aside <= FL_ASIDE_BYTES;
}

/* Committed bytes of chunk `filled`, by the rule in drain.c; `pos` is where the
 * ring goes on. */
static inline uint64_t fl_public_half_filled(uint64_t filled, uint64_t pos,
					     uint64_t chunks, uint64_t chunk_bytes)
{
	uint64_t start = filled % chunks * chunk_bytes;

	return pos > start && pos <= start + chunk_bytes ? pos - start : 0;
}

/* Shared by public-put.c and public-make.c. Words in the ring so far; words in ring and
 * aside so far; words of the deferred queue that are in neither. */
uint64_t fl_public_position(const struct fl_public *r) FL_HIDDEN;
uint64_t fl_public_total(const struct fl_public *r) FL_HIDDEN;
uint64_t fl_public_deferred(const struct fl_public *r) FL_HIDDEN;
/* The long way to enqueue: flick_channel_put64() and _put32() go on to fl_public_put(), or
 * where there is no rseq to fl_public_put_guarded(). */
void fl_public_put(struct flick_channel *c, uint64_t word) FL_HIDDEN;
void fl_public_put_guarded(struct flick_channel *c, uint64_t word) FL_HIDDEN;
/* Wake the consumer if it sleeps. */
void fl_public_doorbell(struct fl_public *r) FL_HIDDEN;
/* Is the header whole and of this version, in `bytes` of memory? */
bool fl_public_is_valid(const struct fl_public *r, size_t bytes) FL_HIDDEN;
/* Does the producer's state make sense? See valid.c. */
bool fl_public_is_sound(const struct fl_public *r) FL_HIDDEN;
/* Take a robust mutex at once, also a dead owner's: 0 or -errno. */
int fl_public_lock(pthread_mutex_t *mutex) FL_HIDDEN;

#endif
