/*
 * trace.c - ptrace(2), as much as it takes to stop a thread and let it go.
 *
 * Hides the requests, and how a stop is told from an end. PTRACE_SEIZE sends no signal:
 * a stop of the program's own (SIGSTOP) stays one.
 */
#include <elf.h>
#include <linux/ptrace.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/uio.h>
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

/* A stop that an event caused has no signal to hand on. Any other stop is a signal that is
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

/* The result by which the kernel's own calls ask to be restarted in this way. */
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

int fl_os_trace_poll(int tid, int *sig)
{
	int status = 0;
	long r = SYS(SYS_wait4, tid, &status, __WALL | WNOHANG, NULL);

	*sig = status >> 16 ? 0 : WSTOPSIG(status);
	return r == 0 || r == -EINTR ? 0 : r == tid && WIFSTOPPED(status) ? 1 : -ESRCH;
}

/* All general registers, as the kernel keeps them for a debugger. */
static long registers(int request, int tid, uint64_t r[FL_ARCH_USER_WORDS])
{
	struct iovec v = { r, FL_ARCH_USER_WORDS * sizeof r[0] };

	return SYS(SYS_ptrace, request, tid, NT_PRSTATUS, &v);
}

int fl_os_trace_where(int tid, uintptr_t *pc, uintptr_t *sp)
{
	uint64_t r[FL_ARCH_USER_WORDS];
	long err = registers(PTRACE_GETREGSET, tid, r);

	*pc = r[FL_ARCH_USER_PC];
	*sp = r[FL_ARCH_USER_SP];
	return (int)err;
}

int fl_os_trace_move(int tid, uintptr_t pc)
{
	uint64_t r[FL_ARCH_USER_WORDS];
	long err = registers(PTRACE_GETREGSET, tid, r);

	r[FL_ARCH_USER_PC] = pc;
	return (int)(err ? err : registers(PTRACE_SETREGSET, tid, r));
}

long fl_os_peek(int pid, uintptr_t at, void *to, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)at, n };

	return SYS(SYS_process_vm_readv, pid, &here, 1, &there, 1, 0);
}

long fl_os_poke(int pid, uintptr_t at, const void *from, size_t n)
{
	struct iovec here = { (void *)(uintptr_t)from, n }, there = { (void *)at, n };

	return SYS(SYS_process_vm_writev, pid, &here, 1, &there, 1, 0);
}

void fl_os_end_after(uint64_t us)
{
	static const struct fl_os_sigaction usual;
	const struct itimerval t = { .it_value = { (time_t)(us / 1000000),
						   (suseconds_t)(us % 1000000) } };
	const uint64_t alarm = 1ull << (SIGALRM - 1);

	if (us) {
		fl_os_sigaction(SIGALRM, &usual, NULL);
		SYS(SYS_rt_sigprocmask, SIG_UNBLOCK, &alarm, NULL, sizeof alarm);
	}
	SYS(SYS_setitimer, ITIMER_REAL, &t, NULL);
}

void fl_os_trace_allow(int pid)
{
	SYS(SYS_prctl, PR_SET_PTRACER, pid);
}
