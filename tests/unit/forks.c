/*
 * unit/forks: what a child finds of its parent's locks, counts, places and masks, be it
 * a copy (fork, bare clone) or one that shares the memory (vfork).
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "flick/patch.h"
#include "os/os.h"
#include "patch/public.h"
#include "patch/sync.h"
#include "stop-at.h"

/* ---- children of three kinds ------------------------------------------------- */

static char stack[65536] __attribute__((aligned(16)));

static int child_of_fork(int (*run)(void *))
{
	int pid = fork();

	if (!pid)
		_exit(run(NULL));
	return pid;
}

static int child_of_clone(int (*run)(void *))
{
	int pid = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		_exit(run(NULL));
	return pid;
}

static int child_of_vfork(int (*run)(void *))
{
	return clone(run, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}

enum { HANGS = -1, SECONDS = 5 };

/* What `run` returned in the child. */
static int status_of(int pid)
{
	int status;

	for (int ms = 0; ms < SECONDS * 1000; ms++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
		usleep(1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return HANGS;
}

/* ---- locks and counts -------------------------------------------------------- */

static struct fl_lock lock;
static uint64_t count;

static int is_free(void *arg)
{
	uint64_t signals;

	(void)arg;
	if (fl_os_is_locked(&lock))
		return 0;
	fl_os_lock(&lock, &signals);
	fl_os_unlock(&lock, &signals);
	return 1;
}

/* Until somebody in this copy has had it. */
static int was_held(void *arg)
{
	bool was = fl_os_was_locked(&lock);

	return was && is_free(arg) && !fl_os_was_locked(&lock);
}

static int is_counted(void *arg)
{
	(void)arg;
	return (int)fl_os_count(&count);
}

/* A copy of a copy, in which the first copy holds the lock. */
static int is_free_again(void *arg)
{
	uint64_t signals;

	(void)arg;
	fl_os_lock(&lock, &signals);
	fl_os_count_by(&count, 1);
	return is_free(NULL) == 0 && is_counted(NULL) == 1 &&
	       status_of(child_of_clone(is_free)) == 1 &&
	       status_of(child_of_clone(is_counted)) == 0 &&
	       status_of(child_of_vfork(is_free)) == 0;
}

static void a_lock_ends_with_its_process(void **state)
{
	uint64_t signals;

	(void)state;
	assert_int_equal(flick_patch_open(NULL), 0);
	fl_os_lock(&lock, &signals);
	assert_true(fl_os_is_locked(&lock));
	assert_false(fl_os_was_locked(&lock));
	assert_int_equal(status_of(child_of_fork(was_held)), 1);
	assert_int_equal(status_of(child_of_fork(is_free)), 1);
	assert_int_equal(status_of(child_of_clone(is_free)), 1);
	assert_int_equal(status_of(child_of_vfork(is_free)), 0);
	assert_int_equal(status_of(child_of_fork(is_free_again)), 1);
	assert_true(fl_os_is_locked(&lock));
	fl_os_unlock(&lock, &signals);
	assert_false(fl_os_is_locked(&lock));
	assert_int_equal(status_of(child_of_vfork(is_free)), 1);
}

/* One that was counted before it forked leaves without having come. */
static int leave(void *arg)
{
	fl_os_count_by(&count, -1);
	return is_counted(arg);
}

static void a_count_ends_with_its_process(void **state)
{
	(void)state;
	fl_os_count_by(&count, 2);
	assert_int_equal(status_of(child_of_fork(is_counted)), 0);
	assert_int_equal(status_of(child_of_clone(leave)), 0);
	assert_int_equal(status_of(child_of_vfork(is_counted)), 2);
	fl_os_count_by(&count, -1);
	assert_int_equal(is_counted(NULL), 1);
	fl_os_count_by(&count, -1);
	assert_int_equal(is_counted(NULL), 0);
}

/* ---- the sync ------------------------------------------------------------------ */

static int forked, copied;

static int sync_alone(void *arg)
{
	(void)arg;
	flick_patch_barrier();
	return 1;
}

static void send_children(void)
{
	forked = status_of(child_of_fork(sync_alone));
	copied = status_of(child_of_clone(sync_alone));
}

static void a_sync_under_way_holds_no_child_up(void **state)
{
	(void)state;
	stop("sync.begun", send_children);
	flick_patch_barrier();
	assert_null(stop_at);
	assert_int_equal(forked, 1);
	assert_int_equal(copied, 1);
}

/* ---- places ---------------------------------------------------------------------- */

/* mov $n,%eax; ret: across a boundary of 8; threads are held meanwhile. */
static const unsigned char mov1[6] = { 0xb8, 1, 1, 1, 1, 0xc3 };
static const unsigned char mov2[6] = { 0xb8, 2, 2, 2, 2, 0xc3 };

enum { N_PLACES = 64, APART = 64 };
static unsigned char *code;
static struct flick_patch places[N_PLACES];

static unsigned char *at(int i)
{
	return code + i * APART + 6;
}

static int run(int i)
{
	int (*function)(void) = (int (*)(void))(uintptr_t)at(i);

	return function();
}

static void take_place(int i)
{
	memcpy(at(i), mov1, sizeof mov1);
	assert_int_equal(flick_patch_init(&places[i], at(i), mov2, 5), 0);
	assert_string_equal(flick_patch_tactic(&places[i]), "wide");
}

static uint32_t held, let_go;

static void hold(void)
{
	__atomic_store_n(&held, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&let_go, __ATOMIC_SEQ_CST))
		sched_yield();
}

/* A thread that runs `run` stands at point `at`. */
static pthread_t hold_at(const char *point, void *(*body)(void *))
{
	pthread_t t;

	held = let_go = 0;
	stop(point, hold);
	pthread_create(&t, NULL, body, NULL);
	while (!__atomic_load_n(&held, __ATOMIC_SEQ_CST))
		sched_yield();
	return t;
}

static void *end_of(pthread_t t)
{
	void *value;

	__atomic_store_n(&let_go, 1, __ATOMIC_SEQ_CST);
	pthread_join(t, &value);
	return value;
}

/* ---- what a fork cuts in two -------------------------------------------------------- */

static void *switch_first(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)flick_patch_switch(&places[0], FLICK_ON);
}

/* The thread that was at it is not there; the place is as before, and anybody's. */
static int first_is_whole(void *arg)
{
	(void)arg;
	if (memcmp(at(0), mov1, 5) || run(0) != 0x01010101)
		return 2;
	if (flick_patch_switch(&places[0], FLICK_ON) || run(0) != 0x02020202)
		return 3;
	return flick_patch_release(&places[0]) ? 4 : 1;
}

static void a_change_that_is_cut_is_none(void **state)
{
	static const char *const points[] = { "place.taken", "commit.park", "commit.tail" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		pthread_t t;

		take_place(0);
		t = hold_at(points[i], switch_first);
		assert_int_equal(status_of(child_of_fork(first_is_whole)), 1);
		assert_int_equal((intptr_t)end_of(t), 0);
		assert_int_equal(run(0), 0x02020202);
		assert_int_equal(flick_patch_release(&places[0]), 0);
	}
}

enum { SET = 6 };			/* enough to be claimed by marks */

static void *commit_set(void *arg)
{
	struct flick_change c[SET];

	(void)arg;
	for (int i = 0; i < SET; i++)
		c[i] = (struct flick_change){ &places[i], FLICK_ON };
	return (void *)(intptr_t)flick_patch_commit(c, SET, NULL);
}

static int all_are_whole(void *arg)
{
	if (first_is_whole(arg) != 1)
		return 2;
	for (int i = 1; i < SET; i++)
		if (memcmp(at(i), mov1, 5) || flick_patch_switch(&places[i], FLICK_ON) ||
		    flick_patch_release(&places[i]))
			return 3;
	return 1;
}

static void a_set_that_is_cut_is_none(void **state)
{
	static const char *const points[] = { "motion.marking", "commit.park", "commit.tail" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		pthread_t t;

		for (int k = 0; k < SET; k++)
			take_place(k);
		t = hold_at(points[i], commit_set);
		assert_int_equal(status_of(child_of_fork(all_are_whole)), 1);
		assert_int_equal((intptr_t)end_of(t), 0);
		for (int k = 0; k < SET; k++)
			assert_int_equal(flick_patch_release(&places[k]), 0);
	}
}

/* A nop that becomes a call: in one byte where flags are dead; else threads pass meanwhile. */
static void take_nop(int i, unsigned int flags)
{
	static const unsigned char nop5[6] = { 0x0f, 0x1f, 0x44, 0, 0, 0xc3 };
	unsigned char *target = at(N_PLACES - 1) + sizeof nop5;

	memcpy(at(i), nop5, sizeof nop5);
	*target = 0xc3;
	assert_int_equal(flick_call_init(&places[i], at(i), target, flags), 0);
}

static int second_goes_on(void *arg)
{
	(void)arg;
	while (flick_patch_finish(&places[1]) == -EAGAIN)
		;
	return !flick_patch_switch(&places[1], FLICK_OFF) && !flick_patch_release(&places[1]);
}

/* Its store was made when it was begun, so a set may have it. */
static void one_that_is_not_finished_may_be_in_a_set_that_is_cut(void **state)
{
	pthread_t t;

	(void)state;
	for (int k = 0; k < SET; k++)
		if (k != 1)
			take_place(k);
	take_nop(1, FLICK_FLAGS_DEAD);
	assert_int_equal(flick_patch_start(&places[1], FLICK_ON), 0);
	t = hold_at("commit.park", commit_set);
	assert_int_equal(status_of(child_of_fork(second_goes_on)), 1);
	assert_int_equal((intptr_t)end_of(t), 0);
	assert_int_equal(second_goes_on(NULL), 1);
	for (int k = 0; k < SET; k++)
		if (k != 1)
			assert_int_equal(flick_patch_release(&places[k]), 0);
}

static void *switch_second(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)flick_patch_switch(&places[1], FLICK_ON);
}

