/*
 * unit/handshake: every thread is reached, and none of them notices. Each case
 * is a child.
 *
 * timeout: 240
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "patch/handshake.h"
#include "patch/interrupt.h"
#include "patch/patch.h"
#include "patch/sync.h"
#include "stop-at.h"

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%d: %s\n", __LINE__, #x); \
				  _exit(1); } } while (0)

static uint32_t over;

static bool goes_on(void)
{
	return !load_relaxed(&over);
}

static void assert_child(void (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		run();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

/* ---- system calls ----------------------------------------------------------- */

static uint32_t asleep, ended;
static int ends[2];
static struct timespec until;		/* long after the test */

static void sleep_in_poll(void)
{
	struct pollfd p = { .fd = ends[0], .events = POLLIN };

	poll(&p, 1, -1);
}

static void sleep_in_poll_for_a_time(void)
{
	struct pollfd p = { .fd = ends[0], .events = POLLIN };

	poll(&p, 1, 1000000);
}

static void sleep_in_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	select(ends[0] + 1, &set, NULL, NULL, NULL);
}

static void sleep_in_epoll(void)
{
	struct epoll_event e;

	epoll_wait(epoll_create1(0), &e, 1, -1);
}

static void sleep_in_nanosleep(void)
{
	nanosleep(&(struct timespec){ .tv_sec = 1000 }, NULL);
}

static void sleep_until(void)
{
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void sleep_in_futex(void)
{
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec t = { .tv_sec = time(NULL) + 1000 };

	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&cond, &mutex, &t);
}

/* As the C library waits, but that does not go on by itself. */
static void wait_for_word(int op, const struct timespec *t)
{
	static uint32_t word;
	register const struct timespec *time __asm__("r10") = t;
	register void *other __asm__("r8") = NULL;
	register int any __asm__("r9") = FUTEX_BITSET_MATCH_ANY;
	long result;

	_Static_assert(SYS_futex == 202, "the 202 below");
	__asm__ volatile("xor %%edx, %%edx\n\tmov $202, %%eax\n\tsyscall"
			 : "=a"(result)
			 : "D"(&word), "S"((long)op), "r"(time), "r"(other), "r"(any)
			 : "rcx", "rdx", "r11", "memory");
}

static void sleep_in_futex_until(void)
{
	wait_for_word(FUTEX_WAIT_BITSET_PRIVATE, &until);
}

static void sleep_in_futex_for_a_time(void)
{
	wait_for_word(FUTEX_WAIT_PRIVATE, &(struct timespec){ .tv_sec = 1000 });
}

static void sleep_in_read(void)
{
	char c;

	if (read(ends[0], &c, 1) < 0)
		return;
}

static void sleep_in_pause(void)
{
	pause();
}

static void sleep_in_sigwait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwaitinfo(&set, NULL);
}

static void (*const sleeps[])(void) = {
	sleep_in_poll, sleep_in_poll_for_a_time, sleep_in_select, sleep_in_epoll,
	sleep_in_nanosleep, sleep_until, sleep_in_futex, sleep_in_futex_until,
	sleep_in_futex_for_a_time, sleep_in_read, sleep_in_pause,
	sleep_in_sigwait,
};

