/*
 * unit/lease.c - rings grow, shrink and give their memory back; what is taken
 * back from a thread is never what it claims at that moment.
 *
 * The test is thread and reader at once, and so decides what comes between what.
 *
 * timeout: 60
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "channel-rig.h"
#include "channel/lease.h"
#include "channel/slot.h"
#include "stop-at.h"

/* ---- one thread, one reader ----------------------------------------------------- */

static struct rig *rig;
static struct fl_slot *slot;
static struct fl_lease lease;
static struct fl_pool pool;
static uint64_t n_put;

/* The thread has begun its first chunk. */
static void begin(uint32_t ring_kib)
{
	rig = rig_open(4, ring_kib, FL_ACT_TIME);
	n_put = 0;
	assert_int_equal(fl_channel_open(rig->m), 0);
	assert_int_equal(fl_pool_open(&pool, rig->m, 0, 1), 0);
	rig_put(1, n_put++);
	slot = *fl_tls_slot;
	fl_lease_begin(&lease, slot, &pool);
}

/* Records up to the end of a chunk, and one that begins the next. */
static void put_chunk(void)
{
	while (slot->ring[0].ptr < slot->ring[0].limit)
		rig_put(1, n_put++);
	rig_put(1, n_put++);
}

static void read_full(void)
{
	uint64_t filled = slot->ring[0].filled;

	fl_lease_grow(&lease, &pool, filled);
	for (; lease.consumed != filled; fl_lease_next(&lease, &pool)) {
		uint64_t page = lease.page[lease.consumed % FL_RING_CHUNKS];
		struct fl_batch b = {
			.records = (void *)((char *)rig->m + page * FL_PAGE),
			.n = rig->m->session[0].chunk_bytes / sizeof(struct flick_record),
		};

		rig_feed(rig, &b);
	}
}

/* As long as the ring may be. */
static void grow(void)
{
	while (lease.want < rig->m->session[0].ring_chunks)
		fl_lease_grow(&lease, &pool, lease.granted);
}

static void shrink(void)
{
	lease.want = FL_HOME_CHUNKS;
	fl_lease_tick(&lease, &pool);
}

/* Everything that was put was read, in order; all places are free again. */
static void end(void)
{
	uint64_t whole = slot->ring[0].filled *
		(rig->m->session[0].chunk_bytes / sizeof(struct flick_record));

	read_full();
	assert_int_equal(rig->delivered, whole);
	assert_int_equal(rig->torn + rig->misordered, 0);
	fl_lease_end(&lease, &pool);
	assert_int_equal(pool.n, rig->m->session[0].pool_chunks);
	assert_int_equal(lease.n_spare, FL_HOME_CHUNKS);
	fl_os_robust_unlock(&slot->owner);	/* no thread's list may lead there */
	fl_channel_close();
	*fl_tls_slot = NULL;
	fl_pool_close(&pool);
	rig_close(rig);
}

/* ---- length -------------------------------------------------------------------------- */

static void a_full_ring_doubles_up_to_its_most(void **state)
{
	(void)state;
	begin(64);
	assert_int_equal(lease.granted, 2);
	put_chunk();
	read_full();			/* one of two was full: it is long enough */
	assert_int_equal(lease.want, 2);
	put_chunk();
	slot->ring[0].filled++;			/* as if the thread had just filled this one */
	fl_lease_grow(&lease, &pool, slot->ring[0].filled);
	assert_int_equal(lease.want, 4);
	assert_int_equal(lease.granted - lease.consumed, 4);
	slot->ring[0].filled--;
	grow();
	assert_int_equal(lease.granted - lease.consumed, rig->m->session[0].ring_chunks);
	fl_lease_grow(&lease, &pool, lease.granted);
	assert_int_equal(lease.granted - lease.consumed, rig->m->session[0].ring_chunks);
	end();
}

static void what_a_ring_does_not_need_goes_back(void **state)
{
	(void)state;
	begin(64);
	grow();
	assert_int_equal(lease.want, 8);
	fl_lease_tick(&lease, &pool);	/* since its growth it was never full */
	assert_int_equal(lease.want, 8);
	for (uint32_t want = 4; want >= 2; want /= 2) {
		fl_lease_tick(&lease, &pool);
		assert_int_equal(lease.want, want);
		assert_int_equal(lease.granted - lease.consumed, want);
	}
	fl_lease_tick(&lease, &pool);
	assert_int_equal(lease.granted - lease.consumed, 2);
	assert_int_equal(pool.n, rig->m->session[0].pool_chunks);
	for (int i = 0; i < 10; i++) {	/* and it still turns */
		put_chunk();
		read_full();
	}
	end();
}

