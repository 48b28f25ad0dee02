/*
 * split.c - several threads simulate one stream of accesses, with the result of one.
 *
 * Each has a part of the sets of all levels, and passes over what is another's. Parts are
 * ranges of the lowest bits of a line's number, of as many as the index has in every level.
 * So a line's sets are of one part in all levels, and so is what it takes the place of, with
 * all that this takes along. Only an access in two lines may be of two parts: these are
 * neighbours or the first and the last one, and the lower one's thread simulates it while
 * the other's waits.
 *
 * PROTOCOL
 *	caller                              another thread
 *	all, n = accesses                   load_acquire round          (B)
 *	store_release round + 1     (A)     its part of them
 *	its own part of them                store_release done = round  (C)
 *	load_acquire done           (D)
 *
 *	the higher part's, at access i      the lower part's, at access i
 *	store_release arrived = i   (E)     load_acquire arrived        (F)
 *	load_acquire passed         (H)     the access, in both parts
 *	                                    store_release passed = i    (G)
 *
 * INVARIANT
 *	1. Each set sees the accesses of its lines in the order of the stream.
 *	2. Nobody waits for ever.
 * WHY
 *	1. One thread touches a set at a time: that of its part, which goes through
 *	   the stream in order, or the lower neighbour's, while it stands at the
 *	   same access, between (E) and (H). (E) and (F) show the lower one what was done
 *	   before, (G) and (H) the higher one what was done meanwhile. `passed` may be past
 *	   i already: who is past i has simulated it.
 *	2. Of all threads that wait for another take that at the earliest access: the
 *	   other thread of that access is at an earlier one, which it does not
 *	   wait at, or there already. Both have it among theirs, as both ask the same.
 *	   Accesses are numbered on when all have done the round, or the two would not
 *	   mean the same one. tests/model/split.pml has a twin for each step of this.
 * FAILURE
 *	A thread that cannot be made is told by open. Later nothing can fail.
 */
#include "analysis/cache.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

enum { BLOCK = 1024, LEAST = 1024, SPINS = 2000, YIELDS = 40, SLEEP_US = 100000 };

/* A part of the sets, and who has it. What is written while others look at it lies alone. */
struct set_part {
	alignas(64) uint64_t arrived;	/* W its thread; R the lower part's at (F) */
	uint64_t passed;		/* W its thread; R the higher part's at (H) */
	uint32_t done;			/* W its thread; R the caller at (D); futex */
	alignas(64) struct fl_cache cache;	/* the sets of all, counts of its own */
	struct fl_split *split;
	uint64_t from, bytes;		/* the addresses that it has, modulo `period` */
	pthread_t thread;		/* but the caller's, which is the first */
	bool is_started;
	uint16_t own[BLOCK];		/* of a block */
};

struct fl_split {
	uint64_t period;		/* bytes, a power of two; the parts are all of them */
	const struct fl_access *all;	/* W caller before (A) */
	size_t n;
	uint64_t before;		/* accesses of earlier rounds */
	bool is_over;
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

/* ---- a part's accesses --------------------------------------------------------------- */

static uint32_t part_with(const struct fl_split *s, const struct fl_cache *c, uint64_t line)
{
	uint64_t at = (line << c->shift) & (s->period - 1);
	uint32_t i = 0;

	while (at - s->parts[i].from >= s->parts[i].bytes)
		i++;
	return i;
}

/* Access number `i` from 1 is of both. */
static void look_in_two(struct set_part *p, struct set_part *other, const struct fl_access *a,
			uint64_t i)
{
	if (p < other) {
		/* (F) pairs with (E) */
		for (uint32_t t = 0; load_acquire(&other->arrived) < i; t++)
			wait_turn(t);
		fl_cache_look(&p->cache, a);
		store_release(&p->passed, i);			/* (G) pairs with (H) */
	} else {
		store_release(&p->arrived, i);			/* (E) pairs with (F) */
		/* (H) pairs with (G) */
		for (uint32_t t = 0; load_acquire(&other->passed) < i; t++)
			wait_turn(t);
	}
}

/* It may be another's, where it is longer than a line. */
static __attribute__((noinline)) void look_at_own(struct set_part *p,
						  const struct fl_access *a, uint64_t i)
{
	const struct fl_split *s = p->split;
	struct set_part *first = &s->parts[part_with(s, &p->cache, a->at >> p->cache.shift)];
	struct set_part *last = &s->parts[part_with(s, &p->cache, fl_last_line(&p->cache, a))];

	if (first == last && first == p)
		fl_cache_look(&p->cache, a);
	else if (first != last && (first == p || last == p))
		look_in_two(p, first == p ? last : first, a, i);
}

/* Which of a block are the part's, at least: an access that reaches into it begins less
 * than its size before it. No branch, as nobody would foresee it. */
static size_t pick_own(struct set_part *p, const struct fl_access *a, size_t n)
{
	const uint64_t mask = p->split->period - 1, from = p->from, bytes = p->bytes;
	size_t n_own = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t more = (uint64_t)a[i].size - 1;

		__builtin_prefetch(&a[i + FL_AHEAD]);
		p->own[n_own] = (uint16_t)i;
		n_own += ((a[i].at + more - from) & mask) < bytes + more;
	}
	return n_own;
}