/* It does not wait for forks, nor is it waited for. */
static void a_switch_of_one_store_that_is_cut_is_made_or_not(void **state)
{
	pthread_t t;

	(void)state;
	take_nop(1, FLICK_FLAGS_DEAD);
	t = hold_at("place.claimed", switch_second);
	assert_int_equal(status_of(child_of_fork(second_goes_on)), 1);
	assert_int_equal((intptr_t)end_of(t), 0);
	assert_int_equal(second_goes_on(NULL), 1);
}

/* A set that had just asked for what another has. */
static void a_mark_that_is_cut_holds_nobody(void **state)
{
	uint8_t *mark = &fl_place_of(&places[1])->patch.motion.set;
	pthread_t t;

	(void)state;
	take_place(0);
	take_nop(1, 0);
	assert_int_equal(flick_patch_start(&places[1], FLICK_ON), 0);
	t = hold_at("place.taken", switch_first);
	*mark = 1;
	assert_int_equal(status_of(child_of_fork(second_goes_on)), 1);
	*mark = 0;
	assert_int_equal((intptr_t)end_of(t), 0);
	assert_int_equal(second_goes_on(NULL), 1);
	assert_int_equal(flick_patch_release(&places[0]), 0);
}

/* ---- probes ------------------------------------------------------------------------- */