static void *sleep_once(void *arg)
{
	__atomic_fetch_add(&asleep, 1, __ATOMIC_SEQ_CST);
	(*(void (*const *)(void))arg)();
	__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* 20 threads in each; they are in it when the kernel says so of all. */
static void start_sleepers(void)
{
	enum { EACH = 20 };
	pthread_attr_t small;
	pthread_t t;

	CHECK(!pipe(ends));
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 1000;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	for (size_t i = 0; i < EACH * ARRAY_LEN(sleeps); i++)
		CHECK(!pthread_create(&t, &small, sleep_once,
				      (void *)&sleeps[i % ARRAY_LEN(sleeps)]));
	while (__atomic_load_n(&asleep, __ATOMIC_SEQ_CST) < EACH * ARRAY_LEN(sleeps))
		usleep(100);
}

static void each_way(enum fl_who who)
{
	CHECK(!fl_handshake_open());
	start_sleepers();
	for (int i = 0; i < 20; i++)
		CHECK(!fl_handshake(who, 10000000));
	CHECK(!ended);
}

static void sleepers_run_cores(void)
{
	each_way(FL_WHO_CORES);
}

static void sleepers_run_all(void)
{
	each_way(FL_WHO_ALL);
}

static void sleepers_run_stop(void)
{
	CHECK(!fl_patch_open("stop"));
	start_sleepers();
	for (int i = 0; i < 100; i++)
		fl_patch_sync();
	CHECK(!ended);
}

static void sleepers_are_left_in_peace(void **state)
{
	(void)state;
	assert_child(sleepers_run_cores);
	assert_child(sleepers_run_stop);
}

/* Everybody is interrupted, and each call is made again. */
static void interrupted_calls_go_on(void **state)
{
	(void)state;
	assert_child(sleepers_run_all);
}

/* To sleep anew would be to sleep longer: who asks what remains is told. */
static void *sleep_and_ask(void *tid)
{
	struct timespec time = { .tv_sec = 100 }, rest = { 0 };

	__atomic_store_n((int *)tid, gettid(), __ATOMIC_RELEASE);
	CHECK(nanosleep(&time, &rest) == -1 && errno == EINTR && rest.tv_sec > 0);
	return tid;
}

static void interrupt_sleep(void)
{
	struct fl_thread_status s = { 0 };
	int tid = 0;
	pthread_t t;

	alarm(10);
	CHECK(!fl_handshake_open());
	CHECK(!pthread_create(&t, NULL, sleep_and_ask, &tid));
	while (s.state != 'S') {
		usleep(100);
		fl_os_thread_status(0, __atomic_load_n(&tid, __ATOMIC_ACQUIRE), &s);
	}
	CHECK(!fl_handshake(FL_WHO_ALL, 10000000));
	pthread_join(t, NULL);
}

static void a_sleep_that_is_interrupted_says_what_remains(void **state)
{
	(void)state;
	assert_child(interrupt_sleep);
}

/* Threads that go to sleep, and wake, all the time. */
static void *nap(void *arg)
{
	struct epoll_event e;
	int fd = epoll_create1(0);

	while (goes_on()) {
		CHECK(poll(NULL, 0, 1) == 0);
		CHECK(epoll_wait(fd, &e, 1, 1) == 0);
		CHECK(!usleep(50));
		CHECK(!select(0, NULL, NULL, NULL, &(struct timeval){ .tv_usec = 50 }));
	}
	return arg;
}

static void run_naps(const char *sync)
{
	pthread_t t[4];

	CHECK(!fl_patch_open(sync));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, nap, NULL));
	for (int i = 0; i < 1000; i++)
		fl_patch_sync();
	store_relaxed(&over, 1);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void naps_under_signal(void)
{
	run_naps("signal");
}

static void naps_under_stop(void)
{
	run_naps("stop");
}

static void who_falls_asleep_meanwhile_sees_no_eintr(void **state)
{
	(void)state;
	assert_child(naps_under_signal);
	assert_child(naps_under_stop);
}

/* ---- threads ----------------------------------------------------------------- */

static void *end_at_once(void *arg)
{
	return arg;
}

static void *create(void *arg)
{
	pthread_t t;

	while (goes_on()) {
		CHECK(!pthread_create(&t, NULL, end_at_once, arg));
		CHECK(!pthread_join(t, NULL));
	}
	return arg;
}

static void *spin(void *arg)
{
	while (goes_on())
		fl_arch_pause();
	return arg;
}

static void *fork_and_sync(void *arg)
{
	while (goes_on()) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			fl_patch_sync();
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status);
	}
	return arg;
}

static void run_churn(const char *sync)
{
	void *(*const runs[])(void *) = { create, create, spin, fork_and_sync };
	pthread_t t[4];

	CHECK(!fl_patch_open(sync));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, runs[i], NULL));
	for (int i = 0; i < 200; i++)
		fl_patch_sync();
	store_relaxed(&over, 1);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void churn_under_signal(void)
{
	run_churn("signal");
}

