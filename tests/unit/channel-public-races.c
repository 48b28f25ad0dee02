/*
 * unit/channel-public-races.c - what comes between two steps of flick/channel.h: the
 * other side's store. Every word is delivered or counted all the same.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_that_rises_in_a_rests_first_moment_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
