/*
 * unit/channel-public.c - flick/channel.h: words arrive whole, once and in order, or
 * a counter says why not, in each mode.
 *
 * timeout: 120
 */
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "channel-public-rig.h"
#include "channel/channel.h"
#include "channel/public.h"

#define KIB 1024u

/* ---- making -------------------------------------------------------------- */

static void options_out_of_range_are_refused(void **state)
{
	static const struct flick_channel_opt bad[] = {
		{ .size = 4 },
		{ .size = sizeof(bad[0]), .mode = 3 },
		{ .size = sizeof(bad[0]), .word_bytes = 2 },
		{ .size = sizeof(bad[0]), .chunk_bytes = 1000 },
		{ .size = sizeof(bad[0]), .chunk_bytes = 1u << 31 },
		{ .size = sizeof(bad[0]), .chunks = 1 },
		{ .size = sizeof(bad[0]), .chunks = 65537 },
		{ .size = sizeof(bad[0]), .burst_bytes = 100 },
		{ .size = sizeof(bad[0]), .burst_bytes = 8192 },
		{ .size = sizeof(bad[0]), .burst_bytes = 2048, .chunk_bytes = 1024 },
		{ .size = sizeof(bad[0]), .flags = 1 },
	};
	struct flick_channel *c = NULL;
	void *memory = pub_map(1 << 20);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(flick_channel_bytes(&bad[i]), 0);
		assert_int_equal(flick_channel_init(memory, 1 << 20, &bad[i], &c), FLE_OPTION);
	}
	assert_null(c);
	munmap(memory, 1 << 20);
}

static void memory_too_small_or_not_aligned_is_refused(void **state)
{
	size_t bytes = flick_channel_bytes(NULL);
	char *memory = pub_map(bytes + 64);
	struct flick_channel *c = NULL;

	(void)state;
	assert_true(bytes > 16 * 128 * KIB);
	assert_int_equal(flick_channel_init(memory + 8, bytes, NULL, &c), -EINVAL);
	assert_int_equal(flick_channel_init(memory, bytes - 1, NULL, &c), -EINVAL);
	assert_int_equal(flick_channel_init(NULL, bytes, NULL, &c), -EINVAL);
	assert_int_equal(flick_channel_attach(memory, bytes, &c), -EINVAL);
	assert_null(c);
	assert_int_equal(flick_channel_init(memory, bytes, NULL, &c), 0);
	assert_int_equal(flick_channel_attach(memory, bytes - 1, &c), -EINVAL);
	assert_int_equal(flick_channel_attach(memory, bytes, &c), 0);
	munmap(memory, bytes + 64);
}

static void one_producer_and_one_consumer_at_a_time(void **state)
{
	struct pub g;
	struct flick_consumer other;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 2);
	assert_int_equal(pub_take(&g), FLICK_TAKE_NONE);
	assert_int_equal(flick_channel_consume(&other, g.c), -EBUSY);
	assert_int_equal(flick_channel_produce(g.c), 0);
	assert_int_equal(flick_channel_produce(g.c), -EBUSY);
	pub_put(&g, 0, 0);
	flick_channel_end(g.c);
	assert_int_equal(flick_channel_produce(g.c), -EBUSY);	/* not drained yet */
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(flick_channel_produce(g.c), 0);
	flick_channel_end(g.c);
	assert_int_equal(pub_stats(&g).delivered, 1);
	pub_close(&g);
}

/* ---- exhaustive ---------------------------------------------------------- */

static void put_many(struct pub *g)
{
	flick_channel_produce(g->c);
	for (uint64_t i = 0; i < 100000; i++)
		pub_put(g, 0, i);
	flick_channel_end(g->c);
}

/* The same by cursor, with commits here and there. */
static void put_by_cursor(struct pub *g)
{
	struct flick_cursor at;

	flick_channel_produce(g->c);
	at = flick_channel_begin(g->c);
	for (uint64_t i = 0; i < 100000; i++) {
		if (g->word_bytes == 8)
			flick_cursor_put64(g->c, &at, pub_word(g, 0, i));
		else
			flick_cursor_put32(g->c, &at, (uint32_t)pub_word(g, 0, i));
		if (i % 7777 == 0)
			flick_channel_commit(g->c, &at);
		if (i % 999 == 0) {
			flick_channel_finish(g->c, &at);
			at = flick_channel_begin(g->c);
		}
	}
	flick_channel_finish(g->c, &at);
	flick_channel_end(g->c);
}

