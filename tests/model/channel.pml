/*
 * channel.pml - a thread's ring: one producer, one reader, chunks of CHUNK
 * records at P places. The n-th record is the number n, so the reader knows what
 * it must find. What a record is made of is one cell here. Places 0 and 1 are
 * granted at first; the ring grows to place 2 and shrinks again.
 *
 *	produce		append(), and glue's short path, which does the same
 *	next_chunk	next_chunk(), count_chunk(), claim_chunk()	ring.c
 *	wait_room	wait_room()						ring.c
 *	take_chunks	take_chunks(), feed()				drain.c
 *	take_half	take_half(), half_filled()			drain.c
 *	grant_next	fl_lease_next()					lease.c
 *	grow, take_back	fl_lease_grow(), take_back()			lease.c
 *	reader_wait	fl_reader_wait(), has_work()			drain.c
 *	(A) ... (R)	the letters of ring.c
 *
 * MEMORY	Each side has a store buffer. On TSO it drains in order. With ARM any
 *	entry may leave it before older ones, but never before one of the same
 *	cell, and a release only when all before it have left. A release of
 *	TSO is a plain store. Loads are in order; EARLY_READ and GRANT_FIRST do
 *	what a missing acquire or release of the reader's would let loads do.
 * SLEEP	A sleeper's futex returns at once if the word has changed, and else
 *	sleeps until the other side's wake. With TIMEOUT it may return any time,
 *	as it does in flick. Without, a wake that is missed is a deadlock.
 *	The reader, once the thread has ended, returns in any case.
 * SHRINK	The reader takes back what is granted beyond two, at any time, up to
 *	SHRINK times.
 *
 * KILLS	A child of vfork, which writes in this slot, is killed on its way to the
 *	next chunk, so many times, and its parent goes on from there.
 *
 * HOLDS	every record is delivered whole, in order, once, on TSO and ARM, and
 *	nothing is left when the thread has ended; the thread enters no chunk that
 *	is not granted; no wake is missed, so TIMEOUT is not needed.
 * TWINS	PLAIN_PTR	(E) is a plain store: holds on TSO, as glue needs; not on ARM
 *	PLAIN_FILLED	(A) is one; the same
 *	PLAIN_GRANTED	(C) is one; the same
 *	PTR_FIRST	the record after the pointer
 *	EARLY_READ	(B), (F) are not acquires
 *	GRANT_FIRST	a chunk is granted again before it was read
 *	SAME_PLACE	a chunk may follow itself: `want` is one
 *	NO_LOOK		moves on without looking at (D)
 *	NO_FENCE_M	holds: who has not rung for one chunk rings for the next, and
 *			the ring is two at least
 *	NO_FENCE_N, _O, _P		a missed wake
 *	NO_FENCE_Q, _R	a chunk that was taken back is entered
 *	NO_LOOK_CLAIMED	takes back without looking at `claimed` again
 *	COUNT_CLAIMED	KILLS: a chunk is full that was claimed, not entered and
 *			written to its end
 *	RELAXED_BELL	ARM: `sleeps = 0` after the bell; a missed wake
 *	TWO_OWNERS	the reader clears `waiting`, too: it may clear one that is
 *			newer than the chunk it has just granted
 */
#define P 3
#define CHUNK 2
#ifndef RECORDS
#define RECORDS 9
#endif
#ifndef SHRINK
#define SHRINK 1
#endif
#define END (P * CHUNK)			/* cells of the chunks: 0 .. END - 1 */
#define PTR END
#define FILLED (END + 1)
#define CLAIMED (END + 2)
#define GRANTED (END + 3)
#define GRANTED_WORD (END + 4)
#define WAITING (END + 5)
#define SLEEPS (END + 6)
#define BELL (END + 7)
#define PLACES (END + 8)		/* of chunk c: PLACES + c % Q */
#define Q 4
#define CELLS (PLACES + Q)
#define PRODUCER 0
#define READER 1
#ifndef BUFFER
#define BUFFER 7
#endif
#ifdef ARM
#define DEPTH BUFFER			/* entries that may be the next to leave */
#else
#define DEPTH 1
#endif

typedef entry { byte cell, value; bool release };
typedef buffer_t { entry e[BUFFER]; byte n };

byte mem[CELLS];
buffer_t buffer[2];
bool asleep[2];
bool ended;				/* the thread: after its last store */