static void churn_under_stop(void)
{
	run_churn("stop");
}

static void threads_and_children_come_and_go(void **state)
{
	(void)state;
	assert_child(churn_under_signal);
	assert_child(churn_under_stop);
}

static pthread_t spinner;
static int spinner_tid;

static void *spin_and_end(void *arg)
{
	__atomic_store_n(&spinner_tid, gettid(), __ATOMIC_RELEASE);
	return spin(arg);
}

/* Until nobody has its number. */
static void let_end(void)
{
	store_relaxed(&over, 1);
	pthread_join(spinner, NULL);
	while (!syscall(SYS_tgkill, getpid(), spinner_tid, 0))
		fl_arch_pause();
}

static void end_before_the_signal(void)
{
	alarm(10);
	CHECK(!fl_patch_open("signal"));
	CHECK(!pthread_create(&spinner, NULL, spin_and_end, NULL));
	while (!__atomic_load_n(&spinner_tid, __ATOMIC_ACQUIRE))
		fl_arch_pause();
	stop("handshake.asking", let_end);
	CHECK(!fl_handshake(FL_WHO_ALL, 10000000));
	CHECK(!stop_at);
}

static void who_ends_before_it_is_asked_is_not_waited_for(void **state)
{
	(void)state;
	assert_child(end_before_the_signal);
}

static void *end_main(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	CHECK(!fl_patch_open("signal"));
	fl_patch_sync();
	CHECK(!fl_handshake(FL_WHO_ALL, 10000000));
	_exit(0);
}

/* Its entry in /proc stays, as a zombie. */
static void main_thread_ends(void)
{
	static pthread_t self;
	pthread_t t;

	self = pthread_self();
	CHECK(!pthread_create(&t, NULL, end_main, &self));
	pthread_exit(NULL);
}

static void a_main_thread_that_has_ended_is_not_waited_for(void **state)
{
	(void)state;
	assert_child(main_thread_ends);
}

/* ---- masks --------------------------------------------------------------------- */

static uint32_t step;

static void *block_for_a_while(void *arg)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	store_release(&step, 1);		/* ordering: the test's own */
	while (load_acquire(&step) == 1)	/* ordering: the test's own */
		fl_arch_pause();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	store_release(&step, 3);		/* ordering: the test's own */
	return spin(arg);
}

static void await_step(uint32_t n)
{
	while (load_acquire(&step) != n)	/* ordering: the test's own */
		fl_arch_pause();
}

static void mask_changes(void)
{
	pthread_t t;

	CHECK(!fl_handshake_open());
	CHECK(!pthread_create(&t, NULL, block_for_a_while, NULL));
	await_step(1);
	CHECK(fl_handshake_ready() == FLE_SIGBLOCK);
	CHECK(fl_handshake(FL_WHO_ALL, 20000) == FLE_SIGBLOCK);
	fl_patch_close();	/* a signal is on its way, and finds the program's action */
	store_release(&step, 2);		/* ordering: the test's own */
	await_step(3);
	CHECK(!fl_handshake(FL_WHO_ALL, 10000000));
	CHECK(fl_handshake_ready() == 0);
}

static void a_thread_that_blocks_the_signal_is_named(void **state)
{
	(void)state;
	assert_child(mask_changes);
}

/* Blocked after ready() was asked: the sync ends when the thread leaves its
 * core, or opens its mask. */
static void *open_later(void *arg)
{
	while (goes_on() && fl_os_monotonic_ns() < *(uint64_t *)arg)
		;
	store_release(&step, 2);		/* ordering: the test's own */
	return NULL;
}

static void mask_changes_late(void)
{
	uint64_t when;
	pthread_t t, u;

	CHECK(!fl_patch_open("signal"));
	CHECK(!pthread_create(&t, NULL, block_for_a_while, NULL));
	await_step(1);
	when = fl_os_monotonic_ns() + 50000000;
	CHECK(!pthread_create(&u, NULL, open_later, &when));
	fl_patch_sync();
}

