/*
 * channel.pml - a thread's ring: one producer, one reader, N chunks of CHUNK
 * records. The n-th record is the number n, so the reader knows what it must
 * find. What a record is made of is one cell here.
 *
 *	produce		append(), and glue's short path, which does the same
 *	next_chunk	next_chunk(), count_chunk(), fl_ring_doorbell()	ring.c
 *	wait_room	wait_room()					ring.c
 *	take_chunks	take_chunks(), feed(), free_chunk()		drain.c
 *	take_half	take_half(), half_filled()			drain.c
 *	reader_wait	fl_reader_wait(), has_work()			drain.c
 *	(A) ... (P)	the letters of ring.c
 *
 * MEMORY	Each side has a store buffer. On TSO it drains in order. With ARM any
 *	entry may leave it before older ones, but never before one of the same
 *	cell, and a release only when all before it have left. A release of
 *	TSO is a plain store. Loads are in order; EARLY_READ and FREE_FIRST do
 *	what a missing acquire or release of the reader's would let loads do.
 * SLEEP	A sleeper's futex returns at once if the word has changed, and else
 *	sleeps until the other side's wake. With TIMEOUT it may return any time,
 *	as it does in flick. Without, a wake that is missed is a deadlock.
 *	The reader, once the thread has ended, returns in any case.
 *
 * HOLDS	every record is delivered whole, in order, once, on TSO and ARM, and
 *	nothing is left when the thread has ended. With OWN_FLAG no wake is missed
 *	either, so TIMEOUT is not needed.
 * TWINS	PLAIN_PTR	(E) is a plain store: holds on TSO, as glue needs; not on ARM
 *	PLAIN_FILLED	(A) is one; the same
 *	PTR_FIRST	the record after the pointer
 *	EARLY_READ	(B), (F) are not acquires
 *	FREE_FIRST	(C) is not a release
 *	NO_LOOK_FREED	moves on without looking at (D)
 *	NO_FENCE_M, _N, _O, _P		a missed wake
 *	RELAXED_BELL	ARM: `reader_sleeps = 0` after the bell; a missed wake
 *	without OWN_FLAG	as drain.c has it, the reader clears `waiting`: it may
 *			clear one that is newer than the chunk it has just freed.
 *			The thread sleeps then until its time-out.
 */
#define N 2
#define CHUNK 2
#ifndef RECORDS
#define RECORDS 7
#endif
#define END (N * CHUNK)			/* cells of the ring: 0 .. END - 1 */
#define PTR END
#define FILLED (END + 1)
#define FREED (END + 2)
#define FREED_WORD (END + 3)
#define WAITING (END + 4)
#define SLEEPS (END + 5)
#define BELL (END + 6)
#define CELLS (END + 7)
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

#define start_of(chunk)	(((chunk) % N) * CHUNK)
#define end_of(chunk)	(start_of(chunk) + CHUNK)
#define following()	(filled + (limit == end_of(filled) -> 1 : 0))
#ifdef NO_LOOK_FREED
#define is_free(freed)	true
#else
#define is_free(freed)	(following() - (freed) < N)
#endif

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

inline count_chunk()
{
	filled++;
	commit_filled(filled);				/* (A) */
	fence_m;					/* (M) */
	if
	:: mem[SLEEPS] ->
		store(PRODUCER, SLEEPS, 0);
		atomic { fence_bell; mem[BELL] = mem[BELL] + 1 };
		wake(PRODUCER, READER)
	:: else
	fi
}

inline wait_room()
{
	store(PRODUCER, WAITING, 1);
	fence_o;					/* (O) */
	seen = mem[FREED];				/* (D) */
	if
	:: is_free(seen)
	:: else -> sleep_on(PRODUCER, FREED_WORD, seen)
	fi;
#ifdef OWN_FLAG
	store(PRODUCER, WAITING, 0);
#endif
	seen = 0
}

inline next_chunk()
{
	if
	:: limit == end_of(filled) -> count_chunk()
	:: else
	fi;
	if
	:: is_free(mem[FREED]) ->			/* (D) */
		ptr = start_of(filled);
		limit = end_of(filled);
		store(PRODUCER, PTR, ptr)
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
	byte ptr, limit = CHUNK, filled, r = 1, seen;

	do
	:: r > RECORDS -> break
	:: r <= RECORDS && ptr < limit -> append(r); r++
	:: r <= RECORDS && ptr == limit -> next_chunk()
	od;
	atomic { fence(PRODUCER) -> ended = true }	/* the kernel's mark */
}

/* ---- the reader: drain.c --------------------------------------------------------------- */

/* Records [taken, upto) of chunk `freed`. */
inline feed(upto)
{
	do
	:: taken >= upto -> break
	:: else ->
#ifdef EARLY_READ
		got = early[start_of(freed) + taken];
#else
		got = mem[start_of(freed) + taken];
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
#ifndef OWN_FLAG
	if
	:: was -> store(READER, WAITING, 0)
	:: else
	fi
#endif
}

inline free_chunk()
{
	taken = 0;
	freed++;
	store_release(READER, FREED, freed);		/* (C) */
	store(READER, FREED_WORD, freed);
	fence_p;					/* (P) */
	see_waiting();
	if
	:: was -> wake(READER, PRODUCER)
	:: else
	fi;
	was = 0
}

inline take_chunks(upto)
{
	do
	:: freed == upto -> break
	:: else ->
		worked = true;
#ifdef FREE_FIRST
		store_release(READER, FREED, freed + 1);
#endif
		feed(CHUNK);
		free_chunk()
	od
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
	p = (p > start_of(f) && p <= end_of(f) -> p - start_of(f) : 0);
	take_chunks(f);
	feed(p);
	atomic { f = 0; p = 0 }
}

inline reader_wait()
{
	bell = mem[BELL];
	store(READER, SLEEPS, 1);
	fence_n;					/* (N) */
	if
	:: mem[FILLED] == freed -> sleep_on(READER, BELL, bell)
	:: else
	fi;
	store(READER, SLEEPS, 0);
	bell = 0
}

proctype Reader()
{
	byte freed, taken, next = 1, got, f, p, was, bell;
	bool over, worked;
#ifdef EARLY_READ
	byte early[END], i;
#endif

	do
	:: over = ended;
		look(FILLED);				/* (B) */
		take_chunks(f);
		f = 0;
		if
		:: over -> take_half(); break
		:: !over -> take_half()			/* it seemed idle */
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
		run Producer();
		run Reader();
		for (j : 0 .. DEPTH - 1) {
			run Drain(PRODUCER, j);
			run Drain(READER, j)
		}
	}
}
