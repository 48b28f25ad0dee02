/*
 * unit/claims: whose a place is while its bytes change, be it wanted alone or in a set
 * (patch/motion.c).
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "flick/patch.h"
#include "patch/motion.h"
#include "stop-at.h"

/* ---- marks and locked claims --------------------------------------------------------- */

enum { N = 4, ROUNDS = 1000000 };
static struct fl_patch contested[N] __attribute__((aligned(64)));
static uint32_t inside[N], twice, won;

/* For some hundred cycles: who comes by meanwhile must find it taken. */
static void own(const struct fl_change *c, size_t n, int k)
{
	for (size_t i = 0; i < n; i++)
		if (__atomic_add_fetch(&inside[c[i].patch - contested], 1,
				       __ATOMIC_RELAXED) != 1)
			__atomic_fetch_add(&twice, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < k % 4; i++)
		__builtin_ia32_pause();
	for (size_t i = 0; i < n; i++)
		__atomic_sub_fetch(&inside[c[i].patch - contested], 1, __ATOMIC_RELAXED);
}

static void *want_all(void *arg)
{
	struct fl_change c[N];
	uint32_t mine = 0;

	for (size_t i = 0; i < N; i++)
		c[i].patch = &contested[arg ? N - 1 - i : i];
	for (int k = 0; k < ROUNDS; k++) {
		size_t n = fl_motion_take_all(c, N);

		own(c, n, k);
		mine += n == N;
		for (size_t i = 0; i < n; i++)
			fl_motion_leave_of(c[i].patch);
	}
	__atomic_fetch_add(&won, mine > 0, __ATOMIC_RELAXED);
	return NULL;
}

/* The first, and the last: its mark waits behind that of the first. */
static void *want_one(void *arg)
{
	uint32_t mine = 0;

	(void)arg;
	for (int k = 0; k < ROUNDS; k++) {
		struct fl_change c = { .patch = &contested[k % 2 ? N - 1 : 0] };

		if (!fl_motion_take(c.patch))
			continue;
		own(&c, 1, k / 2);
		mine++;
		fl_motion_leave(c.patch);
	}
	__atomic_fetch_add(&won, mine > 0, __ATOMIC_RELAXED);
	return NULL;
}

static struct fl_patch others[N];
static bool by_marks;

/* What another set would get, while the first marks its places. */
static void take_others(void)
{
	struct fl_change c[N];

	for (size_t i = 0; i < N; i++)
		c[i].patch = &others[i];
	assert_int_equal(fl_motion_take_all(c, N), N);
	for (size_t i = 0; i < N; i++) {
		by_marks |= others[i].motion.set;
		fl_motion_leave_of(c[i].patch);
		assert_int_equal(others[i].motion.any, 0);
	}
}

static void one_set_marks_at_a_time(void **state)
{
	struct fl_change c[N];

	(void)state;
	for (size_t i = 0; i < N; i++)
		c[i].patch = &contested[i];
	stop("motion.marking", take_others);
	assert_int_equal(fl_motion_take_all(c, N), N);
	assert_null(stop_at);
	assert_false(by_marks);
	take_others();
	assert_true(by_marks);
	for (size_t i = 0; i < N; i++)
		fl_motion_leave_of(c[i].patch);
}

typedef void *wanter(void *);

static void contest(wanter *const *who, size_t n, void *const *how)
{
	pthread_t t[4];

	twice = won = 0;
	for (size_t i = 0; i < n; i++)
		pthread_create(&t[i], NULL, who[i], how[i]);
	for (size_t i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(twice, 0);
	assert_true(won > 0);
	for (int i = 0; i < N; i++)
		assert_int_equal(contested[i].motion.any, 0);
}

static void a_place_has_one_owner(void **state)
{
	static wanter *const who[] = { want_all, want_all, want_one, want_one };
	static void *const alike[] = { NULL, NULL, NULL, NULL };
	static void *const apart[] = { NULL, (void *)who, NULL, NULL };

	(void)state;
	contest(who, 2, alike);
	contest(who, 2, apart);
	for (int i = 0; i < 4; i++)
		contest(who + 1, 2, alike);
	contest(who, 4, apart);
}

/* ---- places of flick/patch.h ------------------------------------------------------------ */

static const unsigned char nop5[6] = { 0x0f, 0x1f, 0x44, 0, 0, 0xc3 };
enum { MANY = 600, APART = 64, SPLIT = 6 };
enum { TARGET = 0x10000 + MANY * APART };	/* a call differs from a nop in each word */
static unsigned char *code;
static struct flick_patch places[MANY];
static struct flick_change changes[MANY];

/* At every second place one byte is stored, at the others it takes three phases. */
static void take_places(enum flick_state to)
{
	for (size_t i = 0; i < MANY; i++) {
		unsigned char *at = code + i * APART + SPLIT;

		memcpy(at, nop5, sizeof nop5);
		assert_int_equal(flick_call_init(&places[i], at, code + TARGET,
						 i % 2 ? FLICK_FLAGS_DEAD : 0), 0);
		assert_string_equal(flick_patch_tactic(&places[i]), i % 2 ? "flip" : "wide");
		changes[i] = (struct flick_change){ &places[i], to };
	}
}

static void release_places(void)
{
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(flick_patch_release(&places[i]), 0);
		assert_memory_equal(code + i * APART + SPLIT, nop5, sizeof nop5);
	}
}