bool wrong;	/* a record that is not the next one, or not whole */
bool missing;	/* not delivered when the thread had ended */
bool stray;	/* the thread entered a chunk that is not granted */
byte granted = 2;	/* as the reader has it */
byte entered = 1;	/* chunks that the thread has seen granted */

inline put(me, where, what, is_release)
{
	atomic {
		buffer[me].n < BUFFER ->
		buffer[me].e[buffer[me].n].cell = where;
		buffer[me].e[buffer[me].n].value = what;
		buffer[me].e[buffer[me].n].release = is_release;
		buffer[me].n++
	}
}

#define store(me, c, v)		put(me, c, v, false)
#ifdef ARM
#define store_release(me, c, v)	put(me, c, v, true)
#else
#define store_release(me, c, v)	put(me, c, v, false)
#endif
#define fence(me)		buffer[me].n == 0

/* May entry j of the buffer leave it? */
inline may_leave(me, j)
{
	ok = (j < buffer[me].n);
	i = 0;
	do
	:: i >= j || !ok -> break
	:: else ->
#ifdef ARM
		ok = !buffer[me].e[j].release &&
			buffer[me].e[i].cell != buffer[me].e[j].cell;
#else
		ok = false;
#endif
		i++
	od;
	i = 0
}

inline leave(me, j)
{
	mem[buffer[me].e[j].cell] = buffer[me].e[j].value;
	i = j;
	do
	:: i + 1 >= buffer[me].n -> break
	:: else ->
		buffer[me].e[i].cell = buffer[me].e[i + 1].cell;
		buffer[me].e[i].value = buffer[me].e[i + 1].value;
		buffer[me].e[i].release = buffer[me].e[i + 1].release;
		i++
	od;
	buffer[me].n--;
	buffer[me].e[buffer[me].n].cell = 0;
	buffer[me].e[buffer[me].n].value = 0;
	buffer[me].e[buffer[me].n].release = false;
	i = 0
}

/* One process a place in the buffer: any of them may go first. */
proctype Drain(byte me; byte j)
{
	byte i;
	bool ok;

end:	do
	:: atomic { buffer[me].n > j ->
		may_leave(me, j);
		if
		:: ok -> leave(me, j)
		:: else
		fi;
		ok = false }
	od
}

inline never_again(flag)
{
	flag = true;
	assert(!flag)
}

/* ---- futex -------------------------------------------------------------------- */

inline sleep_on(me, cell, seen)
{
	atomic {
		if
		:: mem[cell] == seen -> asleep[me] = true
		:: else
		fi
	};
	do
	:: atomic { !asleep[me] -> break }
#ifdef TIMEOUT
	:: asleep[me] -> asleep[me] = false
#else
	:: atomic { asleep[me] && me == READER && ended -> asleep[me] = false }
#endif
	od
}

/* A system call that begins with a full fence. */
inline wake(me, other)
{
	fence(me);
	asleep[other] = false
}

/* ---- the thread: ring.c ------------------------------------------------------------ */

#ifdef PLAIN_PTR
#define commit_ptr(v)	store(PRODUCER, PTR, v)
#else
#define commit_ptr(v)	store_release(PRODUCER, PTR, v)
#endif
#ifdef PLAIN_FILLED
#define commit_filled(v) store(PRODUCER, FILLED, v)
#else
#define commit_filled(v) store_release(PRODUCER, FILLED, v)
#endif
#ifdef PLAIN_GRANTED
#define commit_granted(v) store(READER, GRANTED, v)
#else
#define commit_granted(v) store_release(READER, GRANTED, v)
#endif
#ifdef RELAXED_BELL
#define fence_bell	true
#else
#define fence_bell	fence(PRODUCER)
#endif
#ifdef NO_FENCE_M
#define fence_m		skip
#else
#define fence_m		fence(PRODUCER)
#endif
#ifdef NO_FENCE_N
#define fence_n		skip
#else
#define fence_n		fence(READER)
#endif
#ifdef NO_FENCE_O
#define fence_o		skip
#else
#define fence_o		fence(PRODUCER)
#endif
#ifdef NO_FENCE_P
#define fence_p		skip
#else
#define fence_p		fence(READER)
#endif
#ifdef NO_FENCE_Q
#define fence_q		skip
#else
#define fence_q		fence(PRODUCER)
#endif
#ifdef NO_FENCE_R
#define fence_r		skip
#else
#define fence_r		fence(READER)
#endif
/* A child of vfork that writes here is killed; its parent goes on. */
#ifdef KILLS
#define may_die		if :: n_killed < KILLS -> n_killed++; goto again :: true fi
#else
#define may_die		skip
#endif
#ifdef COUNT_CLAIMED
#define is_full		(said > filled)
#define say(n)		said = n
#else
#define say(n)		skip
#define is_full		(in_chunk > filled && ptr == limit && limit)	/* an address
			 * may be 0 here, where there is no room */
