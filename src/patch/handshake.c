/*
 * handshake.c - interrupt every other thread, once, and know that it happened.
 *
 * Hides the signal: SIGURG goes to one thread after the other. round.c chooses the threads,
 * and the handler is in interrupt.c.
 *
 * PROTOCOL
 *	sender				interrupted thread (any signal blocked)
 *	store to text
 *	current = round		(A)
 *	make the handler ours		round = current		(B)
 *	send SIGURG			serialise its core
 *	wait for answers		serve the mark, answers + 1, wake
 *	pass; a thread that is left,	the program's handler, or make an
 *	and has no signal pending,	interrupted call again
 *	gets another signal
 * INVARIANT
 *	1 Each thread that is waited for will answer. There are two exceptions: a
 *	  thread that blocks SIGURG (until it rests), and one that cannot be scheduled.
 *	2 No SIGURG of the program's is lost.
 *	3 The program sees no EINTR that it would not see without us.
 *	4 A signal does no harm, however late it comes.
 * WHY
 *	1 A thread that holds one of flick's locks, or is about to sleep for one, blocks
 *	  SIGURG. A thread that waits for a lock sleeps in the kernel, which is rest for
 *	  FL_WHO_CORES, the kind of round that syncs use. So the sender may hold the very
 *	  lock that the thread waits for, even the lock of the syncs. A thread that holds
 *	  a lock and runs answers when it unlocks, or leaves its core before (round.c,
 *	  `switches`). A signal can get lost: in a sigwait(), or to an action that the
 *	  program has just installed. So the signal is sent again. Any SIGURG makes a
 *	  thread answer, whoever sent it: (A) pairs with (B), so a thread that has seen
 *	  the round's number serialises its core behind the stores. An answer counts once
 *	  (round.c, 2). A thread that ends is served.
 *	2 One SIGURG is pending for a thread at a time (OS17): a signal of ours may stand
 *	  for one of the program's. So every SIGURG goes on to the program's handler.
 *	3 A thread that sleeps in a system call is interrupted only where everybody is
 *	  asked (FL_WHO_ALL), or if it goes to sleep between look and signal.
 *	  SA_RESTART takes care of most calls. Each other call is made again, if that is
 *	  possible (os/restart.c), the call can be told (arch/CPU/resume.c), and the
 *	  program catches no signal. Otherwise EINTR may come of the program's own
 *	  handler, and the program knows of EINTR.
 *	4 The default action is to ignore SIGURG (OS17). An image that exec has started
 *	  meanwhile does so, and a program whose action has been put back.
 * FAILURE
 *	Only by time. A signal may then still be on its way. The program may notice
 *	this: sigaction(SIGURG) shows our handler; the program's handler for SIGURG gets
 *	signals that nobody in the program has sent; a thread in sigwait() for SIGURG, or
 *	an image that exec starts with SIGURG blocked, may get ours; a SIGURG that the
 *	program ignores, and sends itself, may make a call say EINTR where the program
 *	catches other signals.
 */
#include <limits.h>

#include "arch/arch.h"
#include "handshake.h"
#include "interrupt.h"

enum { RESEND_US = 1000, PAUSE_US = 100 };

#define BIT(sig) (1ull << ((sig) - 1))
/* Signals that a thread causes itself, and those of the C library: their handlers make no
 * call return the EINTR that a program waits for. */
#define SYNCHRONOUS (BIT(SIGTRAP) | BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | \
		     BIT(SIGFPE) | BIT(SIGSYS) | BIT(32) | BIT(33))
#define OURS BIT(FL_SYNC_SIGNAL)

static uint32_t answers;	/* futex; a hint, the marks decide */
static uint64_t current;	/* number of the round; W sender, R handler */
static uint32_t catches_none;	/* W sender before it signals, R handler */

int fl_handshake_open(void)
{
	int err = fl_round_open();

	return err ? err : fl_os_signal_thread(fl_os_tid(), 0);
}