static int single, other_set;
static size_t other_bad;

/* The set has marked its first places. */
static void come_between(void)
{
	struct flick_change c[MANY];

	single = flick_patch_switch(&places[1], FLICK_ON);
	for (size_t i = 0; i < 8; i++)
		c[i] = (struct flick_change){ &places[i < 7 ? 300 + i : 2], FLICK_ON };
	other_set = flick_patch_commit(c, 8, &other_bad);
}

static void what_a_set_has_marked_is_the_sets(void **state)
{
	(void)state;
	take_places(FLICK_ON);
	stop("motion.marking", come_between);
	assert_int_equal(flick_patch_commit(changes, MANY, NULL), 0);
	assert_int_equal(single, FLICK_E_BUSY);
	assert_int_equal(other_set, FLICK_E_BUSY);
	assert_int_equal(other_bad, 7);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(flick_patch_state(&places[i]), FLICK_ON);
	release_places();
}

/* What one has begun no set gets; what the set had by then is anybody's again. */
static void a_set_that_loses_leaves_nothing(void **state)
{
	size_t bad;

	(void)state;
	take_places(FLICK_ON);
	for (size_t lost = 0; lost < MANY; lost += 266) {
		assert_int_equal(flick_patch_start(&places[lost], FLICK_ON), 0);
		assert_int_equal(flick_patch_commit(changes, MANY, &bad), FLICK_E_BUSY);
		assert_int_equal(bad, lost);
		while (flick_patch_finish(&places[lost]))
			;
		for (size_t i = 0; i < MANY; i++)
			assert_int_equal(flick_patch_switch(&places[i], FLICK_OFF), 0);
	}
	assert_int_equal(flick_patch_commit(changes, MANY, NULL), 0);
	release_places();
}

static void a_place_twice_in_a_set_is_refused(void **state)
{
	struct flick_patch *was = changes[70].patch;
	size_t bad;

	(void)state;
	take_places(FLICK_ON);
	changes[70].patch = changes[69].patch;
	assert_int_equal(flick_patch_commit(changes, MANY, &bad), FLICK_E_BUSY);
	assert_int_equal(bad, 70);
	changes[70].patch = changes[3].patch;
	assert_int_equal(flick_patch_commit(changes, MANY, &bad), FLICK_E_BUSY);
	assert_int_equal(bad, 70);
	changes[70].patch = was;
	release_places();
}

/* A switch of one store is over when it was begun: nobody need finish it. */
static void one_that_was_begun_may_be_in_a_set(void **state)
{
	(void)state;
	take_places(FLICK_ON);
	assert_int_equal(flick_patch_start(&places[1], FLICK_OFF), 0);
	assert_int_equal(flick_patch_commit(changes, MANY, NULL), 0);
	assert_int_equal(flick_patch_finish(&places[1]), 0);
	assert_int_equal(flick_patch_state(&places[1]), FLICK_ON);
	release_places();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_set_marks_at_a_time),
		cmocka_unit_test(a_place_has_one_owner),
		cmocka_unit_test(what_a_set_has_marked_is_the_sets),
		cmocka_unit_test(a_set_that_loses_leaves_nothing),
		cmocka_unit_test(a_place_twice_in_a_set_is_refused),
		cmocka_unit_test(one_that_was_begun_may_be_in_a_set),
	};

	code = mmap(NULL, TARGET + 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code[TARGET] = 0xc3;
	flick_patch_open(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
