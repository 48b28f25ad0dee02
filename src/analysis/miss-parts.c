/*
 * miss-parts.c - several threads simulate the caches of misses.c, on accesses in words.
 *
 * Words are kept until there are enough for a round (split.c). Then each thread counts its
 * share of them by place, and deals out the accesses that may miss. The thread that simulates
 * an access counts its misses. Only the caches are shared; counts are added up when somebody
 * asks. Records that are no words are the caller's alone, which has all sets when the rounds
 * before are settled.
 */
#include "analysis/misses.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 1024 };			/* a round of fewer words takes longer than it saves */

struct miss_part {			/* a thread's own */
	struct fl_by_word by;
	struct fl_missed missed[FL_WORD_PLACES + 1];	/* `n` is in `by` */
};

struct fl_miss_parts {
	struct fl_split *split;
	struct fl_words kept;		/* those in `word`, for the next round */
	uint64_t word[FL_ROUND];
	struct miss_part *of;		/* by thread */
};

/* ---- what each thread does ------------------------------------------------------------ */

_Static_assert((int)FL_PLACES_IN_WORD <= FL_IN_ONE && FL_WORD_PLACES <= UINT16_MAX, "");

static __attribute__((noinline))
void deal_further(struct fl_miss_parts *p, struct fl_dealer *d, size_t i)
{
	struct fl_by_word *by = &p->of[d->thread].by;
	uint32_t place = fl_word_place(p->word[i]);
	struct fl_access a;

	if (!by->what[place])
		fl_word_learn(by, &p->kept, place, d->lately.line);
	for (uint32_t k = 0; fl_word_access(by, p->word[i], k, &a); k++)
		if (fl_is_news(&d->lately, a.at, a.size, 0))
			fl_deal_out(d, &a, (uint32_t)i * FL_IN_ONE + k, (uint16_t)(place + k));
}

/* The size of a line is a constant where this is inlined. */
static inline __attribute__((always_inline))
void deal_some(struct fl_miss_parts *p, struct fl_dealer *d, size_t from, size_t n,
	       const struct fl_lately l)
{
	struct fl_by_word *const by = &p->of[d->thread].by;

	for (size_t i = from; i < from + n; i++) {
		uint64_t word = p->word[i], line = fl_word_address(word) >> l.shift;
		uint32_t place = fl_word_place(word);

		by->n[place]++;
		if (__builtin_expect(l.key[line & l.mask] != line ||
				     (word & (l.line - 1)) >= by->room[place], 0))
			deal_further(p, d, i);
	}
}

static void deal_words(void *arg, struct fl_dealer *d, size_t from, size_t n)
{
	const struct fl_lately l = d->lately;

	if (l.line == 64)
		deal_some(arg, d, from, n, (struct fl_lately){ l.key, l.mask, 64, 6 });
	else
		deal_some(arg, d, from, n, l);
}

static void note_miss(void *arg, uint32_t thread, uint32_t place, uint32_t missed)
{
	struct fl_miss_parts *p = arg;

	fl_missed_note(&p->of[thread].missed[place], missed);
}

/* ---- what the caller does --------------------------------------------------------------- */

int fl_miss_parts_open(struct fl_misses *m, uint32_t threads)
{
	struct fl_miss_parts *p;
	int err = fl_split_open(&m->cache->split, m->cache, threads);

	if (err || !m->cache->split)
		return err;
	p = calloc(1, sizeof *p);
	m->parts = p;
	if (!p)
		return -ENOMEM;
	p->split = m->cache->split;
	p->of = calloc(fl_split_threads(p->split), sizeof *p->of);
	if (!p->of)
		return -ENOMEM;
	return fl_misses_extend(m, FL_WORD_PLACES + 1);
}

void fl_miss_parts_close(struct fl_misses *m)
{
	if (m->parts)
		free(m->parts->of);
	free(m->parts);
}

static void do_kept(struct fl_misses *m)
{
	struct fl_miss_parts *p = m->parts;
	struct fl_words few = p->kept;

	few.of = p->word;
	p->kept.n = 0;
	if (few.n < LEAST) {
		fl_split_settle(p->split, m->cache);
		fl_misses_count(m, &few);
	} else {
		fl_split_round(p->split, &(struct fl_dealing){
			.deal = deal_words, .miss = note_miss, .arg = p, .n = few.n });
	}
}

size_t fl_miss_parts_put(struct fl_misses *m, const struct fl_words *b)
{
	struct fl_miss_parts *p = m->parts;
	size_t done, some, wanted;

	p->kept.places = b->places;
	p->kept.n_places = b->n_places;
	for (done = 0, some = wanted = 0; done < b->n && some == wanted; done += some) {
		wanted = FL_ROUND - p->kept.n;
		wanted = wanted < b->n - done ? wanted : b->n - done;
		memcpy(p->word + p->kept.n, b->of + done, wanted * sizeof *p->word);
		some = fl_words_taken(p->word + p->kept.n, wanted);
		p->kept.n += some;
		if (p->kept.n == FL_ROUND)
			do_kept(m);
	}
	return done;
}

void fl_miss_parts_settle(struct fl_misses *m)
{
	if (m->parts->kept.n)
		do_kept(m);
	fl_split_settle(m->parts->split, m->cache);
}

void fl_miss_parts_gather(struct fl_misses *m)
{
	fl_miss_parts_settle(m);
	for (uint32_t i = 0; i < fl_split_threads(m->parts->split); i++) {
		struct miss_part *p = &m->parts->of[i];

		fl_misses_gather(m, &p->by);
		for (uint32_t k = 0; k <= FL_WORD_PLACES; k++)
			fl_missed_add(&m->of[k], &p->missed[k]);
		memset(p->missed, 0, sizeof p->missed);
	}
}
