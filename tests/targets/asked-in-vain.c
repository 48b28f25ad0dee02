/*
 * asked-in-vain: meets a call that no scan can name while the recorder, which is the parent,
 * is stopped; and then it is killed. Says `done` when the call has returned.
 */
#include <signal.h>
#include <sys/wait.h>
#include "states.h"

enum { SECONDS = 20 };

void __cyg_profile_func_enter(void *, void *);

__attribute__((noinline)) QUIET static void late(void *f)
{
	__cyg_profile_func_enter(f, NULL);
	__asm__("");
}

/* Of no handler's: it would ask, too. */
QUIET static void kill_later(int reader, int asks)
{
	if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))
		return;
	await_state(asks, 0, 'S');
	kill(reader, SIGKILL);
	syscall(SYS_exit_group, 0);
}

QUIET int main(void)
{
	int reader = getppid();

	alarm(SECONDS);
	kill(reader, SIGSTOP);
	await_state(reader, 0, 'T');
	kill_later(reader, getpid());
	late((void *)late);
	wait(NULL);
	puts("done");
	return 0;
}
