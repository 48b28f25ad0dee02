/*
 * misses.c - which functions' accesses to memory miss in simulated caches.
 *
 * Paper 2 section 5. Second bodies tell each access (copy/plan-memory.c), the caches are those
 * of cache.c. An access counts for its instruction's function: an inlined function's accesses
 * are the caller's.
 *
 * All threads have the same caches, as if they ran on one core in turn: the accesses of a
 * thread come a chunk at a time. So the misses of several threads are an estimate. The misses
 * of one thread are those that the same accesses have in cachegrind.
 */
#include "analysis/misses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIXED = 4,			/* columns by line; then one a level */
       IN_LINE = 8 };			/* words */

static const struct flick_column by_function[] = {
	{ "function", FLICK_COL_FUNCTION }, FL_MISSED_COLUMNS
};
static const struct flick_column by_line[] = {
	{ "function", FLICK_COL_FUNCTION }, { "line", FLICK_COL_TEXT }, FL_MISSED_COLUMNS
};
_Static_assert(ARRAY_LEN(by_line) == FIXED + FL_CACHE_LEVELS, "one a level");

void fl_misses_close(struct fl_misses *m)
{
	fl_miss_parts_close(m);
	fl_cache_close(m->cache);
	free(m->of);
	free(m->words);
	free(m->held);
}

static void close_misses(void *state)
{
	fl_misses_close(state);
	free(state);
}

static void forget_words(struct fl_by_word *w)
{
	memset(w, 0, sizeof *w);
}

int fl_misses_open(struct fl_misses *m, const struct flick_view *view, const char *arg)
{
	struct fl_cache_geometry g = { .policy = FL_CACHE_INCLUSIVE };
	char why[FL_USE_WHY];
	int n = fl_cache_parse(g.data, FL_CACHE_LEVELS, arg ? arg : FL_CACHE_PRESET, why), err;

	if (n < 0)
		return -EINVAL;
	g.n_data = m->levels = (uint32_t)n;
	m->view = view;
	err = fl_cache_open(&m->cache, &g);
	m->words = err ? NULL : malloc(sizeof *m->words);
	if (m->words)
		forget_words(m->words);
	else if (!err)
		err = -ENOMEM;
	return err;
}

static int open_misses(void **state, const struct flick_view *view, const char *arg)
{
	struct fl_misses *m = calloc(1, sizeof *m);
	int err = m ? fl_misses_open(m, view, arg) : -ENOMEM;

	if (err && m)
		close_misses(m);
	else
		*state = m;
	return err;
}

int fl_misses_extend(struct fl_misses *m, uint32_t n)
{
	uint32_t room = n < 1024 ? 1024 : n + n / 2;
	struct fl_missed *of;

	if (n <= m->n)
		return 0;
	of = realloc(m->of, room * sizeof *of);
	if (!of)
		return -ENOMEM;
	for (uint32_t i = m->n; i < room; i++)
		of[i] = (struct fl_missed){ .n[0] = 0 };
	m->of = of;
	m->n = room;
	return 0;
}

static inline struct fl_access access_of(const struct flick_record *r)
{
	return (struct fl_access){
		.at = r->tsc, .size = r->sp & FLICK_ACCESS_SIZE,
		.kind = fl_access_kind_of(r->sp),
	};
}

/* ---- strings ------------------------------------------------------------------------ */

static uint32_t charged(const struct fl_misses *m, uint32_t place)
{
	return m->is_by_path ? m->path : place;
}

/* Count the `n` strings of one instruction. */
static void count_strings(struct fl_misses *m, const struct flick_record *r, size_t n)
{
	struct fl_string s[2];

	for (size_t k = 0; k < n; k++)
		if (!fl_string_of(&s[k], &r[k]) || s[k].place >= FL_MAX_PLACES)
			return;
	s[n - 1].n = s[0].n;
	for (size_t k = 0; k < n; k++)
		if (fl_misses_extend(m, charged(m, s[k].place) + 1))
			m->error = -ENOMEM;
	for (size_t k = 0; !m->error && k < n; k++) {
		struct fl_missed *to = &m->of[charged(m, s[k].place)];

		s[k].misses = to->misses;
		to->n[s[k].next.kind] += s[k].n;
	}
	if (!m->error)
		fl_strings_look(m->cache, s, n);
}

/* An instruction with two strings has two records, which may come in two batches. */
static void meet_string(struct fl_misses *m, uint32_t thread, const struct flick_record *r)
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

