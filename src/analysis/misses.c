/*
 * misses.c - which functions' accesses to memory miss in simulated caches.
 *
 * Paper 2 section 5. Second bodies tell each access (copy/plan-memory.c), the caches are those
 * of cache.c. An access is its instruction's: of an inlined function it is the caller's.
 *
 * All threads have the same caches, as if they ran on one core in turn: what a thread enqueues
 * comes a chunk at a time. So of several threads the misses are an estimate, of one thread they
 * are those that the same accesses have in cachegrind.
 */
#include "analysis/cache.h"
#include "analysis/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct missed {
	uint64_t n[2];			/* loads, stores: enum fl_access_kind */
	uint64_t misses[FL_CACHE_LEVELS];
};
/* Of words a loop has little more time than to count their places; a place says what they do.
 * `room`: the last byte of a line that an access may begin at and lie in it alone; -1: that is
 * not known yet, or there is none. */
struct by_word {
	uint64_t n[FL_WORD_PLACES + 1];
	int16_t room[FL_WORD_PLACES + 1];
	uint32_t what[FL_WORD_PLACES + 1];	/* enum flick_access; 0: not known yet */
};
struct misses {
	const struct flick_view *view;
	struct fl_cache *cache;
	uint32_t levels;
	struct missed *of;		/* by place, later by function */
	struct by_word *words;
	uint32_t n;
	struct flick_record *held;	/* by thread: a string whose other one comes next */
	uint32_t n_held;
	int error;
};

enum { FIXED = 4 };			/* columns by line; then one a level */

#define COUNTED \
	{ "accesses", FLICK_COL_COUNT }, \
	{ "stores", FLICK_COL_COUNT }, \
	{ "l1_misses", FLICK_COL_COUNT }, \
	{ "l2_misses", FLICK_COL_COUNT }, \
	{ "l3_misses", FLICK_COL_COUNT }, \
	{ "l4_misses", FLICK_COL_COUNT },
static const struct flick_column by_function[] = {
	{ "function", FLICK_COL_FUNCTION }, COUNTED
};
static const struct flick_column by_line[] = {
	{ "function", FLICK_COL_FUNCTION }, { "line", FLICK_COL_TEXT }, COUNTED
};
_Static_assert(ARRAY_LEN(by_line) == FIXED + FL_CACHE_LEVELS, "one a level");

static void close_misses(void *state)
{
	struct misses *m = state;

	fl_cache_close(m->cache);
	free(m->of);
	free(m->words);
	free(m->held);
	free(m);
}

static void forget_words(struct by_word *w)
{
	memset(w, 0, sizeof *w);
	memset(w->room, 0xff, sizeof w->room);
}

/* `arg`: the geometry of data's levels. */
static int open_misses(void **state, const struct flick_view *view, const char *arg)
{
	struct fl_cache_geometry g = { .policy = FL_CACHE_INCLUSIVE };
	struct misses *m;
	char why[FL_USE_WHY];
	int n = fl_cache_parse(g.data, FL_CACHE_LEVELS, arg ? arg : FL_CACHE_PRESET, why), err;

	if (n < 0)
		return -EINVAL;
	m = calloc(1, sizeof *m);
	if (!m)
		return -ENOMEM;
	g.n_data = m->levels = (uint32_t)n;
	m->view = view;
	err = fl_cache_open(&m->cache, &g);
	m->words = err ? NULL : malloc(sizeof *m->words);
	if (m->words)
		forget_words(m->words);
	else if (!err)
		err = -ENOMEM;
	if (err)
		close_misses(m);
	else
		*state = m;
	return err;
}

/* Room for `n`; what is new is 0. */
static int extend(struct misses *m, uint32_t n)
{
	uint32_t room = n < 1024 ? 1024 : n + n / 2;
	struct missed *of;

	if (n <= m->n)
		return 0;
	of = realloc(m->of, room * sizeof *of);
	if (!of)
		return -ENOMEM;
	for (uint32_t i = m->n; i < room; i++)
		of[i] = (struct missed){ .n[0] = 0 };
	m->of = of;
	m->n = room;
	return 0;
}

static void note_misses(struct missed *to, uint32_t missed)
{
	for (uint32_t k = 0; missed; k++, missed >>= 1)
		to->misses[k] += missed & 1;
}

static inline enum fl_access_kind access_kind(uint32_t what)
{
	return what & FLICK_ACCESS_LOAD ? FL_ACCESS_LOAD : FL_ACCESS_STORE;
}

