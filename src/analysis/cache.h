/*
 * cache.h - private to analysis/: simulated caches, and threads that share one.
 */
#ifndef FL_ANALYSIS_CACHE_H
#define FL_ANALYSIS_CACHE_H

#include "analysis/analysis.h"

struct level {
	uint64_t *sets;			/* `ways` lines each */
	uint64_t n_sets, mask;		/* mask: n_sets - 1; 0: no power of two, or 1 */
	uint32_t ways;
};

struct fl_split;

struct fl_cache {
	struct level first[FL_N_ACCESSES];	/* by kind; sets NULL: there is none */
	struct level data[FL_CACHE_LEVELS];	/* [0]: also `first` of loads and stores */
	uint32_t n_data, line;
	unsigned shift;
	enum fl_cache_policy policy;
	uint64_t *sets;			/* of all levels */
	struct fl_cache_counts counts;
	struct fl_split *split;		/* NULL: one thread simulates */
};

/* Enough of a cache to tell whether an access is data of the line in front of its set. A copy,
 * which loops keep in registers. */
struct fl_front {
	uint64_t *sets;
	uint64_t mask;
	uint32_t ways, line, shift;
};

static inline struct fl_front fl_front_of(const struct fl_cache *c)
{
	return (struct fl_front){ c->data[0].sets, c->data[0].mask, c->data[0].ways, c->line,
				  c->shift };
}

/* A first level has a power of two of sets. */
static inline uint64_t *fl_first_set_of(const struct level *l, uint64_t line)
{
	return &l->sets[(line & l->mask) * l->ways];
}

/* Put the line in front of its set. Was it in the set before? Else *gone is the line that it
 * took the place of. */
static inline bool fl_move_to_front(uint64_t *set, uint32_t ways, uint64_t line, uint64_t *gone)
{
	uint64_t before = set[0];

	if (before == line)
		return true;
	set[0] = line;
	for (uint32_t i = 1; i < ways; i++) {
		uint64_t here = set[i];

		set[i] = before;
		if (here == line)
			return true;
		before = here;
	}
	*gone = before;
	return false;
}

/* Most caches have 4 or 8 ways: a loop whose length is known is unrolled. */
static inline bool fl_touch(uint64_t *set, uint32_t ways, uint64_t line, uint64_t *gone)
{
	switch (ways) {
	case 4:
		return fl_move_to_front(set, 4, line, gone);
	case 8:
		return fl_move_to_front(set, 8, line, gone);
	}
	return fl_move_to_front(set, ways, line, gone);
}

/* The line that the access ends in. */
static inline uint64_t fl_last_line(const struct fl_access *a, uint32_t line, uint32_t shift)
{
	return (a->at + (a->size < line ? a->size : line) - 1) >> shift;
}

/* Is the access something else than data of the line in front of its set? */
static inline bool fl_is_further(const struct fl_front *f, const struct fl_access *a)
{
	uint64_t first = a->at >> f->shift;

	return f->sets[(first & f->mask) * f->ways] != first ||
	       a->kind == FL_ACCESS_FETCH || (a->at & (f->line - 1)) + a->size > f->line;
}

/* Simulate any access, and count its misses. Bit k of the result: it has missed in level k. */
uint32_t fl_cache_look(struct fl_cache *, const struct fl_access *);
/* The same, for a line that fl_touch() has not found in the first level. */
uint32_t fl_cache_miss(struct fl_cache *, uint64_t line, enum fl_access_kind);

/* Loops prefetch so many accesses ahead: memory has answered by the time that a loop is there.
 * Processors foresee a stream by themselves, but not beyond the end of a page. */
enum { FL_AHEAD = 256 };

/* ---- strings (strings.c) ----------------------------------------------------------- */

/* The accesses in a row of a record (FLICK_TYPE_STRING). */
struct fl_string {
	struct fl_access next;
	uint64_t n;			/* of accesses, with `next` */
	uint64_t *misses;		/* by level: misses are added here */
	uint32_t place;
	bool goes_down;
};
/* Fill all but `misses`. False: nobody has so much memory, so the instruction has faulted. */
bool fl_string_of(struct fl_string *, const struct flick_record *);
/* Simulate all accesses of one string, or of two with as many: these take turns. */
void fl_strings_look(struct fl_cache *, struct fl_string *, size_t n);

/* ---- several threads (split.c) ---------------------------------------------------- */

/* For each class of lines, whose sets no other class has: the line that was touched last, as
 * far as a dealer has passed over accesses. A copy, which loops keep in registers. */
struct fl_lately {
	uint64_t *key;			/* by class: the line, with FL_FETCHED after a fetch;
					 * all bits: none yet */
	uint64_t mask;
	uint32_t line, shift;
};
#define FL_FETCHED (1ull << 63)		/* no line's number has it */

/* Is the access to be handed out? An access that is like the one before it in its class, in
 * that one line and of that kind, changes nothing. `fetched`: 0 or FL_FETCHED. */
static inline bool fl_is_news(const struct fl_lately *l, uint64_t at, uint64_t size,
			      uint64_t fetched)
{
	uint64_t line = at >> l->shift;

	return l->key[line & l->mask] != (line | fetched) ||
	       (at & (l->line - 1)) + size > l->line;
}

struct fl_dealer {			/* one for each thread, and nobody else's */
	struct fl_lately lately;
	struct fl_cache_counts *counts;	/* deal() counts accesses here */
	uint64_t sets;			/* that every level tells apart, a power of two */
	uint32_t sets_log2, n_parts, thread;
	bool has_fetches;		/* accesses may be fetches */
	struct fl_dealt **end;		/* by part: behind what it was dealt so far */
};
/* Hand the access to the threads that have its sets. `at`: its number in the round, higher
 * than any before. */
void fl_deal_out(struct fl_dealer *, const struct fl_access *, uint32_t at, uint16_t charge);

/* A round: items that all threads simulate together. An item is an access, or stands for at
 * most FL_IN_ONE accesses, whose numbers are below n * FL_IN_ONE. */
enum { FL_ROUND = 65536, FL_IN_ONE = 4 };
struct fl_dealing {
	/* Called in each thread, for its own share: hand out the accesses that are news. */
	void (*deal)(void *arg, struct fl_dealer *, size_t from, size_t n);
	/* Called in the thread that simulated an access, with the result of fl_cache_look(), if
	 * that is not 0. May be NULL. */
	void (*miss)(void *arg, uint32_t thread, uint32_t charge, uint32_t missed);
	void *arg;
	size_t n;			/* FL_ROUND at most */
};

/* Start threads beside the caller's; *split is NULL where sets cannot be split. 0 or -errno. */
int fl_split_open(struct fl_split **, const struct fl_cache *, uint32_t threads);
uint32_t fl_split_threads(const struct fl_split *);
/* Do a round, in which the caller's thread takes part. Afterwards all accesses are dealt; other
 * threads may still simulate some. */
void fl_split_round(struct fl_split *, const struct fl_dealing *);
/* Wait until all is simulated: then the sets are the caller's until the next round, and all
 * counts are the cache's. */
void fl_split_settle(struct fl_split *, struct fl_cache *);
/* Simulate these accesses, in rounds. */
void fl_split_feed(struct fl_split *, struct fl_cache *, const struct fl_access *, size_t n);
void fl_split_close(struct fl_split *);	/* NULL is fine */

#endif