static void a_sync_waits_for_a_mask(void **state)
{
	(void)state;
	assert_child(mask_changes_late);
}

/* ---- locks of flick's ------------------------------------------------------------ */

static struct fl_lock outer = { .rank = FL_LOCK_TABLE };
static struct fl_lock inner = { .rank = FL_LOCK_CLAIMS };
static struct fl_lock other;

/* With every signal blocked: it has one already. */
static void *wait_for_inner(void *unused)
{
	uint64_t signals, more;

	fl_os_lock(&outer, &signals);
	store_release(&step, 1);		/* ordering: the test's own */
	fl_os_lock(&inner, &more);
	fl_os_unlock(&inner, &more);
	fl_os_unlock(&outer, &signals);
	return unused;
}

static void *hold_for_a_while(void *unused)
{
	enum { WHILE_NS = 20000000 };
	uint64_t signals, end = fl_os_monotonic_ns() + WHILE_NS;

	fl_os_lock(&other, &signals);
	while (fl_os_monotonic_ns() < end)
		;
	fl_os_unlock(&other, &signals);
	return unused;
}

static void sync_with_locks(void)
{
	pthread_t waits, holds;
	uint64_t signals;

	CHECK(!fl_patch_open("signal"));
	for (int i = 0; i < 10; i++) {
		store_release(&step, 0);	/* ordering: the test's own */
		fl_os_lock(&inner, &signals);
		CHECK(!pthread_create(&waits, NULL, wait_for_inner, NULL));
		CHECK(!pthread_create(&holds, NULL, hold_for_a_while, NULL));
		await_step(1);
		CHECK(fl_sync_ready() == 0);
		for (int k = 0; k < 20; k++)
			fl_patch_sync();
		fl_os_unlock(&inner, &signals);
		pthread_join(waits, NULL);
		pthread_join(holds, NULL);
	}
}

static void who_waits_for_the_syncers_lock_is_not_waited_for(void **state)
{
	(void)state;
	assert_child(sync_with_locks);
}

/* ---- an exec meanwhile ------------------------------------------------------------- */

/* Its signal is pending in the thread that calls exec, and for the new image. */
static void *ask_in_vain(void *arg)
{
	await_step(1);
	CHECK(fl_handshake(FL_WHO_ALL, 20000));
	store_release(&step, 2);		/* ordering: the test's own */
	return spin(arg);
}

static void block(sigset_t *urgent)
{
	sigemptyset(urgent);
	sigaddset(urgent, SIGURG);
	pthread_sigmask(SIG_BLOCK, urgent, NULL);
}

static void exec_under_a_signal(void)
{
	sigset_t all, pending;
	pthread_t t;

	CHECK(!fl_handshake_open());
	CHECK(!pthread_create(&t, NULL, ask_in_vain, NULL));
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	store_release(&step, 1);		/* ordering: the test's own */
	await_step(2);
	CHECK(!sigpending(&pending) && sigismember(&pending, FL_SYNC_SIGNAL));
	execl("/proc/self/exe", "handshake", "anew", NULL);
	_exit(1);
}

/* What exec has started: with all signals blocked, and one pending. */
static int begin_anew(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	return 0;
}

static void an_image_lives_that_begins_under_a_signal(void **state)
{
	(void)state;
	assert_child(exec_under_a_signal);
}

/* ---- the program's own ------------------------------------------------------------ */

static volatile uint64_t taken;

static void on_urgent(int sig)
{
	(void)sig;
	taken++;
}

static void send_oneself(void)
{
	CHECK(!syscall(SYS_tgkill, getpid(), gettid(), SIGURG));
}

/* Ours is pending already, so the kernel drops the program's. */
static void *send_into_ours(void *arg)
{
	sigset_t urgent;
	uint64_t before;

	block(&urgent);
	store_release(&step, 1);		/* ordering: the test's own */
	await_step(2);
	before = taken;
	send_oneself();
	pthread_sigmask(SIG_UNBLOCK, &urgent, NULL);
	CHECK(taken > before);
	return arg;
}

