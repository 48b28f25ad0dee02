/*
 * halt.pml - several instructions become one while all other threads are held.
 *
 *	Asker		fl_halt_begin(), store_all(), fl_halt_end()	halt.c, held.c
 *	Holder		fl_halt_serve(): stop_all(), look_at_all(), lead_all(), tell_held()
 *	Thread		runs through the function: from its head (HEAD) into its first
 *			bytes (IN), where a signal may find it (HANDLER, which returns to
 *			`back`), or, once there are new bytes, into the copy (COPY)
 *
 * HOLDS	no thread is in the first bytes, or comes to their head, while they are
 *	not all of one kind, or once they are new. All end: nobody stays held.
 * The two halves of the new bytes are two plain stores. Thread N - 1 is created by any of
 * the others, at any time. MORTAL: the holder may end while it stops threads, which lets all
 * go. FICKLE: who asks may give up as long as nobody is held.
 * TWINS	ONE_PASS	threads that are created meanwhile are not looked for
 *	NO_COUNT	a pass may list fewer than there were, as one has ended
 *	NO_FRAMES	what handlers return to is not looked at
 *	LOOK_FIRST	each is looked at, and stopped then
 *	STORE_EARLY	who asks does not wait
 *	RELEASE_EARLY	who holds does not wait
 *	STORE_GONE	the holder has ended, and new bytes are stored all the same
 *	PLAIN_HELD	to hold is said by a store, though nobody may ask any more
 */
#ifndef N
#define N 3
#endif
#ifndef LAPS
#define LAPS 2
#endif

mtype = { HEAD, IN, HANDLER, COPY, OUT };
mtype = { FREE, ASKED, HELD, STORED, OVER };

mtype pc[N] = HEAD, back[N] = OUT, step = FREE;
bool there[N], stopped[N], known[N], created;
bool first, second;		/* halves of the bytes: are they new? */
bool gone;			/* the holder has ended */
bool torn;

#define free(i)	(!stopped[i])

inline never_again(flag)
{
	flag = true;
	assert(!(flag))
}

inline go_on(i)
{
	if
	:: pc[i] == HEAD && first != second -> never_again(torn)
	:: pc[i] == HEAD && !first && !second -> pc[i] = IN
	:: pc[i] == HEAD && first && second -> pc[i] = COPY
	:: pc[i] == IN && (first || second) -> never_again(torn)
	:: pc[i] == IN && !first && !second -> pc[i] = OUT
	:: pc[i] == IN && !first && !second -> back[i] = IN; pc[i] = HANDLER
	:: pc[i] == HANDLER -> pc[i] = back[i]; back[i] = OUT
	:: pc[i] == COPY -> pc[i] = OUT
	:: pc[i] == OUT -> pc[i] = HEAD; laps++
	fi
}

proctype Thread(byte i)
{
	byte laps;

end:	there[i];
	do
	:: atomic { free(i) && laps < LAPS -> go_on(i) }
	:: atomic { free(i) && laps < LAPS && !created -> created = true;
		there[N - 1] = true }
	:: atomic { free(i) && laps == LAPS -> there[i] = false; break }
	od
}

inline release()
{
	atomic {
		for (i : 0 .. N - 1) {
			stopped[i] = false
		}
		i = 0
	}
}

inline lead(i)
{
	if
	:: stopped[i] && pc[i] == IN -> pc[i] = COPY
	:: else
	fi;
#ifndef NO_FRAMES
	if
	:: stopped[i] && pc[i] == HANDLER && back[i] == IN -> back[i] = COPY
	:: else
	fi
#endif
}

/* Who is listed behind a thread that creates it may be passed over. */
inline pass()
{
	open = false;
	seen = 0;
	atomic {
		was = 0;
		for (i : 0 .. N - 1) {
			was = was + there[i]
		}
	}
	i = N;
	do
	:: i > 0 ->
		i--;
#ifdef LOOK_FIRST
		atomic { stopped[i] = there[i]; lead(i); stopped[i] = false }
#endif
		atomic {
			seen = seen + there[i];
			if
			:: there[i] && !known[i] ->
				stopped[i] = true;
				known[i] = true;
				open = true
			:: else
			fi
		}
	:: else -> break
	od;
#ifndef NO_COUNT
	open = open || seen != was
#endif
}

proctype Holder()
{
	byte i, seen, was;
	bool open = true;

end:	step == ASKED;
	do
	:: open -> pass();
#ifdef ONE_PASS
		break
#endif
#ifdef MORTAL
	:: goto dies
#endif
	:: !open -> break
	od;
#ifndef LOOK_FIRST
	for (i : 0 .. N - 1) {
		atomic { lead(i) }
	}
#endif
	i = 0;
	atomic {
		if
#ifdef PLAIN_HELD
		:: true -> step = HELD
#else
		:: step == ASKED -> step = HELD
		:: else -> goto lets_go
#endif
		fi
	}
#ifndef RELEASE_EARLY
	step != HELD;
#endif
lets_go:
	release();
	step = OVER;
	goto ends;
dies:
	atomic { release(); gone = true }
ends:
	skip
}

proctype Asker()
{
	step = ASKED;
	if
#ifdef STORE_EARLY
	:: true
#else
	:: step == HELD
#endif
	:: atomic { gone && step == ASKED -> step = FREE }
#ifndef STORE_GONE
		goto ends
#endif
#ifdef FICKLE
	:: atomic { step == ASKED -> step = FREE; goto ends }
#endif
	fi;
	first = true;
	second = true;
	step = STORED;
ends:
	skip
}

init {
	byte i;

	atomic {
		for (i : 0 .. N - 1) {
			there[i] = i < N - 1;
			run Thread(i)
		}
		run Holder();
		run Asker()
	}
}
