/* deny wx|memfd|both|perf|membarrier|ptrace|sync|signals|threads|futex COMMAND...: run it where
 * code may not be made writable, or memory files may not be made, or neither; or where nobody
 * samples, or traces; or the best call, or none, can synchronise cores; or who sends a thread
 * a signal is told that it was sent, also when there is no such thread; or a process ends that
 * begins a thread; or nobody waits for a word. Exits 77 where that cannot be had. */
#include <errno.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../unit/filter-call.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
enum { REFUSE_EXEC_GAIN = 1 };

static int end_at_threads(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install_filter(code, sizeof(code) / sizeof(code[0]));
}

static int deny_call(int nr)
{
	return filter_call(nr, SECCOMP_RET_ERRNO | (nr == SYS_ptrace ? EPERM : EACCES));
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "perf"))
		return deny_call(SYS_perf_event_open) ? 77 : (execvp(argv[2], argv + 2), 1);
	if (!strcmp(argv[1], "membarrier"))
		return deny_call(SYS_membarrier) ? 77 : (execvp(argv[2], argv + 2), 1);
	if (!strcmp(argv[1], "ptrace"))
		return deny_call(SYS_ptrace) ? 77 : (execvp(argv[2], argv + 2), 1);
	if (!strcmp(argv[1], "futex"))
		return deny_call(SYS_futex) ? 77 : (execvp(argv[2], argv + 2), 1);
	if (!strcmp(argv[1], "threads"))
		return end_at_threads() ? 77 : (execvp(argv[2], argv + 2), 1);
	if (!strcmp(argv[1], "signals"))
		return filter_call(SYS_tgkill, SECCOMP_RET_ERRNO) ? 77 :
		       (execvp(argv[2], argv + 2), 1);
	if (!strcmp(argv[1], "sync"))
		return deny_call(SYS_membarrier) || deny_call(SYS_tgkill) ||
		       deny_call(SYS_ptrace) ? 77 : (execvp(argv[2], argv + 2), 1);
	if (strcmp(argv[1], "memfd") && prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0))
		return puts("no PR_SET_MDWE here (Linux 6.3)") < 0 ? 1 : 77;
	if (strcmp(argv[1], "wx") && deny_call(SYS_memfd_create))
		return puts("no seccomp here") < 0 ? 1 : 77;
	execvp(argv[2], argv + 2);
	return 127;
}
