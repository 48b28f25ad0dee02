/*
 * unit/channel-public-races.c - what comes between two steps of flick/channel.h: the
 * other side's store, or a kill. Every word is delivered or counted all the same.
 *
 * timeout: 60
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "channel-public-rig.h"
#include "channel/channel.h"
#include "channel/public.h"
#include "stop-at.h"

#define KIB 1024u

static struct fl_public *ring;

static void die(void)
{
	raise(SIGKILL);
}

/* ---- the rate ------------------------------------------------------------ */

static void raise_the_rate(void)
{
	ring->skip = 0;
}

static void put_and_take(struct pub *g, uint64_t from, uint64_t upto)
{
	for (uint64_t i = from; i < upto; i++) {
		pub_put(g, 0, i);
		pub_take(g);
	}
}

/* A rest is due at the end of a chunk, and the consumer ends all rests just then. */
static void a_rate_that_rises_in_a_rests_first_moment_ends_it(void **state)
{
	struct pub g;

	(void)state;
	pub_open(&g, FLICK_ADAPTIVE, 8, 4 * KIB, 8);
	ring = fl_public_of(g.c);
	ring->skip = 1;
	flick_channel_produce(g.c);
	stop("public.counted", raise_the_rate);
	for (uint64_t i = 0; i < 1024; i++)
		pub_put(&g, 0, i);
	assert_null(stop_at);
	put_and_take(&g, 1024, 11024);
	flick_channel_end(g.c);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(pub_stats(&g).produced, 11024);
	assert_int_equal(pub_stats(&g).filtered, 4 * 128);
	assert_int_equal(g.delivered, 11024 - 4 * 128);
	assert_int_equal(g.repeated + pub_unbalanced(&g), 0);
	pub_close(&g);
}

/* ---- kills --------------------------------------------------------------- */

/* What a handler left, and a word that takes it along. */
static void put_deferred_words(struct pub *g)
{
	flick_channel_produce(g->c);
	for (int i = 0; i < 10; i++)
		pub_put(g, 0, g->ledger[0]++);
	pub_enter(g);
	for (int i = 0; i < 7; i++)
		pub_put(g, 1, g->ledger[1]++);
	pub_leave(g);
	pub_put(g, 0, g->ledger[0]);
	g->ledger[0]++;
	flick_channel_end(g->c);
}

static void deferred_queue_of_the_next_is_whole_after_a_kill_at(const char *point)
{
	struct pub g;

	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 4);
	stop(point, die);
	assert_int_equal(pub_wait(pub_fork(&g, put_deferred_words)), SIGKILL);
	stop(NULL, NULL);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(g.delivered, 17);
	assert_int_equal(pub_stats(&g).produced, 17);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(pub_wait(pub_fork(&g, put_deferred_words)), 0);
		assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
		assert_int_equal(g.delivered, 17 + i * 18);
		assert_int_equal(pub_stats(&g).produced, 17 + i * 18);
	}
	assert_int_equal(g.missing + g.repeated + g.torn + pub_unbalanced(&g), 0);
	pub_close(&g);
}

static void a_kill_while_words_are_moved_is_no_matter_to_the_next(void **state)
{
	(void)state;
	deferred_queue_of_the_next_is_whole_after_a_kill_at("public.deferred.moved");
	deferred_queue_of_the_next_is_whole_after_a_kill_at("public.deferred.empty");
}

/* Each producer has the ring at another address. */
static void put_elsewhere(struct pub *g)
{
	struct flick_channel *c;
	void *p = mremap(g->memory, 0, g->bytes, MREMAP_MAYMOVE);

	while (g->ledger[1]-- && p != MAP_FAILED)
		p = mremap(g->memory, 0, g->bytes, MREMAP_MAYMOVE);
	if (p == MAP_FAILED || flick_channel_attach(p, g->bytes, &c) ||
	    flick_channel_produce(c))
		_exit(1);
	for (uint64_t n = 0; n < 100; n++)
		flick_channel_put64(c, g->ledger[0]++);
	flick_channel_end(c);
}

static int put_from_place(struct pub *g, uint64_t place)
{
	g->ledger[1] = place;
	return pub_wait(pub_fork(g, put_elsewhere));
}

static void a_kill_while_addresses_change_is_no_matter_to_the_next(void **state)
{
	struct pub g;

	(void)state;
	for (uint32_t mode = FLICK_EXHAUSTIVE; mode <= FLICK_ADAPTIVE; mode += 2) {
		pub_open(&g, mode, 8, 4 * KIB, 4);
		if (mode == FLICK_ADAPTIVE)
			fl_public_of(g.c)->skip = 3;	/* it stands in the aside */
		assert_int_equal(put_from_place(&g, 1), 0);
		assert_int_equal(put_from_place(&g, 2), 1 << 8);	/* not drained */
		assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
		assert_int_equal(put_from_place(&g, 2), 0);
		assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
		stop("public.moving", die);
		assert_int_equal(put_from_place(&g, 3), SIGKILL);
		assert_int_equal(put_from_place(&g, 4), SIGKILL);
		stop(NULL, NULL);
		assert_int_equal(put_from_place(&g, 5), 0);
		assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
		assert_int_equal(pub_stats(&g).produced, 300);
		assert_int_equal(g.delivered + pub_stats(&g).filtered, 300);
		assert_int_equal(g.repeated + g.torn + pub_unbalanced(&g), 0);
		pub_close(&g);
	}
}

static void what_is_damaged_is_left_as_it_is(void **state)
{
	struct pub g;
	struct fl_public kept;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 4);
	ring = fl_public_of(g.c);
	ring->hot.guard = 1;
	ring->hot.ptr = (char *)16;
	kept = *ring;
	assert_int_equal(flick_channel_produce(g.c), -EINVAL);
	assert_ptr_equal(ring->hot.ptr, kept.hot.ptr);
	assert_int_equal(ring->hot.guard, 1);
	assert_int_equal(ring->moving, 0);
	ring->hot.ptr = ring->base;
	assert_int_equal(flick_channel_produce(g.c), 0);
	flick_channel_end(g.c);
	pub_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_that_rises_in_a_rests_first_moment_ends_it),
		cmocka_unit_test(a_kill_while_words_are_moved_is_no_matter_to_the_next),
		cmocka_unit_test(a_kill_while_addresses_change_is_no_matter_to_the_next),
		cmocka_unit_test(what_is_damaged_is_left_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
