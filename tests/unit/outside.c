/*
 * unit/outside.c - a process beside another in its memory: what it shares, what ends
 * it and what does not, and where it cannot be had.
 *
 * The program is a child of the test, and its threads are; the test takes orphans.
 *
 * timeout: 120
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "filter-call.h"

enum { WAIT_MS = 5000 };

struct shared {
	int pid;			/* of who is beside the program */
	int started;			/* what start() said, + 1 */
	uint32_t rests, stop, ended;
	int why;			/* it ended */
	int parent, group, descriptors, program_seen, wait_err;
	char directory[64], name[16];
	int slack_ns;
	struct fl_lock lock;
	uint32_t step;
};
static struct shared *s;
static int program;

static int make(void **state)
{
	(void)state;
	s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return s == MAP_FAILED ? -1 : 0;
}

static int unmake(void **state)
{
	(void)state;
	return munmap(s, sizeof *s);
}

static bool comes(const uint32_t *word, uint32_t least)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= least)
			return true;
		usleep(1000);
	}
	return false;
}

/* ---- beside --------------------------------------------------------------------- */

static int count_one(void *arg, int tid)
{
	(void)tid;
	++*(int *)arg;
	return 0;
}

static void look_around(void)
{
	char path[64];
	int fd = fl_os_open("/", O_RDONLY);

	s->descriptors = fd;			/* the lowest one that is free */
	fl_os_close(fd);
	s->program_seen = fl_os_pid();
	snprintf(path, sizeof path, "/proc/%d/cwd", s->pid);
	fl_os_readlink(path, s->directory, sizeof s->directory);
	fl_os_thread_name(s->name);
	s->slack_ns = prctl(PR_GET_TIMERSLACK);
}

/* snprintf() is the C library's: it touches no TLS for this. */
static int rest(void *arg)
{
	int err = 0;

	(void)arg;
	s->pid = fl_os_tid();
	look_around();
	while (!err && !__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		err = fl_os_rest(1000);
		s->parent = fl_os_parent();
		__atomic_add_fetch(&s->rests, 1, __ATOMIC_RELEASE);
	}
	s->why = err;
	__atomic_store_n(&s->ended, 1, __ATOMIC_RELEASE);
	return 0;
}

static int (*beside)(void *) = rest;

static int start(int parent)
{
	int err = fl_os_robust_open();

	if (!err)
		err = fl_os_outside_open();
	if (!err)
		err = fl_os_outside_start(beside, NULL, parent, NULL);
	__atomic_store_n(&s->started, err + 1, __ATOMIC_RELEASE);
	return err;
}

/* A program that does `body` once it has somebody beside it. */
static void run_program(void (*body)(void), bool as_siblings)
{
	program = fork();
	if (!program) {
		alarm(60);
		if (start(as_siblings ? getppid() : -1) == 0)
			body();
		_exit(3);
	}
}

/* It has ended, and is the test's to bury. */
static void expect_end(void)
{
	int pid;

	assert_true(comes(&s->ended, 1));
	assert_int_equal(s->why, -ESRCH);
	pid = waitpid(s->pid, NULL, 0);
	assert_int_equal(pid, s->pid);
}

static void expect_rest(void)
{
	uint32_t from = __atomic_load_n(&s->rests, __ATOMIC_ACQUIRE);

	assert_true(comes(&s->rests, from + 3));
	assert_int_equal(__atomic_load_n(&s->ended, __ATOMIC_ACQUIRE), 0);
}

static void bury_program(void)
{
	assert_int_equal(waitpid(program, NULL, 0), program);
}

static void wait_step(uint32_t step)
{
	while (__atomic_load_n(&s->step, __ATOMIC_ACQUIRE) != step)
		usleep(500);
}

static void go(uint32_t step)
{
	__atomic_store_n(&s->step, step, __ATOMIC_RELEASE);
}

/* ---- what it shares ---------------------------------------------------------------- */

static void see_nobody(void)
{
	int n = 0;

	fl_os_threads(0, count_one, &n);
	s->wait_err = waitpid(-1, NULL, __WALL | WNOHANG) < 0 ? errno : 0;
	s->group = n == 1 && fl_os_thread_count(0) == 1;
	go(1);
	wait_step(2);
	_exit(0);
}

