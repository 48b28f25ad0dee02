/*
 * unit/lock-order.c - who waits for a lock of flick's holds none of the same rank or a
 * higher one: in a test build the process ends there.
 *
 * timeout: 30
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"

void fl_point_hit(const char *);

void fl_point_hit(const char *name)
{
	(void)name;
}

static struct fl_lock any;
static struct fl_lock table = { .rank = FL_LOCK_TABLE };
static struct fl_lock family = { .rank = FL_LOCK_PROCESSES };
static struct fl_lock text = { .rank = FL_LOCK_TEXT };

/* The signal that ends a child which runs `f`; 0. */
static int signal_of(void (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGILL, SIG_DFL);	/* cmocka has a handler */
		f();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void in_order(void)
{
	uint64_t outer, middle, inner;

	for (int i = 0; i < 2; i++) {
		fl_os_lock(&table, &outer);
		fl_os_lock_awaited(&family);
		fl_os_lock_taken(&family);
		fl_os_lock(&text, &middle);
		fl_os_lock(&any, &inner);
		fl_os_unlock(&any, &inner);
		fl_os_unlock(&text, &middle);
		fl_os_lock_left(&family);
		fl_os_unlock(&table, &outer);
		fl_os_lock(&any, &outer);
		fl_os_unlock(&any, &outer);
	}
}

static void backwards(void)
{
	uint64_t signals;

	fl_os_lock(&text, &signals);
	fl_os_lock(&table, &signals);
}

static void twice(void)
{
	uint64_t signals;

	fl_os_lock(&text, &signals);
	fl_os_lock(&text, &signals);
}

static void behind_another_kind(void)
{
	uint64_t signals;

	fl_os_lock_awaited(&family);
	fl_os_lock_taken(&family);
	fl_os_lock(&table, &signals);
}

static void another_kind_behind(void)
{
	uint64_t signals;

	fl_os_lock(&text, &signals);
	fl_os_lock_awaited(&family);
}

static void the_wrong_order_is_seen(void **unused)
{
	(void)unused;
	assert_int_equal(signal_of(in_order), 0);
	assert_int_equal(signal_of(backwards), SIGILL);
	assert_int_equal(signal_of(twice), SIGILL);
	assert_int_equal(signal_of(behind_another_kind), SIGILL);
	assert_int_equal(signal_of(another_kind_behind), SIGILL);
}

static void *take_table(void *unused)
{
	uint64_t signals;

	if (fl_os_holds_locks())
		return NULL;
	fl_os_lock(&table, &signals);
	fl_os_unlock(&table, &signals);
	return unused;
}

static void take_in_copy(void)
{
	uint64_t signals;

	if (fl_os_holds_locks())
		_exit(1);
	fl_os_lock(&table, &signals);
}

/* What another thread holds is not this one's; nor is what a parent's did. */
static void what_others_hold_is_theirs(void **unused)
{
	uint64_t signals;
	void *done = NULL;
	pthread_t t;

	(void)unused;
	assert_int_equal(fl_os_copies_open(), 0);
	fl_os_lock(&text, &signals);
	assert_true(fl_os_holds_locks());
	assert_int_equal(pthread_create(&t, NULL, take_table, &done), 0);
	pthread_join(t, &done);
	assert_non_null(done);
	assert_int_equal(signal_of(take_in_copy), 0);
	fl_os_unlock(&text, &signals);
	assert_false(fl_os_holds_locks());
}

static sigjmp_buf out;

static void leave(int sig)
{
	siglongjmp(out, sig);
}

/* Whatever signal comes meanwhile, its handler runs when the lock is free, and may go
 * elsewhere. */
static void no_handler_leaves_a_lock_behind(void **unused)
{
	static const int signals_of[] = { SIGUSR1, SIGURG, SIGALRM };
	volatile size_t left = 0, unlocked = 0;
	uint64_t signals;

	(void)unused;
	for (volatile size_t i = 0; i < sizeof signals_of / sizeof *signals_of; i++) {
		signal(signals_of[i], leave);
		if (sigsetjmp(out, 1)) {
			left++;
		} else {
			fl_os_lock(&table, &signals);
			raise(signals_of[i]);
			unlocked++;
			fl_os_unlock(&table, &signals);
		}
		assert_false(fl_os_is_locked(&table) || fl_os_holds_locks());
		signal(signals_of[i], SIG_DFL);
	}
	assert_true(left == 3 && unlocked == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wrong_order_is_seen),
		cmocka_unit_test(what_others_hold_is_theirs),
		cmocka_unit_test(no_handler_leaves_a_lock_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
