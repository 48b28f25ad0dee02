/*
 * unit/robust.c - mutexes that are held without the C library stand in its lists:
 * the kernel marks them, and the C library's own beside them go on working.
 *
 * timeout: 60
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"

enum { OURS = 3, THEIRS = 3, ROUNDS = 3000 };

struct shared {				/* between processes */
	pthread_mutex_t ours[OURS], theirs[THEIRS], lock;
	uint32_t step, counted;
};
static struct shared *s;

static void make_theirs(pthread_mutex_t *m)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	assert_int_equal(pthread_mutex_init(m, &attr), 0);
}

static int make(void **state)
{
	(void)state;
	s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED || fl_os_robust_open())
		return -1;
	for (int i = 0; i < THEIRS; i++)
		make_theirs(&s->theirs[i]);
	make_theirs(&s->lock);
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	return munmap(s, sizeof *s);
}

static uint32_t word(const pthread_mutex_t *m)
{
	return __atomic_load_n((const uint32_t *)m, __ATOMIC_ACQUIRE);
}

static bool is_marked(const pthread_mutex_t *m)
{
	return word(m) & FUTEX_OWNER_DIED;
}

/* How many mutexes the kernel would mark for this thread; -1: the list is broken. */
static int n_listed(void)
{
	struct robust_list_head *head;
	void **at, **prev;
	size_t bytes;
	int n = 0;

	assert_int_equal(syscall(SYS_get_robust_list, 0, &head, &bytes), 0);
	assert_null(head->list_op_pending);
	prev = (void **)&head->list;
	for (at = *prev; at != (void **)&head->list; prev = at, at = *at)
		if (at[-1] != prev || ++n > 1000)
			return -1;
	return at[-1] == prev ? n : -1;
}

/* ---- marks --------------------------------------------------------------------- */

static void *hold_and_end(void *arg)
{
	(void)arg;
	fl_os_hold(&s->ours[0]);
	assert_int_equal(pthread_mutex_lock(&s->theirs[0]), 0);
	fl_os_hold(&s->ours[1]);
	assert_int_equal(n_listed(), 3);
	assert_int_equal(word(&s->ours[1]) & FUTEX_TID_MASK, gettid());
	assert_int_equal(fl_os_thread_id(), gettid());
	return NULL;
}

static void a_thread_that_ends_is_marked(void **state)
{
	pthread_t t;

	(void)state;
	memset(&s->ours, 0xff, sizeof s->ours);		/* whatever it holds */
	pthread_create(&t, NULL, hold_and_end, NULL);
	pthread_join(t, NULL);
	assert_true(is_marked(&s->ours[0]) && is_marked(&s->ours[1]));
	assert_int_equal(pthread_mutex_lock(&s->theirs[0]), EOWNERDEAD);
	pthread_mutex_unlock(&s->theirs[0]);
}

static void hold_all(void)
{
	assert_int_equal(fl_os_thread_id(), gettid());	/* in fork's child, too */
	for (int i = 0; i < OURS; i++)
		fl_os_hold(&s->ours[i]);
	__atomic_store_n(&s->step, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&s->step, __ATOMIC_ACQUIRE) == 1)
		usleep(100);
}

static int waiter;			/* its thread id; atomic */

/* The kernel tells what a thread waits in. */
static void await_waiter(void)
{
	char path[64], call[16] = "";

	while (atoi(call) != SYS_futex) {
		FILE *f;

		usleep(100);
		snprintf(path, sizeof path, "/proc/self/task/%d/syscall",
			 __atomic_load_n(&waiter, __ATOMIC_ACQUIRE));
		f = fopen(path, "r");
		if (f && !fgets(call, sizeof call, f))
			call[0] = 0;
		if (f)
			fclose(f);
	}
}

/* Is somebody who waits woken by the mark, long before his time is over? */
static void *await_mark(void *not_woken)
{
	enum { LONG_US = 10000000 };
	uint32_t is;

	__atomic_store_n(&waiter, gettid(), __ATOMIC_RELEASE);
	while (!((is = word(&s->ours[2])) & FUTEX_OWNER_DIED))
		if (fl_os_futex_wait((uint32_t *)&s->ours[2], is, LONG_US) == -ETIMEDOUT)
			return not_woken;
	return NULL;
}

static void is_marked_and_wakes(void)
{
	void *not_woken;
	pthread_t t;

	while (!__atomic_load_n(&s->step, __ATOMIC_ACQUIRE))
		usleep(100);
	waiter = 0;
	pthread_create(&t, NULL, await_mark, &s);
	await_waiter();
	__atomic_store_n(&s->step, 2, __ATOMIC_RELEASE);
	pthread_join(t, &not_woken);
	assert_null(not_woken);
	while (!is_marked(&s->ours[0]))	/* the kernel goes on behind the one that wakes */
		usleep(100);
}