static void shares_memory_alone(bool as_siblings)
{
	run_program(see_nobody, as_siblings);
	wait_step(1);
	assert_int_equal(s->group, 1);
	assert_int_equal(s->wait_err, ECHILD);
	expect_rest();
	assert_int_equal(s->parent, getpid());
	assert_int_equal(s->program_seen, program);
	assert_int_equal(s->descriptors, 0);
	assert_string_equal(s->directory, "/");
	assert_int_equal(s->slack_ns, 1000);	/* windows are short */
	assert_string_equal(s->name, "flick-watch");
	assert_int_equal(getpgid(s->pid), s->pid);
	assert_int_equal(getsid(s->pid), getsid(0));
	go(2);
	expect_end();
	bury_program();
}

static void a_sibling_shares_memory_alone(void **state)
{
	(void)state;
	shares_memory_alone(true);
}

static void an_orphan_shares_memory_alone(void **state)
{
	(void)state;
	shares_memory_alone(false);
}

/* ---- what ends it -------------------------------------------------------------------- */

static void be_killed(void)
{
	for (;;)
		kill(getpid(), SIGKILL);
}

static void it_ends_with_a_program_that_is_killed(void **state)
{
	(void)state;
	run_program(be_killed, true);
	expect_end();
	bury_program();
}

static void exec_sleep(void)
{
	execl("/bin/sleep", "sleep", "30", NULL);
}

static void it_ends_at_exec(void **state)
{
	(void)state;
	run_program(exec_sleep, true);
	expect_end();
	assert_int_equal(waitpid(program, NULL, WNOHANG), 0);
	kill(program, SIGKILL);
	bury_program();
}

static void *exec_later(void *arg)
{
	(void)arg;
	wait_step(1);
	exec_sleep();
	return NULL;
}

static void exec_in_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, exec_later, NULL);
	for (;;)
		pause();
}

static void it_ends_when_another_thread_calls_exec(void **state)
{
	(void)state;
	run_program(exec_in_thread, true);
	expect_rest();
	go(1);
	expect_end();
	kill(program, SIGKILL);
	bury_program();
}

static void leave_first(void)
{
	pthread_t t;

	pthread_create(&t, NULL, exec_later, NULL);
	syscall(SYS_exit, 0);
}

/* The first thread is a zombie; then another one is the first. */
static void it_goes_on_without_the_first_thread(void **state)
{
	(void)state;
	run_program(leave_first, true);
	expect_rest();
	go(1);
	expect_end();
	kill(program, SIGKILL);
	bury_program();
}

static void *end_later(void *arg)
{
	wait_step(1);
	if (arg)
		kill(getpid(), SIGKILL);
	syscall(SYS_exit, 0);
	return NULL;
}

static void leave_two(void)
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, end_later, NULL);
	pthread_create(&t[1], NULL, end_later, NULL);
	syscall(SYS_exit, 0);
}

static void it_ends_with_the_last_thread(void **state)
{
	(void)state;
	run_program(leave_two, true);
	expect_rest();
	go(1);
	expect_end();
	bury_program();
}

/* What the kernel marks is no longer in its list. */
static void forget_list(void)
{
	static struct robust_list_head none = { .list.next = &none.list };

	syscall(SYS_set_robust_list, &none, sizeof none);
	_exit(0);
}

static void without_a_mark_it_looks(void **state)
{
	(void)state;
	run_program(forget_list, true);
	expect_end();
	bury_program();
}

/* ---- what denies it --------------------------------------------------------------- */

static int deny(int call)
{
	return filter_call(call, SECCOMP_RET_ERRNO | EACCES);
}

static void pause_for_ever(void)
{
	for (;;)
		pause();
}

static void where_waiting_is_denied_it_ends(void **state)
{
	(void)state;
	program = fork();
	if (!program) {
		alarm(60);
		if (deny(SYS_futex) || start(getppid()))
			_exit(3);
		pause_for_ever();
	}
	assert_true(comes(&s->ended, 1));
	assert_int_equal(s->why, -EACCES);
	assert_int_equal(s->rests, 1);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
	kill(program, SIGKILL);
	bury_program();
}

