/*
 * halt.c - bytes of several instructions become one while other threads run.
 *
 * Where the old bytes are more than one instruction, a thread may stand behind the first,
 * and would go on in the middle of the new one. No order of stores helps that thread. So
 * all threads are stopped for a moment, and a thread that stands there is led to a copy. A
 * thread cannot stop the others of its process unseen: signals end system calls, and can be
 * blocked. A tracer can. The tracer is a child that shares this memory and ends when the
 * threads go on; where no child may trace, the reader has one (patch.h).
 *
 * PROTOCOL
 *	the asker				the holder (halt-serve.c)
 *	rows are made, all that may fail has,
 *	pages are there; the lock of syncs
 *	step = ASKED			(A)	read rows			(F)
 *						stop each thread but the asker; again
 *						until a pass meets no other
 *						look at each: pc, signal frames
 *						lead out each that is in a row
 *	step == HELD ?			(E)	step = HELD			(B)
 *	store all new bytes
 *	step = STORED			(C)	step == STORED ?		(D)
 *						let all go
 *	step == OVER ?			(E)	step = OVER			(G)
 * INVARIANT
 *	1 While new bytes are stored, and from then on, no thread stands in a row behind its
 *	  first byte, and none returns there.
 *	2 No core goes on with bytes that it fetched before.
 *	3 A thread that is led out does what it would have done.
 *	4 The asker waits for nothing that a held thread has.
 *	5 A set that is refused has changed nothing that the program can see.
 * WHY
 *	1 A thread goes on at its pc, or at one that a signal's frame keeps. Nobody returns
 *	  into a row, because no call has its return address there (copy/: a body with such
 *	  a call has no copies, and is refused). So neither a frame nor a jmp_buf, which
 *	  keeps what setjmp returns to, has such a place. Nobody jumps into a row: a
 *	  function whose own branch, landing pad or jump through a register may lead there
 *	  has no copies either (copy/heights.c), and a jump from another function was
 *	  refused before (FLE_INTO). Signal frames are on stacks that are looked at whole; a
 *	  word that may be such a place, and is in no frame, refuses the row. Threads that
 *	  create threads have stopped. A thread in a system call stands behind the call or,
 *	  when the call begins anew, at it; the copy has both places. The kernel leads a
 *	  thread in a restartable sequence to where the sequence is aborted: functions with
 *	  one are refused (FLE_RSEQ).
 *	2 A stop goes through the kernel, which serialises on the way back (OS18).
 *	3 The copy is what the jump leads to while the probe is off: the same instructions, of
 *	  the body. The copy of NOPs is what stands behind them.
 *	4 The asker stores, and does nothing else. Threads that want a lock wait for it in the
 *	  kernel, where they are stopped as well. The asker takes the lock of syncs before:
 *	  there are no two askers, and no sync by a tracer meanwhile.
 *	5 A thread that is led to the copy before new bytes are stored takes no harm.
 * FAILURE
 *	All before the first store. FLE_THREADS: nobody may trace (a debugger does already;
 *	Yama, seccomp). -ETIMEDOUT: a thread does not stop, for instance because vfork's child
 *	has its memory. The owner of a set gets that as FLE_STUCK, and tries again later if
 *	it can wait (arm.c). A holder that is itself kept from stopping threads, as by an exec
 *	that waits for the held ones, ends by a timer, and all threads go on. Whoever kills
 *	the holder while bytes are stored lets threads go on too early: so the holder is a
 *	process of its own, which lives for that moment only. A context that a handler of the
 *	program's has put aside, to go on with it later, is not seen (OS29).
 *	The model is tests/model/halt.pml.
 */
#include "halt.h"
#include "patch.h"
#include "sync.h"

enum { LOOK_US = 20000, WAY_LOOK_US = 1000 };

static struct fl_halt own;		/* of a child; under the lock of syncs, as all here */
static struct fl_halt *now;		/* of the holder; NULL: nobody is asked */
static uint64_t signals;		/* the caller's mask, while threads are held */
static bool needs_leave;		/* Yama: a child must be allowed to, each time */
static int child;			/* 0: none */
static int parent;			/* of `child`: this process */
static uint32_t n_moved;
static int32_t stuck;			/* of the last holder, as in struct fl_halt */
static uint64_t kept_at, kept;

static struct fl_halt *outside;		/* constant, as is_there */
static bool (*is_there)(void);

void fl_halt_by(struct fl_halt *mail, bool (*there)(void))
{
	outside = mail;
	is_there = there;
}

/* ---- the holder ------------------------------------------------------------------ */

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

/* ---- the asker ------------------------------------------------------------------- */

static void say(struct fl_halt *mail, enum fl_halt_step step)
{
	/* (A) pairs with (F) in halt-serve.c */
	/* (C) pairs with (D) in halt-serve.c */
	store_release(&mail->step, step);
	fl_os_futex_wake(&mail->step, 1);
}

/* 0: threads are held; else why not. A holder that has gone is not asked any more. */
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

/* Under Yama a process must allow a child to trace it, and then nobody else may. So the child
 * is allowed to only after it has failed without. */
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

/* An error about a row, or about a thread that does not stop, is final. Any other error
 * means that no child can hold threads: then the process outside is asked, if there is one. */
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

/* The lock of syncs is kept until all threads have been let go: nobody else asks before. */
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