static void expect_all(void (*body)(struct pub *), uint32_t mode, uint32_t word_bytes,
		       uint32_t chunk_bytes, uint32_t chunks)
{
	struct pub g;
	pid_t pid;

	pub_open(&g, mode, word_bytes, chunk_bytes, chunks);
	pid = pub_fork(&g, body);
	while (!__atomic_load_n(&fl_public_of(g.c)->state, __ATOMIC_ACQUIRE))
		;
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(pub_wait(pid), 0);
	assert_int_equal(g.delivered, 100000);
	assert_int_equal(g.missing + g.repeated + g.torn, 0);
	assert_int_equal(pub_stats(&g).delivered, 100000);
	assert_int_equal(pub_stats(&g).produced, 100000);
	assert_int_equal(pub_stats(&g).held, 0);
	assert_int_equal(pub_unbalanced(&g), 0);
	assert_true(pub_stats(&g).ended);
	pub_close(&g);
}

static void every_word_arrives_in_order_and_once(void **state)
{
	(void)state;
	for (uint32_t chunks = 2; chunks <= 16; chunks += 7) {
		expect_all(put_many, FLICK_EXHAUSTIVE, 8, KIB, chunks);
		expect_all(put_many, FLICK_EXHAUSTIVE, 4, 3 * KIB, chunks);
		expect_all(put_by_cursor, FLICK_EXHAUSTIVE, 8, KIB, chunks);
		expect_all(put_by_cursor, FLICK_EXHAUSTIVE, 4, 4 * KIB, chunks);
	}
}

static void flushed_words_come_before_the_chunk_is_full(void **state)
{
	struct pub g;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 4);
	flick_channel_produce(g.c);
	for (uint64_t i = 0; i < 10; i++)
		pub_put(&g, 0, i);
	assert_int_equal(pub_take(&g), FLICK_TAKE_NONE);
	flick_channel_flush(g.c);
	assert_int_equal(pub_take(&g), FLICK_TAKE_BATCH);
	assert_int_equal(g.delivered, 10);
	assert_int_equal(pub_take(&g), FLICK_TAKE_NONE);
	for (uint64_t i = 10; i < 600; i++)
		pub_put(&g, 0, i);
	assert_int_equal(pub_take(&g), FLICK_TAKE_BATCH);
	assert_int_equal(g.delivered, 512);		/* the rest of the chunk */
	assert_int_equal(pub_take(&g), FLICK_TAKE_NONE);
	assert_int_equal(pub_stats(&g).held, 88);
	flick_channel_end(g.c);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(g.delivered, 600);
	assert_int_equal(g.missing + g.repeated, 0);
	pub_close(&g);
}

/* The consumer dies, holding a batch, while the producer waits. */
static void be_dead_consumer(struct pub *g)
{
	struct flick_batch b;
	struct flick_consumer k;

	if (flick_channel_consume(&k, g->c))
		_exit(1);
	while (flick_channel_take(&k, &b) != FLICK_TAKE_BATCH)
		;
	g->ledger[0] = 1;
	while (!g->ledger[1])
		;
}

static void *put_past_the_end(void *arg)
{
	struct pub *g = arg;

	flick_channel_produce(g->c);
	for (uint64_t i = 0; i < 5000; i++)
		pub_put(g, 0, i);
	flick_channel_end(g->c);
	return NULL;
}

static void dead_consumer_frees_a_blocked_producer_which_counts(void **state)
{
	struct pub g;
	struct fl_public *r;
	pthread_t t;
	pid_t pid;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 2);
	r = fl_public_of(g.c);
	flick_channel_leave(&g.k);
	pid = pub_fork(&g, be_dead_consumer);
	pthread_create(&t, NULL, put_past_the_end, &g);
	while (!g.ledger[0] || !__atomic_load_n(&r->waiting, __ATOMIC_ACQUIRE))
		;
	g.ledger[1] = 1;
	pub_wait(pid);
	pthread_join(t, NULL);
	assert_int_equal(pub_stats(&g).produced, 5000);
	assert_int_equal(pub_stats(&g).lost_consumer, 5000 - 1024);
	assert_int_equal(pub_stats(&g).delivered, 0);	/* never given back */
	assert_int_equal(flick_channel_consume(&g.k, g.c), 0);	/* another takes over */
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(g.delivered, 1024);
	assert_int_equal(g.missing + g.repeated, 0);
	assert_int_equal(pub_unbalanced(&g), 0);
	pub_close(&g);
}