static void an_empty_pool_leaves_a_ring_as_it_is(void **state)
{
	uint32_t kept;

	(void)state;
	begin(64);
	kept = pool.n;
	pool.n = 1;
	pool.cold = pool.low = 0;
	grow();
	assert_int_equal(lease.granted - lease.consumed, 3);
	assert_int_equal(pool.n, 0);
	put_chunk();
	read_full();
	assert_int_equal(lease.granted - lease.consumed, 3);
	pool.n = kept - 1;
	end();
}

static void a_short_ring_grows_when_the_pool_has_chunks_again(void **state)
{
	uint32_t kept;

	(void)state;
	begin(64);
	kept = pool.n;
	pool.n = pool.cold = pool.low = 0;
	grow();
	assert_int_equal(lease.granted - lease.consumed, 2);
	pool.n = kept;
	put_chunk();
	read_full();			/* one of two was full */
	assert_int_equal(lease.granted - lease.consumed, rig->m->session[0].ring_chunks);
	end();
}

/* 12 KiB are three chunks, and half of three is one. */
static void no_ring_has_less_than_two_chunks(void **state)
{
	(void)state;
	begin(12);
	assert_int_equal(rig->m->session[0].ring_chunks, 3);
	grow();
	for (int i = 0; i < 4; i++) {
		fl_lease_tick(&lease, &pool);
		assert_true(lease.want >= 2);
	}
	assert_int_equal(lease.granted - lease.consumed, 2);
	end();
}

/* ---- memory --------------------------------------------------------------------------- */

static uint64_t region_kib(void)
{
	struct stat st;

	assert_int_equal(fstat(rig->fd, &st), 0);
	return (uint64_t)st.st_blocks / 2;
}

static void memory_follows_the_rate(void **state)
{
	uint64_t idle, busy;

	(void)state;
	begin(1024);
	idle = region_kib();
	grow();
	for (int i = 0; i < 50; i++)
		put_chunk();
	busy = region_kib();
	assert_in_range(busy - idle, 48 * 16, 52 * 16);
	read_full();
	shrink();
	fl_pool_tick(&pool);		/* notes what is free */
	assert_int_equal(region_kib(), busy);
	fl_pool_tick(&pool);		/* nobody needed it */
	assert_in_range(region_kib(), idle, idle + 3 * 16);
	end();
}

static void what_was_in_use_a_moment_ago_is_kept(void **state)
{
	uint32_t cold;

	(void)state;
	begin(64);
	cold = pool.cold;
	grow();
	shrink();
	assert_int_equal(pool.cold, cold - 6);
	fl_pool_tick(&pool);
	assert_int_equal(pool.cold, cold - 6);
	grow();
	shrink();
	fl_pool_tick(&pool);
	assert_int_equal(pool.cold, cold - 6);
	fl_pool_tick(&pool);
	assert_int_equal(pool.cold, cold);
	end();
}

static void what_is_claimed_stays(void **state)
{
	(void)state;
	begin(64);
	grow();
	for (int i = 0; i < 4; i++)
		put_chunk();
	assert_int_equal(slot->ring[0].claimed, 5);
	shrink();
	assert_int_equal(lease.granted, 5);
	assert_int_equal(slot->ring[0].granted, 5);
	end();
}

/* ---- a grant that is taken back --------------------------------------------------------- */

/* The thread has claimed just what the reader means to leave, and its chunk is full. */
static void lead_to_the_edge(void)
{
	grow();
	put_chunk();
	while (slot->ring[0].ptr < slot->ring[0].limit)
		rig_put(1, n_put++);
	assert_int_equal(slot->ring[0].claimed, lease.consumed + 2);
	assert_true(lease.granted > slot->ring[0].claimed);
}

static void put_one(void)
{
	rig_put(1, n_put++);
}

static void a_claim_in_the_last_moment_is_seen(void **state)
{
	uint64_t granted;

	(void)state;
	begin(64);
	lead_to_the_edge();
	granted = lease.granted;
	stop("lease.looked", put_one);
	shrink();
	assert_null(stop_at);
	assert_int_equal(slot->ring[0].claimed, 3);
	assert_int_equal(lease.granted, granted);
	assert_int_equal(slot->ring[0].granted, granted);
	assert_int_equal(slot->ring[0].granted_word, granted);
	end();
}

enum { LONG = 1 << 22 };		/* ticks */

static void let_time_pass(void)
{
	uint64_t from = fl_arch_ticks();

	while (fl_arch_ticks() - from < LONG)
		;
}

static uint64_t pause_before_chunk(uint64_t c)
{
	return (uint64_t)slot->ring[0].paused[c % FL_RING_CHUNKS] * FL_PAUSE_TICKS;
}

