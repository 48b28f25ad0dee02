/*
 * trap.pml - what a thread does that meets a trap at a place it finds claimed:
 * look_once() and settle() in src/patch/trap.c. Included after fetch.pml; a
 * model's cells are
 *
 *	MOTION(p)	p->motion: odd while a thread changes the place
 *	ACTS(p)		p->acts: what a thread that traps acts as
 *
 * How a place is found, and given up, is in late.pml.
 *
 * TWINS	NO_RETRY	a late trap is taken for the program's
 *	NO_RECHECK	the handler does not look at `motion` again
 */
#ifdef NO_RECHECK
#define has_moved(p)	false
#else
#define has_moved(p)	(motion != mem[MOTION(p)])
#endif
#ifdef NO_RETRY
#define late_trap()	never_again(stray)
#else
#define late_trap()	skip
#endif

/* The instruction takes place when `motion` is read, or later, and with
 * ACT_AS_OLD when it traps; that the thread gets to its effect after that is as
 * if it had been preempted behind the instruction. So `floor` is the version
 * that all must execute by then. */
#ifdef ACT_AS_OLD
#define note_look(p)	skip
#else
#define note_look(p)	floor = done[p]
#endif

inline act(c, p)
{
	atomic {
		to = mem[ACTS(p)];
		if
		:: to < FIRST || to < floor -> never_again(stale)
		:: else -> note_run(c, to)
		fi
	}
}

/* Each read of memory is a step of its own. The caller declares `byte motion,
 * floor, to, there`; afterwards the thread runs on, or at the trap again. */
inline handle_trap(c, p)
{
	do
	:: atomic { motion = mem[MOTION(p)]; note_look(p) };	/* (B) */
		if
		:: motion & 1 ->
			act(c, p);
			break
		:: else ->
			there = mem[FRONT(p)]			/* (B) */
		fi;
		if
		:: there != TRAP ->		/* a late trap: retry */
			late_trap();
			break
		:: atomic { else ->
			if
			:: has_moved(p)		/* LOOK_AGAIN */
			:: else -> never_again(stray)	/* FOREIGN */
			fi }
		fi
	od;
	atomic { motion = 0; floor = 0; to = 0; there = NONE }
}
