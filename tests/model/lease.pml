/*
 * lease.pml - chunks of a pool are granted to a thread, and taken back.
 *
 * A thread has one chunk of its own (in flick: two), and there are two in the pool. The
 * reader grants them at any time, and takes them back at any time as long as the thread has
 * not claimed them. What is in the pool others may have at any time, and give back: they
 * write there. What is in a chunk is one cell here: the number that it has in the
 * thread's ring. Waits and half-filled chunks are in channel.pml, where no chunk ever
 * changes hands.
 *
 *	Thread		append_across()						src/channel/ring.c
 *	claim, enter, count	claim_chunks(), enter_chunk(), count_chunk()	ring.c
 *	take_chunk	take_chunks(), fl_lease_next()				drain.c, lease.c
 *	grant, publish, retire, grow, take_back, end_lease			src/channel/lease.c
 *
 * MEMORY	Each side has a store buffer that drains in order (x86-TSO). Where stores
 *	leave in any order: channel.pml.
 * KILLS	A child of vfork, which writes in this slot, is killed on its way to the
 *	next chunk, so many times, and its parent goes on from there.
 *
 * HOLDS	nobody writes to a chunk that is not his (`stray`), what the reader finds in
 *	a chunk is what its thread wrote there under this number (`wrong`), none is granted
 *	that another has (`twice`), and in the end none is missing (`lost`); nobody waits
 *	for ever.
 * TWINS	NO_FENCE_Q	the thread looks before its claim is visible
 *	NO_FENCE_R	the reader looks before the grant is gone
 *	NO_LOOK		it does not look again
 *	GIVEN_FIRST	it gives the chunk to the pool and looks then
 *	PLACE_LATE	the grant is visible before the place
 *	GRANT_FIRST	a chunk that was read is granted before it is read
 *	NO_UNDO		holds: a claim that failed is not undone, and made again later
 *	CLAIM_LATE	a chunk is written to, then claimed
 *	END_EARLY	a ring is taken apart while its thread lives
 */
#define THREAD 0
#define READER 1
#define OTHER 2
#define PLACES 3			/* the thread's own, and two of the pool */
#define Q 4				/* FL_RING_CHUNKS */
#ifndef CHUNKS
#define CHUNKS 3			/* that it fills */
#endif
#define BUFFER 4
#define NOBODY 9

#define DATA(p) (p)			/* of a chunk: its number + 1 */
#define FILLED PLACES
#define CLAIMED (PLACES + 1)
#define GRANTED (PLACES + 2)
#define PLACE(c) (PLACES + 3 + (c) % Q)
#define CELLS (PLACES + 3 + Q)

typedef buffer_t { byte cell[BUFFER], value[BUFFER], n }

byte mem[CELLS];
buffer_t buffer[2];
byte owner[PLACES];			/* as the reader has it; NOBODY: the pool */
bool ended;			/* the kernel's mark */
bool stray, wrong, twice, lost;

inline never_again(flag)
{
	flag = true;
	assert(!(flag))
}

/* A chunk's cell is written by whose it is. */
#define is_foreign(me, to)	((to) < PLACES && owner[to] != me)

inline put(me, to, v)
{
	atomic {
		buffer[me].n < BUFFER;
		if
		:: me != READER && is_foreign(me, to) -> never_again(stray)
		:: else
		fi;
		buffer[me].cell[buffer[me].n] = to;
		buffer[me].value[buffer[me].n] = v;
		buffer[me].n++
	}
}

/* The youngest of one's own, else memory's. */
inline load(me, from, out)
{
	d_step {
		out = mem[from];
		i = 0;
		do
		:: i >= buffer[me].n -> break
		:: else ->
			if
			:: buffer[me].cell[i] == from -> out = buffer[me].value[i]
			:: else
			fi;
			i++
		od;
		i = 0
	}
}

#define fence(me) (buffer[me].n == 0)

proctype Drain(byte me)
{
	byte i;

end:	do
	:: atomic {
			buffer[me].n > 0;
			if
			:: me != READER && is_foreign(me, buffer[me].cell[0]) ->
				never_again(stray)
			:: else
			fi;
			mem[buffer[me].cell[0]] = buffer[me].value[0];
			do
			:: i + 1 >= buffer[me].n -> break
			:: else ->
				buffer[me].cell[i] = buffer[me].cell[i + 1];
				buffer[me].value[i] = buffer[me].value[i + 1];
				i++
			od;
			buffer[me].n--;
			buffer[me].cell[buffer[me].n] = 0;
			buffer[me].value[buffer[me].n] = 0;
			i = 0
		}
	od
}

/* ---- the thread: ring.c ------------------------------------------------------------ */

#ifdef NO_FENCE_Q
#define fence_q(me) true
#else
#define fence_q(me) fence(me)
#endif
#ifdef KILLS
#define may_die	if :: n_killed < KILLS -> n_killed++; goto again :: true fi
#else
#define may_die	skip
#endif

/* `seen`: it is granted. */
inline claim(me, upto)
{
#ifndef CLAIM_LATE
	put(me, CLAIMED, upto);
	fence_q(me);					/* (Q) */
#endif
	may_die;
	atomic {
		load(me, GRANTED, seen);		/* (D) */
		seen = (upto <= seen)
	};
#ifndef NO_UNDO
	if
	:: !seen -> put(me, CLAIMED, upto - 1)
	:: else
	fi
#endif
}

inline enter(me)
{
	atomic { load(me, PLACE(filled), at); entered = filled + 1 };
#ifdef CLAIM_LATE
	put(me, DATA(at), filled + 1);
	put(me, CLAIMED, filled + 1)
#else
	may_die
#endif
}

