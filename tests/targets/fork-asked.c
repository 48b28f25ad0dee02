/*
 * fork-asked: a thread meets a call that no scan can name while the recorder, which is
 * the parent, is stopped; meanwhile the process forks, and the child makes that call, too.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include "states.h"

enum { CALLS = 100, PAUSE_US = 1000, LATER_US = 200000 };

void __cyg_profile_func_enter(void *, void *);
void __cyg_profile_func_exit(void *, void *);

static int tid;

__attribute__((noinline)) QUIET static void late(void *f)
{
	__cyg_profile_func_enter(f, NULL);
	__cyg_profile_func_exit(f, NULL);
	__asm__("");
}

QUIET static void *meet(void *arg)
{
	__atomic_store_n(&tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	late((void *)late);
	return arg;
}

/* The recorder goes on when the fork has waited for some time. No handler runs for this
 * child: it would wait as well. */
QUIET static void wake_later(int reader)
{
	if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))
		return;
	usleep(LATER_US);
	kill(reader, SIGCONT);
	syscall(SYS_exit_group, 0);
}

QUIET int main(void)
{
	int reader = getppid(), pid, status = -1;
	pthread_t t;

	kill(reader, SIGSTOP);
	await_state(reader, 0, 'T');
	pthread_create(&t, NULL, meet, NULL);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		usleep(PAUSE_US);
	await_state(getpid(), tid, 'S');
	wake_later(reader);
	pid = fork();
	for (int i = 0; !pid && i < CALLS; i++)
		late((void *)late);
	if (!pid)
		_exit(0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	pthread_join(t, NULL);
	while (wait(NULL) > 0)
		;
	printf("count late %d\n", CALLS + 1);
	return truth_failed;
}
