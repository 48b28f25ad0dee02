/*
 * trap.c - what a thread does that meets a trap: it acts as the new bytes say.
 *
 * Hides the SIGTRAP handler. A trap of a place in motion is acted upon at
 * once, nobody waits; a trap that has meanwhile been overwritten is a late one
 * and runs the place again; anything else belongs to the program.
 *
 *	committer (commit.c)			trapped thread (here)
 *	claim the place				meet a trap
 *	motion odd, acts			load motion	(B)
 *	fence			(A)		act, if it is odd
 *	store traps				else load the byte
 *	...					run it again, if it is no trap
 *	store heads				else look again: has the place
 *	motion even		(A)		moved meanwhile?
 *
 * (A) is in commit.c. A thread that met a trap of ours finds the place in
 * motion, or its heads written.
 * WHY look again	A thread may be late by a whole commit: its trap is gone,
 *	and when it loads the byte the next commit's trap stands there. A trap
 *	is foreign only if no place has been claimed and the place has not moved
 *	between two looks that both found it at rest.
 */
#include <signal.h>
#include <ucontext.h>

#include "claim.h"
#include "handshake.h"
#include "os/os.h"
#include "trap.h"

enum { DEFAULT = 0, IGNORE = 1 };		/* SIG_DFL, SIG_IGN as the kernel has them */

static struct fl_os_sigaction program;		/* the action we stand before */
static bool installed;				/* under the commit's exclusion */

/* May a trap of ours stand at the address? */
static bool may_trap(const struct fl_patch *p, uintptr_t pc)
{
	return pc == p->at + p->head_at;
}

/* Where neither instruction can be acted out, the thread tries again. */
static void act(struct fl_patch *p, void *uc, uintptr_t pc)
{
	uint8_t acts = load_relaxed(&p->acts);

	if (acts < FL_N_STATES) {
		fl_arch_act(uc, p, acts);
		return;
	}
	fl_arch_retry(uc, pc);
	if (p->claimed == FL_CLAIM_PLACE)
		fl_place_help(p);
	fl_os_yield();
}

enum look { SETTLED, FOREIGN, LOOK_AGAIN };

static enum look look_once(void *uc, uintptr_t pc)
{
	uint32_t version = fl_claims_version();
	struct fl_patch *p = fl_claimed_at(pc);
	/* ordering: (B) pairs with (A) in commit.c */
	uint32_t motion = p ? load_acquire(&p->motion) : 0;

	FL_POINT("trap.looked");
	if ((motion & 1) && may_trap(p, pc)) {
		act(p, uc, pc);
		return SETTLED;
	}
	/* ordering: (B) pairs with (A) in commit.c, as the second look */
	if (load_acquire((const uint8_t *)pc) != FL_ARCH_TRAP) {
		fl_arch_retry(uc, pc);
		return SETTLED;
	}
	/* ordering: (B) pairs with (A) in commit.c */
	if (version != fl_claims_version() || (p && motion != load_acquire(&p->motion)))
		return LOOK_AGAIN;
	return FOREIGN;
}

/* Threads that are here block SIGTRAP, but not for good, and not by the
 * program's wish: by thread id, and one that is overwritten is not found. */
static int trapped[256];

static int *trapped_slot(int tid)
{
	return &trapped[(unsigned)tid % ARRAY_LEN(trapped)];
}

bool fl_trap_has(int tid)
{
	return load_relaxed(trapped_slot(tid)) == tid;
}

int fl_trap_keeps_blocked(bool (*blocks)(int tid), int tid)
{
	enum { FIRST_US = 250, LAST_US = 512000 };

	for (unsigned int us = FIRST_US; us <= LAST_US; us *= 2) {
		if (!blocks(tid))
			return 0;
		fl_os_sleep_us(us);
	}
	return 1;
}

/* Was the trap ours, and is the thread where it belongs? */
static bool settle(void *uc, uintptr_t pc)
{
	int tid = fl_os_tid();
	enum look l;

	store_relaxed(trapped_slot(tid), tid);
	fl_claims_enter();
	do
		l = look_once(uc, pc);
	while (l == LOOK_AGAIN);
	fl_claims_leave();
	store_relaxed(trapped_slot(tid), 0);
	return l == SETTLED;
}

/* A pending SIGTRAP swallows the one that an int3 raises (OS17): the handshake's
 * may stand for both. Then the thread stands behind our trap, where nobody gets
 * to otherwise, and meets it again. */
static void meet_swallowed(void *uc)
{
	uintptr_t pc = fl_arch_trap_pc(uc);
	struct fl_patch *p = fl_claimed_at(pc);

	if (p && p->claimed == FL_CLAIM_PLACE && may_trap(p, pc))
		fl_arch_retry(uc, pc);
}