/* call x, across a boundary of 8, as `on` calls glue. */
static struct fl_patch probe;

static int commit_probe(int from, int to)
{
	struct fl_change change;
	struct fl_set set = { .changes = &change, .room = 1 };
	size_t bad;
	int err = fl_set_stage(&set, &probe, from, to);

	if (!err) {
		fl_fork_enter();
		err = fl_set_commit(&set, &bad);
		fl_fork_leave();
	}
	return err;
}

static void *take_probe_away(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)commit_probe(FL_ON, FL_OLD);
}

static int probe_is_off(void *arg)
{
	(void)arg;
	return !memcmp(at(0), probe.bytes[FL_OFF], probe.len) && probe.state == FL_OFF;
}

/* Nobody in the child wants it on. */
static void a_probe_that_is_cut_is_off(void **state)
{
	static const char *const points[] = { "commit.park", "commit.tail" };
	struct fl_plan_in in = {
		.at = (uintptr_t)at(0), .form = FL_FORM_CALL, .room = 5,
		.glue = (uintptr_t)at(N_PLACES - 1),
	};
	uint64_t datum;

	(void)state;
	memcpy(at(0), "\xe8\1\2\3\4", 5);
	assert_int_equal(fl_arch_plan(&probe, &in, &datum), 0);
	assert_int_equal(fl_claim_alone(&probe), 0);
	for (size_t i = 0; i < 2; i++) {
		pthread_t t;

		assert_int_equal(commit_probe(FL_OLD, FL_ON), 0);
		t = hold_at(points[i], take_probe_away);
		assert_int_equal(status_of(child_of_fork(probe_is_off)), 1);
		assert_int_equal((intptr_t)end_of(t), 0);
		assert_memory_equal(at(0), "\xe8\1\2\3\4", 5);
	}
	fl_unclaim_alone(&probe);
}