#endif
#ifdef NO_LOOK
#define is_granted(chunks, seen) true
#else
#define is_granted(chunks, seen) ((chunks) <= (seen))
#endif

inline ring_bell()
{
	fence_m;					/* (M) */
	if
	:: mem[SLEEPS] ->
		store(PRODUCER, SLEEPS, 0);
		atomic { fence_bell; mem[BELL] = mem[BELL] + 1 };
		wake(PRODUCER, READER)
	:: else
	fi
}

inline count_chunk()
{
	filled++;
	commit_filled(filled);				/* (A) */
	if
	:: mem[GRANTED] <= filled + 1 -> ring_bell()	/* bell_at is 1 */
	:: else
	fi
}

inline wait_room()
{
	store(PRODUCER, WAITING, 1);
	fence_o;					/* (O) */
	seen = mem[GRANTED];				/* (D) */
	if
	:: claimed < seen
	:: else -> sleep_on(PRODUCER, GRANTED_WORD, seen)
	fi;
	store(PRODUCER, WAITING, 0);
	seen = 0
}

inline enter_chunk()
{
	limit = 0;
	may_die;
	ptr = mem[PLACES + filled % Q] * CHUNK;
	store(PRODUCER, PTR, ptr);
	in_chunk = filled + 1;
	may_die;
	limit = ptr + CHUNK
}

inline claim_chunk()
{
	store(PRODUCER, CLAIMED, claimed + 1);
	say(claimed + 1);
	fence_q;					/* (Q) */
	may_die;
	atomic {
		if
		:: is_granted(claimed + 1, mem[GRANTED]) ->	/* (D) */
			claimed++;
			entered = claimed;
			if
			:: entered > granted -> never_again(stray)
			:: else
			fi
		:: else
		fi
	};
	if
	:: claimed == filled -> store(PRODUCER, CLAIMED, claimed); say(claimed)
	:: else
	fi
}

inline next_chunk()
{
	if
	:: is_full -> count_chunk(); may_die
	:: else
	fi;
	claimed = filled;
	claim_chunk();
	if
	:: claimed > filled -> enter_chunk()
	:: else -> wait_room()
	fi
}

inline append(r)
{
#ifdef PTR_FIRST
	commit_ptr(ptr + 1);
	store(PRODUCER, ptr, r);
#else
	store(PRODUCER, ptr, r);
	commit_ptr(ptr + 1);				/* (E) */
#endif
	ptr++
}

proctype Producer()
{
	byte ptr, limit = CHUNK, filled, claimed = 1, in_chunk = 1, r = 1, seen;
#ifdef KILLS
	byte n_killed;
#endif
#ifdef COUNT_CLAIMED
	byte said = 1;
#endif

again:	do
	:: r > RECORDS -> break
	:: r <= RECORDS && ptr < limit -> append(r); r++
	:: r <= RECORDS && ptr >= limit -> next_chunk()
	od;
	atomic { fence(PRODUCER) -> ended = true }	/* the kernel's mark */
}

/* ---- the reader: drain.c, lease.c ----------------------------------------------------- */

#define start		(place[consumed % Q] * CHUNK)
#define length		(granted - consumed)

/* Records [taken, upto) of chunk `consumed`. */
inline feed(upto)
{
	do
	:: taken >= upto -> break
	:: else ->
#ifdef EARLY_READ
		got = early[start + taken];
#else
		got = mem[start + taken];
#endif
		atomic {
			if
			:: got != next -> never_again(wrong)
			:: else -> next++; taken++; got = 0
			fi
		}
	od
}

inline see_waiting()
{
	was = mem[WAITING];
#ifdef TWO_OWNERS
	if
	:: was -> store(READER, WAITING, 0)
	:: else
	fi
#endif
}

