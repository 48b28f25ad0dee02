/*
 * fork.c - a process forks while places are being changed.
 *
 * Hides what the child needs. The child has the forking thread alone, so no other
 * thread may leave a change half-way in the child. A fork waits a while for threads
 * that write, and these wait a while for a fork. Neither side holds anything while it
 * waits, and neither waits for ever. A change that is cut in two nevertheless is put
 * right in the child: a place that another thread was storing to gets back the bytes
 * it had. A place that flick_patch_start() has begun stands between two steps, and
 * the child can finish it like anybody else.
 *
 *	forking thread				another that writes
 *	forking++				busy++		(A)
 *	full fence	(B)			load forking	(A)
 *	wait until busy == 0	(B)		if others fork: busy--, wait, again
 *	fork					...
 *	forking--				busy--
 *
 * (A) pairs with (B): at least one of the two threads sees the other.
 * INVARIANT
 *	1 Neither side waits for what needs a lock of the program's.
 *	2 In the child no place is half written, and none belongs to a thread that
 *	  is not there.
 *	3 A thread waits neither for its own fork nor for its own change.
 * WHY
 *	1 Fork handlers of the program that run behind ours may wait for a lock whose
 *	  holder switches a place, and that holder waits WRITERS_US at most.
 *	2 The child's memory is a cut through its parent's: the child has a first part
 *	  of what each thread stored, because a store that must wait for the fork's end
 *	  is followed by no other. So a thread that is half through is counted in
 *	  `busy`. One kind of change is not counted, because it has no time to: a switch
 *	  of flick/patch.h in one store. If nobody was counted, and there are no places
 *	  of flick/patch.h, no place needs a look. Before a byte differs, the place is
 *	  claimed, and its turn is STEPPED with its thread's number; the place's `state`
 *	  tells which bytes there were. Nobody else executes in the child.
 *	3 Each thread counts its own forks and changes, because it may come here again
 *	  in a signal handler, or in a handler of the program's for fork.
 * FAILURE	A set of several places that is cut is not all or nothing any more:
 *	places whose last byte was stored are new. A copy that ran no handler of ours
 *	(a bare clone) finds places that another thread moved BUSY for good.
 */
#include <pthread.h>

#include "claim.h"
#include "fork.h"
#include "motion.h"
#include "os/os.h"
#include "patch.h"

enum { PAUSE_US = 50, PATIENCE_US = 200000, WRITERS_US = 20000 };

static uint64_t forking, busy;		/* threads; nobody in a child */

/* Counts of this thread, with what it was in when a handler interrupted it. */
static __thread struct {
	uint32_t number, forks, changes;
} own;

uint32_t fl_fork_self(void)
{
	static uint32_t last;

	while (!own.number)
		own.number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	return own.number;
}

/* ---- writers ------------------------------------------------------------------- */

/* `mine`: the forks that the caller is in. */
static bool try_come(uint32_t mine)
{
	fl_os_count_by(&busy, 1);			/* (A) pairs with (B) */
	if (fl_os_count(&forking) <= mine)		/* (A) pairs with (B) */
		return true;
	fl_os_count_by(&busy, -1);
	return false;
}

/* Sleep a moment; false once `us` have passed since the first call, when *end is 0. The clock
 * counts, not the pauses: one takes milliseconds where others want the CPU. */
static bool pause_within(uint64_t *end, uint64_t us)
{
	uint64_t now = fl_os_monotonic_ns();

	*end = *end ? *end : now + us * 1000;
	if (now >= *end)
		return false;
	fl_os_sleep_us(PAUSE_US);
	return true;
}

static void come(uint32_t mine)
{
	uint64_t end = 0;

	while (!try_come(mine))
		if (!pause_within(&end, WRITERS_US)) {
			fl_os_count_by(&busy, 1);
			return;
		}
}

void fl_fork_enter(void)
{
	come(0);
}

void fl_fork_leave(void)
{
	fl_os_count_by(&busy, -1);			/* (A) pairs with (B) */
}

void fl_fork_enter_own(void)
{
	own.changes++;
	come(own.changes > 1 ? UINT32_MAX : own.forks);
}

void fl_fork_leave_own(void)
{
	fl_os_count_by(&busy, -1);			/* (A) pairs with (B) */
	own.changes--;
}

/* ---- the forking thread ---------------------------------------------------------- */

static void before_fork(void)
{
	uint64_t end = 0;

	own.forks++;
	fl_os_count_by(&forking, 1);			/* (B) pairs with (A) */
	/* ordering: (B) pairs with (A) */
	while (fl_os_count(&busy) > own.changes && pause_within(&end, PATIENCE_US))
		;
	FL_POINT("fork.waited");
}

/* A fork that began before our handlers were installed ends with them, too: no forks then. */
static void in_parent(void)
{
	if (!own.forks)
		return;
	own.forks--;
	fl_os_count_by(&forking, -1);			/* (B) pairs with (A) */
}

/* Give the place the bytes of its state again, without what another thread had begun. The
 * place of a probe that was on becomes off. */
static void put_back(struct fl_patch *p)
{
	int state = p->state == FL_ON && p->claimed == FL_CLAIM_PROBE ? FL_OFF : p->state;

	if (__builtin_memcmp((const void *)p->at, p->bytes[state], p->len))
		fl_arch_store_bytes(p->at + (uintptr_t)p->view, p->bytes[state], p->len);
	p->state = (uint8_t)state;
	p->motion.any = 0;
}

/* A set's mark beside `one` is of a set that asked for the place and had not got it. */
static void put_right(struct fl_patch *p)
{
	if (p->motion.one)
		p->motion.set = 0;
	if (p->claimed == FL_CLAIM_PLACE ? fl_place_is_cut(p) : p->motion.any)
		put_back(p);
}

/* Text that is still shared with the parent must not be stored to: no place moves here. */
static void keep_still(struct fl_patch *p)
{
	p->motion.one = 1;
}

static void in_child(void)
{
	bool is_cut = fl_os_was_counted(&busy);

	fl_motion_in_child();
	own.forks -= own.forks > 0;
	fl_os_count_by(&busy, (int)own.changes);
	if (fl_text_unshare())
		fl_claims_each(keep_still);
	else if (is_cut || fl_claims_have_places())
		fl_claims_each(put_right);
	fl_arch_serialise();
}

int fl_fork_open(void)
{
	static uint32_t once;

	if (__atomic_exchange_n(&once, 1, __ATOMIC_RELAXED))	/* ordering: none */
		return 0;
	return fl_os_at_fork(before_fork, in_parent, in_child) ? 0 : -ENOMEM;
}
