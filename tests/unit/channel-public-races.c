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

#define KIB 1024u

/* ---- test points --------------------------------------------------------- */

static const char *stop_at;		/* the next time only */
static void (*at_stop)(void);
static struct fl_public *ring;

void fl_point_hit(const char *name);
void fl_point_hit(const char *name)
{
	if (!stop_at || strcmp(name, stop_at))
		return;
	stop_at = NULL;
	at_stop();
}

static void stop(const char *at, void (*then)(void))
{
	stop_at = at;
	at_stop = then;
}

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
static void put_nest(struct pub *g)
{
	flick_channel_produce(g->c);
	for (int i = 0; i < 10; i++)
		pub_put(g, 0, g->ledger[0]++);
	g->c->guard = 1;
	for (int i = 0; i < 7; i++)
		pub_put(g, 1, g->ledger[1]++);
	g->c->guard = 0;
	pub_put(g, 0, g->ledger[0]);
	g->ledger[0]++;
	flick_channel_end(g->c);
}

static void nest_of_the_next_is_whole_after_a_kill_at(const char *point)
{
	struct pub g;

	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 4);
	stop(point, die);
	assert_int_equal(pub_wait(pub_fork(&g, put_nest)), SIGKILL);
	stop(NULL, NULL);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(g.delivered, 17);
	assert_int_equal(pub_stats(&g).produced, 17);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(pub_wait(pub_fork(&g, put_nest)), 0);
		assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
		assert_int_equal(g.delivered, 17 + i * 18);
		assert_int_equal(pub_stats(&g).produced, 17 + i * 18);
	}
	assert_int_equal(g.missing + g.repeated + g.torn + pub_unbalanced(&g), 0);
	pub_close(&g);
}

static void a_kill_while_the_nest_is_emptied_is_no_matter_to_the_next(void **state)
{
	(void)state;
	nest_of_the_next_is_whole_after_a_kill_at("public.nest.moved");
	nest_of_the_next_is_whole_after_a_kill_at("public.nest.empty");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_that_rises_in_a_rests_first_moment_ends_it),
		cmocka_unit_test(a_kill_while_the_nest_is_emptied_is_no_matter_to_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
