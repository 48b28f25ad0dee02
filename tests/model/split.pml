/*
 * split.pml - threads simulate one stream of accesses, each its part of the sets.
 *
 *	begin, Caller	fl_split_feed(): a round's accesses are there before it begins
 *	simulate	simulate_round(), look_in_two()
 *	touch		fl_cache_look(), in the sets of one part
 *
 * Which parts each access is of, one or two, is any.
 *
 * HOLDS	two threads are never in the sets of one part; these see accesses in the
 *	order of the stream, and all of them, before the round is over. Live: it ends.
 * TWINS	NO_ARRIVED	the lower part's thread does not wait for the higher's
 *	NO_PASSED	the higher part's thread does not wait for the lower's
 *	NO_DONE		the caller does not wait for the others
 *	EARLY		accesses are numbered on before all have done the round's
 */
#ifndef PARTS
#define PARTS 3
#endif
#ifndef LENGTH
#define LENGTH 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

byte low[LENGTH], high[LENGTH];		/* of an access; one part where they are the same */
byte before, round;
byte finished[PARTS], arrived[PARTS], passed[PARTS];
bool ended;

byte inside[PARTS], last[PARTS], seen[PARTS], wanted[PARTS];	/* nobody's but the model's */
bool twice, disorder, missed;

inline never_again(flag)
{
	flag = true;
	assert(!flag)
}

inline touch(p, at)
{
	atomic {
		inside[p]++;
		seen[p]++;
		if
		:: inside[p] > 1 -> never_again(twice)
		:: else
		fi;
		if
		:: at <= last[p] -> never_again(disorder)
		:: else
		fi;
		last[p] = at
	};
	inside[p]--
}

inline simulate(me)
{
	i = 0;
	do
	:: i < LENGTH ->
		at = before + i + 1;
		if
		:: low[i] == me && high[i] == me -> touch(me, at)
		:: low[i] == me && high[i] != me ->
#ifndef NO_ARRIVED
			arrived[high[i]] >= at;
#endif
			touch(me, at);
			touch(high[i], at);
			passed[me] = at
		:: low[i] != me && high[i] == me ->
			arrived[me] = at;
#ifndef NO_PASSED
			passed[low[i]] >= at
#endif
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0;
	at = 0
}

proctype Other(byte me)
{
	byte i, at, mine;

	do
	:: mine == ROUNDS -> break
	:: mine < ROUNDS && round > mine ->
		mine++;
		simulate(me);
		finished[me] = mine
	od
}

/* Any stream. */
inline begin()
{
	atomic {
		for (i : 0 .. LENGTH - 1) {
			select (p : 0 .. PARTS - 1);
			select (q : 0 .. PARTS - 1);
			low[i] = (p < q -> p : q);
			high[i] = (p < q -> q : p);
			wanted[p]++;
			wanted[q] = wanted[q] + (p != q -> 1 : 0)
		}
		p = 0;
		q = 0;
		i = 0;
		round++
	}
}

inline check_all()
{
	atomic {
		for (i : 0 .. PARTS - 1) {
			if
			:: seen[i] != wanted[i] -> never_again(missed)
			:: else
			fi
		}
		i = 0
	}
}

proctype Caller()
{
	byte i, at, p, q;

	do
	:: round == ROUNDS -> break
	:: round < ROUNDS ->
		begin();
		simulate(0);
#ifdef EARLY
		before = before + LENGTH;
#endif
#ifndef NO_DONE
		p = 1;
		do
		:: p < PARTS -> finished[p] == round; p++
		:: else -> break
		od;
		p = 0;
#endif
		check_all();
#ifndef EARLY
		before = before + LENGTH
#endif
	od;
	ended = true
}

init {
	byte i;

	atomic {
		run Caller();
		for (i : 1 .. PARTS - 1) {
			run Other(i)
		}
	}
}

#ifdef LIVE
ltl live { <> ended }
#endif
