/*
 * wide.pml - a change of more than one store (tactic wide): park, sync, tail,
 * sync, head, sync, while cores execute the place and other threads want to
 * change it, too.
 *
 *	take		fl_motion_take()	motion.h: of many at one place one
 *			wins, the others are told FLICK_E_BUSY (of sets: claims.pml)
 *	give_back	fl_motion_leave()	motion.h
 *	commit		fl_set_commit(), fl_set_begin(), fl_set_step()
 *	  PARKED	write_park()
 *	all_follow	fl_sync_ticket(), fl_sync_pass()	sync.c
 *
 * HOLDS	never torn, never stale once a change has returned; of two patchers at
 *	most one is inside, a loser changes nothing, and one wins. Live: both
 *	patchers end, and every core, whether it was held or passed, then runs the
 *	last version. Nothing here needs a bound of staleness.
 * PARKED	HOLD: a head that jumps to itself, so a thread waits there. NO_OP: one
 *	that makes any tail harmless, so a thread passes.
 * BY_WAIT	cores are synchronised by waiting for T_max, not by all_cores().
 * TWINS	NO_SYNC_PARK, NO_SYNC_TAIL, NO_SYNC_HEAD	(the last: live only)
 *	TAIL_FIRST	the tail before the park
 *	HEAD_FIRST	the head before the tail
 *	SYNC_NO_FENCE	no fence before the sync, or before the wait
 *	BACK_EARLY	gives the place back before the head
 *	TAKE_RACE	looks whether the place is taken, then takes it
 *	NO_HEAD		ends before the head: who is held is never let go (live only)
 */
#ifndef CORES
#define CORES 2
#endif
#ifndef STORERS
#define STORERS 2
#endif
#ifndef TRIES
#define TRIES 1				/* of each patcher */
#endif
#ifndef PARKED
#define PARKED HOLD
#endif
#define TEXT 2
#define CELLS 3
#define MOTION(p) 2

#include "fetch.pml"

byte inside, won, ended;
bool half;	/* a place at rest was half changed */

/* One phase's sync, by the strategy chosen. */
inline all_follow(me)
{
#ifdef BY_WAIT
	sync_fence(me);			/* fl_sync_ticket() */
	begin_wait(BIT(FRONT(0)) | BIT(BACK(0)));
	end_wait(BIT(FRONT(0)) | BIT(BACK(0)))	/* fl_sync_pass() */
#else
	all_cores(me)
#endif
}

/* Who is held fetches again what holds it. */
proctype Executor(byte c)
{
	do
	:: run_until_held(c, 0)
	od
}

/* A locked compare and exchange: the buffer is empty when it takes place. */
inline take(me)
{
	at_rest = mem[MOTION(0)] & ~1;
#ifdef TAKE_RACE
	mine = (mem[MOTION(0)] == at_rest);
	if
	:: mine -> store(me, MOTION(0), at_rest + 1)
	:: else
	fi
#else
	atomic {
		fence(me);
		mine = (mem[MOTION(0)] == at_rest);
		if
		:: mine -> mem[MOTION(0)] = at_rest + 1
		:: else
		fi
	}
#endif
}

inline enter()
{
	atomic {
		inside++;
		won++;
		if
		:: inside > 1 -> never_again(twice)
		:: else
		fi
	}
}

inline give_back(me)
{
	atomic { inside--; store(me, MOTION(0), at_rest + 2) }
}

inline commit(me)
{
	atomic {
		if				/* verify_bytes() */
		:: mem[FRONT(0)] != mem[BACK(0)] -> never_again(half)
		:: else
		fi;
		v = mem[FRONT(0)] + 1
	}
#ifdef TAIL_FIRST
	store(me, BACK(0), v);
#endif
	store(me, FRONT(0), PARKED);
#ifndef NO_SYNC_PARK
	all_follow(me);
#endif
#ifdef HEAD_FIRST
	store(me, FRONT(0), v);
	all_follow(me);
#endif
	store(me, BACK(0), v);
#ifndef NO_SYNC_TAIL
	all_follow(me);
#endif
#ifdef BACK_EARLY
	give_back(me);
#endif
#ifndef NO_HEAD
	store(me, FRONT(0), v);
#endif
#ifndef NO_SYNC_HEAD
	all_follow(me);
#endif
	done[0] = v;
#ifndef BACK_EARLY
	give_back(me);
#endif
	v = 0
}

proctype Patcher(byte me)
{
	byte v, i, k, tries, at_rest;
	bool mine;

	do
	:: tries < TRIES ->
		tries++;
		take(me);
		if
		:: mine -> enter(); commit(me)
		:: else					/* BUSY */
		fi;
		atomic { mine = false; at_rest = 0 }
	:: else -> break
	od;
	atomic {
		ended++;
		if
		:: ended == STORERS && won == 0 -> never_again(wasted)
		:: else
		fi
	}
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
			run Patcher(i);
			run Drain(i)
		}
	}
}

#ifdef LIVE
#define runs_last(c)	(ran[c] == FIRST + won)
#if CORES == 1
#define all_new	(ended == STORERS && runs_last(0))
#else
#define all_new	(ended == STORERS && runs_last(0) && runs_last(1))
#endif
ltl live { <> [] all_new }
#endif
