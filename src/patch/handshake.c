/*
 * handshake.c - interrupt every other thread, once, and know that it happened.
 *
 * Hides the signal: SIGTRAP with a code and a value of ours, queued to one
 * thread after the other; whom to signal is round.c's. The handler is trap.c's.
 *
 * PROTOCOL
 *	sender				interrupted thread (any signal blocked)
 *	make the handler ours		CPUID
 *	queue SIGTRAP, value = round	serve the mark, answers + 1, wake
 *	wait for answers		make an interrupted call again
 *	pass; who is left and has no
 *	signal pending gets another
 * INVARIANT
 *	1 No thread is waited for that will not answer, but one that blocks
 *	  SIGTRAP (until it rests), or cannot be scheduled.
 *	2 No trap of the program's is lost.
 *	3 The program sees no EINTR that it would not see without us.
 * WHY
 *	1 A signal can get lost: only one SIGTRAP is pending at a time, and one
 *	  that the program sent itself, or takes by sigwait(), is not ours. So it
 *	  is sent again; an answer counts once (round.c, 2). Who ends is served.
 *	2 A pending SIGTRAP swallows that of an int3 (OS17). The thread then
 *	  stands behind the trap with nothing else to show: trap.c's
 *	  has_swallowed() looks for that.
 *	3 Who sleeps in a system call is not interrupted unless everybody is
 *	  asked for (FL_WHO_ALL). It may go to sleep between look and signal.
 *	  SA_RESTART takes care of most calls. The others are made again, if
 *	  they can be (os/restart.c) and told (arch/CPU/resume.c), and the
 *	  program catches no signal: otherwise EINTR may be its own handler's,
 *	  and it knows of EINTR.
 * FAILURE
 *	Only by time. A signal may then still be on its way: the handler stays
 *	installed for good. What the program may notice: sigaction(SIGTRAP)
 *	shows our handler; SIGTRAP queued by the program may merge with ours, and
 *	is taken for ours when its sender is in another PID namespace; a
 *	thread in sigwait() for SIGTRAP may get ours; a thread that calls exec
 *	at that very moment may die of it in its new image.
 */
#include <limits.h>

#include "arch/arch.h"
#include "handshake.h"
#include "trap.h"

/* Codes below zero are the senders'. This one is nobody else's. */
enum { CODE = -0x666c6b };

enum { RESEND_US = 1000, PAUSE_US = 100 };

#define BIT(sig) (1ull << ((sig) - 1))
/* What is caught but comes of no other thread's doing, or is the C library's
 * own: their handlers make no call return EINTR that a program waits for. */
#define SYNCHRONOUS (BIT(SIGTRAP) | BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | \
		     BIT(SIGFPE) | BIT(SIGSYS) | BIT(32) | BIT(33))

static uint32_t answers;	/* futex; a hint, the marks decide */
static uint64_t current;	/* number of the round; W sender, R handler */
static uint32_t catches_none;	/* W sender before it signals, R handler */
static uint32_t is_unsettled;	/* a signal may come after its round */

int fl_handshake_open(void)
{
	int err = fl_round_open();

	return err ? err : fl_os_signal_queue(fl_os_tid(), 0, CODE, 0);
}

bool fl_handshake_is_settled(void)
{
	return !load_relaxed(&is_unsettled);
}

/* Whom it no longer reaches has ended, which the next pass sees. */
static int ask(struct fl_round *r, int tid, const struct fl_thread_status *s, bool again)
{
	int err;

	if (again && (s->pending & BIT(SIGTRAP)))
		return 0;			/* it will come */
	if (again)
		store_relaxed(&is_unsettled, 1);
	store_relaxed(&catches_none, !(s->caught & ~SYNCHRONOUS));
	err = fl_trap_install();
	if (!err)
		err = fl_os_signal_queue(tid, SIGTRAP, CODE, r->number);
	return err == -ESRCH ? 0 : err;
}

/* Until `n` have answered, or for a moment. */
static void await(uint32_t from, size_t n)
{
	uint32_t now;

	while ((now = load_relaxed(&answers)) - from < n)
		if (fl_os_futex_wait(&answers, now, RESEND_US) == -ETIMEDOUT)
			return;
}

/* Flick's own thread does, and the caller may. */
static bool blocks(int tid)
{
	struct fl_thread_status s;

	return tid != fl_os_own_thread() && !fl_os_thread_status(0, tid, &s) &&
	       (s.blocked & BIT(SIGTRAP)) && fl_os_thread_rest(0, tid) == FL_RUNS;
}

static int blocks_now(void *arg, int tid)
{
	(void)arg;
	return blocks(tid);
}

/* For a second? The C library blocks every signal for a moment around thread
 * creation, handlers may, and a busy machine may stop a thread just then. Where
 * threads come and go there is always some thread that blocks it; so each is waited
 * for by itself. */
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

	return r > 0 ? FLE_TRAPBLOCK : r;
}

static int give_up(void)
{
	store_relaxed(&is_unsettled, 1);
	return fl_os_threads(fl_os_tid(), blocks_now, NULL) == 1 ? FLE_TRAPBLOCK : -ETIMEDOUT;
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
	store_relaxed(&current, r.number);
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

/* Beyond RLIMIT_SIGPENDING the kernel delivers the signal bare: the code SI_USER,
 * and nobody as its sender. */
static bool is_bare(const siginfo_t *info)
{
	return info->si_code == SI_USER && !info->si_pid && !info->si_uid;
}

/* The round that the signal was sent in; 0: it is none of ours. */
static uint64_t round_of(const siginfo_t *info)
{
	if (info->si_code == CODE)
		return (uintptr_t)info->si_value.sival_ptr;
	return is_bare(info) ? load_relaxed(&current) : 0;
}

static void make_call_again(void *uc)
{
	struct fl_call call;

	if (load_relaxed(&catches_none) && fl_arch_interrupted(uc, &call) &&
	    fl_os_call_restarts(call.number, call.args))
		fl_arch_call_again(uc, &call);
}

bool fl_handshake_answer(const siginfo_t *info, void *uc)
{
	uint64_t number = round_of(info);

	if (!number)
		return false;
	fl_arch_serialise();
	if (fl_round_serve(number, fl_os_tid())) {
		/* ordering: none, a hint */
		__atomic_fetch_add(&answers, 1, __ATOMIC_RELAXED);
		fl_os_futex_wake(&answers, 1);
	}
	make_call_again(uc);
	return true;
}