/* Half of the aside, to the last word; then more, when somebody else consumes. */
static void *put_half_of_the_aside(void *arg)
{
	struct pub *g = arg;
	uint64_t i = 0;

	flick_channel_produce(g->c);
	for (; i < 1024 + 128; i++)
		pub_put(g, 0, i);
	g->ledger[0] = 1;
	while (!g->ledger[1])
		;
	for (; i < 2000; i++)
		pub_put(g, 0, i);
	flick_channel_end(g->c);
	return NULL;
}

static void be_consumer_and_die(struct pub *g)
{
	struct flick_consumer k;

	_exit(flick_channel_consume(&k, g->c));
}

static void what_is_left_out_for_a_dead_consumer_ends_with_it(void **state)
{
	struct pub g;
	pthread_t t;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 2);
	flick_channel_leave(&g.k);
	assert_int_equal(pub_wait(pub_fork(&g, be_consumer_and_die)), 0);
	pthread_create(&t, NULL, put_half_of_the_aside, &g);
	while (!g.ledger[0])
		;
	assert_int_equal(pub_stats(&g).lost_consumer, 128);
	assert_int_equal(flick_channel_consume(&g.k, g.c), 0);
	g.ledger[1] = 1;
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	pthread_join(t, NULL);
	assert_int_equal(pub_stats(&g).lost_consumer, 128);
	assert_int_equal(g.delivered, 2000 - 128);
	assert_int_equal(g.missing, 128);
	assert_int_equal(g.repeated + pub_unbalanced(&g), 0);
	pub_close(&g);
}

static void die_halfway(struct pub *g)
{
	flick_channel_produce(g->c);
	for (uint64_t i = 0; i < 1000; i++)
		pub_put(g, 0, i);
	raise(SIGKILL);
}

static void killed_producer_loses_nothing_it_enqueued(void **state)
{
	struct pub g;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 4);
	pub_wait(pub_fork(&g, die_halfway));
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(g.delivered, 1000);
	assert_int_equal(g.missing + g.repeated + g.torn, 0);
	pub_close(&g);
}

/* Each producer has the ring at another address, and goes on in mid chunk. */
static void put_elsewhere(struct pub *g)
{
	struct flick_channel *c;
	void *p = mremap(g->memory, 0, g->bytes, MREMAP_MAYMOVE);

	if (p == MAP_FAILED || p == g->memory || flick_channel_attach(p, g->bytes, &c) ||
	    flick_channel_produce(c))
		_exit(1);
	for (uint64_t n = g->ledger[0]; n < g->ledger[0] + 700; n++)
		flick_channel_put64(c, n);
	if (g->ledger[0] % 1400)
		raise(SIGKILL);
	flick_channel_end(c);
}

static void rings_of_ended_producers_serve_again(void **state)
{
	struct pub g;

	(void)state;
	for (uint32_t mode = FLICK_EXHAUSTIVE; mode <= FLICK_ADAPTIVE; mode += 2) {
		pub_open(&g, mode, 8, 4 * KIB, 4);
		if (mode == FLICK_ADAPTIVE)
			fl_public_of(g.c)->skip = 3;	/* some end in the aside */
		for (int i = 0; i < 9; i++) {
			g.ledger[0] = (uint64_t)i * 700;
			pub_wait(pub_fork(&g, put_elsewhere));
			assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
		}
		assert_int_equal(pub_stats(&g).produced, 9 * 700);
		assert_int_equal(g.delivered + pub_stats(&g).filtered, 9 * 700);
		assert_int_equal(g.repeated + pub_unbalanced(&g), 0);
		assert_int_equal(pub_stats(&g).held, 0);
		if (mode == FLICK_EXHAUSTIVE)
			assert_int_equal(g.delivered, 9 * 700);
		pub_close(&g);
	}
}

/* ---- sampling ------------------------------------------------------------ */

