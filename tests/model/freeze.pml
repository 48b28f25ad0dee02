/*
 * freeze.pml - probes are switched while the loader unmaps the module that they are in.
 *
 * One thread switches probe 0 by a restartable sequence, one has the lock and switches
 * probe 1, as sampling and sets do. The loader unmaps the module FREEZES times; it comes
 * back, as if another one had been meant, or is gone for good. With LOCKS all
 * that switch hold a lock of the program's, which the loader takes while it deletes.
 *
 *	switch_one		fl_probe_switch()			src/probe/goal.c
 *	sequence		fl_arch_flip_unless()			src/arch/x86_64/tramp.S
 *	flip_with_lock		fl_switch_store_waiting()		src/probe/switch.c
 *	defer, make_so		fl_switch_defer(), fl_goal_follow()	switch.c, goal.c
 *	wish_unarmed		wish_unarmed(), and the look behind it	goal.c
 *	leave			fl_switches_unlock()
 *	Set			fl_probes_switch_set(), fl_switches_try()
 *	hold			fl_switches_hold()
 *	Loader			fl_probes_freeze(), fl_table_forget_gone(), fl_probes_thaw()
 *	Fork			fl_probes_keep_modules(), fl_probes_let_modules()
 *	Scan			fl_probes_list(), walk_there()		src/probe/discover.c
 *	End			begin_end(), let_end()			src/probe/end.c
 *	Yield			yield_locked(), unyield_locked()	src/probe/yield.c
 *
 * MEMORY	Each thread has a store buffer that drains in order (x86-TSO); lock and
 *	unlock are read-modify-writes, with nothing left in the buffer. Membarrier meets
 *	one core after the other: what is in its buffer drains, and a sequence that it
 *	is in begins again.
 * DENIED	The kernel denies restarts from the first freeze on. The wait is one for
 *	whoever is in the middle of a sequence, as a thread that is preempted there
 *	begins it again.
 *
 * HOLDS	nothing is stored to text that is not there (`stray`); when all is over
 *	text is as the last wish (`unlike`); nobody waits for ever (a dead end); with
 *	FORK and patience, no fork comes while modules go (`cut`); with SCAN what was
 *	listed is there when it is read (`gone`); with END, where flick is closed and
 *	nothing unmapped, all is off behind it (`left_on`). With YIELD, where the program
 *	has its sleds back for a while, the first two.
 * TWINS	NO_RESTART	freeze restarts nobody
 *	RESTART_FIRST	restarts, then raises the flag
 *	LOOK_BEFORE	the flag is looked at before the sequence begins
 *	ARMED_BEFORE	so is what is armed
 *	THAW_FIRST	thaws, then forgets what is gone
 *	NO_FENCE_D, _E	a deferred switch is nobody's
 *	NO_LOOK_AGAIN	who deferred does not look whether it still is frozen
 *	CLEAR_LATE	the mark of a probe is cleared when it has been made so
 *	ALL_CLEAR_LATE	so is that of all
 *	ONE_LOOK	the thaw makes it so and does not look whether the wish is another
 *	NO_FENCE_SO	it looks before its store has left
 *	KEEP_LOCK	LOCKS: the lock is held from freeze to thaw
 *	WAIT_THAW	LOCKS: who switches waits for the thaw
 *	WAIT_ONCE	DENIED: only the first freeze waits
 *	NO_WAIT		DENIED: none does
 *	LOOK_THEN_LOCK	FORK: forks are waited for before the lock is taken
 *	LIST_FIRST	SCAN: lists, then looks how often modules went
 *	NO_COUNT	SCAN: looks whether they are going, and not how often they went
 *	OFF_FIRST	END: switched off, then held
 *	NOTE_EARLY	YIELD: said to be armed, then armed
 *	NO_FOLLOW	YIELD: armed, and nobody looks what was wished meanwhile
 *	NO_FENCE_Y	YIELD: who wishes meanwhile looks before the wish has left
 *	NO_FENCE_AGAIN	YIELD: so does who found it unarmed in the sequence
 *	AT_ONCE		both threads switch probe 0: text follows one, `is_on` the other
 */
