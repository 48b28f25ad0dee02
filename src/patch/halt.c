/*
 * halt.c - bytes of several instructions become one while other threads run.
 *
 * Where the old bytes are more than one instruction, a thread may stand behind the first: it
 * would go on in the middle of the new one. No order of stores helps it, so all threads are
 * stopped for a moment, and who stands there is led to a copy. A thread cannot stop the
 * others of its process unseen: signals end system calls, and can be blocked. A tracer can.
 * The tracer is a child that shares this memory and ends behind it; where none may trace,
 * one that the reader has (patch.h).
 *
 * PROTOCOL
 *	who asks				who holds (halt-serve.c)
 *	rows are made, all that may fail has,
 *	pages are there; the lock of syncs
 *	step = ASKED			(A)	read rows			(F)
 *						stop each thread but the asker; again
 *						until a pass meets no other
 *						look at each: pc, signal frames
 *						lead out who stands in a row
 *	step == HELD ?			(E)	step = HELD			(B)
 *	store all new bytes
 *	step = STORED			(C)	step == STORED ?		(D)
 *						let all go
 *	step == OVER ?			(E)	step = OVER			(G)
 * INVARIANT
 *	1 While new bytes are stored, and from then on, no thread stands in a row but at its
 *	  first byte, and none returns there.
 *	2 No core goes on with bytes that it fetched before.
 *	3 A thread that is led out does what it would have done.
 *	4 Who asks waits for nothing that a held thread has.
 *	5 What is refused has changed nothing that the program can see.
 * WHY
 *	1 A thread goes on at its pc, or at one that a signal's frame keeps. Nobody returns
 *	  there: no call returns into a row (copy/: such a body has no copies, and is
 *	  refused), so neither a frame nor a jmp_buf, which keeps what setjmp returns to,
 *	  has such a place. Nobody jumps there: a function whose own branch, landing pad or
 *	  jump through a register may lead there has no copies either (copy/heights.c), and
 *	  that of others is refused before (FLE_INTO). Signal frames are on stacks that are
 *	  looked at whole; a word that may be such a place, and is in no frame, refuses the
 *	  row. Who creates threads has stopped. Who is in a system call stands behind it or,
 *	  when that begins anew, at it, in the copy alike. The kernel leads who is in a
 *	  restartable sequence to where that is aborted: such functions are refused
 *	  (FLE_RSEQ).
 *	2 A stop goes through the kernel, which serialises on the way back (OS18).
 *	3 The copy is what the jump leads to while the probe is off: the same instructions, of
 *	  the body. Of NOPs it is what stands behind them.
 *	4 It stores, and that is all. Threads that want a lock wait for it in the kernel, where
 *	  they are stopped as well. The lock of syncs is had before: no two askers, and no
 *	  sync by a tracer.
 *	5 To be led to the copy is harmless before new bytes are stored, too.
 * FAILURE
 *	All before the first store. Nobody may trace (a debugger does; Yama, seccomp):
 *	FLE_THREADS. A thread does not stop, as vfork's child has its memory: -ETIMEDOUT, which
 *	is FLE_STUCK to who has a set; who can wait tries again when it may stop (arm.c). A
 *	holder that is itself kept from stopping threads, as by an exec that waits for those
 *	it holds, ends by a timer, and all go on. Who kills the holder while bytes are
 *	stored lets threads go on too early: so it is a process of its own, which lives for
 *	that moment. A context that a handler of the program's has put aside, to go on with
 *	it later, is not seen (OS29).
 *	The model is tests/model/halt.pml.
 */
#include "halt.h"
#include "patch.h"
#include "sync.h"

enum { LOOK_US = 20000, WAY_LOOK_US = 1000 };

static struct fl_halt own;		/* of a child; under the lock of syncs, as all here */
static struct fl_halt *now;		/* the one that holds */
static uint64_t signals;		/* while it does */
static bool needs_leave;		/* Yama: must be allowed to, each time */
static int child;			/* 0: none */
static int parent;			/* its, this process */
static uint32_t n_moved;
static int32_t stuck;			/* of who held last, as in struct fl_halt */
static uint64_t kept_at, kept;

static struct fl_halt *outside;		/* constant, as is_there */
static bool (*is_there)(void);

void fl_halt_by(struct fl_halt *mail, bool (*there)(void))
{
	outside = mail;
	is_there = there;
}

/* ---- who holds ------------------------------------------------------------------- */

static bool child_is_there(void)
{
	int sig;

	return fl_os_trace_poll(child, &sig) != -ESRCH;
}

/* In the child. */
static int hold_parent(void *arg)
{
	struct fl_halt *mail = arg;

	/* ordering: none, (F) looks again */
	while (load_acquire(&mail->step) == FL_HALT_FREE)
		fl_os_futex_wait(&mail->step, FL_HALT_FREE, LOOK_US);
	fl_halt_serve(parent, fl_os_tid(), mail);
	return 0;
}

/* ---- who asks -------------------------------------------------------------------- */

