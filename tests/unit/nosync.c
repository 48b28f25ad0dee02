/*
 * unit/nosync: where the kernel denies a way to synchronise cores the next one is
 * taken, and where none is left patching is refused. Each case is a child.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "patch/patch.h"
#include "filter-call.h"

/* System call `nr` answers EPERM from here on. */
static void deny(int nr)
{
	if (filter_call(nr, SECCOMP_RET_ERRNO | EPERM))
		_exit(77);
}

/* ---- threads that block every signal ------------------------------------- */

enum { OPEN, SPINS, SLEEPS };
static uint32_t there;

static void *block_all(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	__atomic_store_n(&there, 1, __ATOMIC_SEQ_CST);
	while (*(int *)arg == SPINS)
		;
	for (;;)
		pause();
	return NULL;
}

static void start(int *how)
{
	pthread_t t;

	if (*how == OPEN)
		return;
	pthread_create(&t, NULL, block_all, how);
	while (!__atomic_load_n(&there, __ATOMIC_SEQ_CST))
		usleep(100);
}

/* ---- cases ----------------------------------------------------------------- */

struct want {
	int denied[4];
	int thread;			/* enum above */
	int err;
	const char *name;
};

/* What is chosen works, and shows. */
static int choose(const struct want *w)
{
	static int how;

	for (int i = 0; w->denied[i]; i++)
		deny(w->denied[i]);
	how = w->thread;
	start(&how);
	if (fl_patch_open(NULL) != w->err || strcmp(fl_patch_sync_name(), w->name))
		return 1;
	if (!w->err)
		fl_patch_sync();
	return 0;
}

static void assert_choice(const struct want *w)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(choose(w));
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void membarrier_is_the_first_choice(void **state)
{
	(void)state;
	assert_choice(&(struct want){ { 0 }, OPEN, 0, "membarrier" });
}

static void without_membarrier_threads_are_signalled(void **state)
{
	(void)state;
	assert_choice(&(struct want){ { SYS_membarrier }, OPEN, 0, "signal" });
}

static void who_sleeps_may_block_signals(void **state)
{
	(void)state;
	assert_choice(&(struct want){ { SYS_membarrier }, SLEEPS, 0, "signal" });
}

static void who_runs_and_blocks_signals_is_stopped(void **state)
{
	(void)state;
	assert_choice(&(struct want){ { SYS_membarrier }, SPINS, 0, "stop" });
}

static void without_signals_threads_are_stopped(void **state)
{
	(void)state;
	assert_choice(&(struct want){ { SYS_membarrier, SYS_tgkill }, OPEN, 0,
				      "stop" });
}

static void a_mask_in_the_way_is_named(void **state)
{
	(void)state;
	assert_choice(&(struct want){ { SYS_membarrier, SYS_ptrace }, SPINS,
				      FLE_SIGBLOCK, "none" });
}

static void without_any_nothing_is_patched(void **state)
{
	(void)state;
	assert_choice(&(struct want){
		{ SYS_membarrier, SYS_tgkill, SYS_ptrace }, OPEN, FLE_NOSYNC,
		"none" });
}

static void a_traced_process_is_not_stopped(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		_exit(fl_patch_open("stop") == -EPERM ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

/* ---- by name ---------------------------------------------------------------- */

/* The environment counts that the process was started with. */
static int open_in_environment(const char *sync)
{
	char self[] = "/proc/self/exe", word[] = "choose", variable[64];
	char *argv[] = { word, NULL }, *env[] = { variable, NULL };
	int status;
	pid_t pid;

	snprintf(variable, sizeof(variable), "FLICK_SYNC=%s", sync);
	pid = fork();
	if (!pid) {
		execve(self, argv, env);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int chosen(void)
{
	static const char *const names[] = { "none", "membarrier", "signal", "stop" };
	int err = fl_patch_open(NULL);

	for (int i = 0; i < 4; i++)
		if (!strcmp(names[i], fl_patch_sync_name()))
			return err == FLE_OPTION ? 50 : i;
	return 60;
}

static void the_environment_chooses(void **state)
{
	(void)state;
	assert_int_equal(open_in_environment(""), 1);
	assert_int_equal(open_in_environment("membarrier"), 1);
	assert_int_equal(open_in_environment("signal"), 2);
	assert_int_equal(open_in_environment("stop"), 3);
	assert_int_equal(open_in_environment("nonsense"), 50);
	assert_int_equal(open_in_environment("a-name-longer-than-any-of-them-could-be"), 50);
}

static void a_choice_stays(void **state)
{
	(void)state;
	assert_int_equal(fl_patch_open("nonsense"), FLE_OPTION);
	assert_int_equal(fl_patch_open("signal"), 0);
	assert_int_equal(fl_patch_open("signal"), 0);
	assert_int_equal(fl_patch_open(NULL), 0);
	assert_int_equal(fl_patch_open("stop"), FLE_OPTION);
	assert_string_equal(fl_patch_sync_name(), "signal");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(membarrier_is_the_first_choice),
		cmocka_unit_test(without_membarrier_threads_are_signalled),
		cmocka_unit_test(who_sleeps_may_block_signals),
		cmocka_unit_test(who_runs_and_blocks_signals_is_stopped),
		cmocka_unit_test(without_signals_threads_are_stopped),
		cmocka_unit_test(a_mask_in_the_way_is_named),
		cmocka_unit_test(without_any_nothing_is_patched),
		cmocka_unit_test(a_traced_process_is_not_stopped),
		cmocka_unit_test(the_environment_chooses),
		cmocka_unit_test(a_choice_stays),
	};

	if (argc == 1 && !strcmp(argv[0], "choose"))
		return chosen();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