#ifndef FREEZES
#define FREEZES 2
#endif
#ifndef WISHES
#define WISHES 2
#endif
#ifndef SETS
#define SETS 1
#endif
#define FROZEN 0
#define DEFERRED 1
#define ON(p) (2 + (p))
#define LATER(p) (4 + (p))		/* is_deferred */
#define TEXT(p) (6 + (p))
#define ARMED(p) (8 + (p))
#define CELLS 10
#define BUFFER 4
#define SWITCH 0
#define SET 1
#define LOADER 2
#define OTHER 3				/* Fork, Scan */
#define NOBODY 9
#ifdef AT_ONCE
#define SETS_PROBE 0
#else
#define SETS_PROBE 1
#endif
#define FLIPPED 0
#define HELD 1
#define UNARMED 2

typedef buffer_t { byte cell[BUFFER], value[BUFFER], n }

byte mem[CELLS];
buffer_t buffer[4];
bool mapped = true;
byte lock = NOBODY, programs = NOBODY;
bool unloading;
byte unloads, holding;
bool restart, within, may_restart = true, is_first = true;
byte done;
bool stray, unlike, cut, gone, left_on;

inline never_again(flag)
{
	flag = true;
	assert(!(flag))
}

#define is_nowhere(to)	((to) >= TEXT(0) && (to) <= TEXT(1) && !mapped)

inline put(me, c, v)
{
	atomic {
		buffer[me].n < BUFFER;
		if
		:: is_nowhere(c) -> never_again(stray)
		:: else
		fi;
		buffer[me].cell[buffer[me].n] = c;
		buffer[me].value[buffer[me].n] = v;
		buffer[me].n++
	}
}