static void say(struct fl_halt *mail, enum fl_halt_step step)
{
	/* (A) pairs with (F) in halt-serve.c */
	/* (C) pairs with (D) in halt-serve.c */
	store_release(&mail->step, step);
	fl_os_futex_wake(&mail->step, 1);
}

/* 0: held, or why not. If who was asked has gone it is not asked any more. */
static int await(struct fl_halt *mail, bool (*there)(void))
{
	uint32_t step, asked = FL_HALT_ASKED;

	/* (E) pairs with (B) in halt-serve.c */
	/* (E) pairs with (G) in halt-serve.c */
	while ((step = load_acquire(&mail->step)) == FL_HALT_ASKED) {
		fl_os_futex_wait(&mail->step, FL_HALT_ASKED, LOOK_US);
		/* ordering: none, the other has gone */
		if (!there() &&
		    __atomic_compare_exchange_n(&mail->step, &asked, FL_HALT_FREE,
							    false, __ATOMIC_ACQ_REL,
							    __ATOMIC_RELAXED))
			return -ESRCH;
		asked = FL_HALT_ASKED;
	}
	if (step == FL_HALT_HELD)
		return 0;
	return mail->err ? mail->err : -ESRCH;
}

static int ask_child(const struct fl_halt *what)
{
	int err;

	own = *what;
	parent = fl_os_pid();
	child = fl_os_process_start(hold_parent, &own);
	if (child < 0) {
		err = child;
		child = 0;
		return err;
	}
	if (needs_leave)
		fl_os_trace_allow(child);
	say(&own, FL_HALT_ASKED);
	err = await(&own, child_is_there);
	if (err) {
		fl_os_process_reap(child);
		child = 0;
	}
	return err;
}

/* Under Yama a child may trace only whom it is allowed to, and then nobody else may. */
static int ask_children(const struct fl_halt *what)
{
	int err = ask_child(what);

	if (err != -EPERM || needs_leave)
		return err;
	needs_leave = true;
	err = ask_child(what);
	needs_leave = err != -EPERM;
	return err;
}

static int ask_outside(const struct fl_halt *what)
{
	/* (E) pairs with (G) in halt-serve.c */
	uint32_t step = load_acquire(&outside->step);

	if ((step != FL_HALT_FREE && step != FL_HALT_OVER) || !is_there())
		return -ESRCH;
	*outside = *what;
	say(outside, FL_HALT_ASKED);
	return await(outside, is_there);
}

/* What stands against a row is told as it is; that nobody can hold threads, alike. */
static int ask_anybody(const struct fl_halt *what)
{
	int err = ask_children(what);

	now = &own;
	if (!err || err == FLE_STANDS || err == -ETIMEDOUT || !outside)
		return err;
	now = outside;
	return ask_outside(what);
}

int fl_halt_begin(struct fl_halt_row *rows, size_t n, size_t *bad)
{
	struct fl_halt what = {
		.asker = fl_os_tid(), .spared = fl_os_own_thread(), .n_rows = (uint32_t)n,
		.rows = (uintptr_t)rows, .stack = (uintptr_t)__builtin_frame_address(0),
	};
	uint64_t before;
	int err;

	if (n > FL_HALT_ROWS)
		return -ENOMEM;
	fl_sync_lock(&before);
	err = ask_anybody(&what);
	if (!err) {
		signals = before;
		n_moved += now->n_moved;
		FL_POINT("halt.held");
		return 0;
	}
	*bad = now->bad < n ? now->bad : 0;
	store_relaxed(&stuck, err == -ETIMEDOUT ? now->stuck : 0);
	store_relaxed(&kept_at, err == FLE_STANDS ? now->kept_at : 0);
	store_relaxed(&kept, now->kept);
	now = NULL;
	fl_sync_unlock(&before);
	return err;
}

static bool is_stuck(void)
{
	int32_t tid = load_relaxed(&stuck);
	struct fl_thread_status s;

	return tid && !fl_os_thread_status(0, tid, &s) && s.state == 'D';
}

static bool is_kept(void)
{
	uint64_t at = load_relaxed(&kept_at), word = 0;

	return at && fl_os_peek(fl_os_pid(), at, &word, sizeof word) == sizeof word &&
	       word == load_relaxed(&kept);
}

void fl_halt_await(uint64_t until_ns)
{
	do
		fl_os_sleep_us(WAY_LOOK_US);
	while (fl_os_monotonic_ns() < until_ns && (is_stuck() || is_kept()));
}

uint32_t fl_halt_moved(void)
{
	return n_moved;
}

/* Nobody else asks before all have been let go. */
void fl_halt_end(void)
{
	uint64_t before = signals;

	fl_arch_serialise();
	say(now, FL_HALT_STORED);
	if (now == &own)
		fl_os_process_reap(child);
	else
		/* (E) pairs with (G) in halt-serve.c */
		while (load_acquire(&now->step) == FL_HALT_STORED && is_there())
			fl_os_futex_wait(&now->step, FL_HALT_STORED, LOOK_US);
	child = 0;
	now = NULL;
	fl_sync_unlock(&before);
}
