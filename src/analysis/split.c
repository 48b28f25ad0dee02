/*
 * split.c - several threads simulate one stream of accesses, with the result of one.
 *
 * Each has a part of the sets of all levels. Parts are of classes of lines: those whose
 * numbers end in the same bits, of as many as the index has in every level. So a line's sets
 * are of one part in all levels, and so is what it takes the place of, with all that this
 * takes along. Only an access in two lines may be of two parts: these are neighbours or the
 * first and the last one, and the lower one's thread simulates it while the other's waits.
 *
 * The stream comes in rounds. Of each every thread passes over one share, by position, and
 * deals out what the others are to simulate: nearly all accesses are to the line that was
 * touched last of its class, and of these nothing comes. Then each thread simulates what is
 * of its part, first what the first thread has dealt it.
 *
 * PROTOCOL
 *	caller                              another thread
 *	now = what is dealt
 *	store_release round + 1     (A)     load_acquire round          (B)
 *	deals its share                     deals its share
 *	store_release dealt = round (C)     store_release dealt = round (C)
 *	load_acquire dealt of all   (D)     load_acquire dealt of all   (D)
 *	its part of what is dealt           its part of what is dealt
 *
 *	the higher part's, at access i      the lower part's, at access i
 *	store_release arrived = i   (E)     load_acquire arrived        (F)
 *	load_acquire passed         (H)     the access, in both parts
 *	                                    store_release passed = i    (G)
 *
 * INVARIANT
 *	1. Each set sees the accesses of its lines in the order of the stream, but those that
 *	   change nothing.
 *	2. Nobody waits for ever.
 *	3. Nobody deals into what another one has not simulated yet.
 * WHY
 *	1. What a dealer leaves out has, of all accesses of its class in its share, come
 *	   behind one to the same line of the same kind, and is in that line alone. The first
 *	   has put the line in front of its set in the first level, and no access of another
 *	   class changes this class's sets. One thread touches a set at a time: that of
 *	   its part, which goes through the shares in the order of the stream, or the lower
 *	   neighbour's, while it stands at the same access, between (E) and (H). (E) and (F)
 *	   show the lower one what was done before, (G) and (H) the higher one what was done
 *	   meanwhile. `passed` may be past i already: who is past i has simulated it.
 *	2. At (D) a thread waits for others, that are earlier in the stream: they deal, or
 *	   simulate the round before. Of all that wait for another at an access take that at
 *	   the earliest one: the other thread of that access is at an earlier one, which it
 *	   does not wait at, or there already. Both have it among theirs, as one dealer gave
 *	   it to both, and each thread numbers accesses by all rounds that it has dealt.
 *	3. There is room for two rounds. Who deals round r has seen at (D) that all have
 *	   dealt r - 1, which they do when they have simulated r - 2.
 *	So the caller may be rounds ahead with nothing but one round's room. A round of nothing
 *	(settle) shows that all before it is simulated. tests/model/split.pml has a twin for
 *	each step of this.
 * FAILURE
 *	A thread that cannot be made is told by open. Later nothing can fail.
 */
#include "analysis/cache.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

enum { LEAST = 1024, CLASSES = 1024, MOST_PARTS = 64, IN_LINE = 4, SOON = 6, LATER = 16 };
/* To sleep and be woken takes as long as half a round: who does that each time has no gain. */
enum { SPINS = 20000, YIELDS = 2000, SLEEP_US = 100000 };

/* An access that a thread is to simulate. */
struct fl_dealt {
	struct fl_access access;
	uint32_t at;			/* of its round */
	uint16_t charge;
	uint8_t first, last;		/* parts; nearly always the same one */
};

_Static_assert(MOST_PARTS - 1 <= UINT8_MAX, "");

/* A part of the sets, and who has it. What is written while others look at it lies alone. */
struct set_part {
	alignas(64) uint64_t arrived;	/* W its thread; R the lower part's at (F) */
	uint64_t passed;		/* W its thread; R the higher part's at (H) */
	uint32_t dealt;			/* W its thread; R all at (D); futex */
	alignas(64) struct fl_cache cache;	/* the sets of all, counts of its own */
	struct fl_split *split;
	struct fl_dealer dealer;
	uint64_t before;		/* accesses of earlier rounds */
	struct fl_dealt *out;		/* W its thread; R those whom it is for, behind (D) */
	pthread_t thread;		/* but the caller's, which is the first */
	bool is_started;
	alignas(64) struct fl_dealt *end[2][MOST_PARTS];	/* as `out`; by part */
	alignas(64) uint64_t key[CLASSES];		/* dealer.lately's */
};

