/*
 * claims.pml - whose a place is while its bytes change: one who wants it alone, and two
 * that want a set of places, as src/patch/motion.c has it.
 *
 *	take_one	fl_motion_take(), take_each()
 *	mark, look	mark(), take_marked(), with `claiming` taken
 *	change		what commit.c, or a switch in one store, does with its place
 *	leave		fl_motion_leave(), fl_motion_leave_of()
 *
 * A mark is a cell of its own, stored by itself; a locked access looks at both marks of a
 * place at once, and waits for the empty store buffer first (HW5, HW14).
 *
 * HOLDS	a place has one owner (`twice`), which finds there what the last one left
 *	(`half`). With one place, one of all gets it (`wasted`). No mark is left (`left`).
 *	Nobody waits: there is no dead end.
 * PLACES	1, or 2: then one set wants them in the other order
 * TWINS	NO_FENCE	no fence between the marks and the look
 *	LOOK_FIRST	the look before the mark
 *	ONE_BYTE	who wants one place compares its own mark alone
 *	GIVE_WAY	and then gives way to a set's
 *	BOTH_CLAIM	two sets mark at a time
 *	KEEP_MARK	a set that has lost keeps its marks
 *	LEAVE_FIRST	leaves before the last store
 */
#define CORES 1
#define STORERS 3
#ifndef PLACES
#define PLACES 1
#endif
#ifndef TRIES
#define TRIES 1
#endif
#define TEXT 2				/* nobody executes here */
#define ONE(p)		(TEXT + 3 * (p))
#define SET(p)		(TEXT + 3 * (p) + 1)
#define BYTES(p)	(TEXT + 3 * (p) + 2)
#define CLAIMING	(TEXT + 3 * PLACES)
#define CELLS		(TEXT + 3 * PLACES + 1)

#include "fetch.pml"

byte inside[PLACES], last[PLACES], won, ended;
bool half, left;

/* The k-th place that thread `me` wants. */
#define place(me, k)	((me) == 1 -> PLACES - 1 - (k) : (k))

/* ---- a place that is ours ------------------------------------------------------------ */

inline leave(me, p, by_mark)
{
	atomic {
		inside[p]--;
		if
		:: by_mark -> store(me, SET(p), 0)
		:: else -> store(me, ONE(p), 0)
		fi
	}
}

inline change(me, p, by_mark)
{
	atomic {
		inside[p]++;
		won++;
		if
		:: inside[p] > 1 -> never_again(twice)
		:: mem[BYTES(p)] != last[p] -> never_again(half)
		:: else
		fi;
		last[p]++
	}
#ifdef LEAVE_FIRST
	leave(me, p, by_mark);
	store(me, BYTES(p), last[p])
#else
	store(me, BYTES(p), last[p]);
	leave(me, p, by_mark)
#endif
}

/* ---- claims ---------------------------------------------------------------------------- */

#ifdef ONE_BYTE
#define is_free(p)	(mem[ONE(p)] == 0)
#else
#ifdef GIVE_WAY
#define is_free(p)	(mem[ONE(p)] == 0)
#else
#define is_free(p)	(mem[ONE(p)] == 0 && mem[SET(p)] == 0)
#endif
#endif

inline take_one(me, p)
{
	atomic {
		fence(me);
		if
		:: is_free(p) -> mem[ONE(p)] = 1; mine = true
		:: else -> mine = false
		fi
	}
#ifdef GIVE_WAY
	;
	if
	:: mine && mem[SET(p)] -> store(me, ONE(p), 0); mine = false
	:: else
	fi
#endif
}

inline take_each(me)
{
	mine = true;
	do
	:: ours < PLACES && mine ->
		take_one(me, place(me, ours));
		if
		:: mine -> ours++
		:: else
		fi
	:: else -> break
	od
}

inline mark(me)
{
	do
	:: marked < PLACES && mem[SET(place(me, marked))] == 0 ->
		store(me, SET(place(me, marked)), 1);
		marked++
	:: else -> break
	od
}

inline look(me, n)
{
	do
	:: ours < n && mem[ONE(place(me, ours))] == 0 -> ours++
	:: else -> break
	od
}

inline take_marked(me)
{
#ifdef LOOK_FIRST
	look(me, PLACES);
	mark(me);
	if
	:: ours > marked -> ours = marked
	:: else
	fi;
	fence(me);
#else
	mark(me);
#ifndef NO_FENCE
	fence(me);
#endif
	look(me, marked);
#endif
#ifndef KEEP_MARK
	k = ours;
	do
	:: k < marked -> store(me, SET(place(me, k)), 0); k++
	:: else -> break
	od;
#endif
	store(me, CLAIMING, 0)
}

/* ---- who wants what ----------------------------------------------------------------------- */

proctype One(byte me)
{
	byte tries;
	bool mine;

	do
	:: tries < TRIES ->
		tries++;
		take_one(me, 0);
		if
		:: mine -> change(me, 0, false)
		:: else
		fi;
		mine = false
	:: else -> break
	od;
	ended++
}

proctype Set(byte me)
{
	byte tries, marked, ours, k;
	bool mine, by_mark;

	do
	:: tries < TRIES ->
		tries++;
		atomic {
			fence(me);
#ifdef BOTH_CLAIM
			by_mark = true;
#else
			by_mark = (mem[CLAIMING] == 0);
			mem[CLAIMING] = 1
#endif
		}
		if
		:: by_mark -> take_marked(me)
		:: else -> take_each(me)
		fi;
		k = 0;
		do
		:: k < ours && ours == PLACES -> change(me, place(me, k), by_mark); k++
		:: k < ours && ours < PLACES ->		/* abandoned */
			if
			:: by_mark -> store(me, SET(place(me, k)), 0)
			:: else -> store(me, ONE(place(me, k)), 0)
			fi;
			k++
		:: else -> break
		od;
		atomic { marked = 0; ours = 0; k = 0; mine = false; by_mark = false }
	:: else -> break
	od;
	ended++
}

init {
	byte i;

	atomic {
		run Set(0);
		run Set(1);
		run One(2);
		for (i : 0 .. STORERS - 1) {
			run Drain(i)
		}
		i = 0
	}
	/* done: of fetch.pml, where nobody executes */
	done[0] == NONE && ended == STORERS && empty(buffer[0]) && empty(buffer[1]) && empty(buffer[2]);
	atomic {
		for (i : 0 .. PLACES - 1) {
			if
			:: mem[ONE(i)] || mem[SET(i)] -> never_again(left)
			:: else
			fi
		}
		if
		:: PLACES == 1 && won == 0 -> never_again(wasted)
		:: else
		fi
	}
}
