/*
 * flick/channel.h - carry words from one thread to another, fast.
 *
 * A ring with one producer and one consumer, in memory that the caller gives:
 * private between two threads, shared between two processes. Words go in one
 * by one, chunks come out.
 *
 *	flick_channel_bytes(&opt)		how much memory it takes
 *	flick_channel_init(memory, bytes, &opt, &c)	make it, once
 *
 *	flick_channel_produce(c)		the producing thread, once
 *	flick_channel_put64(c, word)		as often as you like
 *	flick_channel_flush(c)			what is there may be taken now
 *	flick_channel_end(c)			no more words
 *
 *	flick_channel_consume(&k, c)		the consuming thread, once
 *	flick_channel_take(&k, &batch)		a chunk, or what was flushed
 *	flick_channel_wait(&k, max_us)		until there may be more
 *	flick_channel_leave(&k)
 *
 * For a loop that produces much, a cursor keeps the ring's pointer in a register:
 *
 *	struct flick_cursor at = flick_channel_begin(c);
 *	for (...)
 *		flick_cursor_put64(c, &at, word);
 *	flick_channel_finish(c, &at);
 *
 * A word is enqueued when the ring's pointer has passed it: at the end of
 * flick_channel_put64(), or of flick_channel_commit(), flick_channel_finish()
 * or a full chunk with a cursor. What was enqueued outlives a producer that is
 * killed, and arrives exactly once. For every channel, at any time,
 *
 *	produced = delivered + lost (by cause) + filtered + held
 *
 * Calls that can fail return 0 or a negative error, see flick_error(), and have
 * then changed nothing. Words are copied as they are; every value is one.
 * flick_channel(3) says more, also what CLEAR and MAGIC were in the paper.
 */
#ifndef FLICK_CHANNEL_H
#define FLICK_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Called through the table of addresses at once, and not by way of a stub. */
#ifdef __has_attribute
#if __has_attribute(noplt)
#define FLICK_NO_PLT __attribute__((noplt))
#endif
#endif
#ifndef FLICK_NO_PLT
#define FLICK_NO_PLT
#endif

enum flick_channel_mode {
	FLICK_EXHAUSTIVE,	/* a full ring makes the producer wait */
	FLICK_SAMPLING,		/* never waits, overwrites; a burst of each chunk is taken */
	FLICK_ADAPTIVE		/* never waits, never overwrites: records less when it fills */
};

struct flick_channel_opt {
	size_t size;		/* sizeof(struct flick_channel_opt): lets it grow */
	uint32_t mode;		/* enum flick_channel_mode */
	uint32_t word_bytes;	/* 4 or 8; 0: 8 */
	uint32_t chunk_bytes;	/* a multiple of 1,024; 0: 131,072 */
	uint32_t chunks;	/* 2 to 65,536; 0: 16 */
	uint32_t burst_bytes;	/* sampling: of each chunk, a multiple of 64 up to
				 * 4,096; 0: 64 */
	uint32_t flags;		/* none yet; unknown bits are refused */
};

/* The start of the ring; its fields are for the functions below alone. */
struct flick_channel {
	char *ptr;		/* the next word's place; W producer */
	char *limit;		/* as far as ptr may go without a call; producer only */
	uint32_t guard;		/* 1 while the producer is inside; producer only */
	uint32_t word_bytes;	/* constant */
	char *word_limit;	/* `limit`; NULL while the producer is inside, 1 when a
				 * handler has left words meanwhile */
	uint64_t ahead;		/* a cursor reads lines so many bytes ahead; constant */
};

/* A place in the ring that is not published yet. */
struct flick_cursor {
	char *at, *end;
	uint64_t ahead;
};

struct flick_batch {
	const void *words;	/* valid until the next call with this consumer */
	size_t n;		/* words, not bytes */
};

#define FLICK_BURST_BYTES 4096

/* The consumer's own memory: what it knows of the ring without believing it. Its
 * fields are for the functions below alone. */
struct flick_consumer {
	struct flick_channel *channel;
	uint64_t chunk_words, chunks, data_at;	/* constant */
	uint32_t word_bytes, mode, burst_words;	/* constant */
	uint32_t from_deferred;		/* the batch handed out is of handlers' words */
	uint64_t consumed;		/* words of the ring, also those not delivered */
	uint64_t handed;		/* words of the ring in the batch handed out */
	uint64_t flushed;		/* the last flush that was answered */
	uint64_t burst[FLICK_BURST_BYTES / 8];
};