static void a_burst_stands_for_its_chunk(void **state)
{
	struct pub g;
	struct flick_channel_stats s;

	(void)state;
	pub_open(&g, FLICK_SAMPLING, 8, 4 * KIB, 8);	/* 512 words a chunk */
	flick_channel_produce(g.c);
	for (uint64_t i = 0; i < 3 * 512; i++)
		pub_put(&g, 0, i);
	assert_int_equal(pub_take(&g), FLICK_TAKE_BATCH);
	assert_int_equal(g.delivered, 8);
	assert_int_equal(g.next[0] % 8, 0);		/* a line of 64 bytes */
	flick_channel_end(g.c);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	s = pub_stats(&g);
	assert_int_equal(g.delivered, 24);
	assert_int_equal(s.delivered, 24);
	assert_int_equal(s.filtered, 3 * 504);
	assert_int_equal(s.produced, 3 * 512);
	assert_int_equal(g.repeated + g.torn + s.lost_overwritten + s.held, 0);
	pub_close(&g);
}

static void a_slow_consumer_never_holds_a_sampled_producer(void **state)
{
	struct pub g;
	struct flick_channel_stats s;

	(void)state;
	pub_open(&g, FLICK_SAMPLING, 4, 4 * KIB, 4);	/* 1,024 words a chunk */
	flick_channel_produce(g.c);
	for (uint64_t i = 0; i < 50 * 1024 + 100; i++)
		pub_put(&g, 0, i);
	flick_channel_end(g.c);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	s = pub_stats(&g);
	assert_int_equal(s.produced, 50 * 1024 + 100);
	assert_int_equal(s.lost_overwritten, 47 * 1024);
	assert_int_equal(s.delivered, 4 * 16);		/* three, and the last part */
	assert_int_equal(g.delivered, 4 * 16);
	assert_int_equal(g.repeated + g.torn + s.held + pub_unbalanced(&g), 0);
	pub_close(&g);
}

/* ---- adaptive ------------------------------------------------------------ */

static void a_filling_ring_lowers_the_rate_and_an_empty_one_raises_it(void **state)
{
	struct pub g;
	uint64_t n = 0;

	(void)state;
	pub_open(&g, FLICK_ADAPTIVE, 8, 4 * KIB, 8);
	flick_channel_produce(g.c);
	while (n <= 7 * 512)				/* seven of eight chunks */
		pub_put(&g, 0, n++);
	assert_int_equal(pub_stats(&g).rate_one_in, 1);
	for (int i = 0; i < 3; i++)
		pub_take(&g);				/* gives two back */
	assert_int_equal(pub_stats(&g).rate_one_in, 4);
	for (int i = 0; i < 400000; i++)
		pub_put(&g, 0, n++);
	assert_true(pub_stats(&g).filtered > 0);
	while (pub_take(&g) == FLICK_TAKE_BATCH)
		;
	while (pub_stats(&g).rate_one_in > 1 && n < 10000000) {
		pub_put(&g, 0, n++);
		pub_take(&g);
	}
	assert_int_equal(pub_stats(&g).rate_one_in, 1);
	flick_channel_end(g.c);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(pub_stats(&g).produced, n);
	assert_int_equal(g.delivered, pub_stats(&g).delivered);
	assert_int_equal(g.repeated + g.torn + pub_unbalanced(&g), 0);
	assert_int_equal(pub_stats(&g).held, 0);
	pub_close(&g);
}

/* In bursts of 1 KiB, so that what is left out is spread. */
static void a_rate_of_a_quarter_records_every_fourth_burst(void **state)
{
	struct pub g;

	(void)state;
	pub_open(&g, FLICK_ADAPTIVE, 8, 4 * KIB, 8);
	fl_public_of(g.c)->skip = 3;
	flick_channel_produce(g.c);
	for (uint64_t i = 0; i < 4 * 128 * 8; i++)
		pub_put(&g, 0, i);
	assert_int_equal(pub_stats(&g).filtered, 3 * 128 * 8);
	flick_channel_end(g.c);
	while (pub_take(&g) != FLICK_TAKE_END)
		fl_public_of(g.c)->skip = 3;
	assert_int_equal(g.delivered, 128 * 8);
	assert_int_equal(g.next[0], 128 * (4 * 7 + 1));
	pub_close(&g);
}

