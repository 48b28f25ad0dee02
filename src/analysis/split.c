/*
 * split.c - several threads simulate one stream of accesses, with the result of one.
 *
 * Each thread has a part of the sets of all levels. A part consists of classes of lines. A
 * class is the lines whose numbers end in the same bits, as many bits as the index has in
 * every level. So a line's sets are in one part at all levels, and so is the line that it
 * takes the place of, with all that goes with this line. Only an access in two lines may be
 * of two parts. These are neighbours, or the first and the last one; the thread of the lower
 * part simulates the access while the other thread waits.
 *
 * The stream comes in rounds. Each thread passes over one share of a round, by position, and
 * deals out the accesses that have to be simulated: nearly all accesses are to the line that
 * was touched last of its class, and change nothing. Then each thread simulates the accesses
 * of its part, beginning with those that the first thread has dealt.
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
 *	1. Each set sees the accesses of its lines in the order of the stream, except accesses
 *	   that change nothing.
 *	2. No thread waits for ever.
 *	3. No thread deals into room that another has not simulated yet.
 * WHY
 *	1. An access that a dealer leaves out is in one line alone, and the access before it,
 *	   of those of its class in the share, was to the same line and of the same kind. This
 *	   earlier one has put the line in front of its set in the first level, and no access
 *	   of another class changes this class's sets. One thread touches a set at a time: the
 *	   thread of its part, which goes through the shares in the order of the stream, or
 *	   the lower neighbour's, while the part's thread stands at the same access, between
 *	   (E) and (H). (E) and (F) show the lower thread what was done before, (G) and (H)
 *	   show the higher one what was done meanwhile. `passed` may be past i already: a
 *	   thread that is past i has simulated access i.
 *	2. At (D) a thread waits for threads that are earlier in the stream: they deal, or
 *	   simulate the round before. Of all threads that wait for another at an access, take
 *	   the one at the earliest access. The other thread of that access is there already,
 *	   or is at an earlier access, at which it does not wait. Both have the access among
 *	   theirs, because one dealer gave it to both, and each thread numbers accesses by all
 *	   rounds that it has dealt.
 *	3. There is room for two rounds. A thread that deals round r has seen at (D) that all
 *	   have dealt r - 1, which they do when they have simulated r - 2.
 *	So the caller may go on while others simulate, and has to keep one round's accesses
 *	only. An empty round (settle) shows that all rounds before it are simulated.
 *	tests/model/split.pml has a twin for each step of this.
 * FAILURE
 *	open fails if a thread cannot be made. Later nothing can fail.
 */
#include "analysis/cache.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

enum { LEAST = 1024, CLASSES = 1024, MOST_PARTS = 64, IN_LINE = 4, SOON = 6, LATER = 16 };
/* To sleep and be woken takes as long as half a round: to do so each time gains nothing. */
enum { SPINS = 20000, YIELDS = 2000, SLEEP_US = 100000 };

/* An access that a thread is to simulate. */
struct fl_dealt {
	struct fl_access access;
	uint32_t at;			/* of its round */
	uint16_t charge;
	uint8_t first, last;		/* parts; nearly always the same one */
};

_Static_assert(MOST_PARTS - 1 <= UINT8_MAX, "");

/* A part of the sets, and its thread. Fields that are written while others read lie apart. */
struct set_part {
	alignas(64) uint64_t arrived;	/* W its thread; R the lower part's at (F) */
	uint64_t passed;		/* W its thread; R the higher part's at (H) */
	uint32_t dealt;			/* W its thread; R all at (D); futex */
	alignas(64) struct fl_cache cache;	/* the sets of all parts, counts of its own */
	struct fl_split *split;
	struct fl_dealer dealer;
	uint64_t before;		/* accesses of earlier rounds */
	struct fl_dealt *out;		/* W its thread; R the threads it is for, behind (D) */
	pthread_t thread;		/* the first part has none: it is the caller's */
	bool is_started;
	alignas(64) struct fl_dealt *end[2][MOST_PARTS];	/* as `out`; by part */
	alignas(64) uint64_t key[CLASSES];		/* dealer.lately's */
};

struct fl_split {
	uint32_t room;			/* for accesses that one thread deals to another in a
					 * round, and SOON behind them that nobody writes to */
	struct fl_dealing now;		/* W caller before (A); R others before (C) */
	bool is_over;			/* the same */
	bool is_settled;		/* the caller's */
	uint32_t round;			/* W caller, R all at (B); futex */
	uint32_t n_parts;
	struct set_part *parts;
};

/* ---- waiting ------------------------------------------------------------------------ */

/* A thread that waits is seldom far ahead. Where cores are too few, others get this one. */
static void wait_turn(uint32_t tries)
{
	if (tries > SPINS)
		sched_yield();
}

/* Wait until the word is not `old`: (B) or (D). */
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

/* The two lines of an access are of two classes, in front of two sets: they have neighbouring
 * numbers, and there are two classes or more. */
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

/* The place for what part `p` deals to part `to` in a round. */
static struct fl_dealt *out_of(const struct set_part *p, uint32_t round, uint32_t to)
{
	return p->out + ((round & 1) * p->split->n_parts + to) * (size_t)p->split->room;
}

/* Deal the part's share of the round that begins. */
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

/* Access number `i`, from 1, is of both parts; the lower part's thread tells its misses. */
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

/* Another core has written the accesses that come later. The sets where an access that comes
 * soon is looked up, if it is not in the first level, are not near either. */
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

/* Do the round that has begun. It may be over for the caller while this thread simulates. */
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

/* The loops count by the bits of a kind. `fetched`, a constant where they are inlined, is the
 * bit that a fetch has, or 0 where there are no fetches. */
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

/* The caller simulates a few accesses alone. */
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

/* How many sets the lowest bits of a line's number tell apart in every level. */
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
