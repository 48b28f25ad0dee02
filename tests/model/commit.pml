/*
 * commit.pml - what is recorded changes while threads run: probe A goes off, probe B on, and
 * back again, as often as COMMITS says.
 *
 *	Caller		a thread: text, dispatch word, fl_change_hit()	src/probe/change.c
 *	Changer		change_together()
 *	progress	fl_patch_sync(); with `await`, await_passed()
 *
 * MEMORY	Each thread sees each cell as it is, or as it was when it saw that cell last:
 *	cells come to it one by one, in any order. So it is for instructions that are
 *	fetched beside data that is loaded, and for data on weaker machines than x86. Progress
 *	has each thread see all cells as they are.
 *
 * HOLDS	a thread goes from all that was to all that is to be once a change, and not back
 *	(`back`); a call that begins when a change has returned is as that says (`stale`),
 *	and runs no text of a probe that is off (`lingers`).
 * TWINS	NO_W1		text is on, and where it leads may be the action
 *	NO_W2		the index is switched under threads that do not ask for it
 *	NO_W3		settled while threads go by the old index
 *	NO_W4		returned while threads run text that was taken away
 *	NO_AWAIT	who has loaded the index, and not done what it says, is not waited for:
 *			it acts when the change has returned (`late`)
 *	DIRECT_OFF	the word of what goes off leads to its action again
 * ONE	A alone goes off, and on again: change_one(). Twins: NO_W2, NO_W3, NO_AWAIT, and
 *	ON_ALONE	none before the index is switched, if it goes off
 *	NEVER_ON	A has not been on before, so its word leads to its action
 *	LED_ON		then what goes on is led to the index first
 */
#ifndef COMMITS
#define COMMITS 1
#endif
#ifndef CALLERS
#define CALLERS 1
#endif
#ifndef CALLS
#define CALLS 4
#endif
#ifdef NEVER_ON
#define FIRST 1			/* the first change is over */
#else
#define FIRST 0
#endif
#define TEXT(p) (p)
#define WORD(p) (2 + (p))
#define INDEX 4
#define GOAL(g, p) (5 + 2 * (g) + (p))
#define CELLS 9
#define DIRECT 0
#define ASKS 1

typedef view_t { byte cell[CELLS] }

byte mem[CELLS];
view_t view[CALLERS];
bool inside[CALLERS];
byte begun, returned;
bool back, stale, lingers, late;

inline never_again(flag)
{
	flag = true;
	assert(!(flag))
}

/* Some cell comes to a thread, or none does. */
inline look(me, c, out)
{
	atomic {
		if
		:: view[me].cell[c] = mem[c]
		:: skip
		fi;
		out = view[me].cell[c]
	}
}

inline progress()
{
	d_step {
		t = 0;
		do
		:: t == CALLERS -> break
		:: else ->
			c = 0;
			do
			:: c == CELLS -> break
			:: else -> view[t].cell[c] = mem[c]; c++
			od;
			t++
		od;
		t = 0;
		c = 0
	}
}

inline await()
{
	t = 0;
	do
	:: t == CALLERS -> break
	:: else -> !inside[t]; t++
	od;
	t = 0
}

/* Of the changes that have been made an even number: A is on and B off. */
proctype Caller(byte me)
{
	byte calls, changes, text, word, index, on, p, was, at_first;

#ifdef NEVER_ON
	was = 1;
#endif
	do
	:: calls == CALLS -> break
	:: else ->
		atomic {
			if
			:: p = 0
#ifndef ONE
			:: p = 1
#endif
			fi;
			at_first = (returned == begun -> returned : 255)
		}
		look(me, TEXT(p), text);
		on = 0;
		if
		:: text == 0
		:: else ->
			if
			:: at_first == COMMITS && mem[TEXT(p)] == 0 -> never_again(lingers)
			:: else
			fi;
			look(me, WORD(p), word);
			if
			:: word == DIRECT -> on = 1
			:: else ->
				inside[me] = true;
				look(me, INDEX, index);
				look(me, GOAL(index, p), on);
				if
				:: at_first == 255 && returned == COMMITS &&
				   index != mem[INDEX] -> never_again(late)
				:: else
				fi;
				inside[me] = false
			fi
		fi;
		atomic {
			/* Which of the two it is: A on, or B off, is the first. */
			on = (p == 0 -> !on : on);
			if
			:: at_first == COMMITS && on != COMMITS % 2 -> never_again(stale)
			:: else
			fi;
			if
			:: on != was -> was = on; changes++
			:: else
			fi;
			if
			:: changes > COMMITS - FIRST -> never_again(back)
			:: else
			fi;
			calls++;
			text = 0; word = 0; index = 0; on = 0; p = 0; at_first = 0
		}
	od
}

/* Who is led to the index is led so for good, until it is on again. */
inline change_one()
{
	mem[GOAL(next, 0)] = goes_on == 0;
	if
	:: goes_on == 0 ->
#ifdef LED_ON
		mem[WORD(0)] = ASKS;
#endif
		mem[TEXT(0)] = 1
	:: else -> mem[WORD(0)] = ASKS
	fi;
#ifdef ON_ALONE
	if
	:: goes_on == 0 -> progress()
	:: else
	fi;
#endif
#if !defined NO_W2 && !defined ON_ALONE
	progress();
#endif
	mem[INDEX] = next;
	if
	:: goes_on == 0 -> mem[WORD(0)] = DIRECT
	:: else -> mem[TEXT(0)] = 0
	fi;
#ifndef NO_W3
	progress();
#ifndef NO_AWAIT
	await();
#endif
#endif
	mem[GOAL(1 - next, 0)] = goes_on == 0
}

inline change_together()
{
	/* stage: the generation that is not in force */
	mem[GOAL(next, goes_on)] = 1;
	mem[GOAL(next, goes_off)] = 0;
	/* lead */
	mem[WORD(goes_on)] = ASKS;
	mem[WORD(goes_off)] = ASKS;
#ifndef NO_W1
	progress();
#endif
	mem[TEXT(goes_on)] = 1;
#ifndef NO_W2
	progress();
#endif
	mem[INDEX] = next;
#ifndef NO_W3
	progress();
#ifndef NO_AWAIT
	await();
#endif
#endif
	/* settle */
	mem[WORD(goes_on)] = DIRECT;
	mem[TEXT(goes_off)] = 0;
#ifdef DIRECT_OFF
	mem[WORD(goes_off)] = DIRECT;
#endif
#ifndef NO_W4
	progress();
#endif
	/* equal */
	mem[GOAL(1 - next, goes_on)] = 1;
	mem[GOAL(1 - next, goes_off)] = 0
}

proctype Changer()
{
	byte t, c, next, goes_on, goes_off;

	do
	:: returned == COMMITS -> break
	:: else ->
		atomic {
			begun++;
			next = 1 - mem[INDEX];
			goes_off = (begun + 1) % 2;
			goes_on = 1 - goes_off
		}
#ifdef ONE
		change_one();
#else
		change_together();
#endif
		returned++
	od
}

init {
	byte t, c;

	atomic {
#ifdef NEVER_ON
		begun = 1;
		returned = 1;
#else
		mem[TEXT(0)] = 1;
		mem[GOAL(0, 0)] = 1;
		mem[GOAL(1, 0)] = 1;
#endif
		progress();
		do
		:: t == CALLERS -> break
		:: else -> run Caller(t); t++
		od;
		run Changer()
	}
}