/* ---- who forks in the middle --------------------------------------------------------- */

/* A handler of this thread's forks in the middle of a step: the child goes on with it. */
static int forked, is_parent;

static void fork_here(void)
{
	forked = fork();
	is_parent = forked != 0;
}

static long sleeps(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw;
}

static void who_forks_in_the_middle_goes_on(void **state)
{
	static const char *const points[] = { "place.taken", "commit.park", "commit.tail",
					      "commit.head" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		long before = sleeps();
		int err;

		take_place(0);
		stop(points[i], fork_here);
		err = flick_patch_switch(&places[0], FLICK_ON);
		if (!is_parent)
			_exit(err || run(0) != 0x02020202 ||
			      flick_patch_switch(&places[0], FLICK_OFF) ||
			      run(0) != 0x01010101 || flick_patch_release(&places[0]) ? 2 : 1);
		assert_int_equal(err, 0);
		assert_true(sleeps() - before < 200);	/* not for its own change */
		assert_int_equal(status_of(forked), 1);
		assert_int_equal(flick_patch_release(&places[0]), 0);
	}
}

/* ---- handlers of the program's ------------------------------------------------------- */

static pthread_mutex_t programs = PTHREAD_MUTEX_INITIALIZER;
static int within;			/* does its handler ... */
enum { NOTHING, LOCKS, SWITCHES, FORKS, OPENS, CLOSES };
static void meanwhile(void *(*body)(void *));
static void *open_probes(void *), *close_probes(void *);
static int fork_in_handler;

static int in_fork_within(void)
{
	bool is_first = places[0].opaque[0] != 0;

	return !is_first || first_is_whole(NULL) == 1 ? 1 : 2;
}

/* Was there before flick, so it runs behind flick's own. */
static void programs_before(void)
{
	if (within == LOCKS)
		pthread_mutex_lock(&programs);
	if (within == SWITCHES)
		flick_patch_switch(&places[0], FLICK_ON);
	if (within == OPENS)
		meanwhile(open_probes);
	if (within == CLOSES)
		meanwhile(close_probes);
	if (within == FORKS) {
		within = NOTHING;
		fork_in_handler = fork();
		if (!fork_in_handler)
			_exit(in_fork_within());
	}
}

