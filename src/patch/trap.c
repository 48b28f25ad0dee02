/*
 * trap.c - the SIGTRAP handler of a process whose cores are synchronised by it.
 *
 * Hides whose a signal is. What the handshake sends is answered; all else goes where
 * it would have gone without us. No thread ever meets a trap of flick's.
 *
 * CHAINS	A handler that the program installs after ours has ours for the one
 *	that was there before it, and may call it; and ours comes before it again at
 *	the next sync. Those that ours has come before are kept in order:
 *
 *		stood[0] <- ours <- stood[1] <- ours	`<-`: was there before
 *
 *	A trap goes to the last. When that one calls ours for the same trap, it goes
 *	to the one before, and so on.
 */
#include <signal.h>
#include <ucontext.h>

#include "handshake.h"
#include "os/os.h"
#include "trap.h"

enum { DEFAULT = 0, IGNORE = 1 };		/* SIG_DFL, SIG_IGN as the kernel has them */
enum { DEEPEST = 8 };

static struct fl_os_sigaction stood[DEEPEST];	/* W one caller at a time, as installing */
static uint32_t n_stood;
static bool installed;

/* The trap that this thread is passing on: its context, and how far it has got. */
static __thread struct {
	const void *uc;
	uint32_t depth;
} passing;

/* ---- traps of others --------------------------------------------------- */

static bool is_handler(const struct fl_os_sigaction *a)
{
	return (uintptr_t)a->handler > IGNORE;
}

/* Does the default action take place for what arrived? */
static bool is_default(const struct fl_os_sigaction *a, const siginfo_t *info)
{
	if ((uintptr_t)a->handler == DEFAULT)
		return true;		/* a real trap cannot be ignored */
	return (uintptr_t)a->handler == IGNORE && info->si_code > 0;
}

static void take_default(int sig)
{
	struct fl_os_sigaction dfl = { .restorer = fl_os_sigreturn };

	fl_os_sigaction(sig, &dfl, NULL);
	fl_os_signal_thread(fl_os_tid(), sig);		/* taken on return */
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
		*a = (struct fl_os_sigaction){ .restorer = fl_os_sigreturn };
	fl_os_signals_restore(&mask);
	handler(sig, info, uc);
}

/* To the one that stood before ours, or before those that have had it already. */
static void pass_on(int sig, siginfo_t *info, void *uc, uint32_t depth)
{
	uint32_t n = load_relaxed(&n_stood);
	struct fl_os_sigaction *a = depth < n ? &stood[n - 1 - depth] : NULL;

	if (!a || is_default(a, info))
		take_default(sig);
	else if (is_handler(a))
		call_program(a, sig, info, uc);
}

/* How often the trap has been passed on. A handler that is left by siglongjmp() takes
 * nothing back: what the kernel delivers is new. */
static uint32_t depth_of(const void *uc, bool is_delivered)
{
	return !is_delivered && passing.uc == uc ? passing.depth + 1 : 0;
}

/* Could the byte at `pc` be the last of a longer instruction? Any start before it
 * counts, on its page. */
static bool may_end_longer(uintptr_t pc)
{
	struct fl_insn i;

	for (size_t len = 2; len < FL_ARCH_SITE_MAX && len <= pc % FL_PAGE; len++) {
		uintptr_t at = pc + 1 - len;

		fl_arch_decode(&i, (const void *)at, len, at);
		if (i.len == len)
			return true;
	}
	return false;
}

/* A pending SIGTRAP swallows the one that an int3 raises (OS17): the handshake's may
 * stand for the program's own, too, unless that has just been dealt with. The trap's
 * number is that of the last trap, however old: where the byte may belong to another
 * instruction the trap is let go, rather than made up. */
static bool has_swallowed(const void *uc)
{
	uintptr_t pc = fl_arch_trap_pc(uc);

	return n_stood && is_handler(&stood[n_stood - 1]) && fl_arch_has_trapped(uc) &&
	       !fl_arch_is_marked(uc) && (pc + 1) % FL_PAGE &&
	       *(volatile uint8_t *)pc == FL_ARCH_TRAP && !may_end_longer(pc);
}

static void give_to_program(int sig, siginfo_t *info, void *uc, uint32_t depth)
{
	__typeof__(passing) before = passing;

	passing.uc = uc;
	passing.depth = depth;
	pass_on(sig, info, uc, depth);
	passing = before;
	fl_arch_mark_return(uc);		/* this trap has been dealt with */
}

static void on_trap(int sig, siginfo_t *info, void *uc)
{
	uint32_t depth = depth_of(uc, fl_arch_is_delivered(uc, __builtin_dwarf_cfa()));
	siginfo_t swallowed = { .si_signo = sig, .si_code = SI_KERNEL };

	if (!fl_handshake_answer(info, uc))
		give_to_program(sig, info, uc, depth);
	else if (has_swallowed(uc))
		give_to_program(sig, &swallowed, uc, depth);
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

int fl_trap_install(void)
{
	struct fl_os_sigaction ours = {
		.handler = on_trap,
		.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | 0x04000000,
		.restorer = fl_os_sigreturn,
		.mask = ~0ull,
	};
	struct fl_os_sigaction old;
	int err = fl_os_sigaction(SIGTRAP, NULL, &old);

	if (!err && old.handler != on_trap)
		keep(&old);		/* before ours may have to pass on to it */
	if (!err)
		err = fl_os_sigaction(SIGTRAP, &ours, NULL);
	installed = installed || !err;
	return err;
}

static int has_pending(void *arg, int tid)
{
	struct fl_thread_status s;

	(void)arg;
	return !fl_os_thread_status(0, tid, &s) && s.pending >> (SIGTRAP - 1) & 1;
}

/* Whoever had left its core was not waited for: it gets the signal when it comes back,
 * or when it unblocks it, which may be at any time. */
static bool is_anybody_late(void)
{
	enum { PAUSE_US = 100, TRIES = 100 };
	int late = 0;

	for (int i = 0; i < TRIES; i++) {
		late = fl_os_threads(0, has_pending, NULL);
		if (!late)
			break;
		fl_os_sleep_us(PAUSE_US);
	}
	return late;
}

void fl_trap_close(void)
{
	struct fl_os_sigaction now;

	if (!installed || !fl_handshake_is_settled() || is_anybody_late() ||
	    fl_os_sigaction(SIGTRAP, NULL, &now))
		return;
	if (now.handler == on_trap)
		fl_os_sigaction(SIGTRAP, &stood[--n_stood], NULL);
	installed = false;
}
