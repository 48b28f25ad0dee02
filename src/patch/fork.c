/*
 * fork.c - a process forks while places are being changed.
 *
 * Hides what the child needs: it has the forking thread alone, so no change
 * may be left half-way in it by another. Sets are waited for. Places that
 * flick_patch_start() has begun are left between two steps, whence the child
 * can finish them like anybody else; a thread of the child that meets a trap
 * acts as one of both instructions, or finishes the place itself.
 *
 *	forking thread				another that writes
 *	forking = 1				busy++		(A)
 *	full fence	(B)			load forking	(A)
 *	wait until busy == 0	(B)		if set: busy--, wait, again
 *	fork					...
 *	forking = 0				busy--
 *
 * (A) pairs with (B): of the two, one sees the other.
 * FAILURE	A signal handler that forks while it has interrupted a writer of
 *	its own thread would wait for itself: the wait is bounded, and the child
 *	may then find that place parked for good, which it passes by its traps.
 */
#include <pthread.h>

#include "claim.h"
#include "fork.h"
#include "os/os.h"

enum { PAUSE_US = 50, PATIENCE_US = 200000 };

static uint32_t forking, busy;

bool fl_fork_try_enter(void)
{
	/* (A) pairs with (B) */
	__atomic_fetch_add(&busy, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&forking, __ATOMIC_SEQ_CST))	/* (A) pairs with (B) */
		return true;
	fl_fork_leave();
	return false;
}

void fl_fork_enter(void)
{
	while (!fl_fork_try_enter())
		fl_os_sleep_us(PAUSE_US);
}

void fl_fork_leave(void)
{
	__atomic_fetch_sub(&busy, 1, __ATOMIC_SEQ_CST);	/* (A) pairs with (B) */
}

static void before_fork(void)
{
	__atomic_store_n(&forking, 1, __ATOMIC_SEQ_CST);	/* (B) pairs with (A) */
	/* ordering: (B) pairs with (A) */
	for (int us = 0; __atomic_load_n(&busy, __ATOMIC_SEQ_CST) && us < PATIENCE_US;
	     us += PAUSE_US)
		fl_os_sleep_us(PAUSE_US);
}

static void in_parent(void)
{
	__atomic_store_n(&forking, 0, __ATOMIC_SEQ_CST);	/* (B) pairs with (A) */
}

/* A switch of one store is not waited for; the child does without its thread. */
static void in_child(void)
{
	fl_claims_each(FL_CLAIM_PLACE, fl_place_in_child);
	store_relaxed(&busy, 0);
	in_parent();
}

int fl_fork_open(void)
{
	static uint32_t once;

	if (__atomic_exchange_n(&once, 1, __ATOMIC_RELAXED))	/* ordering: none */
		return 0;
	return pthread_atfork(before_fork, in_parent, in_child) ? -ENOMEM : 0;
}