static void programs_after(void)
{
	if (within == LOCKS)
		pthread_mutex_unlock(&programs);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *switch_locked(void *arg)
{
	int err;

	pthread_mutex_lock(&programs);
	__atomic_store_n(&held, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&let_go, __ATOMIC_SEQ_CST))
		sched_yield();
	err = flick_patch_switch(&places[0], FLICK_ON);
	pthread_mutex_unlock(&programs);
	return arg ? arg : (void *)(intptr_t)err;
}

static void let_others_go(void)
{
	__atomic_store_n(&let_go, 1, __ATOMIC_SEQ_CST);
}

static int first_is_on(void *arg)
{
	(void)arg;
	return run(0) == 0x02020202 && !flick_patch_release(&places[0]);
}

/* The fork's handler waits for a lock whose holder switches a place. */
static void a_fork_and_a_switch_wait_for_no_lock_of_the_programs(void **state)
{
	double begin = now();
	pthread_t t;
	void *err;

	(void)state;
	take_place(0);
	held = let_go = 0;
	pthread_create(&t, NULL, switch_locked, NULL);
	while (!__atomic_load_n(&held, __ATOMIC_SEQ_CST))
		sched_yield();
	within = LOCKS;
	stop("fork.waited", let_others_go);
	alarm(SECONDS);
	assert_int_equal(status_of(child_of_fork(first_is_on)), 1);
	alarm(0);
	within = NOTHING;
	pthread_join(t, &err);
	assert_null(err);
	assert_true(now() - begin < 1);
	assert_int_equal(flick_patch_release(&places[0]), 0);
}

/* How often the thread has slept. */
static void a_fork_waits_not_for_its_own_handlers(void **state)
{
	long before = sleeps();
	int pid;

	(void)state;
	take_place(0);
	within = SWITCHES;
	pid = child_of_fork(first_is_on);
	assert_true(sleeps() - before < 100);
	within = NOTHING;
	assert_int_equal(status_of(pid), 1);
	assert_int_equal(flick_patch_release(&places[0]), 0);
}

static void a_fork_within_a_fork_is_a_fork(void **state)
{
	(void)state;
	take_place(0);
	within = FORKS;
	assert_int_equal(status_of(child_of_fork(first_is_whole)), 1);
	assert_int_equal(status_of(fork_in_handler), 1);
	assert_int_equal(flick_patch_release(&places[0]), 0);
}

/* ---- flick.h ---------------------------------------------------------------------------- */

static flick *probes;

static void *open_probes(void *arg)
{
	return flick_open(&probes, NULL) ? "flick_open" : arg;
}

static void *close_probes(void *arg)
{
	flick_close(probes);
	return arg;
}

/* In a thread of its own, while the calling one is between flick's handlers. */
static void meanwhile(void *(*body)(void *))
{
	pthread_t t;
	void *wrong;

	alarm(SECONDS);
	pthread_create(&t, NULL, body, NULL);
	pthread_join(t, &wrong);
	alarm(0);
	assert_null(wrong);
}

static sigset_t mask_of(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	return set;
}

static bool is_mask(const sigset_t *set)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	for (int signal = 1; signal < 32; signal++)
		if (sigismember(set, signal) != sigismember(&now, signal))
			return false;
	return true;
}

static sigset_t mask;

static int has_mask(void *arg)
{
	(void)arg;
	return is_mask(&mask);
}

static void check_fork(int in_handler)
{
	within = in_handler;
	assert_int_equal(status_of(child_of_fork(has_mask)), 1);
	within = NOTHING;
	assert_true(is_mask(&mask));
}