inline publish()
{
	commit_granted(granted);			/* (C) */
	store(READER, GRANTED_WORD, granted);
	fence_p;					/* (P) */
	see_waiting();
	if
	:: was -> wake(READER, PRODUCER)
	:: else
	fi;
	was = 0
}

inline grant(where)
{
	store(READER, PLACES + granted % Q, where);
	atomic { place[granted % Q] = where; granted++ }
}

#ifdef SAME_PLACE
#define may_grow	false
#else
#define may_grow	spare
#endif

inline grow()
{
	if
	:: f - consumed == length && may_grow ->
		want = 3;
		was = spare - 1;
		spare = 0;
		grant(was);
		was = 0;
		publish()
	:: else
	fi
}

/* One place at most is spare. */
inline grant_next()
{
	was = place[consumed % Q];
	atomic { consumed++; taken = 0 };
	if
	:: length < want -> grant(was); was = 0; publish()
	:: else -> atomic { spare = was + 1; was = 0 }
	fi
}

inline take_chunks(upto)
{
	do
	:: consumed == upto -> break
	:: else ->
		worked = true;
#ifdef GRANT_FIRST
		store(READER, PLACES + granted % Q, place[consumed % Q]);
		store_release(READER, GRANTED, granted + 1);
#endif
		feed(CHUNK);
		grant_next()
	od
}

/* The tick: two are enough. */
inline take_back()
{
	atomic {
		n_shrunk++;
		want = 2;
		left = (mem[CLAIMED] > consumed + 2 -> mem[CLAIMED] : consumed + 2)
	};
	if
	:: left < granted ->
		store(READER, GRANTED, left);
		store(READER, GRANTED_WORD, left);
		fence_r;				/* (R) */
		retire()
	:: else
	fi;
	left = 0
}

inline retire()
{
	if
#ifndef NO_LOOK_CLAIMED
	:: mem[CLAIMED] > left ->
		publish()
#endif
	:: else -> atomic {
			granted = left;
			spare = place[left % Q] + 1;
			if
			:: entered > granted -> never_again(stray)
			:: else
			fi
		}
	fi
}

inline look(cell)
{
#ifdef EARLY_READ
	read_early();
#endif
	f = mem[cell]
}

inline read_early()
{
	d_step {
		i = 0;
		do
		:: i < END -> early[i] = mem[i]; i++
		:: else -> break
		od;
		i = 0
	}
}

inline take_half()
{
	look(FILLED);					/* (B) */
	p = mem[PTR];					/* (F) */
	grow();
	take_chunks(f);
	p = (consumed < granted && p > start && p <= start + CHUNK -> p - start : 0);
	feed(p);
	atomic { f = 0; p = 0 }
}

inline reader_wait()
{
	bell = mem[BELL];
	store(READER, SLEEPS, 1);
	fence_n;					/* (N) */
	if
	:: mem[FILLED] == consumed -> sleep_on(READER, BELL, bell)
	:: else
	fi;
	store(READER, SLEEPS, 0);
	bell = 0
}

proctype Reader()
{
	byte consumed, taken, next = 1, got, f, p, was, bell;
	byte want = 2, spare = 3, left, n_shrunk, place[Q];
	bool over, worked;
#ifdef EARLY_READ
	byte early[END], i;
#endif

	atomic {
		place[1] = 1;
#ifdef SAME_PLACE
		want = 1
#endif
	}
	do
	:: over = ended;
		look(FILLED);				/* (B) */
		grow();
		take_chunks(f);
		f = 0;
		if
		:: over -> take_half(); break
		:: !over -> take_half()			/* it seemed idle */
		:: !over && n_shrunk < SHRINK && length > 2 -> take_back()
		:: !over
		fi;
		if
		:: worked
		:: else -> reader_wait()
		fi;
		worked = false
	od;
	if
	:: next != RECORDS + 1 -> never_again(missing)
	:: else
	fi
}

init {
	byte j;

	atomic {
		mem[CLAIMED] = 1;
		mem[GRANTED] = 2;
		mem[GRANTED_WORD] = 2;
		mem[PLACES + 1] = 1;
		run Producer();
		run Reader();
		for (j : 0 .. DEPTH - 1) {
			run Drain(PRODUCER, j);
			run Drain(READER, j)
		}
	}
}