/* But fetches, which are counted as they are looked up. */
static void count_data(struct fl_cache_counts *c, const struct fl_access *a, size_t n)
{
	uint64_t stores = 0, fetches = 0;

	for (size_t i = 0; i < n; i++) {
		stores += a[i].kind == FL_ACCESS_STORE;
		fetches += a[i].kind == FL_ACCESS_FETCH;
	}
	c->accesses[FL_ACCESS_STORE] += stores;
	c->accesses[FL_ACCESS_LOAD] += n - stores - fetches;
}

/* All of a round; of the blocks that are counted each part has its share. */
static void simulate_round(struct set_part *p)
{
	const struct fl_split *s = p->split;
	const struct fl_front f = fl_front_of(&p->cache);
	uint32_t number = (uint32_t)(p - s->parts);

	for (size_t at = 0; at < s->n; at += BLOCK) {
		const struct fl_access *a = s->all + at;
		size_t n = s->n - at < BLOCK ? s->n - at : BLOCK, n_own = pick_own(p, a, n);

		for (size_t i = 0; i < n_own; i++)
			if (fl_is_further(&f, &a[p->own[i]]))
				look_at_own(p, &a[p->own[i]], s->before + at + p->own[i] + 1);
		if (at / BLOCK % s->n_parts == number)
			count_data(&p->cache.counts, a, n);
	}
}

static void *simulate_rounds(void *arg)
{
	struct set_part *p = arg;
	uint32_t round = 0;

	for (;;) {
		round = await_change(&p->split->round, round);
		if (p->split->is_over)
			return NULL;
		simulate_round(p);
		store_release(&p->done, round);			/* (C) pairs with (D) */
		fl_os_futex_wake(&p->done, 1);
	}
}

/* ---- the caller's side ---------------------------------------------------------------- */

static void begin_round(struct fl_split *s)
{
	store_release(&s->round, s->round + 1);			/* (A) pairs with (B) */
	fl_os_futex_wake(&s->round, INT32_MAX);
}

/* Few are done by the caller: all sets are its own between rounds. */
void fl_split_feed(struct fl_split *s, struct fl_cache *c, const struct fl_access *a, size_t n)
{
	if (n < LEAST) {
		for (size_t i = 0; i < n; i++)
			fl_cache_look(c, &a[i]);
		count_data(&c->counts, a, n);
		return;
	}
	s->all = a;
	s->n = n;
	begin_round(s);
	simulate_round(&s->parts[0]);
	for (uint32_t i = 0; i < s->n_parts; i++) {
		uint64_t *from = (uint64_t *)&s->parts[i].cache.counts;

		if (i)
			await_change(&s->parts[i].done, s->round - 1);
		for (size_t k = 0; k < sizeof(c->counts) / sizeof(*from); k++)
			((uint64_t *)&c->counts)[k] += from[k];
		memset(from, 0, sizeof(c->counts));
	}
	s->before += n;
}

/* As many sets as in every level are told apart by the lowest bits of a line's number. */
static uint64_t common_sets(const struct fl_cache *c)
{
	uint64_t all = c->first[FL_ACCESS_FETCH].sets ? c->first[FL_ACCESS_FETCH].n_sets : 0;

	for (uint32_t k = 0; k < c->n_data; k++)
		all |= c->data[k].n_sets;
	return all & -all;
}

static void divide_sets(struct fl_split *s, const struct fl_cache *c, uint64_t sets)
{
	s->period = sets << c->shift;
	for (uint32_t i = 0; i < s->n_parts; i++) {
		uint64_t from = sets * i / s->n_parts, to = sets * (i + 1) / s->n_parts;

		s->parts[i].from = from << c->shift;
		s->parts[i].bytes = (to - from) << c->shift;
		s->parts[i].cache = *c;
		s->parts[i].split = s;
	}
}

int fl_split_open(struct fl_split **out, const struct fl_cache *c, uint32_t threads)
{
	uint64_t sets = common_sets(c);
	struct fl_split *s;
	int err = 0;

	*out = NULL;
	if (threads > sets)
		threads = (uint32_t)sets;
	if (threads < 2)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->n_parts = threads;
	if (posix_memalign((void **)&s->parts, 64, threads * sizeof(*s->parts)))
		s->parts = NULL;
	err = s->parts ? 0 : -ENOMEM;
	if (!err) {
		memset(s->parts, 0, threads * sizeof(*s->parts));
		divide_sets(s, c, sets);
	}
	for (uint32_t i = 1; !err && i < s->n_parts; i++) {
		err = -pthread_create(&s->parts[i].thread, NULL, simulate_rounds,
				      &s->parts[i]);
		s->parts[i].is_started = !err;
	}
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
	for (uint32_t i = 1; s->parts && i < s->n_parts; i++)
		if (s->parts[i].is_started)
			pthread_join(s->parts[i].thread, NULL);
	free(s->parts);
	free(s);
}