static inline struct fl_access access_of(const struct flick_record *r)
{
	return (struct fl_access){
		.at = r->tsc, .size = r->sp & FLICK_ACCESS_SIZE, .kind = access_kind(r->sp),
	};
}

/* ---- strings ------------------------------------------------------------------------ */

/* Those of one instruction. */
static void count_strings(struct misses *m, const struct flick_record *r, size_t n)
{
	struct fl_string s[2];

	for (size_t k = 0; k < n; k++)
		if (!fl_string_of(&s[k], &r[k]) || s[k].place >= FL_MAX_PLACES)
			return;
	s[n - 1].n = s[0].n;
	for (size_t k = 0; k < n; k++)
		if (extend(m, s[k].place + 1))
			m->error = -ENOMEM;
	for (size_t k = 0; !m->error && k < n; k++) {
		s[k].misses = m->of[s[k].place].misses;
		m->of[s[k].place].n[s[k].next.kind] += s[k].n;
	}
	if (!m->error)
		fl_strings_look(m->cache, s, n);
}

/* Of two records the first may be the last of its batch. */
static void meet_string(struct misses *m, uint32_t thread, const struct flick_record *r)
{
	struct flick_record both[2] = { { .tsc = 0 }, *r };

	if (fl_array_extend(&m->held, &m->n_held, thread + 1, sizeof *m->held)) {
		m->error = -ENOMEM;
		return;
	}
	both[0] = m->held[thread];
	m->held[thread] = (struct flick_record){ .tsc = 0 };
	if (r->tsc >> FLICK_STRING_WITH_NEXT & 1)
		m->held[thread] = *r;
	else if (both[0].probe)
		count_strings(m, both, 2);
	else
		count_strings(m, r, 1);
}

/* ---- records ------------------------------------------------------------------------ */

/* Of a place that was not met before, or no access. False: nothing is to be counted. */
static __attribute__((noinline)) bool meet_place(struct misses *m, uint32_t thread,
						  const struct flick_record *r)
{
	uint32_t place = fl_record_probe(r);

	if (fl_record_type(r) == FLICK_TYPE_STRING)
		meet_string(m, thread, r);
	if (fl_record_type(r) != FLICK_TYPE_ACCESS || place >= FL_MAX_PLACES)
		return false;
	if (extend(m, place + 1))
		m->error = -ENOMEM;
	return place < m->n;
}

/* Most accesses are to the line in front of its set: of these nothing is to be done. */
static int batch(void *state, uint32_t thread, const struct flick_record *r, size_t n)
{
	struct misses *m = state;
	const struct fl_front f = fl_front_of(m->cache);

	for (const struct flick_record *end = r + n; r < end; r++) {
		const struct fl_access a = access_of(r);
		uint32_t place = r->probe - fl_typed(FLICK_TYPE_ACCESS, 0);

		if (place >= m->n && !meet_place(m, thread, r))
			continue;
		m->of[place].n[a.kind]++;
		if (fl_is_further(&f, &a))
			note_misses(&m->of[place], fl_cache_look(m->cache, &a));
	}
	return m->error;
}

_Static_assert(FL_ACCESS_LOAD < 2 && FL_ACCESS_STORE < 2, "");

/* ---- words -------------------------------------------------------------------------- */

/* What the target says that it is, whose memory this is: any number will do. */
static uint32_t learn(struct misses *m, const struct fl_words *b, uint32_t place)
{
	uint32_t what = place < b->n_places ? load_relaxed(&b->places[place].what) : 0;
	uint32_t size = what & FLICK_ACCESS_SIZE, line = m->cache->line;

	if (extend(m, place + 1)) {
		m->error = -ENOMEM;
		return 0;
	}
	if (size && size <= line)
		m->words->room[place] = (int16_t)(line - size);
	return m->words->what[place] = size ? what : 0;
}

/* It may be another line than that in front of its set. */
static __attribute__((noinline)) void look_further(struct misses *m, const struct fl_words *b,
						   uint64_t word)
{
	uint32_t place = fl_word_place(word), what = m->words->what[place];
	struct fl_access a = { .at = fl_word_address(word) };

	if (!what)
		what = learn(m, b, place);
	if (!what)
		return;
	a.size = what & FLICK_ACCESS_SIZE;
	a.kind = access_kind(what);
	note_misses(&m->of[place], fl_cache_look(m->cache, &a));
}

