/*
 * fork-unload LIBRARY: forks, and then loads and unloads the library again and again. Where
 * each unloading waits for a fork that is over, that takes seconds. Then it forks while a
 * thread is in the middle of unloading the library, and waits for the fork's end there;
 * meanwhile a handler forks, too. The second time the unloading ends before the handler's fork.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include "states.h"

enum { TIMES = 20, MOST_MS = 1000 };

QUIET static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((noinline)) static void leaf(void)
{
	__asm__("");
}

static int is_locked, is_over, unloader;

/* The loader's list is locked meanwhile. */
QUIET static int wait_for_fork(struct dl_phdr_info *info, size_t n, void *arg)
{
	(void)info, (void)n, (void)arg;
	__atomic_store_n(&is_locked, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
		usleep(1000);
	return 1;
}

QUIET static void *lock(void *arg)
{
	dl_iterate_phdr(wait_for_fork, NULL);
	return arg;
}

QUIET static void *unload(void *library)
{
	__atomic_store_n(&unloader, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	CHECK(dlclose(library) == 0);
	return NULL;
}

/* For a moment the thread that unloads may sleep elsewhere. */
QUIET static void await_sleep(int tid)
{
	for (int slept = 0; slept < 50;) {
		usleep(1000);
		slept = state_of(getpid(), tid) == 'S' ? slept + 1 : 0;
	}
}

static int ends_first;

QUIET static void fork_within(int sig)
{
	int pid, status = -1;

	(void)sig;
	if (ends_first)
		__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	pid = fork();
	if (!pid)
		_exit(0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

QUIET static void fork_meanwhile(void *library)
{
	const struct itimerval soon = { .it_value.tv_usec = 200000 };
	int pid, status = -1;
	sigset_t alarm;
	pthread_t t[2];

	is_locked = is_over = unloader = 0;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);	/* the one that forks has it */
	pthread_create(&t[0], NULL, lock, NULL);
	while (!__atomic_load_n(&is_locked, __ATOMIC_ACQUIRE))
		usleep(1000);
	pthread_create(&t[1], NULL, unload, library);
	while (!__atomic_load_n(&unloader, __ATOMIC_ACQUIRE))
		usleep(1000);
	await_sleep(unloader);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	pid = fork();
	if (!pid)
		_exit(0);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

QUIET int main(int argc, char **argv)
{
	long from, took;
	int pid = fork(), status = -1;

	leaf();
	if (!pid)
		_exit(0);
	CHECK(argc == 2 && waitpid(pid, &status, 0) == pid && status == 0);
	from = now_ms();
	for (int i = 0; i < TIMES; i++) {
		void *library = dlopen(argv[1], RTLD_NOW);

		CHECK(library && dlclose(library) == 0);
	}
	took = now_ms() - from;
	if (took > MOST_MS)
		printf("it took %ld ms\n", took);
	CHECK(took <= MOST_MS);
	signal(SIGALRM, fork_within);
	for (ends_first = 0; ends_first < 2; ends_first++)
		fork_meanwhile(dlopen(argv[1], RTLD_NOW));
	printf("count leaf 2\n");
	return truth_failed;
}
