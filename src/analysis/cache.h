/*
 * cache.h - private to analysis/: simulated caches, and threads that share one.
 */
#ifndef FL_ANALYSIS_CACHE_H
#define FL_ANALYSIS_CACHE_H

#include "analysis/analysis.h"

struct level {
	uint64_t *sets;			/* `ways` lines each */
	uint64_t n_sets, mask;		/* mask: n_sets - 1; 0: that is no power of two, or 1 */
	uint32_t ways;
};

struct fl_split;

struct fl_cache {
	struct level first[FL_N_ACCESSES];	/* by kind; sets NULL: there is none */
	struct level data[FL_CACHE_LEVELS];	/* [0] is that of loads and stores */
	uint32_t n_data, line;
	unsigned shift;
	enum fl_cache_policy policy;
	uint64_t *sets;			/* of all levels */
	struct fl_cache_counts counts;
	struct fl_split *split;		/* NULL: one thread simulates */
};

/* What says whether an access is data of the line in front of its set: a copy, that loops
 * have in registers. */
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

/* In a first level sets are a power of two. */
static inline uint64_t *fl_first_set_of(const struct level *l, uint64_t line)
{
	return &l->sets[(line & l->mask) * l->ways];
}

/* The line is in front of its set now. Was it there? Else *gone is what it took the
 * place of. */
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

/* Of most caches ways are one of these: loops whose length is known are unrolled. */
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

/* Is it something else than data of the line in front of its set? */
static inline bool fl_is_further(const struct fl_front *f, const struct fl_access *a)
{
	uint64_t first = a->at >> f->shift;

	return f->sets[(first & f->mask) * f->ways] != first ||
	       a->kind == FL_ACCESS_FETCH || (a->at & (f->line - 1)) + a->size > f->line;
}

/* Any access. What it misses is counted. Bit k of what comes back: it has missed in level k. */
uint32_t fl_cache_look(struct fl_cache *, const struct fl_access *);
/* What comes of a line that fl_touch() has not found in the first level. As above. */
uint32_t fl_cache_miss(struct fl_cache *, uint64_t line, enum fl_access_kind);

/* So many accesses on a look takes place by the time that memory has answered. Processors
 * foresee a stream of themselves, but not beyond the end of a page. */
enum { FL_AHEAD = 256 };

/* ---- strings (strings.c) ----------------------------------------------------------- */

/* The accesses in a row of a record (FLICK_TYPE_STRING). */
struct fl_string {
	struct fl_access next;
	uint64_t n;			/* with that one */
	uint64_t *misses;		/* by level: these are added there */
	uint32_t place;
	bool goes_down;
};
/* But `misses`. False: so much is nowhere, the instruction has faulted. */
bool fl_string_of(struct fl_string *, const struct flick_record *);
/* All of them; of two, which have as many, the first one's first. */
void fl_strings_look(struct fl_cache *, struct fl_string *, size_t n);

/* ---- several threads (split.c) ---------------------------------------------------- */

/* Of some classes of lines, whose sets no other has: what was touched last, as a dealer has
 * passed over it. A copy, that loops have in registers. */
struct fl_lately {
	uint64_t *key;			/* by class: the line, FL_FETCHED with a fetch's; no
					 * line has all bits */
	uint64_t mask;
	uint32_t line, shift;
};
#define FL_FETCHED (1ull << 63)		/* no line's number has it */

/* Nothing comes of an access whose line is as the one before left it: nor is it handed out.
 * `fetched`: 0 or FL_FETCHED. */
static inline bool fl_is_news(const struct fl_lately *l, uint64_t at, uint64_t size,
			      uint64_t fetched)
{
	uint64_t line = at >> l->shift;

	return l->key[line & l->mask] != (line | fetched) ||
	       (at & (l->line - 1)) + size > l->line;
}

struct fl_dealer {			/* one for each thread, and nobody else's */
	struct fl_lately lately;
	struct fl_cache_counts *counts;	/* accesses are to be counted here */
	uint64_t sets;			/* that every level tells apart, a power of two */
	uint32_t sets_log2, n_parts, thread;
	bool has_fetches;		/* some accesses may be */
	struct fl_dealt **end;		/* by part: behind what it was dealt so far */
};
/* To those who have its sets; it is that number of the round, higher than any before. */
void fl_deal_out(struct fl_dealer *, const struct fl_access *, uint32_t at, uint16_t charge);

/* A round: accesses that are simulated by all, or what stands for FL_IN_ONE of them at most,
 * whose numbers are below n * FL_IN_ONE. */
enum { FL_ROUND = 65536, FL_IN_ONE = 4 };
struct fl_dealing {
	/* By each thread, of its own share: hand out what is news. */
	void (*deal)(void *arg, struct fl_dealer *, size_t from, size_t n);
	/* By the thread that simulated it: what comes of fl_cache_look(), if not 0; or NULL. */
	void (*miss)(void *arg, uint32_t thread, uint32_t charge, uint32_t missed);
	void *arg;
	size_t n;			/* FL_ROUND at most */
};

/* Threads beside the caller's, or *split NULL where sets cannot be split. 0 or -errno. */
int fl_split_open(struct fl_split **, const struct fl_cache *, uint32_t threads);
uint32_t fl_split_threads(const struct fl_split *);
/* The caller's thread is one of them. All is dealt then; it may be simulated still. */
void fl_split_round(struct fl_split *, const struct fl_dealing *);
/* All is simulated: sets are the caller's until the next round, and what was counted is the
 * cache's. */
void fl_split_settle(struct fl_split *, struct fl_cache *);
/* Rounds of all of them. */
void fl_split_feed(struct fl_split *, struct fl_cache *, const struct fl_access *, size_t n);
void fl_split_close(struct fl_split *);	/* NULL is fine */

#endif
