/*
 * fetch.pml - how a store to text reaches the cores that execute it.
 *
 * The model of paper 1, section 3, which all models of this folder stand on.
 * README.md says what is left out and why nothing is lost by it.
 *
 *	storer	store() puts a cell into the thread's store buffer; a Drain
 *		process moves it to memory some time later, oldest first (HW5:
 *		TSO). fence() and locked instructions wait for the empty buffer.
 *	core	An instruction lies in two chunks, FRONT and BACK, which are
 *		fetched apart, in any order, and held until it executes. A
 *		fetch is a read of memory, or it is elided: the chunk still
 *		has the value of the last read that was not. Which, and how
 *		often, is the adversary's choice.
 *	sync	serialise() takes from a core all it has read or holds (HW4).
 *	time	Where BOUND is defined, a process Time says for each core
 *		again and again that what it has read is too old to be elided
 *		(HW3, T_max exists). Where it is not, elision has no end.
 *
 * A model defines, before it includes this:
 *	CORES	  executors, one core each		STORERS	  threads that store
 *	TEXT	  chunks, the first cells of memory	CELLS	  all cells
 *	whole(f, b)  are these two an instruction? Default: of one version.
 */
#define NONE	0		/* nothing read yet, or taken away by a sync */
#define HOLD	1		/* a head at which a thread waits: a jump to itself, or
				 * the trap of wait.pml */
#define FIRST	2		/* version 0 of the bytes; FIRST + n: version n */
#define NO_OP	255		/* a head that makes any tail harmless */

#define FRONT(p)	(2 * (p))
#define BACK(p)		(2 * (p) + 1)
#define BIT(ch)		(1 << (ch))

#ifndef whole
#define whole(front, back)	((front) == (back))
#endif

#ifndef BUFFER
#define BUFFER 4
#endif

byte mem[CELLS];
chan buffer[STORERS] = [BUFFER] of { byte, byte };	/* cell, value */

typedef core_t {
	byte val[TEXT];		/* of the last read that was not elided */
	byte held;		/* chunks fetched for the next instruction */
	byte aged;		/* chunks read before a wait began */
	byte expired		/* chunks that may not be elided any more */
};
core_t core[CORES];

/* What must never become true. A run that sets one ends there. */
bool torn;	/* executed bytes that were never a whole instruction */
bool stale;	/* executed the old ones after the change had returned */
bool twice;	/* two won the same place at the same time */
bool wasted;	/* nobody won */

inline never_again(flag)
{
	flag = true;
	assert(!flag)
}

/* ---- stores --------------------------------------------------------------- */

#define store(me, cell, value)	buffer[me]!cell,value
#define fence(me)		empty(buffer[me])
#ifdef SYNC_NO_FENCE
#define sync_fence(me)		skip
#else
#define sync_fence(me)		fence(me)
#endif

proctype Drain(byte me)
{
	byte cell, value;

end:	do
	:: d_step {
		buffer[me]?cell,value;
		mem[cell] = value;
		cell = 0;
		value = 0
	   }
	od
}

/* ---- instruction reads ------------------------------------------------------ */

#define holds(c, ch)	((core[c].held & BIT(ch)) != 0)
#define may_elide(c, ch) \
	(core[c].val[ch] != NONE && (core[c].expired & BIT(ch)) == 0)

inline fetch(c, ch)
{
	if
	:: d_step {
		core[c].val[ch] = mem[ch];
		core[c].aged = core[c].aged & ~BIT(ch);
		core[c].expired = core[c].expired & ~BIT(ch)
	   }
	:: may_elide(c, ch)
	fi;
	core[c].held = core[c].held | BIT(ch)
}

/* The core has executed what it held, or dropped it. */
#define let_go(c)	core[c].held = 0

/* An interrupt's return, a context switch: nothing read before is used. */
inline serialise(c)
{
	d_step {
		let_go(c);
		core[c].aged = 0;
		core[c].expired = 0;
		i = 0;
		do
		:: i < TEXT -> core[c].val[i] = NONE; i++
		:: else -> break
		od;
		i = 0
	}
}

/* sync-membarrier.c: one core after the other, none at the same time. The
 * system call is a full fence, too. The caller declares `byte i, k`. */
inline all_cores(me)
{
	sync_fence(me);
	k = 0;
	do
	:: k < CORES -> atomic { serialise(k); k++ }
	:: else -> break
	od;
	k = 0
}

/* The other way: let T_max pass (sync-wait). What a core read before the wait
 * began it cannot use any more when it ends, and what it held has executed by
 * then; nothing else of time matters. `which` is a mask of chunks: two places
 * that wait at the same time name different ones. The caller declares
 * `byte i, k`. */
inline begin_wait(which)
{
	d_step {
		k = 0;
		do
		:: k < CORES -> core[k].aged = core[k].aged | (which); k++
		:: else -> break
		od;
		k = 0
	}
}

#define must_run(c, which)	((core[c].held & core[c].aged & (which)) != 0)

inline forget_aged(c, which)
{
	i = 0;
	do
	:: i < TEXT ->
		if
		:: (core[c].aged & (which) & BIT(i)) -> core[c].val[i] = NONE
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0;
	core[c].aged = core[c].aged & ~(which)
}

inline end_wait(which)
{
	k = 0;
	do
	:: atomic { k < CORES && !must_run(k, which) -> forget_aged(k, which); k++ }
	:: k == CORES -> break
	od;
	k = 0
}

#ifdef BOUND
proctype Time(byte c)
{
end:	do
	:: core[c].expired = (1 << TEXT) - 1
	od
}
#endif

/* ---- execution --------------------------------------------------------------- */

byte done[(TEXT) / 2];		/* version that all must execute by now, 0 none */
#ifdef LIVE
byte ran[CORES];		/* the last version executed */
#define note_run(c, v)	ran[c] = v
#else
#define note_run(c, v)	skip
#endif

inline run_version(c, p, version)
{
	if
	:: version < done[p] -> never_again(stale)
	:: else -> note_run(c, version)
	fi
}

/* What the core has of place p executes, and does not hold the thread. */
inline execute(c, p)
{
	if
	:: core[c].val[FRONT(p)] == NO_OP
	:: else ->
		if
		:: !whole(core[c].val[FRONT(p)], core[c].val[BACK(p)]) ->
			never_again(torn)
		:: else -> run_version(c, p, core[c].val[FRONT(p)])
		fi
	fi;
	let_go(c)
}

#define can_wait(c, p) \
	(holds(c, FRONT(p)) && core[c].val[FRONT(p)] == HOLD)
#define can_execute(c, p) \
	(holds(c, FRONT(p)) && holds(c, BACK(p)) && \
	 core[c].val[FRONT(p)] != HOLD)

/* Run through place p for ever; ends when the thread has met what holds it. */
inline run_until_held(c, p)
{
	do
	:: atomic { !holds(c, FRONT(p)) -> fetch(c, FRONT(p)) }
	:: atomic { !holds(c, BACK(p)) -> fetch(c, BACK(p)) }
	:: atomic { can_execute(c, p) -> execute(c, p) }
	:: atomic { can_wait(c, p) -> let_go(c); break }
	od
}