/* start() fails, and nothing is left. */
/* Where the first process of a namespace has ended nobody can. */
static bool can_fork(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(0);
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

static void expect_refusal(void (*first)(void))
{
	int status;

	program = fork();
	if (!program) {
		first();
		_exit(start(-1) == -ENOTSUP && !fl_os_outside_pid() && !s->ended &&
		      waitpid(-1, NULL, __WALL) < 0 && can_fork() ? 0 : 1);
	}
	assert_int_equal(waitpid(program, &status, 0), program);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void keep_descriptors(void)
{
	if (deny(SYS_close_range))
		_exit(77);
}

static void take_orphans(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void begin_namespace(void)
{
	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
		_exit(77);
}

static void with_the_programs_descriptors_it_does_not_begin(void **state)
{
	(void)state;
	expect_refusal(keep_descriptors);
	assert_true(waitpid(-1, NULL, 0) > 0);		/* that one ended at once */
}

static void it_is_nobodys_orphan_who_takes_orphans(void **state)
{
	(void)state;
	expect_refusal(take_orphans);
}

static void it_is_not_the_first_of_a_namespace(void **state)
{
	(void)state;
	expect_refusal(begin_namespace);
}

/* ---- its own death ------------------------------------------------------------------ */

static struct fl_lock lock;		/* of the program's memory */

static int hold_and_rest(void *arg)
{
	uint64_t signals;

	fl_os_lock(&lock, &signals);
	return rest(arg);
}

static void take_over(void)
{
	uint64_t signals;

	if (fl_os_trylock_by(&lock, gettid(), &signals))
		_exit(1);
	go(1);
	fl_os_lock(&lock, &signals);
	fl_os_unlock(&lock, &signals);
	go(2);
	_exit(0);
}

static void a_lock_that_it_held_is_free(void **state)
{
	(void)state;
	program = fork();
	if (!program) {
		alarm(60);
		if (fl_os_robust_open() || fl_os_outside_open() ||
		    fl_os_outside_start(hold_and_rest, NULL, getppid(), NULL))
			_exit(3);
		while (!__atomic_load_n(&s->rests, __ATOMIC_ACQUIRE))
			usleep(500);
		take_over();
	}
	wait_step(1);
	kill(s->pid, SIGKILL);
	wait_step(2);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
	bury_program();
}

static void fork_and_start(void)
{
	int pid, status, first = s->pid;

	wait_step(1);
	pid = fork();
	if (!pid) {
		int err = fl_os_is_outside() || start(-1);

		while (!err && s->pid == first)
			usleep(500);
		_exit(err);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(1);
	go(2);
	pause_for_ever();
}

static void a_child_of_fork_has_its_own(void **state)
{
	int first;

	(void)state;
	run_program(fork_and_start, true);
	expect_rest();
	first = s->pid;
	go(1);
	wait_step(2);
	assert_int_not_equal(s->pid, first);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);	/* with the child */
	assert_int_equal(waitpid(first, NULL, WNOHANG), 0);
	kill(program, SIGKILL);
	bury_program();
	assert_int_equal(waitpid(first, NULL, 0), first);
}

static int want_lock(void *arg)
{
	uint64_t signals;

	(void)arg;
	s->pid = fl_os_tid();
	go(1);
	fl_os_lock(&s->lock, &signals);
	return 0;
}

static void end_with_lock(void)
{
	uint64_t signals;

	fl_os_lock(&s->lock, &signals);
	go(2);
	wait_step(1);
	_exit(0);
}

static int want_lock_later(void *arg)
{
	while (__atomic_load_n(&s->step, __ATOMIC_ACQUIRE) != 2)
		fl_os_sleep_us(500);
	return want_lock(arg);
}

static void it_waits_for_no_lock_of_a_program_that_has_ended(void **state)
{
	int got = 0;

	(void)state;
	beside = want_lock_later;
	run_program(end_with_lock, true);
	beside = rest;
	bury_program();
	for (int ms = 0; ms < WAIT_MS && !got; ms++) {
		got = waitpid(s->pid, NULL, WNOHANG);
		usleep(1000);
	}
	if (!got)
		kill(s->pid, SIGKILL);
	assert_int_equal(got, s->pid);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sibling_shares_memory_alone),
		TEST(an_orphan_shares_memory_alone),
		TEST(it_ends_with_a_program_that_is_killed),
		TEST(it_ends_at_exec),
		TEST(it_ends_when_another_thread_calls_exec),
		TEST(it_goes_on_without_the_first_thread),
		TEST(it_ends_with_the_last_thread),
		TEST(without_a_mark_it_looks),
		TEST(where_waiting_is_denied_it_ends),
		TEST(with_the_programs_descriptors_it_does_not_begin),
		TEST(it_is_nobodys_orphan_who_takes_orphans),
		TEST(it_is_not_the_first_of_a_namespace),
		TEST(a_lock_that_it_held_is_free),
		TEST(a_child_of_fork_has_its_own),
		TEST(it_waits_for_no_lock_of_a_program_that_has_ended),
	};

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	alarm(100);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