static void an_adaptive_producer_without_a_consumer_neither_waits_nor_overwrites(void **state)
{
	struct pub g;

	(void)state;
	pub_open(&g, FLICK_ADAPTIVE, 8, 4 * KIB, 4);
	flick_channel_produce(g.c);
	for (uint64_t i = 0; i < 100000; i++)
		pub_put(&g, 0, i);
	assert_int_equal(pub_stats(&g).lost_full, 100000 - 4 * 512);
	flick_channel_end(g.c);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(g.delivered, 4 * 512);
	assert_int_equal(g.missing + pub_unbalanced(&g), 0);
	pub_close(&g);
}

/* ---- handlers ------------------------------------------------------------ */

/* The guard stands for a thread that was interrupted inside. */
static void words_of_handlers_wait_in_the_deferred_queue(void **state)
{
	struct pub g;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 4);
	flick_channel_produce(g.c);
	pub_put(&g, 0, 0);
	pub_enter(&g);
	for (uint64_t i = 0; i < FL_DEFERRED_WORDS + 5; i++)
		pub_put(&g, 1, i);
	pub_leave(&g);
	assert_int_equal(pub_stats(&g).held, 1 + FL_DEFERRED_WORDS);
	assert_int_equal(pub_stats(&g).lost_nested, 5);
	pub_put(&g, 0, 1);
	assert_int_equal(fl_public_of(g.c)->deferred_n, 0);
	assert_int_equal(pub_stats(&g).produced, FL_DEFERRED_WORDS + 7);
	flick_channel_end(g.c);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(g.delivered, FL_DEFERRED_WORDS + 2);
	assert_int_equal(g.missing + g.repeated + pub_unbalanced(&g), 0);
	pub_close(&g);
}

/* Its words come with the thread's next one, and so does what it wanted of them. */
static void a_handlers_flush_is_of_its_own_words_too(void **state)
{
	struct pub g;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 4);
	flick_channel_produce(g.c);
	pub_put(&g, 0, 0);
	pub_enter(&g);
	pub_put(&g, 1, 0);
	flick_channel_flush(g.c);
	pub_leave(&g);
	assert_int_equal(pub_take(&g), FLICK_TAKE_BATCH);
	assert_int_equal(g.delivered, 1);
	assert_int_equal(pub_take(&g), FLICK_TAKE_NONE);
	pub_put(&g, 0, 1);
	assert_int_equal(pub_take(&g), FLICK_TAKE_BATCH);
	assert_int_equal(g.next[1], 1);
	while (pub_take(&g) == FLICK_TAKE_BATCH)
		;
	pub_put(&g, 0, 2);				/* one flush, answered once */
	assert_int_equal(pub_take(&g), FLICK_TAKE_NONE);
	flick_channel_end(g.c);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(g.delivered, 4);
	assert_int_equal(g.missing + g.repeated + pub_unbalanced(&g), 0);
	pub_close(&g);
}

static void leave_words_deferred(struct pub *g)
{
	flick_channel_produce(g->c);
	for (uint64_t i = 0; i < 100; i++)
		pub_put(g, 0, i);
	pub_enter(g);
	for (uint64_t i = 0; i < 7; i++)
		pub_put(g, 1, i);
	raise(SIGKILL);
}

static void the_deferred_queue_of_a_killed_producer_is_delivered(void **state)
{
	struct pub g;

	(void)state;
	for (uint32_t word_bytes = 4; word_bytes <= 8; word_bytes += 4) {
		pub_open(&g, FLICK_EXHAUSTIVE, word_bytes, 4 * KIB, 4);
		pub_wait(pub_fork(&g, leave_words_deferred));
		assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
		assert_int_equal(g.next[0], 100);
		assert_int_equal(g.next[1], 7);
		assert_int_equal(g.missing + g.repeated + pub_unbalanced(&g), 0);
		pub_close(&g);
	}
}

/* ---- waiting ------------------------------------------------------------- */

/* Room for two chunks, not for one, lets a producer go on. */
static void a_full_ring_holds_its_producer_until_two_chunks_are_free(void **state)
{
	struct pub g;
	struct fl_public *r;
	pthread_t t;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 4);
	r = fl_public_of(g.c);
	pthread_create(&t, NULL, put_past_the_end, &g);
	while (!__atomic_load_n(&r->waiting, __ATOMIC_ACQUIRE))
		;
	pub_take(&g);
	pub_take(&g);					/* one is given back */
	assert_int_equal(r->consumed, 512);
	assert_int_equal(r->waiting, 1);		/* and wakes nobody */
	assert_int_equal(r->claimed, 4);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	pthread_join(t, NULL);
	assert_int_equal(g.delivered, 5000);
	assert_int_equal(g.missing + g.repeated, 0);
	pub_close(&g);
}

