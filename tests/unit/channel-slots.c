/*
 * unit/channel-slots.c - a slot has one thread at a time, and goes on where a child
 * that shared it was killed.
 *
 * timeout: 60
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "channel-rig.h"
#include "stop-at.h"

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
	g->m->session[0].own = 1;
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
	assert_int_equal(*(uint64_t *)s->ring[0].data, 0);
	assert_int_equal(fl_count_of(((uint64_t *)s->ring[0].data)[3]), 2);
	assert_int_equal(g->m->session[0].lost[FL_LOST_SLOT], 1);
	pthread_create(&t, NULL, count_and_end, NULL);	/* and it serves again */
	pthread_join(t, NULL);
	assert_int_equal(fl_count_of(((uint64_t *)s->ring[0].data)[3]), 3);
	fl_channel_close();
	rig_close(g);
}

/* ---- vfork's children ------------------------------------------------------------------ */

#define PAIRS 2u			/* their series */

static volatile uint64_t n_single, n_pair;	/* what a child has done, its parent sees */

static void put_single(void)
{
	rig_put(1, n_single);
	n_single++;
}

/* A single record before it makes a pair cross a chunk's end. */
static void put_pair(void)
{
	struct flick_record r[2];

	for (uint64_t i = 0; i < 2; i++)
		r[i] = (struct flick_record){
			.tsc = n_pair + i, .probe = PAIRS,
			.sp = rig_check(n_pair + i, PAIRS),
		};
	fl_channel_put_pair(r);
	n_pair += 2;
}

static void die(void)
{
	raise(SIGKILL);
}

static const char *const points[] = {
	"ring.counted", "ring.claimed", "ring.leaving", "ring.entering", "ring.moved",
};

/* It shares memory with the parent, its slot too, and dies on its way from one chunk to
 * the next. Half of a pair may be there. */
static void have_killed(const char *point, void (*put)(void))
{
	int status;
	pid_t pid;

	stop(point, die);
	pid = vfork();
	if (!pid)
		for (;;)
			put();
	if (waitpid(pid, &status, 0) != pid || status != SIGKILL)
		_exit(9);
}

static void have_many_killed(struct rig *g)
{
	fl_arch_rseq_open();				/* pairs have a short path then */
	put_single();
	for (int turn = 0; turn < 10; turn++)
		for (size_t i = 0; i < ARRAY_LEN(points); i++) {
			have_killed(points[i], put_single);
			put_pair();
			for (int k = 0; k < 300; k++)
				put_single();
			have_killed(points[i], put_pair);
			n_pair += 2;		/* the one that was not through */
			g->shared[2]++;
			for (int k = 0; k < 333; k++)
				put_pair();
			put_single();
		}
	g->shared[0] = n_single;
	g->shared[1] = n_pair;
}

static void run_with_children(uint32_t ring_kib)
{
	struct rig *g = rig_open(1, ring_kib, FL_ACT_TIME);
	uint64_t kills, halves;

	n_single = n_pair = 0;
	assert_int_equal(rig_drain(g, rig_fork(g, have_many_killed)), 0);
	kills = g->shared[2];
	assert_int_equal(kills, 10 * ARRAY_LEN(points));
	assert_int_equal(g->torn, 0);
	assert_int_equal(g->next[0][1], g->shared[0]);
	assert_int_equal(g->next[0][PAIRS], g->shared[1]);
	halves = g->delivered - g->shared[0] - (g->shared[1] - 2 * kills);
	assert_true(halves <= kills);
	assert_int_equal(g->misordered, kills);		/* a gap each */
	assert_int_equal(rig_sum(g).unbalanced, 0);
	rig_close(g);
}

static void a_child_that_is_killed_in_its_parents_slot_leaves_it_whole(void **state)
{
	(void)state;
	for (uint32_t kib = 8; kib <= 64; kib *= 2)
		run_with_children(kib);
}

/* ---- what a thread finds in a slot that another had ------------------------------------ */

static bool were_blocked;

static void look_at_signals(void)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	were_blocked = sigismember(&now, SIGALRM) && sigismember(&now, SIGUSR1);
}

static void *leave_all_behind(void *arg)
{
	struct fl_slot *s = fl_channel_slot();

	s->ring[0].frames->n = 7;
	s->image = 77;
	s->process = 7;
	return arg;
}

static void a_slot_is_its_threads_alone(void **state)
{
	struct rig *g = rig_open(1, 8, FL_ACT_SAMPLE);
	struct fl_slot *s = fl_shm_slot(g->m, 0);
	size_t n;

	(void)state;
	assert_int_equal(fl_channel_open(g->m), 0);
	assert_int_equal(pthread_create(&other, NULL, leave_all_behind, NULL), 0);
	pthread_join(other, NULL);
	while (load_relaxed(&s->state) != FL_SLOT_FREE)
		fl_reader_poll(g->reader, false);
	stop("thread.claim", look_at_signals);
	assert_ptr_equal(fl_channel_slot(), s);
	assert_true(were_blocked);
	assert_int_equal(s->ring[0].frames->n, 0);
	assert_int_equal(s->image, fl_channel_image());
	assert_int_equal(s->process, 0);
	for (n = 0; n < 2;) {			/* it is taken in */
		fl_reader_poll(g->reader, false);
		fl_reader_threads(g->reader, &n);
	}
	fl_channel_lose_unplaced(FL_ENTRY);
	fl_channel_lose_unplaced(FL_EXIT);
	assert_int_equal(s->ring[0].lost[FL_LOST_SITE], 2);
	for (uint64_t end = rig_now_ms() + 10000; rig_now_ms() < end;) {
		fl_reader_poll(g->reader, false);
		if (rig_sum(g).lost[FL_LOST_SITE])
			break;
	}
	assert_int_equal(rig_sum(g).lost[FL_LOST_SITE], 2);	/* it lives still */
	assert_false(fl_reader_threads(g->reader, &n)[1].ended);
	fl_channel_close();
	rig_close(g);
}

static void *count_one(void *probe)
{
	uint64_t *counters = (uint64_t *)((char *)fl_channel_slot() + FL_SLOT_HEADER_BYTES);

	counters[(uintptr_t)probe] += FL_COUNT_ONE;
	return probe;
}

/* Nobody has looked for new threads since these began. */
static void heed_between(struct rig *g)
{
	enum { BEFORE = 3, BEHIND = 4 };

	count_one((void *)BEFORE);
	fl_channel_heed(1);
	fl_reader_count(g->reader);
	NEED(g->counter[BEFORE] == 1 && fl_reader_heeded(g->reader) == 0);
	NEED(!pthread_create(&other, NULL, count_one, (void *)BEHIND));
	pthread_join(other, NULL);
	fl_reader_count(g->reader);
	NEED(g->counter[BEHIND] == 1 && fl_reader_heeded(g->reader) == 1);
}

static void what_was_counted_before_a_wish_is_told_as_before(void **state)
{
	struct rig *g = rig_open(2, 8, FL_ACT_SAMPLE);
	int status;

	(void)state;
	assert_int_equal(waitpid(rig_fork(g, heed_between), &status, 0) > 0 ? status : -1, 0);
	rig_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_two_that_find_a_slot_one_has_it),
		cmocka_unit_test(a_child_that_is_killed_in_its_parents_slot_leaves_it_whole),
		cmocka_unit_test(what_was_counted_before_a_wish_is_told_as_before),
		cmocka_unit_test(a_slot_is_its_threads_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