struct fl_split {
	uint32_t room;			/* of what one deals to one in a round, and SOON
					 * behind that nobody writes to */
	struct fl_dealing now;		/* W caller before (A); R others before (C) */
	bool is_over;			/* the same */
	bool is_settled;		/* the caller's */
	uint32_t round;			/* W caller, R all at (B); futex */
	uint32_t n_parts;
	struct set_part *parts;
};

/* ---- waiting ------------------------------------------------------------------------ */

/* Who waits is seldom far ahead; where there is no core for all, others get this one. */
static void wait_turn(uint32_t tries)
{
	if (tries > SPINS)
		sched_yield();
}

/* Until the word is not `old`: (B) or (D). */
static uint32_t await_change(uint32_t *word, uint32_t old)
{
	uint32_t now = old;

	for (uint32_t tries = 0; now == old; tries++) {
		/* (B) pairs with (A), (D) pairs with (C) */
		now = load_acquire(word);
		if (now == old && tries > SPINS + YIELDS)
			fl_os_futex_wait(word, old, SLEEP_US);
		else if (now == old)
			wait_turn(tries);
	}
	return now;
}

/* ---- dealing ------------------------------------------------------------------------- */

static uint8_t part_with(const struct fl_dealer *d, uint64_t line)
{
	return (uint8_t)((line & (d->sets - 1)) * d->n_parts >> d->sets_log2);
}

/* Two lines are in front of two sets: they have neighbouring numbers, and there are two
 * classes or more. */
static void note_lately(const struct fl_lately *l, const struct fl_access *a, uint64_t first,
			uint64_t last)
{
	uint64_t fetched = a->kind == FL_ACCESS_FETCH ? FL_FETCHED : 0;

	l->key[first & l->mask] = first | fetched;
	l->key[last & l->mask] = last | fetched;
}

void fl_deal_out(struct fl_dealer *d, const struct fl_access *a, uint32_t at, uint16_t charge)
{
	const struct fl_lately *l = &d->lately;
	uint64_t first = a->at >> l->shift, last = fl_last_line(a, l->line, l->shift);
	uint8_t low = part_with(d, first), high = part_with(d, last);

	note_lately(l, a, first, last);
	*d->end[low]++ = (struct fl_dealt){ *a, at, charge, low, high };
	if (low != high)
		*d->end[high]++ = (struct fl_dealt){ *a, at, charge, low, high };
}

/* Where a round's are that one part deals another. */
static struct fl_dealt *out_of(const struct set_part *p, uint32_t round, uint32_t to)
{
	return p->out + ((round & 1) * p->split->n_parts + to) * (size_t)p->split->room;
}

/* Its share of the round that begins. */
static void deal_share(struct set_part *p)
{
	const struct fl_split *s = p->split;
	const struct fl_dealing *r = &s->now;
	uint64_t i = p->dealer.thread;
	size_t from = r->n * i / s->n_parts, upto = r->n * (i + 1) / s->n_parts;

	p->dealer.end = p->end[s->round & 1];
	for (uint32_t k = 0; k < s->n_parts; k++)
		p->dealer.end[k] = out_of(p, s->round, k);
	if (from == upto)
		return;
	memset(p->key, 0xff, (p->dealer.lately.mask + 1) * sizeof(*p->key));
	r->deal(r->arg, &p->dealer, from, upto - from);
}

/* ---- simulating ---------------------------------------------------------------------- */

/* Access number `i` from 1 is of both; what has missed is one thread's to tell. */
static uint32_t look_in_two(struct set_part *p, struct set_part *other,
			    const struct fl_access *a, uint64_t i)
{
	uint32_t missed = 0;

	if (p < other) {
		/* (F) pairs with (E) */
		for (uint32_t t = 0; load_acquire(&other->arrived) < i; t++)
			wait_turn(t);
		missed = fl_cache_look(&p->cache, a);
		store_release(&p->passed, i);			/* (G) pairs with (H) */
	} else {
		store_release(&p->arrived, i);			/* (E) pairs with (F) */
		/* (H) pairs with (G) */
		for (uint32_t t = 0; load_acquire(&other->passed) < i; t++)
			wait_turn(t);
	}
	return missed;
}

/* Another core has written what comes later; and where what comes soon will be looked up, if
 * it is not in the first level, is not near either. */