static void program_sends(void)
{
	pthread_t t;

	signal(SIGURG, on_urgent);
	CHECK(!fl_handshake_open());
	CHECK(!pthread_create(&t, NULL, send_into_ours, NULL));
	await_step(1);
	CHECK(fl_handshake(FL_WHO_ALL, 20000));
	store_release(&step, 2);		/* ordering: the test's own */
	pthread_join(t, NULL);
	taken = 0;
	for (uint64_t i = 1; i <= 1000; i++) {
		send_oneself();
		CHECK(taken == i);		/* nor made up, where we send none */
	}
}

static void no_signal_of_the_programs_is_lost(void **state)
{
	(void)state;
	assert_child(program_sends);
}

static int send_to(void *arg, int tid)
{
	(void)arg;
	CHECK(!syscall(SYS_tgkill, getpid(), tid, SIGURG));
	return 0;
}

/* Nobody is to notice one that is ignored, but for our handler. */
static void sleepers_run_own(void)
{
	CHECK(!fl_handshake_open());
	start_sleepers();
	CHECK(!fl_handshake(FL_WHO_ALL, 10000000));
	for (int i = 0; i < 20; i++)
		CHECK(!fl_os_threads(gettid(), send_to, NULL));
	CHECK(!fl_handshake(FL_WHO_ALL, 10000000));
	CHECK(!ended);
}

static void what_the_program_ignores_interrupts_nothing(void **state)
{
	(void)state;
	assert_child(sleepers_run_own);
}

static void *trap(void *arg)
{
	while (goes_on()) {
		uint64_t before = taken;

		__asm__ volatile("int3");
		CHECK(taken == before + 1);
	}
	return arg;
}

/* One thread traps all the time, and is interrupted all the time. */
static void program_traps(void)
{
	struct sigaction now;
	pthread_t t;

	signal(SIGTRAP, on_urgent);
	CHECK(!fl_handshake_open());
	CHECK(!pthread_create(&t, NULL, trap, NULL));
	for (int i = 0; i < 20000; i++)
		CHECK(!fl_handshake(FL_WHO_ALL, 10000000));
	CHECK(!sigaction(SIGTRAP, NULL, &now) && now.sa_handler == on_urgent);
	store_relaxed(&over, 1);
	pthread_join(t, NULL);
}

static void traps_are_the_programs_alone(void **state)
{
	(void)state;
	assert_child(program_traps);
}

/* Handlers that call the one that was there before, as they found it. */
enum { CHAINED = 3 };
static struct sigaction found[CHAINED];
static char took[16];			/* who took the signal, in order */
static sigjmp_buf out;
static bool leaves;

static void chain(int i, int sig, siginfo_t *info, void *uc)
{
	CHECK(strlen(took) < sizeof took - 1);
	took[strlen(took)] = (char)('0' + i);
	if (leaves)
		siglongjmp(out, 1);
	if (found[i].sa_flags & SA_SIGINFO)
		found[i].sa_sigaction(sig, info, uc);
}

static void first(int sig, siginfo_t *info, void *uc)
{
	chain(0, sig, info, uc);
}

static void second(int sig, siginfo_t *info, void *uc)
{
	chain(1, sig, info, uc);
}

static void third(int sig, siginfo_t *info, void *uc)
{
	chain(2, sig, info, uc);
}

static void put_before(int i, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(SIGURG, &sa, &found[i]));
}

static void expect(const char *order)
{
	for (int i = 0; i < 3; i++) {
		memset(took, 0, sizeof took);
		if (!leaves || !sigsetjmp(out, 1))
			send_oneself();
		CHECK(!strcmp(took, order));
	}
}