static void a_process_that_is_killed_is_marked_and_wakes(void **state)
{
	int pid = fork();

	(void)state;
	if (!pid) {
		hold_all();
		for (;;)
			kill(getpid(), SIGKILL);
	}
	is_marked_and_wakes();
	waitpid(pid, NULL, 0);
}

static void exec_marks_and_wakes(void **state)
{
	int pid = fork();

	(void)state;
	if (!pid) {
		hold_all();
		execl("/bin/sleep", "sleep", "20", NULL);
		_exit(1);
	}
	is_marked_and_wakes();
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);	/* it goes on */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- locks ---------------------------------------------------------------------- */

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void *wait_for_lock(void *got_us)
{
	__atomic_store_n(&waiter, gettid(), __ATOMIC_RELEASE);
	fl_os_robust_lock(&s->lock);
	*(uint64_t *)got_us = now_us();
	fl_os_robust_unlock(&s->lock);
	return NULL;
}

static uint64_t us_to_wake(void)
{
	uint64_t from, got;
	pthread_t t;

	fl_os_robust_lock(&s->lock);
	waiter = 0;
	pthread_create(&t, NULL, wait_for_lock, &got);
	await_waiter();
	from = now_us();
	fl_os_robust_unlock(&s->lock);
	pthread_join(t, NULL);
	return got - from;
}

/* Who is not woken looks again after a tenth of a second. */
static void an_unlock_wakes(void **state)
{
	enum { TRIES = 9, SOON_US = 50000 };
	int soon = 0;

	(void)state;
	for (int i = 0; i < TRIES; i++)
		soon += us_to_wake() < SOON_US;
	assert_true(soon > TRIES / 2);
}

/* ---- neighbours --------------------------------------------------------------- */

static void *lock_in_any_order(void *arg)
{
	unsigned seed = 7;
	int held[THEIRS] = { 0 }, family = 0;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		int k = rand_r(&seed) % (THEIRS + 1);

		if (k == THEIRS) {
			(family ? fl_os_robust_unlock : fl_os_robust_lock)(&s->lock);
			family = !family;
		} else {
			int err = (held[k] ? pthread_mutex_unlock : pthread_mutex_lock)
				(&s->theirs[k]);

			assert_int_equal(err, 0);
			held[k] = !held[k];
		}
		if (i == ROUNDS / 2)
			fl_os_hold(&s->ours[0]);
		assert_int_equal(n_listed(), held[0] + held[1] + held[2] + family +
				 (i >= ROUNDS / 2));
	}
	return NULL;
}

static void the_c_librarys_own_go_on_beside_them(void **state)
{
	pthread_t t;

	(void)state;
	pthread_create(&t, NULL, lock_in_any_order, NULL);
	pthread_join(t, NULL);
	assert_true(is_marked(&s->ours[0]));
}

/* ---- the lock ------------------------------------------------------------------ */

static void *count(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t n;

		fl_os_robust_lock(&s->lock);
		n = s->counted;
		if (i % 64 == 0)
			sched_yield();
		__atomic_store_n(&s->counted, n + 1, __ATOMIC_RELAXED);
		fl_os_robust_unlock(&s->lock);
	}
	return NULL;
}

static void one_holds_it_of_threads_and_processes(void **state)
{
	pthread_t t[2];
	int pid = fork();

	(void)state;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, count, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_int_equal(s->counted, 4 * ROUNDS);
	assert_int_equal(word(&s->lock), 0);
	assert_int_equal(n_listed(), 0);
}

static void *lock_late(void *arg)
{
	s->step = 2;
	fl_os_robust_lock(&s->lock);
	*(bool *)arg = !is_marked(&s->lock);
	fl_os_robust_unlock(&s->lock);
	return NULL;
}

static void a_holder_that_is_killed_lets_go(void **state)
{
	bool clean = false;
	pthread_t t;
	int pid = fork();

	(void)state;
	if (!pid) {
		fl_os_robust_lock(&s->lock);
		s->step = 1;
		for (;;)
			pause();
	}
	while (!__atomic_load_n(&s->step, __ATOMIC_ACQUIRE))
		usleep(100);
	pthread_create(&t, NULL, lock_late, &clean);
	while (!(word(&s->lock) & FUTEX_WAITERS))
		usleep(100);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pthread_join(t, NULL);
	assert_true(clean);
	assert_int_equal(word(&s->lock), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_thread_that_ends_is_marked),
		TEST(a_process_that_is_killed_is_marked_and_wakes),
		TEST(exec_marks_and_wakes),
		TEST(an_unlock_wakes),
		TEST(the_c_librarys_own_go_on_beside_them),
		TEST(one_holds_it_of_threads_and_processes),
		TEST(a_holder_that_is_killed_lets_go),
	};

	alarm(50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
