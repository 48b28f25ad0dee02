/*
 * exchange.pml - one word of text changes on AArch64, and glue that it leads to.
 *
 * Two words: GLUE, which was written as data, and SITE, whose new instruction leads there.
 *
 *	store	mem[] is what data accesses see; a store is there some time after its
 *		instruction, in any order with others, but behind a release or a DSB.
 *	clean	dc cvau: pou[], what caches of instructions are filled from, becomes
 *		what memory holds. It may do so at any time by itself (Clean).
 *	drop	ic ivau: no cache of instructions holds the word. A core fills its own
 *		at any time, also before it has any use for it.
 *	fetch	A core takes SITE from its cache, and GLUE when SITE leads there: not
 *		before ("prefetch speculation protection"; MP where the message is an
 *		instruction is forbidden in the Arm ARM's model). What it has taken it
 *		keeps until it executes, or is synchronised.
 *	list	Where OLD_UNLISTED, what stood in SITE may not be exchanged while it is
 *		executed: who takes it from the first store on has no promise at all.
 *
 *	publish()	fl_arch_publish(), in fl_near_seal()
 *	exchange()	fl_a64_flip() in src/arch/aarch64/flip.c; write_heads() in commit.c
 *	all_cores()	fl_set_wait() in commit.c
 *
 * HOLDS	who follows the new instruction finds glue (stray); after the sync nobody
 *	executes the old one (stale); nobody is without a promise (wild). With OLD_UNLISTED
 *	and ALONE, where threads begin behind it: that is how a return is armed.
 * TWINS	SITE_FIRST, NO_CLEAN, NO_DROP, NO_WAIT	of publish(): stray
 *	NO_SYNC, NO_SITE_DROP	the change returns too early: stale
 *	OLD_UNLISTED	under threads: wild
 */
#ifndef CORES
#define CORES 2
#endif
#define GLUE	0
#define SITE	1
#define EMPTY	0
#define BEFORE	1		/* what was there */
#define AFTER	2

byte mem[2], pou[2];
byte late[2];			/* stores on their way; 0: none */
typedef core_t { byte cache[2]; byte taken };
core_t core[CORES];
bool begun, returned, started;
bool stray, stale, wild;

inline never_again(flag)
{
	flag = true;
	assert(!flag)
}

/* Stores arrive, caches are written back: in any order, at any time. */
proctype Memory()
{
end:	do
	:: atomic { late[GLUE] != 0 -> mem[GLUE] = late[GLUE]; late[GLUE] = 0 }
	:: atomic { late[SITE] != 0 -> mem[SITE] = late[SITE]; late[SITE] = 0 }
	:: pou[GLUE] = mem[GLUE]
	:: pou[SITE] = mem[SITE]
	od
}

inline clean(w)
{
	atomic { late[w] == 0 -> pou[w] = mem[w] }
}

inline drop(w)
{
	d_step {
		i = 0;
		do
		:: i < CORES -> core[i].cache[w] = EMPTY; i++
		:: else -> break
		od;
		i = 0
	}
}

inline publish()
{
	late[GLUE] = AFTER;
#ifndef NO_CLEAN
#ifndef NO_WAIT
	late[GLUE] == 0;
#endif
	d_step { pou[GLUE] = mem[GLUE] };
#endif
#ifndef NO_DROP
	drop(GLUE)
#endif
}

inline exchange()
{
	atomic { begun = true; late[SITE] = AFTER };
	clean(SITE);
#ifndef NO_SITE_DROP
	drop(SITE)
#endif
}

/* Each core in turn; none keeps what it has taken. */
inline all_cores()
{
	i = 0;
	do
	:: i < CORES -> atomic { core[i].taken = EMPTY; i++ }
	:: else -> break
	od;
	i = 0
}

proctype Changer()
{
	byte i;

#ifdef SITE_FIRST
	exchange();
	publish();
#else
	publish();
	exchange();
#endif
#ifndef NO_SYNC
	all_cores();
#endif
	returned = true;
	started = true
}

proctype Fill(byte c)
{
end:	do
	:: core[c].cache[GLUE] == EMPTY -> core[c].cache[GLUE] = pou[GLUE]
	:: core[c].cache[SITE] == EMPTY -> core[c].cache[SITE] = pou[SITE]
	od
}

proctype Core(byte c)
{
	byte glue;

#ifdef ALONE
	started;
#endif
end:	do
	:: atomic { core[c].taken == EMPTY && core[c].cache[SITE] != EMPTY ->
		core[c].taken = core[c].cache[SITE];
#ifdef OLD_UNLISTED
		if
		:: begun && !returned -> never_again(wild)
		:: else
		fi
#endif
	   }
	:: atomic { core[c].taken == BEFORE ->
		if
		:: returned -> never_again(stale)
		:: else
		fi;
		core[c].taken = EMPTY }
	:: atomic { core[c].taken == AFTER && core[c].cache[GLUE] != EMPTY ->
		glue = core[c].cache[GLUE];
		if
		:: glue != AFTER -> never_again(stray)
		:: else
		fi;
		glue = 0;
		core[c].taken = EMPTY }
	od
}

init {
	byte i;

	atomic {
		mem[GLUE] = BEFORE; mem[SITE] = BEFORE;
		pou[GLUE] = BEFORE; pou[SITE] = BEFORE;
		run Memory();
		run Changer();
		for (i : 0 .. CORES - 1) {
			run Core(i);
			run Fill(i)
		}
	}
}
