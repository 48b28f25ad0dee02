/*
 * flip.pml - a switch of one byte (tactic flip).
 *
 * The instruction is split between two chunks. The byte that changes lies in
 * FRONT; BACK is the same in all versions.
 *
 *	store()		fl_patch_flip() in src/patch/patch.h and store_at_once()
 *			in commit.c: one fl_arch_flip_unit()
 *	all_cores()	fl_patch_sync() in sync.c; write_set() in commit.c, which
 *			ends a set without wide changes with it
 *
 * HOLDS	never torn; never the old byte after a sync that followed the
 *	store (STORERS=1). Live, ALONE: the store without a sync; every core comes to
 *	run what stands in memory, and stays there, if staleness is bounded; also
 *	when two threads switch the same probe at the same time (STORERS=2).
 * TWINS	TWO_BYTES	a byte of either chunk changes, each by its own store
 *	NO_SYNC		the change returns without a sync
 *	SYNC_NO_FENCE	the sync is no fence for its caller
 *	live, no BOUND	nobody need ever see a store
 */
#ifndef CORES
#define CORES 2
#endif
#define TEXT 2
#define CELLS 2
#ifndef STORERS
#define STORERS 1
#endif
#ifndef FLIPS
#define FLIPS 3				/* by all storers */
#endif
#ifndef TWO_BYTES
#define whole(front, back)	((back) == FIRST)
#endif

#include "fetch.pml"

byte flips;		/* versions given out: each store is a new one */
byte ended;

proctype Executor(byte c)
{
	run_until_held(c, 0);
	assert(false)		/* there are none */
}

#if STORERS == 1
#define returns(v)	done[0] = v
#else
#define returns(v)	skip	/* whose store came last? the live run says */
#endif

proctype Storer(byte me)
{
	byte v, i, k;

	do
	:: atomic { flips < FLIPS -> flips++; v = FIRST + flips }
		store(me, FRONT(0), v);
#ifdef TWO_BYTES
		store(me, BACK(0), v);
#endif
#ifndef ALONE
#ifndef NO_SYNC
		all_cores(me);
#endif
		returns(v)
#else
		v = NONE
#endif
	:: else -> break
	od;
	ended++
}

init {
	byte i;

	atomic {
		mem[FRONT(0)] = FIRST;
		mem[BACK(0)] = FIRST;
		for (i : 0 .. CORES - 1) {
			run Executor(i);
#ifdef BOUND
			run Time(i)
#endif
		}
		for (i : 0 .. STORERS - 1) {
			run Storer(i);
			run Drain(i)
		}
	}
}

#ifdef LIVE
#define follows(c)	(ran[c] == mem[FRONT(0)])
#if CORES == 1
#define all_follow	follows(0)
#else
#define all_follow	(follows(0) && follows(1))
#endif
ltl live { <> [] (ended == STORERS && all_follow) }
#endif