static inline void fetch_ahead(const struct fl_cache *c, const struct fl_dealt *d)
{
	const struct level *l = &c->data[c->n_data > 1];
	uint64_t line = d[SOON].access.at >> c->shift;

	__builtin_prefetch(d + LATER);
	__builtin_prefetch(&l->sets[(line & l->mask) * l->ways]);
}

static void simulate_dealt(struct set_part *p, const struct fl_dealing *r,
			   const struct fl_dealt *d, const struct fl_dealt *end)
{
	struct set_part *parts = p->split->parts;
	const uint32_t own = p->dealer.thread;

	for (; d < end; d++) {
		uint32_t other = d->first == own ? d->last : d->first, missed;

		fetch_ahead(&p->cache, d);
		missed = other == own ? fl_cache_look(&p->cache, &d->access) :
			 look_in_two(p, &parts[other], &d->access, p->before + d->at + 1);
		if (missed && r->miss)
			r->miss(r->arg, own, d->charge, missed);
	}
}

/* The round that has begun, which may be over for the caller when this one still simulates. */
static void do_round(struct set_part *p, uint32_t round)
{
	struct fl_split *s = p->split;
	const struct fl_dealing now = s->now;
	uint32_t own = p->dealer.thread;

	deal_share(p);
	store_release(&p->dealt, round);			/* (C) pairs with (D) */
	fl_os_futex_wake(&p->dealt, INT32_MAX);
	for (uint32_t k = 0; k < s->n_parts; k++)
		await_change(&s->parts[k].dealt, round - 1);
	for (uint32_t k = 0; k < s->n_parts; k++)
		simulate_dealt(p, &now, out_of(&s->parts[k], round, own),
			       s->parts[k].end[round & 1][own]);
	p->before += now.n * FL_IN_ONE;
}

static void *do_rounds(void *arg)
{
	struct set_part *p = arg;
	struct fl_split *s = p->split;
	uint32_t round = 0;

	for (;;) {
		round = await_change(&s->round, round);
		if (s->is_over)
			return NULL;
		do_round(p, round);
	}
}

/* ---- the caller's side ---------------------------------------------------------------- */

uint32_t fl_split_threads(const struct fl_split *s)
{
	return s->n_parts;
}

static void begin_round(struct fl_split *s)
{
	store_release(&s->round, s->round + 1);			/* (A) pairs with (B) */
	fl_os_futex_wake(&s->round, INT32_MAX);
}

void fl_split_round(struct fl_split *s, const struct fl_dealing *r)
{
	s->now = *r;
	s->is_settled = false;
	begin_round(s);
	do_round(&s->parts[0], s->round);
}

void fl_split_settle(struct fl_split *s, struct fl_cache *c)
{
	uint64_t *to = (uint64_t *)&c->counts;

	if (s->is_settled)
		return;
	fl_split_round(s, &(struct fl_dealing){ .n = 0 });
	s->is_settled = true;
	for (uint32_t i = 0; i < s->n_parts; i++) {
		uint64_t *from = (uint64_t *)&s->parts[i].cache.counts;

		for (size_t k = 0; k < sizeof(c->counts) / sizeof(*from); k++)
			to[k] += from[k];
		memset(from, 0, sizeof(c->counts));
	}
}

/* What is counted by the bits of a kind, and is constant where it is inlined: `fetched`, the
 * bit that a fetch has, or 0 where there are none. */
_Static_assert(FL_ACCESS_STORE == 1 && FL_ACCESS_FETCH == 2, "");

static inline __attribute__((always_inline))
void deal_next(const struct fl_access *all, struct fl_dealer *d, size_t i,
	       const struct fl_lately l, uint32_t fetched)
{
	const struct fl_access *a = &all[i];
	uint64_t key = (uint64_t)(a->kind & fetched) << 62;

	if (__builtin_expect(fl_is_news(&l, a->at, a->size, key), 0))
		fl_deal_out(d, a, (uint32_t)i, 0);
}

