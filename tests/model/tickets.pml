/*
 * tickets.pml - the asynchronous form: start, and finish until it is done. Two
 * threads have a change under way, each at a place of its own, and share syncs.
 * Core c executes place c. One core, at place 0, is enough: cores store nothing,
 * and one does not meet another.
 *
 *	start		flick_patch_start(): fl_set_begin() in commit.c
 *	finish		flick_patch_finish(): fl_set_step()
 *	take_ticket	fl_sync_ticket()	src/patch/sync.c, fence (A)
 *	has_passed	fl_sync_passed()	sync.c, (D)
 *	pass		fl_sync_pass()		sync.c
 *	run_sync	run()			sync.c, (B) and (C)
 *	LOCK		sync.c's lock; a locked exchange, which is a full fence
 *
 * BY_WAIT	a ticket passes when T_max has gone by (struct fl_ticket.ticks).
 * HOLDS	never torn, never stale. Live, without executors: each
 *	change ends. That two changes do share syncs: NONE_SHARED is found wrong.
 * TWINS	NO_FENCE	the ticket is taken before the stores are visible
 *	TICKET_RUNNING	the ticket names the sync that runs already
 *	BEGUN_LATE	a sync is counted when it ends
 *	ENDED_EARLY	a sync is said to have ended before it runs
 *	ONE_TICKET	the ticket of the park serves for the tail, too
 *	NO_LOOK		without looking whether the ticket has passed
 */
#ifndef CORES
#define CORES 1
#endif
#define STORERS 2
#define TEXT 4
#define CELLS 9
#define MOTION(p) (4 + (p))
#define BEGUN 6
#define ENDED 7
#define LOCK 8

#include "fetch.pml"

#ifndef PARKED
#define PARKED NO_OP		/* what is held for is not left to a finish */
#endif

byte finished;
#ifdef NONE_SHARED
bool unshared;		/* not so: two changes need not take six syncs */
byte n_syncs;
#define count_sync()	n_syncs++
#else
#define count_sync()	skip
#endif

proctype Executor(byte c; byte place)
{
	do
	:: run_until_held(c, place)
	od
}

/* ---- sync.c ----------------------------------------------------------------- */

#ifdef BY_WAIT

#define chunks_of(p)	(BIT(FRONT(p)) | BIT(BACK(p)))
#define pass(me)	end_wait(chunks_of(place))

inline take_ticket(me)
{
#ifndef NO_FENCE
	fence(me);				/* (A) */
#endif
	begin_wait(chunks_of(place))
}

#else

inline take_ticket(me)
{
#ifndef NO_FENCE
	fence(me);				/* (A) */
#endif
#ifdef TICKET_RUNNING
	ticket = mem[BEGUN]
#else
	ticket = mem[BEGUN] + 1
#endif
}

#define has_passed()	(mem[ENDED] >= ticket)		/* (D) */

inline run_sync(me)
{
	number = mem[BEGUN] + 1;
#ifdef ENDED_EARLY
	store(me, ENDED, number);
#endif
#ifndef BEGUN_LATE
	store(me, BEGUN, number);
	fence(me);				/* (B) */
#endif
	all_cores(me);
	count_sync();
#ifdef BEGUN_LATE
	store(me, BEGUN, number);
#endif
#ifndef ENDED_EARLY
	store(me, ENDED, number);		/* (C) */
#endif
	number = 0
}

inline pass(me)
{
	if
	:: has_passed()
	:: else ->
		atomic { empty(buffer[me]) && mem[LOCK] == 0 -> mem[LOCK] = 1 };
		if
		:: has_passed()
		:: else -> run_sync(me)
		fi;
		store(me, LOCK, 0)
	fi
}

#endif

/* ---- one change ---------------------------------------------------------------- */

inline start(me)
{
	atomic { fence(me); mem[MOTION(place)] = 1 };	/* take() */
	store(me, FRONT(place), PARKED);
	take_ticket(me)
}

/* What the caller does between two calls of finish is of no matter here. */
inline finish(me)
{
#ifndef NO_LOOK
	pass(me);
#endif
	store(me, BACK(place), FIRST + 1);
#ifndef ONE_TICKET
	take_ticket(me);
#endif
	pass(me);
	store(me, FRONT(place), FIRST + 1);
	take_ticket(me);
	pass(me);
	done[place] = FIRST + 1;
	store(me, MOTION(place), 2)		/* give_back() */
}

proctype Patcher(byte me; byte place)
{
	byte ticket, number, i, k;

	start(me);
	finish(me);
	atomic {
		finished++;
#ifdef NONE_SHARED
		if
		:: finished == STORERS && n_syncs < 6 -> never_again(unshared)
		:: else
		fi
#endif
	}
}

init {
	byte i;

	atomic {
		for (i : 0 .. TEXT - 1) {
			mem[i] = FIRST
		}
#ifndef LIVE
		for (i : 0 .. CORES - 1) {
			run Executor(i, i)
		}
#endif
		for (i : 0 .. STORERS - 1) {
			run Patcher(i, i);
			run Drain(i)
		}
	}
}

#ifdef LIVE
ltl live { <> (finished == STORERS) }
#endif