static void program_chains(void)
{
	struct sigaction now;

	put_before(0, first);
	expect("0");
	CHECK(!fl_interrupt_install());
	expect("0");
	put_before(1, second);			/* found ours */
	expect("10");
	CHECK(!fl_interrupt_install());
	expect("10");
	put_before(2, third);			/* found ours again */
	expect("210");
	CHECK(!fl_interrupt_install());
	expect("210");
	leaves = true;
	expect("2");
	leaves = false;
	expect("210");
	fl_interrupt_close();
	CHECK(!sigaction(SIGURG, NULL, &now) && now.sa_sigaction == third);
	expect("210");
	CHECK(!fl_interrupt_install());
	expect("210");
	signal(SIGURG, on_urgent);
	CHECK(!fl_interrupt_install());
	taken = 0;
	expect("");
	CHECK(taken == 3);
}

static void a_chain_of_handlers_has_an_end(void **state)
{
	(void)state;
	assert_child(program_chains);
}

static void come_meanwhile(void)
{
	signal(SIGURG, on_urgent);
}

/* Between flick's look at the action and its own. */
static void program_hurries(void)
{
	stop("interrupt.looked", come_meanwhile);
	CHECK(!fl_interrupt_install());
	taken = 0;
	send_oneself();
	CHECK(taken == 1);
	fl_interrupt_close();
	send_oneself();
	CHECK(taken == 2);
}

static void a_handler_that_comes_meanwhile_is_kept(void **state)
{
	(void)state;
	assert_child(program_hurries);
}

/* Its mask and action are what they would be without us. */
static void program_ignores(void)
{
	struct sigaction sa = { .sa_handler = SIG_IGN }, now;

	sigaction(SIGURG, &sa, NULL);
	CHECK(!fl_interrupt_install());
	kill(getpid(), SIGURG);
	CHECK(!sigaction(SIGURG, NULL, &now) && now.sa_handler != SIG_IGN);
	fl_interrupt_close();
	CHECK(!sigaction(SIGURG, NULL, &now) && now.sa_handler == SIG_IGN);
	kill(getpid(), SIGURG);
}

static void the_programs_action_is_put_back(void **state)
{
	(void)state;
	assert_child(program_ignores);
}

static volatile int children;

static void on_child(int sig)
{
	(void)sig;
	children++;
}

static void program_waits(void)
{
	pthread_t t;

	signal(SIGCHLD, on_child);
	CHECK(!fl_patch_open("stop"));
	CHECK(!pthread_create(&t, NULL, spin, NULL));
	for (int i = 0; i < 200; i++) {
		fl_patch_sync();
		CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	}
	CHECK(!children);
	CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);	/* none is left */
}

static void the_tracer_is_no_child_of_the_programs(void **state)
{
	(void)state;
	assert_child(program_waits);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleepers_are_left_in_peace),
		cmocka_unit_test(interrupted_calls_go_on),
		cmocka_unit_test(a_sleep_that_is_interrupted_says_what_remains),
		cmocka_unit_test(who_falls_asleep_meanwhile_sees_no_eintr),
		cmocka_unit_test(threads_and_children_come_and_go),
		cmocka_unit_test(who_ends_before_it_is_asked_is_not_waited_for),
		cmocka_unit_test(a_main_thread_that_has_ended_is_not_waited_for),
		cmocka_unit_test(a_thread_that_blocks_the_signal_is_named),
		cmocka_unit_test(a_sync_waits_for_a_mask),
		cmocka_unit_test(who_waits_for_the_syncers_lock_is_not_waited_for),
		cmocka_unit_test(an_image_lives_that_begins_under_a_signal),
		cmocka_unit_test(no_signal_of_the_programs_is_lost),
		cmocka_unit_test(what_the_program_ignores_interrupts_nothing),
		cmocka_unit_test(traps_are_the_programs_alone),
		cmocka_unit_test(a_handler_that_comes_meanwhile_is_kept),
		cmocka_unit_test(a_chain_of_handlers_has_an_end),
		cmocka_unit_test(the_programs_action_is_put_back),
		cmocka_unit_test(the_tracer_is_no_child_of_the_programs),
	};

	(void)argv;
	if (argc > 1)
		return begin_anew();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