/* The youngest of one's own, else memory's. */
inline load(me, c, out)
{
	d_step {
		out = mem[c];
		i = 0;
		do
		:: i >= buffer[me].n -> break
		:: else ->
			if
			:: buffer[me].cell[i] == c -> out = buffer[me].value[i]
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
			:: is_nowhere(buffer[me].cell[0]) -> never_again(stray)
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

/* ---- the lock, and what is deferred ------------------------------------------------- */

#ifdef NO_FENCE_D
#define fence_d(me) true
#else
#define fence_d(me) fence(me)
#endif
#ifdef NO_FENCE_E
#define fence_e(me) true
#else
#define fence_e(me) fence(me)
#endif
#ifdef NO_FENCE_SO
#define fence_so(me) true
#else
#define fence_so(me) fence(me)
#endif
#ifdef ONE_LOOK
#define is_as_wished true
#else
#define is_as_wished (seen == now)
#endif

inline take(me)
{
	atomic { lock == NOBODY && fence(me) -> lock = me }
}

inline defer(me, p)
{
	put(me, LATER(p), 1);
	put(me, DEFERRED, 1);
	fence_d(me)					/* (D) */
}

inline make_so(me, p)
{
	do
	:: true ->
		load(me, ON(p), now);
		atomic {
			load(me, ARMED(p), seen);
			if
			:: seen -> put(me, TEXT(p), now)
			:: else
			fi
		};
		atomic {
			fence_so(me);
			load(me, ON(p), seen);
			if
			:: is_as_wished -> now = 0; seen = 0; break
			:: else -> seen = 0
			fi
		}
	od
}

/* Exchange with 0: `seen` is what it was. */
inline clear(me, c)
{
	atomic { fence(me) -> seen = mem[c]; mem[c] = 0 }
}

inline make_one_deferred(me, p)
{
#ifdef CLEAR_LATE
	load(me, LATER(p), seen);
	if
	:: seen -> make_so(me, p); clear(me, LATER(p))
	:: else
	fi
#else
	atomic { clear(me, LATER(p)); now = seen; seen = 0 };
	if
	:: now -> now = 0; make_so(me, p)
	:: else
	fi
#endif
}

inline leave(me)
{
	fence_e(me);					/* (E) */
	do
	:: true ->
		atomic {
			load(me, FROZEN, seen);
			if
			:: seen -> break
			:: else
			fi
		};
		atomic {
			load(me, DEFERRED, seen);
			if
			:: !seen -> break
			:: else -> seen = 0
			fi
		};
#ifndef ALL_CLEAR_LATE
		atomic {
			clear(me, DEFERRED);
			if
			:: !seen -> break
			:: else -> seen = 0
			fi
		};
#endif
		make_one_deferred(me, 0);
		make_one_deferred(me, 1);
#ifdef ALL_CLEAR_LATE
		clear(me, DEFERRED)
#endif
	od;
	atomic { fence(me) -> seen = 0; lock = NOBODY }
}

/* ---- one probe -------------------------------------------------------------------------- */

#ifdef LOOK_BEFORE
#define look_early(me)	load(me, FROZEN, frozen)
#define look(me)	skip
#else
#define look_early(me)	skip
#define look(me)	load(me, FROZEN, frozen)
#endif
#ifdef ARMED_BEFORE
#define look_early_armed(me, p)	load(me, ARMED(p), armed)
#define look_armed(me, p)	skip
#else
#define look_early_armed(me, p)	skip
#define look_armed(me, p)	load(me, ARMED(p), armed)
#endif

#define again_if_restarted if :: restart -> goto again :: else fi

/* `same`: the text is stored to only if it says otherwise. */
inline sequence(me, p)
{
	look_early(me);
	look_early_armed(me, p);
again:	atomic {
		restart = false;
		within = true;
		how = HELD;
		look(me);
		if :: frozen -> goto out :: else fi
	};
	atomic {
		again_if_restarted;
		how = UNARMED;
		look_armed(me, p);
		if :: !armed -> goto out :: else fi
	};
	atomic {
		again_if_restarted;
		how = FLIPPED;
		if
		:: same ->
			load(me, TEXT(p), seen);
			if :: seen == wish -> goto out :: else fi
		:: else
		fi
	};
	atomic { again_if_restarted; put(me, TEXT(p), wish) };
out:	atomic { restart = false; within = false; frozen = 0; armed = 0; seen = 0 }
}

inline store_if_armed(me, p)
{
	atomic {
		load(me, ARMED(p), armed);
		if
		:: armed -> armed = 0; put(me, TEXT(p), wish)
		:: else
		fi
	}
}

inline flip_with_lock(me, p)
{
	take(me);
	atomic { load(me, FROZEN, frozen); how = (frozen -> HELD : FLIPPED); frozen = 0 };
	if
	:: how == FLIPPED -> store_if_armed(me, p)
	:: else
	fi;
	leave(me)
}

#ifdef NO_FENCE_Y
#define fence_y(me) true
#else
#define fence_y(me) fence(me)
#endif

#ifdef NO_FENCE_AGAIN
#define fence_again(me) true
#else
#define fence_again(me) fence(me)
#endif

/* Breaks from the loop that it is in, unless it is armed by now. */
inline wish_unarmed(me, p)
{
#ifdef YIELD
	put(me, ON(p), wish);
	atomic {
		fence_y(me);
		load(me, ARMED(p), seen);
		if :: !seen -> break :: else -> seen = 0 fi
	}
#else
	break
#endif
}

inline switch_one(me, p)
{
	do
	:: true ->
		atomic {
			load(me, ARMED(p), seen);
			if :: seen -> seen = 0; goto armed_by_then :: else fi
		};
		wish_unarmed(me, p);
armed_by_then:
		atomic {
			load(me, ON(p), seen);
			same = (seen == wish);
			seen = 0;
			put(me, ON(p), wish)
		};
		if
#ifndef WITH_LOCK
		:: may_restart -> sequence(me, p)
#endif
		:: !may_restart -> flip_with_lock(me, p)
#ifdef WITH_LOCK
		:: may_restart -> flip_with_lock(me, p)
#endif
		fi;
		if
		:: how == FLIPPED -> break
		:: how == UNARMED -> fence_again(me)
		:: how == HELD ->
#ifdef WAIT_THAW
			!unloading
#else
			defer(me, p);
#ifdef NO_LOOK_AGAIN
			break
#else
			atomic {
				load(me, FROZEN, seen);
				if :: seen -> break :: else fi
			}
#endif
#endif
		fi
	od;
	atomic { how = 0; seen = 0; same = false }
}

#ifdef LOCKS
inline take_programs()
{
	atomic { programs == NOBODY -> programs = _pid }
}
#else
#define take_programs()	skip
#endif

inline wish_any()
{
	if
	:: wish = 0
	:: wish = 1
	fi;
	take_programs()
}

proctype Switch()
{
	byte wish, n, how, seen, now, frozen, armed, i;
	bool same;

	do
	:: n == WISHES -> break
	:: n < WISHES ->
		n++;
		wish_any();
		switch_one(SWITCH, 0);
		programs = NOBODY
	od;
	fence(SWITCH);
	done++
}

/* Several: the lock is held, and what it may do is known by then. */
inline switch_locked(me, p)
{
	take(me);
	put(me, ON(p), wish);
	atomic { load(me, FROZEN, frozen) };
	if
	:: frozen -> frozen = 0; defer(me, p)
	:: else -> store_if_armed(me, p)
	fi;
	leave(me)
}

proctype Set()
{
	byte wish, n, seen, now, frozen, armed, i;

	do
	:: n == SETS -> break
	:: n < SETS ->
		n++;
		wish_any();
		switch_locked(SET, SETS_PROBE);
		programs = NOBODY
	od;
	fence(SET);
	done++
}

/* ---- the loader --------------------------------------------------------------------- */

/* One core after the other; this one's system call is a fence. */
inline restart_all(me)
{
	fence(me);
	atomic { fence(SWITCH) -> restart = true };
	fence(SET)
}

#if defined(NO_WAIT)
#define wait_long	skip
#elif defined(WAIT_ONCE)
#define wait_long	if :: is_first -> !within && fence(SWITCH) :: else fi
#else
#define wait_long	!within && fence(SWITCH)
#endif

inline hold(me)
{
#ifdef RESTART_FIRST
	restart_all(me);
#endif
	atomic { load(me, FROZEN, seen); put(me, FROZEN, seen + 1); seen = 0 };
#if defined(DENIED)
	fence(me);			/* the system call, though it is denied */
	may_restart = false;
	wait_long;
	is_first = false
#elif defined(NO_RESTART) || defined(RESTART_FIRST) || defined(WITH_LOCK)
	skip
#else
	restart_all(me)
#endif
}

inline let(me)
{
	atomic { load(me, FROZEN, seen); put(me, FROZEN, seen - 1); seen = 0 }	/* (B) */
}

#ifdef PATIENT
#define GAVE_UP		false
#else
#define GAVE_UP		true
#endif

inline take_when_no_fork()
{
#ifdef LOOK_THEN_LOCK
	if
	:: holding == 0
	:: GAVE_UP
	fi;
	take(LOADER)
#else
	do
	:: true ->
		take(LOADER);
		if
		:: holding == 0 -> break
		:: GAVE_UP -> break
		:: else -> lock = NOBODY; holding == 0
		fi
	od
#endif
}

inline freeze()
{
	take_when_no_fork();
	hold(LOADER);
	atomic { unloading = true; unloads++ };
#ifndef KEEP_LOCK
	leave(LOADER)
#endif
}

inline forget()
{
	if
	:: !mapped -> put(LOADER, ARMED(0), 0); put(LOADER, ARMED(1), 0)
	:: else
	fi
}

inline thaw()
{
#ifndef THAW_FIRST
	forget();
#endif
#ifndef KEEP_LOCK
	take(LOADER);
#endif
	unloading = false;
	let(LOADER);
	leave(LOADER)
#ifdef THAW_FIRST
	;
	forget()
#endif
}

proctype Loader()
{
	byte n, seen, now, i;
	bool was;

	do
	:: n == FREEZES -> break
	:: n < FREEZES ->
		n++;
		freeze();
		atomic { was = mapped; mapped = false };
		take_programs();				/* free() */
		programs = NOBODY;
		if
		:: mapped = was
		:: true
		fi;
		was = false;
		thaw()
	od;
	fence(LOADER);
	done++
}

#ifdef END
inline all_off(me)
{
	put(me, ON(0), 0);
	put(me, TEXT(0), 0);
	put(me, ON(1), 0);
	put(me, TEXT(1), 0);
	fence(me)			/* it takes long: there are many probes */
}

proctype End()
{
	byte seen, now, i;

	take(LOADER);
#ifdef OFF_FIRST
	all_off(LOADER);
	hold(LOADER);
#else
	hold(LOADER);
	all_off(LOADER);
#endif
	put(LOADER, ARMED(0), 0);
	put(LOADER, ARMED(1), 0);
	let(LOADER);
	leave(LOADER);
	fence(LOADER);
	done++
}
#endif

#ifdef YIELD
inline give_back(p)
{
	put(LOADER, ARMED(p), 0);
	put(LOADER, TEXT(p), 0)
}

inline take_again(p)
{
	put(LOADER, ARMED(p), 1);
	fence(LOADER);
#ifndef NO_FOLLOW
	make_so(LOADER, p)
#else
	skip
#endif
}

proctype Yield()
{
	byte seen, now, i;

	take(LOADER);
	hold(LOADER);
	give_back(0);
	give_back(1);
	atomic { fence(LOADER) -> mapped = false };	/* the program stores there */
	let(LOADER);
	leave(LOADER);
	take(LOADER);
#ifdef NOTE_EARLY
	put(LOADER, ARMED(0), 1);
	put(LOADER, ARMED(1), 1);
	fence(LOADER);
#endif
	mapped = true;
	take_again(0);
	take_again(1);
	leave(LOADER);
	fence(LOADER);
	done++
}
#endif

/* ---- who must not meet an unmapping ---------------------------------------------------- */

#ifdef FORK
proctype Fork()
{
	bool thawed;
	byte seen, now, i;

	do
	:: true ->
		take(OTHER);
		thawed = !unloading;
		holding = holding + thawed;
		leave(OTHER);
		if
		:: thawed -> break
		:: else -> !unloading
		fi
	od;
#ifdef PATIENT
	if
	:: unloading -> never_again(cut)		/* the child, at once */
	:: else
	fi;
#endif
	take(OTHER);
	holding--;
	leave(OTHER);
	done++
}
#endif

#ifdef SCAN
proctype Scan()
{
	byte seen, now, i, count;
	bool listed;

	do
	:: true ->
		!unloading;
#ifdef LIST_FIRST
		listed = mapped;
#endif
		count = unloads;				/* (G) */
		if
		:: unloading
		:: else -> break
		fi
	od;
#ifndef LIST_FIRST
	listed = mapped;
#endif
	take(OTHER);
	if
#ifdef NO_COUNT
	:: !unloading ->
#else
	:: !unloading && unloads == count ->
#endif
		if
		:: listed && !mapped -> never_again(gone)
		:: else
		fi
	:: else
	fi;
	leave(OTHER);
	done++
}
#endif

#if defined(FORK) || defined(SCAN)
#define ALL 2
#else
#define ALL 3
#endif

inline is_as_wished_last(p)
{
	if
	:: mem[ARMED(p)] && mem[TEXT(p)] != mem[ON(p)] -> never_again(unlike)
	:: else
	fi
}

init
{
	atomic {
		mem[ARMED(0)] = 1;
		mem[ARMED(1)] = 1;
#if defined(END)
		run End();
#elif defined(YIELD)
		run Yield();
#else
		run Loader();
#endif
		run Drain(LOADER);
#if defined(FORK)
		run Fork()
#elif defined(SCAN)
		run Scan()
#else
		run Switch();
		run Set();
		run Drain(SWITCH);
		run Drain(SET)
#endif
	};
	atomic {
		done == ALL ->
		is_as_wished_last(0);
		is_as_wished_last(1);
#ifdef END
		if
		:: mem[TEXT(0)] || mem[TEXT(1)] -> never_again(left_on)
		:: else
		fi;
#endif
		assert(!mem[FROZEN] && lock == NOBODY)
	}
}
