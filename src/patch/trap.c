/*
 * trap.c - what a thread does that meets a trap: it acts as the new bytes say.
 *
 * Hides the SIGTRAP handler. A trap of the set being committed is acted upon
 * at once, nobody waits; a trap that has meanwhile been overwritten is a late
 * one and runs the site again; anything else belongs to the program.
 *
 *	committer (commit.c)			trapped thread (here)
 *	publish set		(A)		load set	(B)
 *	write traps				meet a trap
 *	...
 *	write heads
 *	withdraw set		(A)
 *
 * (A) pairs with (B): a thread that met a trap finds the set it belongs to, or
 * finds none, and then the head has been written: the trap is late.
 */
#include <signal.h>

#include "os/os.h"
#include "trap.h"

enum { DEFAULT = 0, IGNORE = 1 };		/* SIG_DFL, SIG_IGN as the kernel has them */

static const struct fl_set *current;		/* W committer (A), R handler (B) */
static struct fl_os_sigaction program;		/* the action we stand before */
static bool installed;				/* under the commit's exclusion */

/* Which offset of the window the address is, if a trap may stand there. */
static bool trap_offset(const struct fl_patch *p, uintptr_t pc, size_t *at)
{
	size_t off = pc - p->at;

	*at = off;
	if (off == p->head_at)
		return true;
	for (size_t i = 0; i < p->n_starts; i++)
		if (off == p->starts[i])
			return true;
	return false;
}

static bool act_on(const struct fl_set *set, void *uc, uintptr_t pc)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct fl_change *c = &set->changes[i];
		size_t at;

		if (pc - c->patch->at >= c->patch->len || !trap_offset(c->patch, pc, &at))
			continue;
		fl_arch_act(uc, c->patch, c->to, at);
		return true;
	}
	return false;
}

/* Does the default action take place for what arrived? */
static bool is_default(const siginfo_t *info)
{
	if ((uintptr_t)program.handler == DEFAULT)
		return true;		/* a real trap cannot be ignored */
	return (uintptr_t)program.handler == IGNORE && info->si_code > 0;
}

/* A trap that is not ours goes where it would have gone without us. */
static void pass_on(int sig, siginfo_t *info, void *uc)
{
	if (is_default(info)) {
		struct fl_os_sigaction dfl = { .restorer = fl_os_sigreturn };

		fl_os_sigaction(sig, &dfl, NULL);
		fl_os_signal_thread(fl_os_tid(), sig);	/* taken on return */
		return;
	}
	if ((uintptr_t)program.handler != IGNORE)
		program.handler(sig, info, uc);
}

static void on_trap(int sig, siginfo_t *info, void *uc)
{
	const struct fl_set *set = load_acquire(&current);	/* (B) pairs with (A) */
	uintptr_t pc = fl_arch_trap_pc(uc);

	if (info->si_code != SI_KERNEL && info->si_code != TRAP_BRKPT) {
		pass_on(sig, info, uc);
		return;
	}
	if (set && act_on(set, uc, pc))
		return;
	if (*(volatile uint8_t *)pc != FL_ARCH_TRAP)
		fl_arch_retry(uc, pc);			/* a late trap of ours */
	else
		pass_on(sig, info, uc);
}

static int install(void)
{
	struct fl_os_sigaction ours = {
		.handler = on_trap,
		.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | 0x04000000,
		.restorer = fl_os_sigreturn,
	};
	struct fl_os_sigaction old;
	int err = fl_os_sigaction(SIGTRAP, &ours, &old);

	if (!err && old.handler != on_trap)
		program = old;
	installed = installed || !err;
	return err;
}

int fl_trap_publish(const struct fl_set *set)
{
	int err = install();	/* again each time: the program may have its own */

	if (!err)
		store_release(&current, set);		/* (A) pairs with (B) */
	return err;
}

void fl_trap_withdraw(void)
{
	store_release(&current, NULL);			/* (A) pairs with (B) */
}

void fl_trap_close(void)
{
	struct fl_os_sigaction now;

	if (!installed || fl_os_sigaction(SIGTRAP, NULL, &now))
		return;
	if (now.handler == on_trap)
		fl_os_sigaction(SIGTRAP, &program, NULL);
	installed = false;
}
