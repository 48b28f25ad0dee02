/*
 * late.pml - a thread traps in one commit, and its handler runs during the next
 * one at the same place, or after the place was given up, or its memory used
 * for something else.
 *
 * One place is claimed, changed once and given up, and all that again, in the
 * same memory. Between two claims its memory holds JUNK.
 *
 *	claim		fl_claim()		src/patch/claim.c, (A)
 *	commit		fl_set_commit()		commit.c, see wide.pml
 *	unclaim		fl_unclaim(), fl_claims_settle()	claim.c, (D), (F)
 *	enter, leave	fl_claims_enter(), fl_claims_leave()	claim.c, (C), (E)
 *	look		look_once(), settle()	trap.c, (B)
 *	LIST		the list of fl_claimed_at(): 1, the place is in it
 *
 * HOLDS	no trap of ours strays, no handler uses a place that has been given
 *	up; never torn, never stale. Live: it ends, and the last version is run.
 *	With FOREIGN, live: a trap of the program's own gets to the program.
 * TWINS	NO_LOOK_VERSION	no second look at the version of the claims
 *	NO_LOOK_MOTION	no second look at the motion of the place
 *	VERSION_FIRST	the version moves before the place is in the list
 *	ACTS_UNSET	`acts` is nothing before the first commit has chosen: `motion`
 *			is odd some time before that
 *	CHOOSE_EARLY	`acts` is chosen before the commit is sure not to fail
 *	NO_RETRY	a late trap is taken for the program's
 *	NO_ENTER	handlers do not count themselves
 *	NO_SETTLE	unclaim does not wait for handlers
 *	NO_FENCE	(D) is left out
 *	ACT_ON_ALL	with FOREIGN: does not look where the trap is
 */
#define CORES 1
#define STORERS 1
#define TEXT 2
#define CELLS 7
#define LIST 2
#define VERSION 3
#define INSIDE 4
#define MOTION 5
#define ACTS 6
#define JUNK 99				/* odd */
#ifndef CLAIMS
#define CLAIMS 2
#endif
#ifndef COMMITS
#define COMMITS 2			/* in each claim */
#endif

#include "fetch.pml"

byte begun;				/* the version that is being written */

/* ---- the handler ------------------------------------------------------------ */

#ifdef FOREIGN
#define ELSEWHERE	CELLS		/* no place of ours */
#define text(pc)	TRAP
#define pass_on(pc)	passed = true
bool passed;				/* some trap went to the program */
#else
#define text(pc)	mem[pc]
#define pass_on(pc)	never_again(stray)
#endif
#ifdef ACT_ON_ALL
#define lies_in(pc)	true
#else
#define lies_in(pc)	(pc == FRONT(0))
#endif
#ifdef NO_RETRY
#define late_trap(pc)	pass_on(pc)
#else
#define late_trap(pc)	skip
#endif
#ifdef NO_LOOK_VERSION
#define other_version()	false
#else
#define other_version()	(version != mem[VERSION])
#endif
#ifdef NO_LOOK_MOTION
#define has_moved()	false
#else
#define has_moved()	(found && motion != mem[MOTION])
#endif
#ifdef NO_ENTER
#define enter()		skip
#define leave()		skip
#else
#define enter()		mem[INSIDE] = mem[INSIDE] + 1
#define leave()		mem[INSIDE] = mem[INSIDE] - 1
#endif

inline act()
{
	atomic {
		to = mem[ACTS];
		if
		:: to == JUNK -> never_again(freed)
#ifdef FOREIGN
		:: to != JUNK -> never_again(stray)
#else
		:: to != JUNK && (to < FIRST || to < floor) -> never_again(stale)
		:: to != JUNK && to > begun -> never_again(ahead)
		:: else -> note_run(0, to)
#endif
		fi
	}
}

inline read_motion()
{
	atomic {
		motion = mem[MOTION];
		floor = done[0];
		if
		:: motion == JUNK -> never_again(freed)
		:: else
		fi
	}
}

/* Each read is a step of its own. */
inline handle(pc)
{
	enter();
	do
	:: version = mem[VERSION];
		found = (lies_in(pc) && mem[LIST]);
		if
		:: found -> read_motion()
		:: else
		fi;
		if
		:: motion & 1 -> act(); break
		:: else -> there = text(pc)
		fi;
		if
		:: there != TRAP -> late_trap(pc); break
		:: else
		fi;
		if
		:: other_version()
		:: else ->
			if
			:: has_moved()
			:: else -> pass_on(pc); break
			fi
		fi;
		motion = 0
	od;
	leave();
	atomic { version = 0; motion = 0; floor = 0; to = 0; there = 0; found = false }
}

proctype Executor()
{
	byte version, motion, floor, to, there;
	bool found;

#ifdef FOREIGN
	do
	:: handle(ELSEWHERE)
	od
#else
	do
	:: run_until_trap(0, 0);
		handle(FRONT(0))
	od
#endif
}

/* ---- the committer ------------------------------------------------------------ */

inline claim()
{
	fence(0);				/* the lock */
	store(0, MOTION, 0);
#ifdef ACTS_UNSET
	store(0, ACTS, 0);
#else
	store(0, ACTS, v);			/* FL_OLD: what stands there now */
#endif
#ifdef VERSION_FIRST
	store(0, VERSION, n);
	store(0, LIST, 1)
#else
	store(0, LIST, 1);			/* (A) */
	store(0, VERSION, n)			/* (A) */
#endif
}

/* Takes the place, and fails before the first store. */
inline fail()
{
	atomic { fence(0); at_rest = mem[MOTION]; mem[MOTION] = at_rest + 1 };
#ifdef CHOOSE_EARLY
	store(0, ACTS, v + 1);
#endif
	store(0, MOTION, at_rest + 2);
	at_rest = 0
}

inline commit()
{
	v++;
	begun = v;
	atomic { fence(0); at_rest = mem[MOTION]; mem[MOTION] = at_rest + 1 };
	store(0, ACTS, v);
	store(0, FRONT(0), TRAP);
	all_cores(0);
	store(0, BACK(0), v);
	all_cores(0);
	store(0, FRONT(0), v);
	all_cores(0);
	done[0] = v;
	store(0, MOTION, at_rest + 2);
	at_rest = 0
}

inline unclaim()
{
	store(0, LIST, 0);
#ifndef NO_FENCE
	fence(0);				/* (D) */
#endif
#ifndef NO_SETTLE
	mem[INSIDE] == 0;			/* (F) */
#endif
	store(0, MOTION, JUNK);
	store(0, ACTS, JUNK)
}

proctype Committer()
{
	byte n, m, v = FIRST, at_rest, i, k;

	begun = FIRST;
	for (n : 1 .. CLAIMS) {
		claim();
		for (m : 1 .. COMMITS) {
			commit();
			fail()
		}
		unclaim()
	}
	n = 0;
	assert(done[0] == FIRST + CLAIMS * COMMITS)
}

init {
	atomic {
		mem[FRONT(0)] = FIRST;
		mem[BACK(0)] = FIRST;
		mem[MOTION] = JUNK;
		mem[ACTS] = JUNK;
		run Executor();
		run Committer();
		run Drain(0)
	}
}

#ifdef LIVE
#ifdef FOREIGN
ltl live { <> passed }
#else
ltl live { <> [] (ran[0] == FIRST + CLAIMS * COMMITS) }
#endif
#endif