static void who_opens_or_closes_meanwhile_changes_no_mask(void **state)
{
	sigset_t before;

	(void)state;
	mask = mask_of(SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &mask, &before);
	assert_null(open_probes(NULL));
	check_fork(NOTHING);
	check_fork(CLOSES);
	check_fork(OPENS);
	check_fork(FORKS);
	flick_close(probes);
	check_fork(NOTHING);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void *fork_too(void *arg)
{
	sigset_t own = mask_of(SIGUSR2);
	int pid;

	pthread_sigmask(SIG_SETMASK, &own, NULL);
	pid = fork();
	if (!pid)
		_exit(is_mask(&own) ? 1 : 2);
	return is_mask(&own) && status_of(pid) == 1 ? arg : "mask";
}

static void send_forker(void)
{
	meanwhile(fork_too);
}

/* The other's fork begins and ends while this one is made, and the other way round. */
static void forks_at_the_same_time_have_masks_of_their_own(void **state)
{
	sigset_t before;

	(void)state;
	mask = mask_of(SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &mask, &before);
	assert_null(open_probes(NULL));
	stop("life.forking", send_forker);
	check_fork(NOTHING);
	stop("fork.waited", send_forker);
	check_fork(NOTHING);
	flick_close(probes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

enum { STORMERS = 4, FORKS_EACH = 60 };
static uint32_t stormers;

static void *storm(void *arg)
{
	sigset_t own = mask_of((int)(intptr_t)arg);
	int wrong = 0;

	pthread_sigmask(SIG_SETMASK, &own, NULL);
	for (int i = 0; i < FORKS_EACH; i++) {
		int pid = fork();

		if (!pid)
			_exit(is_mask(&own) && first_is_whole(NULL) == 1 ? 1 : 2);
		wrong += status_of(pid) != 1;
		wrong += !is_mask(&own);
	}
	__atomic_fetch_sub(&stormers, 1, __ATOMIC_SEQ_CST);
	return (void *)(intptr_t)wrong;
}

/* Masks and places are whole in all, while flick is opened and closed and places are
 * switched. */
static void a_storm_of_forks_changes_nothing(void **state)
{
	pthread_t t[STORMERS];

	(void)state;
	take_place(0);
	take_place(1);
	stormers = STORMERS;
	for (int i = 0; i < STORMERS; i++)
		pthread_create(&t[i], NULL, storm, (void *)(intptr_t)(SIGUSR1 + i));
	while (__atomic_load_n(&stormers, __ATOMIC_SEQ_CST)) {
		assert_null(open_probes(NULL));
		for (int i = 0; i < 10; i++)
			assert_int_equal(flick_patch_switch(&places[1], i % 2), 0);
		flick_close(probes);
	}
	for (int i = 0; i < STORMERS; i++)
		assert_null(end_of(t[i]));
	assert_int_equal(flick_patch_release(&places[0]), 0);
	assert_int_equal(flick_patch_release(&places[1]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_ends_with_its_process),
		cmocka_unit_test(a_count_ends_with_its_process),
		cmocka_unit_test(a_sync_under_way_holds_no_child_up),
		cmocka_unit_test(a_change_that_is_cut_is_none),
		cmocka_unit_test(a_set_that_is_cut_is_none),
		cmocka_unit_test(one_that_is_not_finished_may_be_in_a_set_that_is_cut),
		cmocka_unit_test(a_switch_of_one_store_that_is_cut_is_made_or_not),
		cmocka_unit_test(a_mark_that_is_cut_holds_nobody),
		cmocka_unit_test(a_probe_that_is_cut_is_off),
		cmocka_unit_test(who_forks_in_the_middle_goes_on),
		cmocka_unit_test(a_fork_and_a_switch_wait_for_no_lock_of_the_programs),
		cmocka_unit_test(a_fork_waits_not_for_its_own_handlers),
		cmocka_unit_test(a_fork_within_a_fork_is_a_fork),
		cmocka_unit_test(who_opens_or_closes_meanwhile_changes_no_mask),
		cmocka_unit_test(forks_at_the_same_time_have_masks_of_their_own),
		cmocka_unit_test(a_storm_of_forks_changes_nothing),
	};

	pthread_atfork(programs_before, programs_after, programs_after);
	code = mmap(NULL, N_PLACES * APART, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
