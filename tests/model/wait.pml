/*
 * wait.pml - paper 1's own protocol for an instruction that lies in two lines
 * (Figure 4): lock the place with a trap, wait T_max, write the back, wait
 * T_max, write the front. Two threads patch the same place; a thread that
 * meets the trap spins until it is gone.
 *
 *	try_lock	int3_lock(): an exchange, which is also a full fence
 *	pass_time	wait(), with the fence that the paper does not print
 *	spin		the paper's signal handler
 *
 * flick keeps the protocol complete in bench/, as the yardstick. Its own
 * strategy `wait` is wide.pml with -DBY_WAIT.
 *
 * HOLDS	never torn; at most one inside; one wins. Live: both patchers end, and
 *	every core then runs the last version. There is no wait after the
 *	front, so the patch may return before anybody has seen it.
 * TWINS	NO_FENCE	as printed: a store may outlast the wait that follows it
 *	NO_WAIT_LOCK	no wait before the back
 *	NO_WAIT_BACK	no wait between back and front
 *	PLAIN_LOCK	looks at the byte, then stores the trap
 *	live, no BOUND	staleness without bound
 */
#ifndef CORES
#define CORES 2
#endif
#ifndef STORERS
#define STORERS 2
#endif
#ifndef TRIES
#define TRIES 1
#endif
#define TEXT 2
#define CELLS 2

#include "fetch.pml"

byte inside, won, ended;

proctype Executor(byte c)
{
	do
	:: run_until_held(c, 0);
		mem[FRONT(0)] != HOLD			/* spins */
	od
}

inline pass_time(me)
{
#ifndef NO_FENCE
	fence(me);
#endif
	begin_wait(BIT(FRONT(0)) | BIT(BACK(0)));
	end_wait(BIT(FRONT(0)) | BIT(BACK(0)))
}

inline try_lock(me, mine)
{
#ifdef PLAIN_LOCK
	mine = (mem[FRONT(0)] != HOLD);
	if
	:: mine -> store(me, FRONT(0), HOLD)
	:: else
	fi
#else
	atomic {
		fence(me);
		mine = (mem[FRONT(0)] != HOLD);
		mem[FRONT(0)] = HOLD
	}
#endif
}

inline patch(me)
{
	atomic {
		inside++;
		won++;
		if
		:: inside > 1 -> never_again(twice)
		:: else
		fi;
		v = mem[BACK(0)] + 1
	}
#ifndef NO_WAIT_LOCK
	pass_time(me);
#endif
	store(me, BACK(0), v);
#ifndef NO_WAIT_BACK
	pass_time(me);
#endif
	atomic { inside--; store(me, FRONT(0), v) };
	v = 0
}

proctype Patcher(byte me)
{
	byte v, i, k, tries;
	bool mine;

	do
	:: tries < TRIES ->
		tries++;
		try_lock(me, mine);
		if
		:: mine -> patch(me)
		:: else				/* returns false */
		fi;
		mine = false
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