/* Who is woken may have the CPU meanwhile. A pair may lie in both chunks. */
static void what_it_takes_to_begin_a_chunk_is_a_pause(void **state)
{
	struct flick_record pair[2];
	uint64_t last;

	(void)state;
	begin(64);
	lead_to_the_edge();
	last = slot->ring[0].filled;
	stop("ring.counted", let_time_pass);
	put_one();
	assert_int_equal(slot->ring[0].filled, last + 1);
	assert_true(pause_before_chunk(last) < LONG);
	assert_true(pause_before_chunk(last + 1) >= LONG - FL_PAUSE_TICKS);

	while (slot->ring[0].limit - slot->ring[0].ptr > sizeof(*pair))
		put_one();
	for (int i = 0; i < 2; i++, n_put++)
		pair[i] = (struct flick_record){ n_put, 1, rig_check(n_put, 1) };
	stop("ring.counted", let_time_pass);
	fl_channel_put_pair(pair);
	assert_int_equal(slot->ring[0].filled, last + 2);
	assert_true(pause_before_chunk(last + 2) >= LONG - FL_PAUSE_TICKS);
	end();
}

static bool waited;

static void grant_again(void)
{
	assert_int_equal(slot->ring[0].waiting, 1);
	assert_int_equal(slot->ring[0].claimed, slot->ring[0].filled);
	assert_int_equal(slot->ring[0].granted, slot->ring[0].claimed);
	waited = true;
	read_full();
}

static void shrink_and_stop_again(void)
{
	shrink();
	assert_int_equal(lease.granted, 2);
	stop("ring.wait", grant_again);
}

/* The thread finds the chunk gone, undoes its claim, and waits for another. */
static void a_claim_that_comes_too_late_is_undone(void **state)
{
	(void)state;
	begin(64);
	lead_to_the_edge();
	waited = false;
	stop("ring.counted", shrink_and_stop_again);
	put_one();
	assert_true(waited);
	assert_int_equal(slot->ring[0].waiting, 0);
	assert_int_equal(slot->ring[0].claimed, 3);
	end();
}

static void die(void)
{
	raise(SIGKILL);
}

/* A child of vfork, in this thread's slot, of a chunk that is not granted. */
static void a_claim_that_nobody_undid_is_made_again(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	begin(8);
	put_chunk();
	while (slot->ring[0].ptr < slot->ring[0].limit)
		rig_put(1, n_put++);
	stop("ring.claimed", die);
	pid = vfork();
	if (!pid)
		put_one();
	waitpid(pid, &status, 0);
	assert_int_equal(status, SIGKILL);
	assert_int_equal(slot->ring[0].granted, 2);
	assert_int_equal(slot->ring[0].claimed, 3);
	waited = false;
	stop("ring.wait", grant_again);
	put_one();
	assert_true(waited);
	end();
}

/* An access in a word leaves 8 bytes at a chunk's end, where one of an earlier chunk lies. */
static void leave_a_half(struct rig *g)
{
	struct fl_ring *r;
	uint64_t *last;

	rig_put(1, 1);
	r = &(*fl_tls_slot)->ring[0];
	last = (uint64_t *)r->limit;
	*last = FL_ACCESS_WORD | 8;
	*(uint64_t *)r->ptr = FL_ACCESS_WORD | 16;
	r->ptr += sizeof(uint64_t);
	for (uint64_t i = 2; !r->filled; i++) {
		g->shared[0] = r->ptr == (uint64_t)last;
		rig_put(1, i);
	}
	g->shared[1] = *last == FL_WORD_NOTHING;
}

static void what_is_left_of_a_chunk_says_nothing(void **state)
{
	struct rig *g = rig_open(4, 64, FL_ACT_TIME);

	(void)state;
	assert_int_equal(rig_drain(g, rig_fork(g, leave_a_half)), 0);
	assert_true(g->shared[0] && g->shared[1]);
	rig_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_of_a_chunk_says_nothing),
		cmocka_unit_test(a_full_ring_doubles_up_to_its_most),
		cmocka_unit_test(what_a_ring_does_not_need_goes_back),
		cmocka_unit_test(an_empty_pool_leaves_a_ring_as_it_is),
		cmocka_unit_test(a_short_ring_grows_when_the_pool_has_chunks_again),
		cmocka_unit_test(no_ring_has_less_than_two_chunks),
		cmocka_unit_test(memory_follows_the_rate),
		cmocka_unit_test(what_was_in_use_a_moment_ago_is_kept),
		cmocka_unit_test(what_is_claimed_stays),
		cmocka_unit_test(what_it_takes_to_begin_a_chunk_is_a_pause),
		cmocka_unit_test(a_claim_in_the_last_moment_is_seen),
		cmocka_unit_test(a_claim_that_comes_too_late_is_undone),
		cmocka_unit_test(a_claim_that_nobody_undid_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
