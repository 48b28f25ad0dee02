/*
 * interrupt.c - the SIGURG handler, for processes whose cores are synchronised by SIGURG.
 *
 * Hides that the program has an action for SIGURG, too.
 *
 * PROTOCOL	of each SIGURG, whoever sent it
 *	1 the thread answers the handshake
 *	2 the program's handler runs, if there is one, under the flags and the mask that
 *	  the program asked for
 *	3 else an interrupted system call is made again (handshake.c)
 * INVARIANT
 *	1 A program's handler gets each signal that the program has sent once.
 *	2 A signal that comes late, after its round has ended, changes nothing of flick's.
 * WHY
 *	1 The kernel keeps one SIGURG for a thread (OS17). So a signal of flick's may stand
 *	  for one of the program's, and every signal goes to the program's handler.
 *	  A handler that the program installs later finds ours as the one before it, and
 *	  may call ours. Our handler comes before that one again at the next sync. So
 *	  `stood` keeps the handlers that ours has come before, in order:
 *
 *		stood[0] <- ours <- stood[1] <- ours	`<-`: was there before
 *
 *	  A signal goes to the last of `stood`. When that handler calls ours for the same
 *	  signal, the signal goes to the one before, and so on.
 *	  (A) pairs with (B): a thread that reads `n_stood` reads handlers that are written.
 *	2 A thread answers the round that it finds (handshake.c, WHY 1). If that round has
 *	  served the thread, the answer changes nothing (round.c, INVARIANT 2).
 * FAILURE
 *	More than DEEPEST handlers in a chain: the oldest is forgotten.
 */
#include <signal.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "handshake.h"
#include "interrupt.h"
#include "os/os.h"

enum { IGNORE = 1 };		/* SIG_DFL and SIG_IGN are 0 and 1 as the kernel has them */
enum { DEEPEST = 8 };

static struct fl_os_sigaction stood[DEEPEST];	/* W the installer, one at a time */
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

/* Called by the kernel, or by a handler of the program's that passes the signal on to the
 * one before it. Such a handler passes the context of the signal that this thread is passing
 * on, which is one step further then. A context that the kernel has just delivered is a new
 * signal, even if it has the address of an older one whose handler was left by
 * siglongjmp(). */
static void on_interrupt(int sig, siginfo_t *info, void *uc)
{
	bool is_delivered = fl_arch_is_delivered(uc, __builtin_dwarf_cfa());
	uint32_t depth = !is_delivered && passing.uc == uc ? passing.depth + 1 : 0;
	uint32_t n = load_acquire(&n_stood);		/* (A) pairs with (B) */
	struct fl_os_sigaction *a = depth < n ? &stood[n - 1 - depth] : NULL;
	__typeof__(passing) before = passing;
	uint32_t checked = fl_arch_uncheck();

	fl_handshake_answer();
	if (a && is_handler(a)) {
		passing.uc = uc;
		passing.depth = depth;
		call_program(a, sig, info, uc);
		passing = before;
	} else if (is_delivered) {
		fl_handshake_call_again(uc);
	}
	fl_arch_check(checked);
}

/* ---- the handler's own life -------------------------------------------- */

static uint32_t find(const struct fl_os_sigaction *a)
{
	uint32_t i = 0;

	while (i < n_stood && stood[i].handler != a->handler)
		i++;
	return i;
}

/* Our handler is about to come before `a`. An action that is no handler calls no other, so
 * nothing behind it is kept. */
static void keep(const struct fl_os_sigaction *a)
{
	uint32_t i = is_handler(a) ? find(a) : 0;

	if (i == DEEPEST)
		__builtin_memmove(stood, stood + 1, --i * sizeof *stood);
	stood[i] = *a;
	store_release(&n_stood, i + 1);			/* (B) pairs with (A) */
}

/* A handler of the program's runs on the stack that it asked for, and ends system calls or
 * not, as it asked for. If there is none, nobody is to notice our signal. */
static uint64_t flags_before(const struct fl_os_sigaction *a)
{
	const uint64_t unseen = SA_ONSTACK | SA_RESTART;

	return is_handler(a) ? a->flags & unseen : unseen;
}

/* `old` is the program's action, or was a moment ago. */
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