/* The record is of a place that was not met before, or is no access. False: do not count it. */
static __attribute__((noinline)) bool meet_place(struct fl_misses *m, uint32_t thread,
						  const struct flick_record *r)
{
	uint32_t place = fl_record_probe(r);

	if (fl_record_type(r) == FLICK_TYPE_STRING)
		meet_string(m, thread, r);
	if (fl_record_type(r) != FLICK_TYPE_ACCESS || place >= FL_MAX_PLACES)
		return false;
	if (fl_misses_extend(m, place + 1))
		m->error = -ENOMEM;
	return place < m->n;
}

/* Most accesses are to the line in front of its set, and change nothing. */
static int batch(void *state, uint32_t thread, const struct flick_record *r, size_t n)
{
	struct fl_misses *m = state;
	const struct fl_front f = fl_front_of(m->cache);

	if (m->parts)
		fl_miss_parts_settle(m);
	for (const struct flick_record *end = r + n; r < end; r++) {
		const struct fl_access a = access_of(r);
		uint32_t place = r->probe - fl_typed(FLICK_TYPE_ACCESS, 0);

		if (place >= m->n && !meet_place(m, thread, r))
			continue;
		m->of[place].n[a.kind]++;
		if (fl_is_further(&f, &a))
			fl_missed_note(&m->of[place], fl_cache_look(m->cache, &a));
	}
	return m->error;
}

_Static_assert(FL_ACCESS_LOAD < 2 && FL_ACCESS_STORE < 2, "");

int fl_misses_of_path(struct fl_misses *m, uint32_t path, uint32_t thread,
		      const struct flick_record *r, size_t n)
{
	const struct fl_front f = fl_front_of(m->cache);

	m->is_by_path = true;
	m->path = path;
	for (const struct flick_record *end = r + n; r < end; r++) {
		const struct fl_access a = access_of(r);

		if (fl_record_type(r) == FLICK_TYPE_STRING)
			meet_string(m, thread, r);
		if (fl_record_type(r) != FLICK_TYPE_ACCESS)
			continue;
		m->of[path].n[a.kind]++;
		if (fl_is_further(&f, &a))
			fl_missed_note(&m->of[path], fl_cache_look(m->cache, &a));
	}
	return m->error;
}

/* ---- words -------------------------------------------------------------------------- */

uint32_t fl_word_learn(struct fl_by_word *by, const struct fl_words *b, uint32_t place,
		       uint32_t line)
{
	uint32_t end = 0, k, what, most;

	for (k = 0; k < FL_PLACES_IN_WORD; k++) {
		what = place + k < b->n_places ? load_relaxed(&b->places[place + k].what) : 0;
		if (!(what & FLICK_ACCESS_SIZE) || (k && !(what & FL_PLACE_WITH)))
			break;
		by->what[place + k] = what;
		most = (what >> FL_PLACE_ABOVE) + (what & FLICK_ACCESS_SIZE);
		end = most > end ? most : end;
	}
	most = k && end <= line ? line - end + 1 : 0;
	by->room[place] = most < UINT8_MAX ? (uint8_t)most : UINT8_MAX;
	return k;
}

static bool learn(struct fl_misses *m, const struct fl_words *b, uint32_t place)
{
	if (fl_misses_extend(m, place + FL_PLACES_IN_WORD)) {
		m->error = -ENOMEM;
		return false;
	}
	return fl_word_learn(m->words, b, place, m->cache->line);
}

/* A word whose accesses are in one line. After the first access the line is in front of its
 * set, so only the first may miss. */
static __attribute__((noinline))
void look_behind_front(struct fl_misses *m, uint64_t *set, uint64_t line, uint32_t place)
{
	struct fl_cache *c = m->cache;
	uint64_t gone;

	if (!fl_touch(set, c->data[0].ways, line, &gone))
		fl_missed_note(&m->of[place], fl_cache_miss(c, line,
				fl_access_kind_of(m->words->what[place])));
}

/* A word whose accesses may be in two lines, or whose place is not known yet. */
static __attribute__((noinline))
void look_further(struct fl_misses *m, const struct fl_words *b, uint64_t word)
{
	uint32_t place = fl_word_place(word);
	struct fl_access a;

	if (!m->words->what[place] && !learn(m, b, place))
		return;
	for (uint32_t k = 0; fl_word_access(m->words, word, k, &a); k++)
		fl_missed_note(&m->of[place + k], fl_cache_look(m->cache, &a));
}

/* `word` is an access. */
static inline __attribute__((always_inline))
void count_word(struct fl_misses *m, struct fl_by_word *by, const struct fl_words *b,
		const struct fl_front *f, uint64_t word)
{
	uint64_t line = fl_word_address(word) >> f->shift;
	uint64_t *set = &f->sets[(line & f->mask) * f->ways];
	uint64_t place = (word >> FL_WORD_ADDRESS_BITS) -
			 (FL_ACCESS_WORD >> FL_WORD_ADDRESS_BITS);

	by->n[place]++;
	if (__builtin_expect((word & (f->line - 1)) >= by->room[place], 0))
		look_further(m, b, word);
	else if (__builtin_expect(*set != line, 0))
		look_behind_front(m, set, line, (uint32_t)place);
}