inline count(me)
{
	atomic { put(me, FILLED, filled + 1); filled++; written = false }	/* (A) */
}

proctype Thread(byte me)
{
	byte filled, entered = 1, at, seen, i;
	bool written;
#ifdef KILLS
	byte n_killed;
#endif

again:	do
	:: filled == CHUNKS -> break
	:: filled < CHUNKS && entered > filled && !written ->
		atomic { put(me, DATA(at), filled + 1); written = true }
	:: filled < CHUNKS && entered > filled && written ->
		/* Is the next one to be had? Two records ask before this one is full. */
		if
		:: filled + 1 < CHUNKS ->
			claim(me, filled + 2);
			if
			:: seen -> count(me); enter(me)
			:: else
			fi;
			seen = 0
		:: true -> count(me)
		fi
	:: filled < CHUNKS && entered == filled ->
		claim(me, filled + 1);
		if
		:: seen -> enter(me)
		:: else
		fi;
		seen = 0
	od;
	atomic { fence(me) -> ended = true }
}

/* ---- the reader: lease.c --------------------------------------------------------------- */

#ifdef NO_FENCE_R
#define fence_r	true
#else
#define fence_r	fence(READER)
#endif

inline publish()
{
	put(READER, GRANTED, granted)			/* (C) */
}

/* Private truth first. */
inline grant(p)
{
	atomic {
		if
		:: owner[p] != THREAD -> never_again(twice)
		:: else
		fi;
		place[granted % Q] = p;
#ifndef PLACE_LATE
		put(READER, PLACE(granted), p)
#endif
	};
	granted++;
	publish();
#ifdef PLACE_LATE
	put(READER, PLACE(granted - 1), p)
#endif
}

/* Its own chunk is the slot's for ever: kept for the next grant. */
inline retire(p)
{
	if
	:: p == 0 -> spare = true
	:: else -> owner[p] = NOBODY
	fi
}

#define length (granted - consumed)

inline grow()
{
	if
	:: atomic { length < 3 && spare -> spare = false; p = 0 }; grant(p)
	:: atomic { length < 3 && !spare && owner[1] == NOBODY ->
			owner[1] = THREAD; p = 1 }; grant(p)
	:: atomic { length < 3 && !spare && owner[2] == NOBODY ->
			owner[2] = THREAD; p = 2 }; grant(p)
	:: true
	fi;
	p = 0
}

inline take_chunk()
{
	atomic { load(READER, FILLED, f); p = place[consumed % Q] };	/* (B) */
	if
	:: f > consumed ->
#ifdef GRANT_FIRST
		grant(p);
#endif
		atomic {
			load(READER, DATA(p), f);
			if
			:: f != consumed + 1 -> never_again(wrong)
			:: else
			fi;
			consumed++
		};
#ifndef GRANT_FIRST
		if					/* fl_lease_next() */
		:: grant(p)
		:: length >= 1 -> retire(p)
		fi
#endif
	:: else
	fi;
	atomic { f = 0; p = 0 }
}

inline give_back()
{
	do
	:: granted > left -> atomic {
			granted--;
			p = place[granted % Q];
			retire(p)
		}
	:: else -> break
	od;
	p = 0
}

inline take_back()
{
	atomic {
		load(READER, CLAIMED, left);
		left = (left > consumed + 1 -> left : consumed + 1)
	};
	if
	:: left < granted ->
		put(READER, GRANTED, left);
#ifdef GIVEN_FIRST
		give_back();
#endif
		fence_r;				/* (R) */
		load(READER, CLAIMED, f);
		if
#ifndef NO_LOOK
		:: f > left -> publish()
#endif
#ifdef NO_LOOK
		:: true -> give_back()
#else
		:: f <= left -> give_back()
#endif
		fi
	:: else
	fi;
	atomic { left = 0; f = 0 }
}

/* Its thread is over, and read to the end. */
inline end_lease()
{
	do
	:: consumed == granted -> break
	:: else -> atomic {
			p = place[consumed % Q];
			retire(p);
			consumed++
		}
	od
}

#ifdef END_EARLY
#define is_over	(consumed > 0)
#else
#define is_over	(ended && mem[FILLED] == consumed)
#endif

proctype Reader()
{
	byte consumed, granted = 1, place[Q], f, p, left, i;
	bool spare;

	do
	:: is_over -> break
	:: !is_over -> take_chunk()
	:: !is_over -> grow()
	:: !is_over && length > 1 -> take_back()
	od;
	end_lease();
	if
	:: owner[1] == THREAD || owner[2] == THREAD || !spare -> never_again(lost)
	:: else
	fi
}

/* Others have of the pool what is free, write there, and give it back. */
proctype Others()
{
end:	do
	:: atomic { owner[1] == NOBODY -> owner[1] = OTHER; mem[DATA(1)] = 0 }
	:: atomic { owner[1] == OTHER -> owner[1] = NOBODY }
	:: atomic { owner[2] == NOBODY -> owner[2] = OTHER; mem[DATA(2)] = 0 }
	:: atomic { owner[2] == OTHER -> owner[2] = NOBODY }
	od
}

init
{
	atomic {
		owner[1] = NOBODY;
		owner[2] = NOBODY;
		mem[CLAIMED] = 1;
		mem[GRANTED] = 1;
		run Thread(THREAD);
		run Reader();
		run Others();
		run Drain(THREAD);
		run Drain(READER)
	}
}