static inline __attribute__((always_inline))
void deal_some(const struct fl_access *all, struct fl_dealer *d, size_t from, size_t n,
	       const struct fl_lately l, uint32_t fetched)
{
	uint64_t kinds = 0, fetches = 0;
	size_t i = from;

	for (; i + IN_LINE <= from + n; i += IN_LINE) {
		__builtin_prefetch(&all[i + FL_AHEAD], 0, 2);
#pragma GCC unroll 4
		for (size_t k = 0; k < IN_LINE; k++) {
			kinds += all[i + k].kind;
			fetches += all[i + k].kind & fetched;
			deal_next(all, d, i + k, l, fetched);
		}
	}
	for (; i < from + n; i++) {
		kinds += all[i].kind;
		fetches += all[i].kind & fetched;
		deal_next(all, d, i, l, fetched);
	}
	d->counts->accesses[FL_ACCESS_STORE] += kinds - fetches;
	d->counts->accesses[FL_ACCESS_FETCH] += fetches / 2;
	d->counts->accesses[FL_ACCESS_LOAD] += n - (kinds - fetches) - fetches / 2;
}

static void deal_accesses(void *arg, struct fl_dealer *d, size_t from, size_t n)
{
	struct fl_lately l = d->lately;

	if (l.line == 64 && !d->has_fetches)
		deal_some(arg, d, from, n, (struct fl_lately){ l.key, l.mask, 64, 6 }, 0);
	else
		deal_some(arg, d, from, n, l, FL_ACCESS_FETCH);
}

/* Few are done by the caller. */
static void feed_few(struct fl_cache *c, const struct fl_access *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		c->counts.accesses[a[i].kind]++;
		fl_cache_look(c, &a[i]);
	}
}

void fl_split_feed(struct fl_split *s, struct fl_cache *c, const struct fl_access *a, size_t n)
{
	struct fl_dealing r = { .deal = deal_accesses };

	for (; n; a += r.n, n -= r.n) {
		r.n = n < FL_ROUND ? n : FL_ROUND;
		r.arg = (void *)a;
		if (r.n < LEAST) {
			fl_split_settle(s, c);
			feed_few(c, a, r.n);
		} else {
			fl_split_round(s, &r);
		}
	}
}

/* As many sets as in every level are told apart by the lowest bits of a line's number. */
static uint64_t common_sets(const struct fl_cache *c)
{
	uint64_t all = c->first[FL_ACCESS_FETCH].sets ? c->first[FL_ACCESS_FETCH].n_sets : 0;

	for (uint32_t k = 0; k < c->n_data; k++)
		all |= c->data[k].n_sets;
	return all & -all;
}

static int open_set_part(struct fl_split *s, const struct fl_cache *c, uint32_t i)
{
	uint64_t sets = common_sets(c), classes = sets < CLASSES ? sets : CLASSES;
	struct set_part *p = &s->parts[i];

	p->cache = *c;
	p->split = s;
	p->dealer = (struct fl_dealer){
		.lately = { p->key, classes - 1, c->line, c->shift },
		.counts = &p->cache.counts, .thread = i, .n_parts = s->n_parts,
		.has_fetches = c->first[FL_ACCESS_FETCH].sets != NULL,
		.sets = sets, .sets_log2 = (uint32_t)__builtin_ctzll(sets),
	};
	p->out = calloc(2ul * s->n_parts * s->room, sizeof(*p->out));
	if (!p->out)
		return -ENOMEM;
	if (i)
		p->is_started = !pthread_create(&p->thread, NULL, do_rounds, p);
	return !i || p->is_started ? 0 : -EAGAIN;
}

int fl_split_open(struct fl_split **out, const struct fl_cache *c, uint32_t threads)
{
	uint64_t sets = common_sets(c);
	struct fl_split *s;
	int err = 0;

	*out = NULL;
	threads = threads < MOST_PARTS ? threads : MOST_PARTS;
	if (threads > sets)
		threads = (uint32_t)sets;
	if (threads < 2)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct fl_split){ .n_parts = threads, .is_settled = true,
				.room = (FL_ROUND / threads + 1) * FL_IN_ONE + SOON };
	if (posix_memalign((void **)&s->parts, 64, threads * sizeof(*s->parts))) {
		free(s);
		return -ENOMEM;
	}
	memset(s->parts, 0, threads * sizeof(*s->parts));
	for (uint32_t i = 0; !err && i < threads; i++)
		err = open_set_part(s, c, i);
	if (err)
		fl_split_close(s);
	else
		*out = s;
	return err;
}

void fl_split_close(struct fl_split *s)
{
	if (!s)
		return;
	s->is_over = true;
	begin_round(s);
	for (uint32_t i = 0; i < s->n_parts; i++)
		if (s->parts[i].is_started)
			pthread_join(s->parts[i].thread, NULL);
	for (uint32_t i = 0; i < s->n_parts; i++)
		free(s->parts[i].out);
	free(s->parts);
	free(s);
}
