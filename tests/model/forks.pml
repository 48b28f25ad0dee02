/*
 * forks.pml - a process forks while probes are opened and closed, and while a place
 * is changed by another thread.
 *
 * Two threads fork, each once within a handler of its own if it likes; one opens and
 * closes, one changes a place and may hold a lock of the program's that a fork handler
 * wants, too.
 *
 *	fork			before_fork(), in_parent(), in_child()	src/agent/life.c
 *	wait_for_writers	before_fork()				src/patch/fork.c
 *	write			fl_fork_enter_own() to fl_fork_leave_own(), take_turn()
 *	open_close		flick_open(), flick_close()		src/agent/self.c
 *	LOCKED			the lock of the table; FREE in a child	src/os/lock.c
 *	GAVE_UP			a wait that has an end: fork.c, PATIENCE_US, WRITERS_US
 *
 * A child is a cut: what memory holds at the fork, looked at there and then. That a
 * copy by the kernel is such a cut is said in fork.c, WHY 2. A wait that has an end may
 * end at any time.
 *
 * HOLDS	a thread's mask behind its fork is that of before, in parent and child
 *	(`mask`); the lock is held by nobody who does not run (`left`); no place is half
 *	written in a child once that is put right (`half`); nobody waits for ever (a dead
 *	end). With PATIENT, where no wait ends before its time, nothing is cut (`cut`).
 * TWINS	SHARED		what a fork took is noted in one place for all threads
 *	ASK_ANEW	each handler looks whether there is an owner
 *	FLAG		with PATIENT: `forking` is a flag
 *	NO_END		waits have no end
 *	OWN_WAITS	a writer waits for its own thread's fork
 *	NOT_RIGHT	the child does not put right what was cut
 *	TURN_LATE	the turn is taken behind the first byte
 */
#define FORKERS 2
#define NOBODY 9

byte owner;				/* flick is open */
byte lock = NOBODY;			/* who has the table's lock */
byte forking, busy;
byte programs = NOBODY;			/* a lock of the program's */
byte mask[FORKERS];			/* 0 open, 1 blocked; a thread's */
byte turn;				/* 1: the writer is storing */
byte text;				/* 0 old, 1 half, 2 new */
byte done;				/* processes that have ended */
bool wrong_mask, left, half, cut;

/* What a fork noted: held or not, and the mask of before. */
#ifdef SHARED
byte held_all, saved_all;
#define held	held_all
#define saved	saved_all
#else
byte held_of[FORKERS], saved_of[FORKERS];
#define held	held_of[me]
#define saved	saved_of[me]
#endif

#ifdef FLAG
#define more_forks	forking = 1
#define fewer_forks	forking = 0
#else
#define more_forks	forking++
#define fewer_forks	forking--
#endif
#if defined(NO_END) || defined(PATIENT)
#define GAVE_UP		false
#else
#define GAVE_UP		true
#endif
#ifdef PATIENT
#define WITH_LOCK	false
#else
#define WITH_LOCK	true
#endif
#ifdef ASK_ANEW
#define is_to_end	(owner == 1)
#else
#define is_to_end	(held == 1)
#endif

inline never_again(flag)
{
	flag = true;
	assert(!(flag))
}

/* Life's handler: the child is followed, so the locks are taken. */
inline before(me)
{
	held = 0;
	if
	:: owner ->
#ifdef SHARED
		atomic { saved = mask[me]; mask[me] = 1 };	/* also by who then waits */
#else
		saved = mask[me];
		mask[me] = 1;
#endif
		if
		:: atomic { lock == NOBODY -> lock = me }; held = 1
		:: GAVE_UP -> mask[me] = saved
		fi
	:: else
	fi
}

inline after(me)
{
	if
	:: is_to_end ->
		held = 0;
		atomic { if :: lock == me -> lock = NOBODY :: else fi };
		mask[me] = saved
	:: else
	fi
}

/* The child, at once: what it has is what there is now. */
inline look_at_child(me, before_mask)
{
	atomic {
		if
		:: (is_to_end -> saved : mask[me]) != before_mask -> never_again(wrong_mask)
		:: else
		fi;
#ifdef NOT_RIGHT
		if :: text == 1 -> never_again(half) :: else fi;
#else
		if :: text == 1 && !turn -> never_again(half) :: else fi;
#endif
#ifdef PATIENT
		if :: turn -> never_again(cut) :: else fi
#endif
	}
}

proctype Fork(byte me)
{
	byte was = me & 1;

	mask[me] = was;
	before(me);
	more_forks;
	if					/* wait for writers */
	:: busy == 0
	:: GAVE_UP
	fi;
	/* A handler of the program's, behind ours: with its lock, or with a switch. */
	if
	:: WITH_LOCK -> atomic { programs == NOBODY -> programs = me }; programs = NOBODY
	:: true ->
		busy++;
		if
#ifdef OWN_WAITS
		:: forking == 0
#else
		:: true
#endif
		fi;
		busy--
	fi;
	look_at_child(me, was);
	fewer_forks;
	after(me);
	if :: mask[me] != was -> never_again(wrong_mask) :: else fi;
	if :: lock == me -> never_again(left) :: else fi;
	done++
}

proctype Open_close()
{
	owner = 1;
	owner = 0;
	atomic { lock == NOBODY -> lock = FORKERS };	/* the close of the table */
	lock = NOBODY;
	done++
}

inline change()
{
#ifdef TURN_LATE
	text = 1; turn = 1;
#else
	turn = 1; text = 1;
#endif
	text = 2;
	turn = 0
}

proctype Write()
{
	atomic { programs == NOBODY -> programs = FORKERS + 1 };
	busy++;
	do
	:: forking == 0 -> break
	:: forking > 0 ->
		busy--;
		if
		:: forking == 0; busy++
		:: GAVE_UP -> busy++; break
		fi
	od;
	change();
	busy--;
	programs = NOBODY;
	done++
}

init
{
	atomic {
		run Fork(0);
		run Fork(1);
		run Open_close();
		run Write()
	};
	done == FORKERS + 2;
	if :: lock != NOBODY -> never_again(left) :: else fi;
	assert(forking == 0 && busy == 0)
}
