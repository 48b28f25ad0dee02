/*
 * unit/trial: an experiment that must fail is seen to fail, one that is sound
 * goes well, and what is no outcome is not taken for one.
 *
 * timeout: 300
 * alone
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "trial/calibrate.h"

static void need_two(void)
{
	if (fl_trial_cpus() < 2)
		skip();
}

/* Until it has failed once, for `seconds` at most: mostly it does at once. */
static uint32_t run_until_failed(struct fl_trial *t, unsigned seconds)
{
	for (unsigned i = 0; i < 10 * seconds && !fl_trial_failures(t); i++)
		assert_int_equal(fl_trial_run(t, 100), 0);
	return fl_trial_failures(t);
}

static void a_call_in_two_halves_crashes(void **state)
{
	(void)state;
	need_two();
	for (uint8_t offset = 60; offset < 64; offset++) {
		struct fl_trial t = { .way = FL_WAY_HALVES, .subject = FL_SUBJECT_CALL,
				      .executors = 1, .offset = offset };

		assert_true(run_until_failed(&t, 5) > 0);
		assert_int_equal(t.fates[FL_FATE_HUNG], 0);
	}
}

static void an_operand_in_two_halves_is_wrong(void **state)
{
	struct fl_trial t = { .way = FL_WAY_HALVES, .subject = FL_SUBJECT_OPERAND,
			      .executors = 1 };

	(void)state;
	need_two();
	assert_true(run_until_failed(&t, 5) > 0);
	assert_true(t.fates[FL_FATE_WRONG] > 0);
	assert_true(t.torn > 0);
}

/* With a wait far beyond any T_max. */
static void a_long_wait_goes_well(void **state)
{
	(void)state;
	need_two();
	for (uint8_t offset = 60; offset < 64; offset++) {
		struct fl_trial t = { .way = FL_WAY_WAIT, .executors = 1,
				      .offset = offset, .wait = 10000 };

		assert_int_equal(fl_trial_run(&t, 50), 0);
		assert_int_equal(fl_trial_failures(&t), 0);
		assert_int_equal(t.runs, 1);
		assert_true(t.toggles > 0 && t.calls > 0);
	}
}

/* Aligned words, by every kind of store there is here. */
static void an_aligned_word_goes_well(void **state)
{
	(void)state;
	need_two();
	for (uint8_t way = FL_WAY_LOCK8; way <= FL_WAY_AVX32; way++) {
		struct fl_trial t = { .way = way, .subject = FL_SUBJECT_OPERAND,
				      .executors = 1, .offset = 16 };

		if (!fl_trial_can(way))
			continue;
		assert_int_equal(fl_trial_run(&t, 50), 0);
		assert_int_equal(fl_trial_failures(&t), 0);
	}
}

/* Its waits take seconds each, so it is still at it when the watchdog comes. */
static void what_does_not_end_is_hung(void **state)
{
	struct fl_trial t = { .way = FL_WAY_WAIT, .executors = 1, .offset = 62,
			      .wait = UINT32_MAX };

	(void)state;
	need_two();
	assert_int_equal(fl_trial_run(&t, 1), 0);
	assert_int_equal(t.fates[FL_FATE_HUNG], 1);
}

struct long_run {
	struct fl_trial trial;
	_Atomic pid_t tid;
	_Atomic bool has_ended;
};

static void *run_long(void *arg)
{
	struct long_run *r = arg;

	intptr_t result;

	r->tid = gettid();
	result = fl_trial_run(&r->trial, 60000);
	r->has_ended = true;
	return (void *)result;
}

/* The child that thread `tid` has started; 0 as long as there is none. */
static pid_t child_of(pid_t tid)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", tid);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%d", &pid) != 1)
			pid = 0;
		fclose(f);
	}
	return pid;
}

/* A run may be over before its child is found; another one is not. */
static void who_was_killed_from_outside_proves_nothing(void **state)
{
	struct long_run r;
	pthread_t thread;
	bool was_killed;
	void *result;

	(void)state;
	need_two();
	do {
		pid_t pid;

		r = (struct long_run){
			.trial = { .way = FL_WAY_WAIT, .executors = 1, .offset = 62 },
		};
		assert_int_equal(pthread_create(&thread, NULL, run_long, &r), 0);
		do {
			usleep(1000);
			pid = child_of(r.tid);
			was_killed = pid && !kill(pid, SIGTERM);
		} while (!was_killed && !r.has_ended);
		assert_int_equal(pthread_join(thread, &result), 0);
	} while (!was_killed || !(intptr_t)result);
	assert_int_equal((intptr_t)result, -EINTR);
	assert_int_equal(r.trial.runs, 0);
}

/* ---- lists -------------------------------------------------------------------------- */

static void crossings_are_by_the_bytes_that_change(void **state)
{
	static const struct {
		uint8_t subject, offset, crossing;
	} table[] = {
		{ FL_SUBJECT_CALL, 0, FL_CROSS_NONE },
		{ FL_SUBJECT_CALL, 3, FL_CROSS_NONE },
		{ FL_SUBJECT_CALL, 4, FL_CROSS_8 },
		{ FL_SUBJECT_CALL, 12, FL_CROSS_16 },
		{ FL_SUBJECT_CALL, 28, FL_CROSS_32 },
		{ FL_SUBJECT_CALL, 59, FL_CROSS_NONE },
		{ FL_SUBJECT_CALL, 60, FL_CROSS_LINE },
		{ FL_SUBJECT_OPERAND, 8, FL_CROSS_NONE },
		{ FL_SUBJECT_OPERAND, 1, FL_CROSS_8 },
		{ FL_SUBJECT_OPERAND, 57, FL_CROSS_LINE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct fl_trial t = { .subject = table[i].subject,
				      .offset = table[i].offset };

		assert_int_equal(fl_trial_crossing(&t), table[i].crossing);
	}
}

static void every_offset_in_a_line_is_tried_locked(void **state)
{
	size_t n = fl_atoms_list(NULL), tried[2][FL_N_SUBJECTS][64] = { 0 };
	struct fl_trial *all = calloc(n, sizeof *all);

	(void)state;
	assert_non_null(all);
	assert_int_equal(fl_atoms_list(all), n);
	for (size_t i = 0; i < n; i++) {
		if (all[i].way != FL_WAY_LOCK8)
			continue;
		assert_int_not_equal(fl_trial_crossing(&all[i]), FL_CROSS_LINE);
		tried[all[i].cold][all[i].subject][all[i].offset]++;
	}
	for (int cold = 0; cold < 2; cold++)
		for (int offset = 0; offset < 64; offset++) {
			assert_int_equal(tried[cold][FL_SUBJECT_CALL][offset], offset < 60);
			assert_int_equal(tried[cold][FL_SUBJECT_OPERAND][offset],
					 offset < 57);
		}
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_in_two_halves_crashes),
		cmocka_unit_test(an_operand_in_two_halves_is_wrong),
		cmocka_unit_test(a_long_wait_goes_well),
		cmocka_unit_test(an_aligned_word_goes_well),
		cmocka_unit_test(what_does_not_end_is_hung),
		cmocka_unit_test(who_was_killed_from_outside_proves_nothing),
		cmocka_unit_test(crossings_are_by_the_bytes_that_change),
		cmocka_unit_test(every_offset_in_a_line_is_tried_locked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
