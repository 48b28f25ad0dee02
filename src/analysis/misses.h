/*
 * misses.h - private to analysis/: accesses to memory, and how many of them miss (misses.c), by
 * place or by call path.
 */
#ifndef FL_ANALYSIS_MISSES_H
#define FL_ANALYSIS_MISSES_H

#include "analysis/cache.h"
#include "analysis/run.h"

struct fl_missed {
	uint64_t n[2];			/* loads, stores: enum fl_access_kind */
	uint64_t misses[FL_CACHE_LEVELS];
};
/* A loop over words has little more time than to count the place of each; the place says what
 * its words do. `room`: the accesses of a word lie in one line if the word's address is one of
 * the first `room` bytes of the line; 0: not known yet, or they never lie in one line. */
struct fl_by_word {
	uint64_t n[FL_WORD_PLACES + 1];
	uint8_t room[FL_WORD_PLACES + 1];
	uint32_t what[FL_WORD_PLACES + 1];	/* fl_words.places'; 0: not known yet */
};
struct fl_miss_parts;

struct fl_misses {
	const struct flick_view *view;
	struct fl_cache *cache;
	uint32_t levels;
	struct fl_missed *of;		/* by place; or by call path */
	struct fl_by_word *words;
	struct fl_miss_parts *parts;	/* NULL: one thread simulates */
	uint32_t n;
	struct flick_record *held;	/* by thread: the first string of two */
	uint32_t n_held;
	bool is_by_path;
	uint32_t path;			/* (by path) the path of the next accesses */
	int error;
};

/* `arg`: the geometry of the levels for data. The struct is zero before. 0, -EINVAL or -ENOMEM;
 * it has to be closed after an error, too. */
int fl_misses_open(struct fl_misses *, const struct flick_view *, const char *arg);
void fl_misses_close(struct fl_misses *);
/* Make room for `n` places or paths; new ones are 0. 0 or -ENOMEM. */
int fl_misses_extend(struct fl_misses *, uint32_t n);
/* Charge `path`, for which there is room, with the accesses among a thread's records. 0 or
 * -ENOMEM. */
int fl_misses_of_path(struct fl_misses *, uint32_t path, uint32_t thread,
		      const struct flick_record *, size_t n);

/* Simulate words in the calling thread. Returns how many: it stops at a word that is no
 * access. */
size_t fl_misses_count(struct fl_misses *, const struct fl_words *);
/* Move the counts of words to their accesses, by place and kind. */
void fl_misses_gather(struct fl_misses *, struct fl_by_word *);

/* ---- several threads (miss-parts.c) -------------------------------------------------- */

/* Before the first access. Where sets cannot be split there are no parts. 0 or -errno. */
int fl_miss_parts_open(struct fl_misses *, uint32_t threads);
void fl_miss_parts_close(struct fl_misses *);	/* no parts are fine */
/* As fl_misses_count(), by all threads. */
size_t fl_miss_parts_put(struct fl_misses *, const struct fl_words *);
/* Now the caches are the caller's, as all accesses before have left them. */
void fl_miss_parts_settle(struct fl_misses *);
/* The same, and `of` has the counts of all threads. */
void fl_miss_parts_gather(struct fl_misses *);

/* ---- a word's place ------------------------------------------------------------------- */

static inline enum fl_access_kind fl_access_kind_of(uint32_t what)
{
	return what & FLICK_ACCESS_LOAD ? FL_ACCESS_LOAD : FL_ACCESS_STORE;
}

/* Learn the accesses of words of that place from the target's table. The target may have
 * written anything there, and no number does harm. Returns how many; 0: this is no place. */
uint32_t fl_word_learn(struct fl_by_word *, const struct fl_words *, uint32_t place,
		       uint32_t line);

/* Access k of a word whose place is known. False: the word has fewer accesses. */
static inline bool fl_word_access(const struct fl_by_word *by, uint64_t word, uint32_t k,
				  struct fl_access *a)
{
	uint32_t place = fl_word_place(word) + k, what;

	what = k < FL_PLACES_IN_WORD && place < FL_WORD_PLACES ? by->what[place] : 0;
	if (!what || (k && !(what & FL_PLACE_WITH)))
		return false;
	*a = (struct fl_access){
		.at = fl_word_address(word) + (what >> FL_PLACE_ABOVE),
		.size = what & FLICK_ACCESS_SIZE, .kind = fl_access_kind_of(what),
	};
	return true;
}

static inline void fl_missed_note(struct fl_missed *to, uint32_t missed)
{
	for (uint32_t k = 0; k < FL_CACHE_LEVELS; k++)
		to->misses[k] += missed >> k & 1;
}

static inline void fl_missed_add(struct fl_missed *to, const struct fl_missed *m)
{
	for (uint32_t k = 0; k < 2; k++)
		to->n[k] += m->n[k];
	for (uint32_t k = 0; k < FL_CACHE_LEVELS; k++)
		to->misses[k] += m->misses[k];
}

static inline uint64_t fl_missed_accesses(const struct fl_missed *m)
{
	return m->n[FL_ACCESS_LOAD] + m->n[FL_ACCESS_STORE];
}

/* Fill the cells of a row with so many levels. Returns the next cell. */
uint64_t *fl_missed_row(const struct fl_missed *, uint32_t levels, uint64_t *cell);

#define FL_MISSED_COLUMNS \
	{ "accesses", FLICK_COL_COUNT }, \
	{ "stores", FLICK_COL_COUNT }, \
	{ "l1_misses", FLICK_COL_COUNT }, \
	{ "l2_misses", FLICK_COL_COUNT }, \
	{ "l3_misses", FLICK_COL_COUNT }, \
	{ "l4_misses", FLICK_COL_COUNT },

#endif
