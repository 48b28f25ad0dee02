/*
 * interrupt.c - the SIGURG handler of a process whose cores are synchronised by it.
 *
 * Hides that the program has an action for it, too. Every signal is an answer to the
 * handshake, whoever sent it, and then goes where it would have gone without us: to
 * the program's handler. One of ours goes there as well, since it may stand for one of
 * the program's (OS17). Where the program has none, nothing is left of a signal.
 *
 * CHAINS	A handler that the program installs after ours has ours for the one
 *	that was there before it, and may call it; and ours comes before it again at
 *	the next sync. Those that ours has come before are kept in order:
 *
 *		stood[0] <- ours <- stood[1] <- ours	`<-`: was there before
 *
 *	A signal goes to the last. When that one calls ours for the same signal, it goes
 *	to the one before, and so on.
 */
#include <signal.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "handshake.h"
#include "interrupt.h"
#include "os/os.h"

enum { IGNORE = 1 };		/* SIG_DFL and SIG_IGN are 0 and 1 as the kernel has them */
enum { DEEPEST = 8 };

static struct fl_os_sigaction stood[DEEPEST];	/* W one caller at a time, as installing */
static uint32_t n_stood;
static bool installed;

/* The signal that this thread is passing on: its context, and how far it has got. */
static __thread struct {
	const void *uc;
	uint32_t depth;
} passing;

/* ---- in the interrupted thread ------------------------------------------ */

static bool is_handler(const struct fl_os_sigaction *a)
{
	return (uintptr_t)a->handler > IGNORE;
}

/* Run the program's handler under the mask it would have had. */
static void call_program(struct fl_os_sigaction *a, int sig, siginfo_t *info, void *uc)
{
	void (*handler)(int, siginfo_t *, void *) = a->handler;
	uint64_t mask;

	__builtin_memcpy(&mask, &((ucontext_t *)uc)->uc_sigmask, sizeof mask);
	mask |= a->mask;
	if (!(a->flags & SA_NODEFER))
		mask |= 1ull << (sig - 1);
	if (a->flags & SA_RESETHAND)
		*a = (struct fl_os_sigaction){ .restorer = fl_arch_sigreturn };
	fl_os_signals_restore(&mask);
	handler(sig, info, uc);
}

/* How often the signal has been passed on. A handler that is left by siglongjmp() takes
 * nothing back: what the kernel delivers is new. */
static uint32_t depth_of(const void *uc, bool is_delivered)
{
	return !is_delivered && passing.uc == uc ? passing.depth + 1 : 0;
}

/* To the handler that stood before ours, or before those that have had it already.
 * False when there is none. */
static bool pass_on(int sig, siginfo_t *info, void *uc, uint32_t depth)
{
	__typeof__(passing) before = passing;
	uint32_t n = load_relaxed(&n_stood);
	struct fl_os_sigaction *a = depth < n ? &stood[n - 1 - depth] : NULL;

	if (!a || !is_handler(a))
		return false;
	passing.uc = uc;
	passing.depth = depth;
	call_program(a, sig, info, uc);
	passing = before;
	return true;
}

static void on_interrupt(int sig, siginfo_t *info, void *uc)
{
	bool is_delivered = fl_arch_is_delivered(uc, __builtin_dwarf_cfa());

	fl_handshake_answer();
	if (!pass_on(sig, info, uc, depth_of(uc, is_delivered)) && is_delivered)
		fl_handshake_call_again(uc);
}

/* ---- the handler's own life -------------------------------------------- */

static uint32_t find(const struct fl_os_sigaction *a)
{
	uint32_t i = 0;

	while (i < n_stood && stood[i].handler != a->handler)
		i++;
	return i;
}

/* Ours is about to come before `a`. What calls nobody has nobody behind it. */
static void keep(const struct fl_os_sigaction *a)
{
	uint32_t i = is_handler(a) ? find(a) : 0;

	if (i == DEEPEST)
		__builtin_memmove(stood, stood + 1, --i * sizeof *stood);
	stood[i] = *a;
	store_relaxed(&n_stood, i + 1);
}

/* A handler of the program's is called on the stack, and lets calls end, as it asked
 * for. Else nobody is to notice. */
static uint64_t flags_before(const struct fl_os_sigaction *a)
{
	const uint64_t unseen = SA_ONSTACK | SA_RESTART;

	return is_handler(a) ? a->flags & unseen : unseen;
}

/* `old` is the action of the program's, or was a moment ago. */
static int come_before(struct fl_os_sigaction *old)
{
	struct fl_os_sigaction ours = { .handler = on_interrupt, .mask = ~0ull };
	int err;

	keep(old);			/* before ours may have to pass on to it */
	ours.flags = flags_before(old);
	FL_POINT("interrupt.looked");
	err = fl_os_sigaction(FL_SYNC_SIGNAL, &ours, old);
	if (!err && old->handler != on_interrupt)
		keep(old);
	return err;
}

int fl_interrupt_install(void)
{
	struct fl_os_sigaction old;
	int err = fl_os_sigaction(FL_SYNC_SIGNAL, NULL, &old);

	if (!err && old.handler != on_interrupt)
		err = come_before(&old);
	installed = installed || !err;
	return err;
}

void fl_interrupt_close(void)
{
	struct fl_os_sigaction now;

	if (!installed || fl_os_sigaction(FL_SYNC_SIGNAL, NULL, &now))
		return;
	if (now.handler == on_interrupt)
		fl_os_sigaction(FL_SYNC_SIGNAL, &stood[--n_stood], NULL);
	installed = false;
}