void fl_trap_leave(void *uc)
{
	if (!fl_arch_has_trapped(uc))
		return;
	fl_claims_enter();
	meet_swallowed(uc);
	fl_claims_leave();
}

/* ---- traps of others --------------------------------------------------- */

/* Does the default action take place for what arrived? */
static bool is_default(const siginfo_t *info)
{
	if ((uintptr_t)program.handler == DEFAULT)
		return true;		/* a real trap cannot be ignored */
	return (uintptr_t)program.handler == IGNORE && info->si_code > 0;
}

static void take_default(int sig)
{
	struct fl_os_sigaction dfl = { .restorer = fl_os_sigreturn };

	fl_os_sigaction(sig, &dfl, NULL);
	fl_os_signal_thread(fl_os_tid(), sig);		/* taken on return */
}

/* Run the program's handler under the mask it would have had. */
static void call_program(int sig, siginfo_t *info, void *uc)
{
	void (*handler)(int, siginfo_t *, void *) = program.handler;
	uint64_t mask;

	__builtin_memcpy(&mask, &((ucontext_t *)uc)->uc_sigmask, sizeof mask);
	mask |= program.mask;
	if (!(program.flags & SA_NODEFER))
		mask |= 1ull << (sig - 1);
	if (program.flags & SA_RESETHAND)
		program = (struct fl_os_sigaction){ .restorer = fl_os_sigreturn };
	fl_os_signals_restore(&mask);
	handler(sig, info, uc);
}

/* A trap that is not ours goes where it would have gone without us. */
static void pass_on(int sig, siginfo_t *info, void *uc)
{
	if (is_default(info))
		take_default(sig);
	else if ((uintptr_t)program.handler != IGNORE)
		call_program(sig, info, uc);
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

/* The program's own int3 has been swallowed just so, unless it has just been dealt
 * with. The trap's number is that of the last trap, however old: where the byte may
 * belong to another instruction the trap is let go, rather than made up. */
static bool has_swallowed(const void *uc)
{
	uintptr_t pc = fl_arch_trap_pc(uc);

	return (uintptr_t)program.handler > IGNORE && fl_arch_has_trapped(uc) &&
	       !fl_arch_is_marked(uc) && (pc + 1) % FL_PAGE &&
	       *(volatile uint8_t *)pc == FL_ARCH_TRAP && !may_end_longer(pc);
}

static void after_handshake(int sig, void *uc)
{
	siginfo_t info = { .si_signo = sig, .si_code = SI_KERNEL };

	if (!has_swallowed(uc))
		return;
	pass_on(sig, &info, uc);
	fl_arch_mark_return(uc);
}

static void on_trap(int sig, siginfo_t *info, void *uc)
{
	bool is_trap = info->si_code == SI_KERNEL || info->si_code == TRAP_BRKPT;

	if (fl_handshake_answer(info, uc)) {
		after_handshake(sig, uc);
	} else if (!is_trap || !settle(uc, fl_arch_trap_pc(uc))) {
		pass_on(sig, info, uc);
		fl_arch_mark_return(uc);	/* this trap has been dealt with */
	}
}

/* ---- the handler's own life -------------------------------------------- */

int fl_trap_install(void)
{
	struct fl_os_sigaction ours = {
		.handler = on_trap,
		.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | 0x04000000,
		.restorer = fl_os_sigreturn,
		.mask = ~0ull,			/* see claim.c, WHY 2 */
	};
	struct fl_os_sigaction old;
	int err = fl_os_sigaction(SIGTRAP, NULL, &old);

	if (!err && old.handler != on_trap)
		program = old;		/* before ours may have to pass on to it */
	if (!err)
		err = fl_os_sigaction(SIGTRAP, &ours, NULL);
	installed = installed || !err;
	return err;
}

/* Is the thread on its way from a trap to the handler? What it blocks is not that. */
static int is_trapping(void *arg, int tid)
{
	struct fl_thread_status s;

	(void)arg;
	return !fl_os_thread_status(0, tid, &s) &&
	       (s.pending & ~s.blocked) >> (SIGTRAP - 1) & 1;
}

/* Every core has refetched; a thread that met a trap before may be off its core. */
static bool is_anybody_late(void)
{
	enum { PAUSE_US = 100, TRIES = 100 };
	int late = 0;

	for (int i = 0; i < TRIES; i++) {
		late = fl_os_threads(fl_os_tid(), is_trapping, NULL);
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
		fl_os_sigaction(SIGTRAP, &program, NULL);
	installed = false;
}