/* A thread that the signal does not reach has ended, which the next pass sees. */
static int ask(struct fl_round *r, int tid, const struct fl_thread_status *s,
	       enum fl_asked asked)
{
	int err;

	(void)r;
	if (asked && (s->pending & OURS))
		return 0;			/* it will come */
	store_relaxed(&catches_none, !(s->caught & ~(SYNCHRONOUS | OURS)));
	err = fl_interrupt_install();
	FL_POINT("handshake.asking");
	if (!err)
		err = fl_os_signal_thread(tid, FL_SYNC_SIGNAL);
	return err == -ESRCH ? 0 : err;
}

/* Wait until `n` threads have answered, or for a moment. */
static void await(uint32_t from, size_t n)
{
	uint32_t now;

	while ((now = load_relaxed(&answers)) - from < n)
		if (fl_os_futex_wait(&answers, now, RESEND_US) == -ETIMEDOUT)
			return;
}

/* Does the thread run with SIGURG blocked? Flick's own thread always does, and is not meant. */
static bool blocks(int tid)
{
	struct fl_thread_status s;

	return tid != fl_os_own_thread() && !fl_os_thread_status(0, tid, &s) &&
	       (s.blocked & OURS) && !fl_os_thread_rests(0, tid);
}

static int blocks_now(void *arg, int tid)
{
	(void)arg;
	return blocks(tid);
}

/* Does the thread block SIGURG for a second? The C library blocks every signal for a moment
 * around thread creation, a handler may do so, and a busy machine may stop a thread just
 * then. Where threads come and go some thread blocks SIGURG at any moment; so each thread
 * is waited for by itself. */
static int keeps_blocking(void *arg, int tid)
{
	enum { FIRST_US = 250, LAST_US = 512000 };

	(void)arg;
	for (unsigned int us = FIRST_US; us <= LAST_US; us *= 2) {
		if (!blocks(tid))
			return 0;
		fl_os_sleep_us(us);
	}
	return 1;
}

int fl_handshake_ready(void)
{
	int r = fl_os_threads(fl_os_tid(), keeps_blocking, NULL);

	return r > 0 ? FLE_SIGBLOCK : r;
}

static int give_up(void)
{
	return fl_os_threads(fl_os_tid(), blocks_now, NULL) == 1 ? FLE_SIGBLOCK : -ETIMEDOUT;
}

int fl_handshake(enum fl_who who, int64_t timeout_us)
{
	struct fl_round r = { .who = who, .caller = fl_os_tid(), .ask = ask };
	uint64_t until = timeout_us < 0 ? UINT64_MAX :
			 fl_os_monotonic_ns() + (uint64_t)timeout_us * 1000;
	uint32_t from = load_relaxed(&answers);
	size_t asked = SIZE_MAX;
	int err;

	fl_round_begin(&r);
	store_release(&current, r.number);		/* (A) pairs with (B) */
	while ((err = fl_round_pass(&r)) > 0) {
		FL_POINT("handshake.asked");
		if (fl_os_monotonic_ns() >= until)
			return give_up();
		if (r.asked == asked)		/* nobody new to wait for */
			fl_os_sleep_us(PAUSE_US);
		asked = r.asked;
		await(from, asked);
	}
	return err;
}

/* ---- in the interrupted thread -------------------------------------------- */

void fl_handshake_call_again(void *uc)
{
	struct fl_call call;

	if (load_relaxed(&catches_none) && fl_arch_interrupted(uc, &call) &&
	    fl_os_call_restarts(call.number, call.args))
		fl_arch_call_again(uc, &call);
}

void fl_handshake_answer(void)
{
	uint64_t number = load_acquire(&current);	/* (B) pairs with (A) */

	fl_arch_serialise();
	if (fl_round_serve(number, fl_os_tid())) {
		/* ordering: none, a hint */
		__atomic_fetch_add(&answers, 1, __ATOMIC_RELAXED);
		fl_os_futex_wake(&answers, 1);
	}
}
