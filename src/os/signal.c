/*
 * signal.c - signal masks and handlers without the C library.
 *
 * The C library keeps two signals to itself and its masks leave them out. The masks
 * here block every signal that the kernel lets be blocked, so that no code of the
 * program's runs in between.
 */
#include "os/os.h"
#include "os/syscall.h"

#define MASK_BYTES 8
#define KERNEL_SA_RESTORER 0x04000000u	/* <asm/signal.h>, not in the libc's */

void fl_os_signals_block(uint64_t *old)
{
	static const uint64_t all = ~0ull;

	SYS(SYS_rt_sigprocmask, SIG_BLOCK, &all, old, MASK_BYTES);
}

void fl_os_signals_restore(const uint64_t *old)
{
	SYS(SYS_rt_sigprocmask, SIG_SETMASK, old, 0, MASK_BYTES);
}

/* A handler of ours has no restorer yet. An action that fl_os_sigaction() once handed out,
 * SIG_DFL and SIG_IGN go back untouched. */
static bool is_ours(const struct fl_os_sigaction *set)
{
	return !set->restorer && (uintptr_t)set->handler > 1;
}

int fl_os_sigaction(int sig, const struct fl_os_sigaction *set,
		    struct fl_os_sigaction *old)
{
	struct fl_os_sigaction own;

	if (set && is_ours(set)) {
		own = *set;
		own.flags |= SA_SIGINFO | KERNEL_SA_RESTORER;
		own.restorer = fl_arch_sigreturn;
		set = &own;
	}
	return (int)SYS_OR_FAULT(sigaction, SYS_rt_sigaction, sig, set, old, MASK_BYTES);
}

int fl_os_signal_thread(int tid, int sig)
{
	return (int)SYS_OR_FAULT(tgkill, SYS_tgkill, fl_os_pid(), tid, sig);
}