/* Ways and lines are constants where this is inlined. Another core has written the words that
 * come later, and still writes behind the last one. */
static inline __attribute__((always_inline))
size_t count_words(struct fl_misses *m, const struct fl_words *b, const struct fl_front f)
{
	struct fl_by_word *const by = m->words;
	const uint64_t *const of = b->of;
	uint64_t word;
	const size_t n = b->n;
	size_t i = 0;

	for (; i + IN_LINE <= n; i += IN_LINE) {
		__builtin_prefetch(&of[i + FL_AHEAD < n ? i + FL_AHEAD : i]);
#pragma GCC unroll 8
		for (size_t k = 0; k < IN_LINE; k++) {
			word = load_relaxed(&of[i + k]);
			if (__builtin_expect(!(word & FL_ACCESS_WORD), 0))
				return i + k;
			count_word(m, by, b, &f, word);
		}
	}
	for (; i < n; i++) {
		word = load_relaxed(&of[i]);
		if (!(word & FL_ACCESS_WORD))
			break;
		count_word(m, by, b, &f, word);
	}
	return i;
}

size_t fl_misses_count(struct fl_misses *m, const struct fl_words *b)
{
	const struct fl_front f = fl_front_of(m->cache);

	if (f.ways == 4 && f.line == 64)
		return count_words(m, b, (struct fl_front){ f.sets, f.mask, 4, 64, 6 });
	if (f.ways == 8 && f.line == 64)
		return count_words(m, b, (struct fl_front){ f.sets, f.mask, 8, 64, 6 });
	return count_words(m, b, f);
}

int fl_misses_words(void *state, struct fl_words *b)
{
	struct fl_misses *m = state;

	b->n = m->parts ? fl_miss_parts_put(m, b) : fl_misses_count(m, b);
	return m->error;
}

int fl_misses_share(void *state, uint32_t threads)
{
	return fl_miss_parts_open(state, threads);
}

void fl_misses_gather(struct fl_misses *m, struct fl_by_word *by)
{
	for (uint32_t i = 0; i < FL_WORD_PLACES; i++) {
		uint64_t word = (uint64_t)i << FL_WORD_ADDRESS_BITS, n = by->n[i];
		struct fl_access a;

		for (uint32_t k = 0; n && fl_word_access(by, word, k, &a); k++)
			m->of[i + k].n[a.kind] += n;
		by->n[i] = 0;
	}
}

/* ---- results -------------------------------------------------------------------------- */

/* The sum over the accesses of one function, or of one line of it. */
struct sum {
	uint64_t function;		/* FLICK_NONE: the place is in no function */
	const char *line;		/* NULL: by function */
	struct fl_missed missed;
};

static int by_function_and_line(const void *one, const void *other)
{
	const struct sum *a = one, *b = other;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->line ? strcmp(a->line, b->line) : 0;
}

/* The sums over all places with accesses; NULL: no memory. Places of one line are sorted
 * together, and become one sum. */
static struct sum *sum_up(const struct fl_misses *m, size_t *n)
{
	struct sum *all = calloc(m->n + 1ul, sizeof *all);
	size_t last = 0;

	*n = 0;
	for (uint32_t i = 0; all && i < m->n; i++) {
		uint32_t f = fl_missed_accesses(&m->of[i]) ? m->view->place(m->view, i) : 0;

		if (fl_missed_accesses(&m->of[i]))
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
			fl_missed_add(&all[last].missed, &all[i].missed);
	*n = last + 1;
	return all;
}

uint64_t *fl_missed_row(const struct fl_missed *m, uint32_t levels, uint64_t *cell)
{
	*cell++ = fl_missed_accesses(m);
	*cell++ = m->n[FL_ACCESS_STORE];
	for (uint32_t k = 0; k < levels; k++)
		*cell++ = m->misses[k];
	return cell;
}

static int rows(void *state, struct flick_rows *r)
{
	struct fl_misses *m = state;
	bool has_lines = m->view->line != NULL;
	size_t n, n_columns = FIXED - !has_lines + m->levels;
	struct sum *sums;
	uint64_t *cell;

	if (m->parts)
		fl_miss_parts_gather(m);
	fl_misses_gather(m, m->words);
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
		cell = fl_missed_row(&sums[i].missed, m->levels, cell);
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