/* Ways and lines are constant where it is inlined. */
static inline __attribute__((always_inline))
void count_words(struct misses *m, const struct fl_words *b, struct fl_front f)
{
	struct by_word *const by = m->words;

	for (const uint64_t *w = b->of, *end = w + b->n; w < end; w++) {
		uint64_t word = *w, line = fl_word_address(word) >> f.shift;
		uint32_t place = fl_word_place(word);

		by->n[place]++;
		if (__builtin_expect(f.sets[(line & f.mask) * f.ways] != line ||
				     (int)(word & (f.line - 1)) > by->room[place], 0))
			look_further(m, b, word);
	}
}

int fl_misses_words(void *state, const struct fl_words *b)
{
	struct misses *m = state;
	struct fl_front f = fl_front_of(m->cache);

	if (f.ways == 4 && f.line == 64) {
		f.ways = 4;
		f.line = 64;
		f.shift = 6;
		count_words(m, b, f);
	} else if (f.ways == 8 && f.line == 64) {
		f.ways = 8;
		f.line = 64;
		f.shift = 6;
		count_words(m, b, f);
	} else {
		count_words(m, b, f);
	}
	return m->error;
}

/* What was counted by word is counted by place and kind. */
static void settle_words(struct misses *m)
{
	for (uint32_t i = 0; i < FL_WORD_PLACES; i++) {
		if (m->words->what[i])
			m->of[i].n[access_kind(m->words->what[i])] += m->words->n[i];
		m->words->n[i] = 0;
	}
}

/* ---- what came of it ------------------------------------------------------------------ */

static uint64_t accesses_of(const struct missed *m)
{
	return m->n[FL_ACCESS_LOAD] + m->n[FL_ACCESS_STORE];
}

/* What accesses of one function, or of one line of it, came to. */
struct sum {
	uint64_t function;		/* FLICK_NONE: the place is in none */
	const char *line;		/* NULL: by function */
	struct missed missed;
};

static int by_function_and_line(const void *one, const void *other)
{
	const struct sum *a = one, *b = other;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->line ? strcmp(a->line, b->line) : 0;
}

static void add_up(struct missed *to, const struct missed *m)
{
	for (uint32_t k = 0; k < 2; k++)
		to->n[k] += m->n[k];
	for (uint32_t k = 0; k < FL_CACHE_LEVELS; k++)
		to->misses[k] += m->misses[k];
}

/* Of places that were come to; NULL: no memory. Places of one line stand together, and are one
 * then. */
static struct sum *sum_up(const struct misses *m, size_t *n)
{
	struct sum *all = calloc(m->n + 1ul, sizeof *all);
	size_t last = 0;

	*n = 0;
	for (uint32_t i = 0; all && i < m->n; i++) {
		uint32_t f = accesses_of(&m->of[i]) ? m->view->place(m->view, i) : 0;

		if (accesses_of(&m->of[i]))
			all[(*n)++] = (struct sum){
				f < m->view->n_functions ? f : FLICK_NONE,
				m->view->line ? m->view->line(m->view, i) : NULL, m->of[i],
			};
	}
	if (*n < 2)
		return all;
	qsort(all, *n, sizeof *all, by_function_and_line);
	for (size_t i = 1; i < *n; i++)
		if (by_function_and_line(&all[last], &all[i]))
			all[++last] = all[i];
		else
			add_up(&all[last].missed, &all[i].missed);
	*n = last + 1;
	return all;
}

static int rows(void *state, struct flick_rows *r)
{
	struct misses *m = state;
	bool has_lines = m->view->line != NULL;
	size_t n, n_columns = FIXED - !has_lines + m->levels;
	struct sum *sums;
	uint64_t *cell;

	settle_words(m);
	sums = sum_up(m, &n);
	cell = sums ? calloc(n * n_columns + 1, sizeof *cell) : NULL;
	if (!cell) {
		free(sums);
		return -ENOMEM;
	}
	*r = (struct flick_rows){ has_lines ? by_line : by_function, n_columns, cell, n };
	for (size_t i = 0; i < n; i++) {
		*cell++ = sums[i].function;
		if (has_lines)
			*cell++ = (uintptr_t)sums[i].line;
		*cell++ = accesses_of(&sums[i].missed);
		*cell++ = sums[i].missed.n[FL_ACCESS_STORE];
		for (uint32_t k = 0; k < m->levels; k++)
			*cell++ = sums[i].missed.misses[k];
	}
	free(sums);
	return 0;
}

const struct flick_analysis fl_analysis_cache = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_ACCESSES,
	.name = "cache",
	.about = "which functions' accesses to memory miss in simulated caches",
	.args = "SIZE,WAYS,LINE of each level, or host",
	.open = open_misses,
	.batch = batch,
	.rows = rows,
	.close = close_misses,
};
