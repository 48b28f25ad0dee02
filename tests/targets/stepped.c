/* A program that a debugger steps through, an instruction at a time: a child of its own, which
 * kills it after so many steps. What it calls there is as much as elsewhere. */
#define FUNCTIONS(X) X(main) X(leaf) X(branches) X(rounds)
#include "truth.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { CALLS = 20, MOST_STEPS = 400000 };

static volatile struct shared {
	int is_traced, is_through;
} *shared;

BODY static int leaf(int x)
{
	CALLED(leaf);
	KEEP(x);
	return x + 1;
}

BODY static int branches(int x)
{
	CALLED(branches);
	for (int i = 0; i < x % 4; i++)
		x += leaf(i);
	return x & 1 ? x * 3 : x + 5;
}

BODY static int rounds(void)
{
	int sum = 0;

	CALLED(rounds);
	for (int i = 0; i < CALLS; i++)
		sum += branches(i);
	return sum;
}

/* Until it says that it is through; what it is sent else is passed on. */
QUIET static int step_through(int pid)
{
	int status;

	if (ptrace(PTRACE_ATTACH, pid, 0, 0) || waitpid(pid, &status, 0) != pid)
		return 77;
	shared->is_traced = 1;
	for (int i = 0; i < MOST_STEPS && !shared->is_through; i++) {
		int signal_ = WSTOPSIG(status);

		if (signal_ == SIGTRAP || signal_ == SIGSTOP)
			signal_ = 0;
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, signal_) ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return 1;
	}
	if (!shared->is_through)
		kill(pid, SIGKILL);
	return ptrace(PTRACE_DETACH, pid, 0, 0) != 0;
}

int main(void)
{
	int own = getpid(), status = 0, pid;

	CALLED(main);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	rounds();				/* the thread has a slot, functions are known */
	pid = fork();
	if (!pid)
		_exit(step_through(own));
	prctl(PR_SET_PTRACER, pid);
	while (!shared->is_traced)
		if (waitpid(pid, &status, WNOHANG))
			return WEXITSTATUS(status);
	rounds();
	shared->is_through = 1;
	waitpid(pid, &status, 0);
	truth_print();
	return WEXITSTATUS(status);
}