struct flick_channel_stats {
	size_t size;			/* sizeof(struct flick_channel_stats) */
	uint64_t produced;		/* words given to put */
	uint64_t delivered;		/* taken and given back */
	uint64_t filtered;		/* left out on purpose: sampled, or at a lower rate */
	uint64_t lost_consumer;		/* the ring was full and its consumer dead */
	uint64_t lost_full;		/* adaptive: the ring was full all the same */
	uint64_t lost_overwritten;	/* sampling: the consumer was too slow */
	uint64_t lost_nested;		/* too many from handlers at a time */
	uint64_t held;			/* in the ring, not delivered yet */
	uint32_t rate_one_in;		/* adaptive: one word of so many is recorded now */
	uint32_t ended;			/* 1: no producer, and everything was delivered */
};

enum flick_take { FLICK_TAKE_NONE, FLICK_TAKE_BATCH, FLICK_TAKE_END };

/* ---- both sides ---------------------------------------------------------- */

/* Memory for a channel; 0 when `opt` is not valid. NULL: all defaults. Pure. */
size_t flick_channel_bytes(const struct flick_channel_opt *opt);

/* Make a channel in `memory`, which must be aligned to 64 bytes. FLICK_E_OPTION,
 * -EINVAL for memory too small or not aligned. Does not block; not thread-safe
 * against any other call on the same memory. */
int flick_channel_init(void *memory, size_t bytes,
		       const struct flick_channel_opt *opt, struct flick_channel **c);

/* A channel that another process made, mapped here at any address. -EINVAL when
 * it is none of this version, or does not fit in `bytes`. */
int flick_channel_attach(void *memory, size_t bytes, struct flick_channel **c);

/* Fill `out`, whose size the caller has set. Exact when neither side is at work, a
 * killed producer or not; for a killed consumer see flick_channel(3).
 * FLICK_E_OPTION. Thread-safe, does not block. */
int flick_channel_stats(const struct flick_channel *c, struct flick_channel_stats *out);

/* ---- the producer -------------------------------------------------------- */

/* The calling thread produces from now on, until it calls flick_channel_end() or
 * ends. A channel whose last producer's words have all been delivered can be used
 * again. -EBUSY: it has a producer, or still holds words of one. Not signal-safe. */
int flick_channel_produce(struct flick_channel *c);

/* Enqueue a word: of 64 bits where word_bytes is 8, of 32 bits where it is 4. By
 * the producer alone, and by its signal handlers, which may interrupt this at any
 * point. Blocks while an exhaustive ring is full and its consumer lives, or has not
 * come yet. */
void flick_channel_put64(struct flick_channel *c, uint64_t word) FLICK_NO_PLT;
void flick_channel_put32(struct flick_channel *c, uint32_t word) FLICK_NO_PLT;

/* What a cursor calls once a chunk, or from a handler. Blocks likewise. */
char *flick_cursor_turn(struct flick_channel *c, char *at, uint64_t word);

/* The consumer may take all that was enqueued before. Signal-safe. Does not
 * block. No effect in sampling mode. From a handler that interrupted an enqueue: the
 * handler's own words may be taken when the thread has enqueued its next one. */
void flick_channel_flush(struct flick_channel *c);

/* No more words from this thread. Does not block. Not signal-safe. */
void flick_channel_end(struct flick_channel *c);

/* After a handler that may have interrupted an enqueue was left by siglongjmp():
 * the word interrupted was enqueued or was not. An open cursor is void. */
void flick_channel_recover(struct flick_channel *c);

/* ---- the consumer -------------------------------------------------------- */

/* The calling thread consumes from now on. It may take over from one that died:
 * the batch that was not given back comes again. -EBUSY: there is another one.
 * -EINVAL: the ring is damaged. Not signal-safe. */
int flick_channel_consume(struct flick_consumer *k, struct flick_channel *c);

/* Give the last batch back and take the next: FLICK_TAKE_BATCH, FLICK_TAKE_NONE
 * when there is nothing now, FLICK_TAKE_END when there is no producer any more
 * and all was delivered; -EINVAL when the ring is damaged. Never blocks. */