static void *put_a_chunk(void *arg)
{
	struct pub *g = arg;

	flick_channel_produce(g->c);
	while (!__atomic_load_n(&fl_public_of(g->c)->sleeps, __ATOMIC_ACQUIRE))
		;
	for (uint64_t i = 0; i < 513; i++)
		pub_put(g, 0, i);
	while (!g->ledger[0])
		;
	flick_channel_end(g->c);
	return NULL;
}

static void full_chunk_wakes_the_consumer_that_sleeps(void **state)
{
	struct pub g;
	struct timespec from, to;
	pthread_t t;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 4);
	clock_gettime(CLOCK_MONOTONIC, &from);
	pthread_create(&t, NULL, put_a_chunk, &g);
	while (pub_take(&g) != FLICK_TAKE_BATCH)
		flick_channel_wait(&g.k, 30000000);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_true(to.tv_sec - from.tv_sec < 25);	/* not by its time-out */
	g.ledger[0] = 1;
	pthread_join(t, NULL);
	pub_close(&g);
}

/* ---- damage -------------------------------------------------------------- */

static void a_scribbled_ring_leads_its_consumer_nowhere(void **state)
{
	struct pub g;
	struct fl_public *r;
	struct flick_batch b;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 4);
	r = fl_public_of(g.c);
	flick_channel_produce(g.c);
	pub_put(&g, 0, 0);
	r->filled = 5;
	assert_int_equal(flick_channel_take(&g.k, &b), -EINVAL);
	r->filled = 0;
	r->hot.ptr = (char *)16;
	flick_channel_flush(g.c);
	assert_int_equal(flick_channel_take(&g.k, &b), FLICK_TAKE_NONE);
	r->hot.ptr = r->base + 8;
	r->deferred_n = 1u << 20;
	pthread_mutex_unlock(&r->producer);
	assert_int_equal(flick_channel_take(&g.k, &b), FLICK_TAKE_BATCH);
	assert_int_equal(b.n, 1);
	assert_int_equal(flick_channel_take(&g.k, &b), FLICK_TAKE_END);
	r->chunk_bytes = 0;
	assert_int_equal(flick_channel_produce(g.c), -EINVAL);
	flick_channel_leave(&g.k);
	assert_int_equal(flick_channel_consume(&g.k, g.c), -EINVAL);
	munmap(g.memory, g.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_out_of_range_are_refused),
		cmocka_unit_test(memory_too_small_or_not_aligned_is_refused),
		cmocka_unit_test(one_producer_and_one_consumer_at_a_time),
		cmocka_unit_test(every_word_arrives_in_order_and_once),
		cmocka_unit_test(flushed_words_come_before_the_chunk_is_full),
		cmocka_unit_test(dead_consumer_frees_a_blocked_producer_which_counts),
		cmocka_unit_test(what_is_left_out_for_a_dead_consumer_ends_with_it),
		cmocka_unit_test(killed_producer_loses_nothing_it_enqueued),
		cmocka_unit_test(rings_of_ended_producers_serve_again),
		cmocka_unit_test(a_burst_stands_for_its_chunk),
		cmocka_unit_test(a_slow_consumer_never_holds_a_sampled_producer),
		cmocka_unit_test(a_filling_ring_lowers_the_rate_and_an_empty_one_raises_it),
		cmocka_unit_test(a_rate_of_a_quarter_records_every_fourth_burst),
		cmocka_unit_test(
			an_adaptive_producer_without_a_consumer_neither_waits_nor_overwrites),
		cmocka_unit_test(words_of_handlers_wait_in_the_deferred_queue),
		cmocka_unit_test(a_handlers_flush_is_of_its_own_words_too),
		cmocka_unit_test(the_deferred_queue_of_a_killed_producer_is_delivered),
		cmocka_unit_test(a_full_ring_holds_its_producer_until_two_chunks_are_free),
		cmocka_unit_test(full_chunk_wakes_the_consumer_that_sleeps),
		cmocka_unit_test(a_scribbled_ring_leads_its_consumer_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
