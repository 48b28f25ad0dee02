/*
 * trace.c - ptrace(2), as much as it takes to stop a thread and let it go.
 *
 * Hides the requests and how a stop is told from an end. PTRACE_SEIZE is used,
 * which sends no signal: a stop of the program's own (SIGSTOP) stays one.
 */
#include <linux/ptrace.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "os/os.h"
#include "os/syscall.h"

int fl_os_trace_seize(int tid)
{
	return (int)SYS(SYS_ptrace, PTRACE_SEIZE, tid);
}

void fl_os_trace_interrupt(int tid)
{
	SYS(SYS_ptrace, PTRACE_INTERRUPT, tid);
}

/* A stop that an event caused hands nothing on; any other is a signal that is
 * about to be delivered. */
bool fl_os_trace_wait(int tid, int *sig)
{
	int status = 0;
	long r;

	do
		r = SYS(SYS_wait4, tid, &status, __WALL, NULL);
	while (r == -EINTR);
	*sig = status >> 16 ? 0 : WSTOPSIG(status);
	return r == tid && WIFSTOPPED(status);
}

/* What the kernel's own calls return to be restarted so. */
enum { RESTART_WITHOUT_HANDLER = -514 };	/* -ERESTARTNOHAND */

void fl_os_trace_call_again(int tid, size_t number_at, size_t result_at)
{
	static const uint64_t no_args[6];
	long number = -1, result = 0;

	SYS(SYS_ptrace, PTRACE_PEEKUSR, tid, number_at, &number);
	SYS(SYS_ptrace, PTRACE_PEEKUSR, tid, result_at, &result);
	if (number >= 0 && result == -EINTR && fl_os_call_restarts(number, no_args))
		SYS(SYS_ptrace, PTRACE_POKEUSR, tid, result_at, RESTART_WITHOUT_HANDLER);
}

void fl_os_trace_release(int tid, int sig)
{
	SYS(SYS_ptrace, PTRACE_DETACH, tid, 0, sig);
}

void fl_os_trace_allow(int pid)
{
	SYS(SYS_prctl, PR_SET_PTRACER, pid);
}
