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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "flick/patch.h"
#include "os/os.h"
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

static uint32_t lock;
static uint64_t count;

static int is_free(void *arg)
{
	uint64_t signals;

	(void)arg;
	if (!fl_os_trylock(&lock, &signals))
		return 0;
	fl_os_unlock(&lock, &signals);
	return 1;
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

static int shared, copied;

static int try_sync(void *arg)
{
	(void)arg;
	return fl_sync_try(fl_sync_ticket());
}

static void send_children(void)
{
	shared = status_of(child_of_vfork(try_sync));
	copied = status_of(child_of_clone(try_sync));
}

static void a_sync_under_way_is_not_run_twice(void **state)
{
	(void)state;
	stop("sync.begun", send_children);
	flick_patch_barrier();
	assert_null(stop_at);
	assert_int_equal(shared, 0);
	assert_int_equal(copied, 1);
}

/* ---- places ---------------------------------------------------------------------- */

/* mov $n,%eax; ret: across a boundary of 8, and nobody can act it out. */
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

static void *run_first(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)run(0);
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

static int release_second(void *arg)
{
	(void)arg;
	return flick_patch_release(&places[1]) == 0 && !memcmp(at(1), mov1, 5);
}

static void finish(int i)
{
	while (flick_patch_finish(&places[i]) == -EAGAIN)
		;
}

static void a_thread_in_the_trap_handler_holds_no_child_up(void **state)
{
	pthread_t t;

	(void)state;
	take_place(0);
	take_place(1);
	assert_int_equal(flick_patch_start(&places[0], FLICK_ON), 0);
	t = hold_at("claims.entered", run_first);
	assert_int_equal(status_of(child_of_fork(release_second)), 1);
	assert_int_equal(status_of(child_of_clone(release_second)), 1);
	finish(0);
	assert_int_equal((intptr_t)end_of(t), 0x02020202);
	assert_int_equal(flick_patch_release(&places[0]), 0);
	assert_int_equal(flick_patch_release(&places[1]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_ends_with_its_process),
		cmocka_unit_test(a_count_ends_with_its_process),
		cmocka_unit_test(a_sync_under_way_is_not_run_twice),
		cmocka_unit_test(a_thread_in_the_trap_handler_holds_no_child_up),
	};

	code = mmap(NULL, N_PLACES * APART, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
