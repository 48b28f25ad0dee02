/*
 * unit/channel-slots.c - a slot has one thread at a time.
 *
 * timeout: 60
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "channel-rig.h"

/* ---- test points -------------------------------------------------------------- */

static const char *stop_at;		/* the next time only */
static void (*at_stop)(void);

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

/* ---- slots of threads that ended ---------------------------------------------------- */

static pthread_t other;
static volatile int other_has, other_may_end;

static void *count_and_end(void *arg)
{
	(void)arg;
	fl_channel_count(3);
	return NULL;
}

static void *count_without(void *arg)
{
	fl_channel_count(3);
	return fl_channel_own_slot() ? arg : NULL;
}

static void *count_and_stay(void *arg)
{
	fl_channel_count(3);
	other_has = fl_channel_own_slot() != NULL;
	while (!other_may_end)
		;
	return arg;
}

static void adopt_in_another(void)
{
	pthread_create(&other, NULL, count_and_stay, NULL);
	while (!other_has)
		;
}

/* Two look at one: the second takes it while the first is about to. */
static void of_two_that_find_a_slot_one_has_it(void **state)
{
	struct rig *g = rig_open(1, 8, FL_ACT_COUNT);
	struct fl_slot *s = fl_shm_slot(g->m, 0);
	pthread_t t;
	void *got;

	(void)state;
	g->m->own = 1;
	assert_int_equal(fl_channel_open(g->m), 0);
	pthread_create(&t, NULL, count_and_end, NULL);
	pthread_join(t, NULL);
	stop("slot.ended", adopt_in_another);
	pthread_create(&t, NULL, count_without, g);
	pthread_join(t, &got);
	assert_null(stop_at);
	assert_null(got);
	other_may_end = 1;
	pthread_join(other, NULL);
	assert_int_equal(*(uint64_t *)s->data, 0);
	assert_int_equal(((uint64_t *)s->data)[3], 2);
	assert_int_equal(g->m->lost[FL_LOST_SLOT], 1);
	pthread_create(&t, NULL, count_and_end, NULL);	/* and it serves again */
	pthread_join(t, NULL);
	assert_int_equal(((uint64_t *)s->data)[3], 3);
	fl_channel_close();
	rig_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_two_that_find_a_slot_one_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
