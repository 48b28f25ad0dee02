/*
 * trap.c - what happens to a thread that meets the paper's trap byte.
 *
 * Section 5: "These threads will go into a signal handler and spin until the
 * patch has been completely applied." Then they run the place again. A trap
 * byte that nobody takes away would be spun on for ever: the process is ours.
 */
#include "paper.h"

#include <signal.h>
#include <ucontext.h>

uint64_t paper_wait_ticks;
enum paper_stores paper_stores;

static void spin_while_trapped(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uintptr_t at = (uintptr_t)u->uc_mcontext.gregs[REG_RIP] - 1;
	const volatile uint8_t *head = (const volatile uint8_t *)at;

	(void)signo;
	(void)info;
	while (*head == PAPER_INT3)
		__builtin_ia32_pause();
	u->uc_mcontext.gregs[REG_RIP] = (greg_t)at;
}

bool paper_open(uint64_t wait_ticks, enum paper_stores stores)
{
	struct sigaction act = {
		.sa_sigaction = spin_while_trapped,
		.sa_flags = SA_SIGINFO | SA_RESTART,
	};

	paper_wait_ticks = wait_ticks;
	paper_stores = stores;
	sigemptyset(&act.sa_mask);
	return sigaction(SIGTRAP, &act, 0) == 0;
}
