/*
 * split.pml - threads simulate one stream of accesses, each its part of the sets.
 *
 *	begin, Caller	fl_split_round(): a round's accesses are there before it begins
 *	deal		deal_share(), fl_deal_out(): of a share, by position, to two parts at most
 *	simulate	do_round(), simulate_dealt(), look_in_two(): share by share
 *	touch		fl_cache_look(), in the sets of one part
 *	settle		fl_split_settle(): a round of nothing
 *
 * Which parts each access is of, one or two, is any. What changes nothing is left out by
 * whoever deals: the model has what is dealt. What is dealt is told from what was there
 * before by its number.
 *
 * HOLDS	two threads are never in the sets of one part; these see accesses in the
 *	order of the stream, and all of them, before it is settled. Nobody simulates what was
 *	dealt for another round. Live: it ends.
 * TWINS	NO_ARRIVED	the lower part's thread does not wait for the higher's
 *	NO_PASSED	the higher part's thread does not wait for the lower's
 *	NO_DEALT	who has dealt does not wait for the others
 *	ONE_ROOM	there is room for one round
 *	NO_SETTLE	the caller takes a round for done when it has done its own part
 *	OWN_NUMBERS	each thread numbers what it has been dealt
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
#ifdef ONE_ROOM
#define ROOM(r, i) (i)
#define ROOMS 1
#else
#define ROOM(r, i) (((r) & 1) * LENGTH + (i))
#define ROOMS 2
#endif
#define DEALER(i) ((i) * PARTS / LENGTH)	/* whose share it is in */

byte low[LENGTH], high[LENGTH];		/* of an access; one part where they are the same */
byte length, round;
byte dealt[PARTS], arrived[PARTS], passed[PARTS];
byte out_low[ROOMS * LENGTH], out_high[ROOMS * LENGTH], out_at[ROOMS * LENGTH];
bool ended;

byte inside[PARTS], last[PARTS], due[PARTS];	/* nobody's but the model's */
bool twice, disorder, missed, other_round;

inline never_again(flag)
{
	flag = true;
	assert(!flag)
}

inline touch(p, number)
{
	atomic {
		inside[p]++;
		due[p]--;
		if
		:: inside[p] > 1 -> never_again(twice)
		:: else
		fi;
		if
		:: number <= last[p] -> never_again(disorder)
		:: else
		fi;
		last[p] = number
	};
	inside[p]--
}

/* Nobody looks at one of them but behind all. */
inline deal(me, r)
{
	atomic {
		for (i : 0 .. LENGTH - 1) {
			if
			:: i < n && DEALER(i) == me ->
				out_low[ROOM(r, i)] = low[i];
				out_high[ROOM(r, i)] = high[i];
				out_at[ROOM(r, i)] = before + i + 1
			:: else
			fi
		}
		i = 0
	}
}

#define LOW out_low[ROOM(r, i)]
#define HIGH out_high[ROOM(r, i)]
#ifdef OWN_NUMBERS
#define NUMBER own
#else
#define NUMBER (before + i + 1)
#endif

/* What is another's is passed over. */
inline find_next(me, r)
{
	atomic {
		do
		:: i < n && out_at[ROOM(r, i)] != before + i + 1 -> never_again(other_round)
		:: i < n && out_at[ROOM(r, i)] == before + i + 1 && LOW != me && HIGH != me ->
			i++
		:: else -> break
		od;
#ifdef OWN_NUMBERS
		own = own + (i < n -> 1 : 0)
#endif
	}
}

/* Both have it among theirs by one number. */
inline simulate(me, r)
{
	find_next(me, r);
	do
	:: i == n -> break
	:: i < n && LOW == me && HIGH == me ->
		touch(me, before + i + 1);
		i++;
		find_next(me, r)
	:: i < n && LOW == me && HIGH != me ->
#ifndef NO_ARRIVED
		arrived[HIGH] >= NUMBER;
#endif
		touch(me, before + i + 1);
		touch(HIGH, before + i + 1);
		passed[me] = NUMBER;
		i++;
		find_next(me, r)
	:: i < n && LOW != me && HIGH == me ->
		arrived[me] = NUMBER;
#ifndef NO_PASSED
		passed[LOW] >= NUMBER;
#endif
		i++;
		find_next(me, r)
	od;
	atomic {
		before = before + n;
		i = 0
	}
}

inline do_round(me, r)
{
	n = length;
	deal(me, r);
	dealt[me] = r;
#ifndef NO_DEALT
	do
	:: i < PARTS -> dealt[i] >= r; i++
	:: else -> break
	od;
	i = 0;
#endif
	simulate(me, r)
}

proctype Other(byte me)
{
	byte i, n, before, mine;
#ifdef OWN_NUMBERS
	byte own;
#endif

	do
	:: mine == ROUNDS + 1 -> break
	:: mine < ROUNDS + 1 && round > mine ->
		mine++;
		do_round(me, mine)
	od
}

/* Any stream. */
inline begin()
{
	atomic {
		length = LENGTH;
		for (i : 0 .. LENGTH - 1) {
			select (p : 0 .. PARTS - 1);
			select (q : 0 .. PARTS - 1);
			low[i] = (p < q -> p : q);
			high[i] = (p < q -> q : p);
			due[p]++;
			due[q] = due[q] + (p != q -> 1 : 0)
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
			:: due[i] -> never_again(missed)
			:: else
			fi
		}
		i = 0
	}
}

inline settle()
{
	atomic {
		length = 0;
		round++
	}
	do_round(0, round)
}

proctype Caller()
{
	byte i, n, before, p, q;
#ifdef OWN_NUMBERS
	byte own;
#endif

	do
	:: round == ROUNDS -> break
	:: round < ROUNDS ->
		begin();
		do_round(0, round)
	od;
#ifdef NO_SETTLE
	check_all();
#endif
	settle();
	check_all();
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