int flick_channel_take(struct flick_consumer *k, struct flick_batch *batch);

/* Sleep until a chunk is full, a flush, or `max_us`. A producer's death rings no
 * bell: choose a time after which to look. May return early. */
void flick_channel_wait(struct flick_consumer *k, uint32_t max_us);

/* Give the last batch back, and the ring up. Another one may consume. */
void flick_channel_leave(struct flick_consumer *k);

#pragma GCC visibility pop

/* ---- a cursor ------------------------------------------------------------- */

typedef uint64_t __attribute__((may_alias)) flick_word64;
typedef uint32_t __attribute__((may_alias)) flick_word32;

/* What stands above is done before what stands below, as a handler that
 * interrupts this thread sees it. It is no instruction. */
static inline void flick_in_order(void)
{
	/* ordering: none between threads */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* From now on a handler that enqueues takes the slow path, and finds the guard up. One
 * that comes before is through before ptr is read. */
static inline void flick_channel_enter(struct flick_channel *c)
{
	__atomic_store_n(&c->guard, 1, __ATOMIC_RELAXED);
	flick_in_order();
	__atomic_store_n(&c->word_limit, NULL, __ATOMIC_RELAXED);
	flick_in_order();
}

/* The store of ptr is the commit; then the short path opens, but when a handler has
 * left words, and the guard goes down. */
static inline void flick_channel_publish(struct flick_channel *c, char *at)
{
	char *inside = NULL;

	/* (E) pairs with (F) in src/channel/public-take.c */
	__atomic_store_n(&c->ptr, at, __ATOMIC_RELEASE);
	flick_in_order();
	at = __atomic_load_n(&c->limit, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&c->word_limit, &inside, at, 0, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	flick_in_order();
	__atomic_store_n(&c->guard, 0, __ATOMIC_RELAXED);
}

/* Open a cursor. Until flick_channel_finish() this thread enqueues through it
 * alone; a handler may go on using the calls above or a cursor of its own. */
static inline struct flick_cursor flick_channel_begin(struct flick_channel *c)
{
	struct flick_cursor at = { NULL, NULL, 0 };

	if (__atomic_load_n(&c->guard, __ATOMIC_RELAXED))
		return at;		/* a handler's: every word takes the slow path */
	flick_channel_enter(c);
	at.at = __atomic_load_n(&c->ptr, __ATOMIC_RELAXED);
	at.end = __atomic_load_n(&c->limit, __ATOMIC_RELAXED);
	at.ahead = c->ahead;
	return at;
}

/* The word is in; the cursor stands in the chunk that follows. A handler's cursor
 * stays where it is, at its end. */
static inline void flick_cursor_follow(struct flick_channel *c, struct flick_cursor *at,
				       uint64_t word)
{
	at->at = flick_cursor_turn(c, at->at, word);
	at->end = at->at ? __atomic_load_n(&c->limit, __ATOMIC_RELAXED) : NULL;
}

static inline void flick_cursor_put64(struct flick_channel *c, struct flick_cursor *at,
				      uint64_t word)
{
	if (__builtin_expect(at->at >= at->end, 0)) {
		flick_cursor_follow(c, at, word);
		return;
	}
	*(flick_word64 *)at->at = word;
	__builtin_prefetch(at->at + at->ahead);
	at->at += 8;
}

static inline void flick_cursor_put32(struct flick_channel *c, struct flick_cursor *at,
				      uint32_t word)
{
	if (__builtin_expect(at->at >= at->end, 0)) {
		flick_cursor_follow(c, at, word);
		return;
	}
	*(flick_word32 *)at->at = word;
	__builtin_prefetch(at->at + at->ahead);
	at->at += 4;
}

/* What the cursor has passed is enqueued; the cursor stays open. */
static inline void flick_channel_commit(struct flick_channel *c,
					const struct flick_cursor *at)
{
	if (at->at)
		/* (E) pairs with (F) in src/channel/public-take.c */
		__atomic_store_n(&c->ptr, at->at, __ATOMIC_RELEASE);
}

/* Commit, and close the cursor. */
static inline void flick_channel_finish(struct flick_channel *c,
					const struct flick_cursor *at)
{
	if (at->at)
		flick_channel_publish(c, at->at);
}

#ifdef __cplusplus
}
#endif

#endif
