/*
 * Simulated caches miss where a plain model does, which keeps when each line was used; and
 * where it can be said by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"

static const struct fl_cache_geometry usual = {
	.data = { { 32768, 4, 64 }, { 524288, 8, 64 } }, .n_data = 2,
};

static struct fl_cache *begin(const struct fl_cache_geometry *g)
{
	struct fl_cache *c = NULL;

	assert_int_equal(fl_cache_open(&c, g), 0);
	return c;
}

static void load(struct fl_cache *c, uint64_t at, uint32_t size)
{
	fl_cache_feed(c, &(struct fl_access){ at, size, FL_ACCESS_LOAD }, 1);
}

static uint64_t misses(struct fl_cache *c, uint32_t level)
{
	return fl_cache_counts(c)->misses[level][FL_ACCESS_LOAD];
}

/* ---- by hand -------------------------------------------------------------------------- */

static void what_fits_misses_once(void **unused)
{
	struct fl_cache *c = begin(&usual);

	(void)unused;
	for (int pass = 0; pass < 3; pass++)
		for (uint64_t at = 0; at < 32768; at += 8)
			load(c, 0x7f0000000000 + at, 8);
	assert_int_equal(misses(c, 0), 512);
	assert_int_equal(misses(c, 1), 512);
	assert_int_equal(fl_cache_counts(c)->accesses[FL_ACCESS_LOAD], 3 * 4096);
	fl_cache_close(c);
}

/* Five lines take turns in a set of four: the next one is always that used longest ago. */
static void least_recently_used_goes(void **unused)
{
	struct fl_cache *c = begin(&usual);

	(void)unused;
	for (uint64_t i = 0; i < 50; i++)
		load(c, i % 5 * 8192, 4);
	assert_int_equal(misses(c, 0), 50);
	assert_int_equal(misses(c, 1), 5);
	for (uint64_t i = 1; i <= 4; i++)	/* 1 to 4 are there; 1 is used, so 2 goes */
		load(c, i * 8192, 4);
	load(c, 8192, 4);
	load(c, 0, 4);
	load(c, 8192, 4);
	assert_int_equal(misses(c, 0), 51);
	load(c, 2 * 8192, 4);
	assert_int_equal(misses(c, 0), 52);
	fl_cache_close(c);
}

static void an_access_in_two_lines_is_one(void **unused)
{
	struct fl_cache *c = begin(&usual);

	(void)unused;
	load(c, 60, 8);
	assert_int_equal(misses(c, 0), 1);
	load(c, 0, 4);
	load(c, 127, 1);
	assert_int_equal(misses(c, 0), 1);
	load(c, 124, 8);		/* one of both is there */
	assert_int_equal(misses(c, 0), 2);
	assert_int_equal(misses(c, 1), 2);
	load(c, 0x1000, 512);		/* as long as a line */
	load(c, 0x11c0, 64);		/* its last line */
	assert_int_equal(misses(c, 0), 4);
	assert_int_equal(fl_cache_counts(c)->accesses[FL_ACCESS_LOAD], 6);
	fl_cache_close(c);
}

/* Line 0 is used all the time, which the second level does not see: two others take its
 * place there. */
static uint64_t misses_of_a_hot_line(enum fl_cache_policy policy)
{
	const struct fl_cache_geometry g = {
		.data = { { 1024, 2, 64 }, { 2048, 2, 64 } }, .n_data = 2, .policy = policy,
	};
	struct fl_cache *c = begin(&g);
	uint64_t n;

	load(c, 0, 4);
	load(c, 1024, 4);
	load(c, 0, 4);
	load(c, 2048, 4);
	load(c, 0, 4);
	n = misses(c, 0);
	fl_cache_close(c);
	return n;
}

static void what_the_second_level_gives_up_goes(void **unused)
{
	(void)unused;
	assert_int_equal(misses_of_a_hot_line(FL_CACHE_INDEPENDENT), 3);
	assert_int_equal(misses_of_a_hot_line(FL_CACHE_INCLUSIVE), 4);
}

/* ---- against the model ---------------------------------------------------------------- */

enum { MOST_SETS = 64, MOST_WAYS = 8 };

struct model_level {
	uint64_t n_sets, ways;
	struct { uint64_t line, used; } of[MOST_SETS][MOST_WAYS];	/* used 0: none */
};

struct model {
	struct model_level data[FL_CACHE_LEVELS], code;
	const struct fl_cache_geometry *g;
	uint64_t now;
	struct fl_cache_counts counts;
};

static void model_level(struct model_level *l, const struct fl_cache_level *g)
{
	memset(l, 0, sizeof(*l));
	l->ways = g->ways;
	l->n_sets = g->size ? g->size / g->ways / g->line : 0;
	assert_true(l->n_sets <= MOST_SETS && l->ways <= MOST_WAYS);
}

static void model_forget(struct model_level *l, uint64_t line)
{
	for (uint64_t i = 0; l->n_sets && i < l->ways; i++)
		if (l->of[line % l->n_sets][i].line == line)
			l->of[line % l->n_sets][i].used = 0;
}

/* Was it there? Else the line used longest ago gives way, and goes from `above` levels. */
static bool model_look(struct model *m, struct model_level *l, uint64_t line, uint32_t above)
{
	uint64_t set = line % l->n_sets, oldest = 0;

	m->now++;
	for (uint64_t i = 0; i < l->ways; i++) {
		if (l->of[set][i].used && l->of[set][i].line == line) {
			l->of[set][i].used = m->now;
			return true;
		}
		if (l->of[set][i].used < l->of[set][oldest].used)
			oldest = i;
	}
	for (uint32_t k = 0; above && l->of[set][oldest].used && k <= above; k++)
		model_forget(k < above ? &m->data[k] : &m->code, l->of[set][oldest].line);
	l->of[set][oldest].line = line;
	l->of[set][oldest].used = m->now;
	return false;
}

static void model_access(struct model *m, const struct fl_access *a)
{
	uint64_t first = a->at / m->g->data[0].line;
	uint32_t line = m->g->data[0].line, size = a->size < line ? a->size : line;
	uint64_t last = (a->at + size - 1) / line;
	bool is_there = false;

	m->counts.accesses[a->kind]++;
	for (uint32_t k = 0; !is_there && k < m->g->n_data; k++) {
		bool is_fetch = !k && a->kind == FL_ACCESS_FETCH;
		struct model_level *l = is_fetch ? &m->code : &m->data[k];
		uint32_t above = m->g->policy == FL_CACHE_INCLUSIVE ? k : 0;

		is_there = model_look(m, l, first, above);
		if (last != first)
			is_there = model_look(m, l, last, above) && is_there;
		m->counts.misses[k][a->kind] += !is_there;
	}
}

static struct fl_access random_access(uint64_t *x)
{
	struct fl_access a = { .kind = FL_ACCESS_LOAD };

	*x = fl_random_next(*x);
	a.kind = (uint32_t)(*x >> 8 & 3);
	if (a.kind == FL_N_ACCESSES)
		a.kind = FL_ACCESS_LOAD;
	a.size = 1u << (*x >> 16 & 3);
	if ((*x >> 50 & 63) == 0)
		a.size = (uint32_t)(*x >> 30 & 0x3ff) + 1;	/* longer than a line */
	a.at = *x >> 20 & (*x >> 40 & 1 ? 0x1ff : *x >> 41 & 1 ? 0xfff : 0x7fff);
	return a;
}

/* Rounds are of all sizes, of which some are the caller's alone. */
static void several_threads_agree(const struct fl_cache_geometry *g, const struct fl_access *a,
				  size_t n, const struct fl_cache_counts *expected)
{
	struct fl_cache *c = begin(g);
	size_t at = 0;

	for (size_t some = 700; at < n; at += some, some = some * 3 % 7919) {
		some = some < n - at ? some : n - at;
		fl_cache_feed(c, a + at, some);
	}
	assert_memory_equal(fl_cache_counts(c), expected, sizeof(*expected));
	fl_cache_close(c);
}

static void they_miss_as_the_model(void **unused)
{
	static const struct fl_cache_geometry all[] = {
		{ .data = { { 1024, 4, 16 }, { 8192, 8, 16 } }, .n_data = 2,
		  .code = { 512, 2, 16 } },
		{ .data = { { 256, 1, 16 }, { 1024, 2, 16 }, { 2048, 2, 16 }, { 4096, 4, 16 } },
		  .n_data = 4, .code = { 256, 1, 16 } },
		{ .data = { { 512, 8, 64 }, { 3 * 1024, 4, 64 } }, .n_data = 2,	/* 12 sets */
		  .code = { 1024, 2, 64 } },
		{ .data = { { 2048, 3 + 1, 32 } }, .n_data = 1, .code = { 64, 2, 32 } },
		{ .data = { { 64, 1, 16 }, { 128, 8, 16 } }, .n_data = 2,	/* one set */
		  .code = { 64, 4, 16 } },
	};
	static struct model m;

	(void)unused;
	for (size_t i = 0; i < 2 * ARRAY_LEN(all); i++) {
		struct fl_cache_geometry g = all[i / 2];
		static struct fl_access some[20000];
		struct fl_cache *c;
		uint64_t x = 1 + i;

		g.policy = i % FL_N_CACHE_POLICIES;
		c = begin(&g);
		m = (struct model){ .g = &g };
		for (uint32_t k = 0; k < g.n_data; k++)
			model_level(&m.data[k], &g.data[k]);
		model_level(&m.code, &g.code);
		for (size_t n = 0; n < ARRAY_LEN(some); n++) {
			some[n] = random_access(&x);
			model_access(&m, &some[n]);
			fl_cache_feed(c, &some[n], 1);
		}
		assert_memory_equal(fl_cache_counts(c), &m.counts, sizeof(m.counts));
		assert_true(m.counts.misses[0][FL_ACCESS_LOAD] > 1000);
		assert_true(m.counts.misses[0][FL_ACCESS_LOAD] + 200 <
			    m.counts.accesses[FL_ACCESS_LOAD]);
		fl_cache_close(c);
		for (g.threads = 2; g.threads <= 5; g.threads++)
			several_threads_agree(&g, some, ARRAY_LEN(some), &m.counts);
	}
}

/* ---- geometry --------------------------------------------------------------------------- */

static void levels_are_read(void **unused)
{
	struct fl_cache_level l[FL_CACHE_LEVELS];
	char why[FL_USE_WHY];

	(void)unused;
	assert_int_equal(fl_cache_parse(l, 4, "32K,4,64:512K,8,64", why), 2);
	assert_memory_equal(l, usual.data, 2 * sizeof(*l));
	assert_int_equal(fl_cache_parse(l, 4, "64,1,64", why), 1);
	assert_int_equal(l[0].size, 64);
	assert_int_equal(fl_cache_parse(l, 1, "1m,16,128", why), 1);
	assert_int_equal(l[0].size, 1 << 20);
	assert_int_equal(fl_cache_parse(l, 4, "1K,1,64:1K,1,64:1K,1,64:4G,1,64", why), 4);
	assert_true(l[3].size == (uint64_t)4 << 30);
}

static void what_is_no_cache_is_said(void **unused)
{
	static const struct { const char *text, *why; } all[] = {
		{ "", "it is `host` or" }, { "32K", "it is" }, { "32K,4", "it is" },
		{ "32K,4,64:", "it is" }, { "32K,4,64x", "it is" }, { ",4,64", "it is" },
		{ "32K,-4,64", "it is" }, { "32K,4,64,8", "it is" },
		{ "host:1K,1,64", "it is" },
		{ "1K,1,64:1K,1,64:1K,1,64:1K,1,64:1K,1,64", "it is" },
		{ "99999999999999999999,4,64", "it is" },
		{ "4K,4,60", "a line has" }, { "4K,4,4", "a line has" },
		{ "8K,1,0", "a line has" },
		{ "4K,0,64", "1 to 4096 ways" }, { "0,4,64", "1 to 4096 ways" },
		{ "8G,4,64", "up to 4G" },
		{ "1K,3,64", "do not divide" },
		{ "64,4,64", "do not divide" }, { "48K,4,64", "not a power of two" },
		{ "32K,4,64:96K,8,64", "98304 bytes in 8 ways with lines of 64 bytes" },
	};
	struct fl_cache_level l[FL_CACHE_LEVELS];
	char why[FL_USE_WHY];

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_int_equal(fl_cache_parse(l, 4, all[i].text, why), -1);
		if (!strstr(why, all[i].why) || strchr(why, '\n'))
			fail_msg("%s: %s", all[i].text, why);
	}
	assert_int_equal(fl_cache_parse(l, 1, "1K,1,64:1K,1,64", why), -1);
}

static void lines_are_of_one_size(void **unused)
{
	struct fl_cache_geometry g = usual;
	struct fl_cache *c;

	(void)unused;
	g.data[1].line = 128;
	assert_int_equal(fl_cache_open(&c, &g), -EINVAL);
	g = usual;
	g.code = (struct fl_cache_level){ 32768, 8, 32 };
	assert_int_equal(fl_cache_open(&c, &g), -EINVAL);
	g.n_data = 0;
	assert_int_equal(fl_cache_open(&c, &g), -EINVAL);
}

/* ---- accesses in words ------------------------------------------------------------- */

enum { PLACES = 300, FUNCTIONS = 20, AT_ONCE = 500, LONGEST = 80, MOST = 4 * AT_ONCE };

static struct fl_place_row places[PLACES];

static uint32_t function_of_place(const void *owner, uint32_t place)
{
	(void)owner;
	return place % FUNCTIONS;
}

/* Of four places one, or three in a row, may be told by the word of the place before. */
static void name_places(void)
{
	for (uint32_t i = 0; i < PLACES; i++) {
		bool is_with = i % 4 && rand() % 2;

		places[i].what = (1 + (uint32_t)rand() % LONGEST) |
				 (rand() % 2 ? FLICK_ACCESS_LOAD : FLICK_ACCESS_STORE) |
				 (is_with ? FL_PLACE_WITH : 0) |
				 (uint32_t)(rand() % 3 ? 0 : rand() % 20) << FL_PLACE_ABOVE;
	}
}

/* The accesses of a word: how many. */
static size_t make_records(struct flick_record *r, uint32_t place, uint64_t at)
{
	uint32_t k = place;

	do {
		*r++ = (struct flick_record){
			.tsc = at + (places[k].what >> 24),
			.probe = fl_typed(FLICK_TYPE_ACCESS, k),
			.sp = places[k].what & (FLICK_ACCESS_SIZE | FLICK_ACCESS_LOAD |
						FLICK_ACCESS_STORE),
		};
	} while (++k < PLACES && places[k].what & FL_PLACE_WITH);
	return k - place;
}

/* As many as a thread's chunk has: most near the one before, some in two lines. How many
 * records that is. */
static size_t make_accesses(uint64_t words[AT_ONCE], struct flick_record records[MOST])
{
	static uint64_t at = 1 << 20;
	size_t n = 0;

	for (int i = 0; i < AT_ONCE; i++) {
		uint32_t place = (uint32_t)rand() % PLACES;

		while (places[place].what & FL_PLACE_WITH)
			place--;
		at = rand() % 4 ? at + (uint64_t)rand() % 48 : (uint64_t)rand() % (1 << 21);
		words[i] = (FL_ACCESS_WORD | (uint64_t)place << FL_WORD_ADDRESS_BITS) + at;
		n += make_records(&records[n], place, at);
	}
	return n;
}

static struct fl_run *begin_shared_run(struct fl_use *use, const char *geometry,
				       uint32_t threads)
{
	static const struct fl_view view = { .n_functions = FUNCTIONS,
					     .place = function_of_place };
	char why[FL_USE_WHY];
	struct fl_run *run;

	assert_int_equal(fl_use_open(use, "cache", why), 0);
	use->arg = strdup(geometry);
	use->threads = threads;
	assert_int_equal(fl_run_open(&run, use, 1, &view), 0);
	assert_true(fl_run_takes_words(run));
	return run;
}

static struct fl_run *begin_run(struct fl_use *use, const char *geometry)
{
	return begin_shared_run(use, geometry, 1);
}

static void same_rows(struct fl_run *one, struct fl_run *other)
{
	struct flick_rows a, b;

	assert_int_equal(fl_run_rows(one, 0, &a), 0);
	assert_int_equal(fl_run_rows(other, 0, &b), 0);
	assert_int_equal(a.n_rows, FUNCTIONS);
	assert_int_equal(b.n_rows, FUNCTIONS);
	assert_memory_equal(a.cells, b.cells, a.n_rows * a.n_columns * sizeof(*a.cells));
	free(a.cells);
	free(b.cells);
}

/* Also of places that nobody has named, which are none. */
static void words_miss_as_records(void **unused)
{
	static const char *const geometries[] = {
		"32K,4,64:512K,8,64", "4K,8,64", "1K,2,32:2K,4,32:16K,1,32", "2K,4,128",
	};
	uint64_t words[AT_ONCE + 1];
	struct flick_record records[MOST];
	size_t n;

	(void)unused;
	srand(5);
	name_places();
	words[AT_ONCE] = FL_ACCESS_WORD | 5000ull << FL_WORD_ADDRESS_BITS | 64;
	for (size_t g = 0; g < ARRAY_LEN(geometries); g++) {
		struct fl_use uses[2];
		struct fl_run *by_word = begin_run(&uses[0], geometries[g]);
		struct fl_run *by_record = begin_run(&uses[1], geometries[g]);

		for (int round = 0; round < 60; round++) {
			n = make_accesses(words, records);
			assert_int_equal(fl_run_words(by_word, &(struct fl_words){
				.of = words, .n = AT_ONCE + 1,
				.places = places, .n_places = PLACES }), 0);
			assert_int_equal(fl_run_feed(by_record, &(struct fl_batch){
				.records = records, .n = n }), 0);
			if (round % 20 == 19)
				same_rows(by_word, by_record);
		}
		fl_run_close(by_word);
		fl_run_close(by_record);
		fl_use_close(&uses[0]);
		fl_use_close(&uses[1]);
	}
}

/* What is no access ends the words: how many were in front of it is said. */
static void words_end_before_a_record(void **unused)
{
	uint64_t words[AT_ONCE + 1];
	struct flick_record records[MOST];
	size_t n = 0, at;

	(void)unused;
	srand(7);
	name_places();
	for (uint32_t threads = 1; threads <= 2; threads++) {
		struct fl_use uses[2];
		struct fl_run *runs[2] = {
			begin_shared_run(&uses[0], "1K,2,64", threads),
			begin_run(&uses[1], "1K,2,64"),
		};

		for (int round = 0; round < 300; round++) {
			struct fl_words w = { .of = words, .n = AT_ONCE, .places = places,
					      .n_places = PLACES };

			make_accesses(words, records);
			at = (size_t)rand() % (AT_ONCE + 1);
			words[at] = at < AT_ONCE ? 12345 : words[at];
			assert_int_equal(fl_run_words(runs[0], &w), 0);
			assert_int_equal(w.n, at);
			assert_int_equal(fl_run_words(runs[1], &(struct fl_words){
				.of = words, .n = at, .places = places,
				.n_places = PLACES }), 0);
			n += at;
		}
		assert_true(n > 30000);
		same_rows(runs[0], runs[1]);
		for (size_t k = 0; k < 2; k++) {
			fl_run_close(runs[k]);
			fl_use_close(&uses[k]);
		}
	}
}

static void feed_both(struct fl_run *runs[2], const uint64_t *words,
		      const struct flick_record *records, size_t n)
{
	for (size_t k = 0; k < 2; k++) {
		assert_int_equal(fl_run_words(runs[k], &(struct fl_words){
			.of = words, .n = AT_ONCE + 1, .places = places,
			.n_places = PLACES }), 0);
		if (n)
			assert_int_equal(fl_run_feed(runs[k], &(struct fl_batch){
				.records = records, .n = n }), 0);
	}
}

/* Rounds of all threads are FL_ROUND words; what comes in records between them is the
 * caller's, with the few words that were kept before. */
static void words_of_several_threads_miss_as_ones(void **unused)
{
	static const char *const geometries[] = {
		"32K,4,64:512K,8,64", "1K,2,32:2K,4,32:16K,1,32", "64,1,64:128,2,64",
	};
	uint64_t words[AT_ONCE + 1];
	struct flick_record records[MOST];
	size_t n;

	(void)unused;
	srand(11);
	name_places();
	words[AT_ONCE] = FL_ACCESS_WORD | 5000ull << FL_WORD_ADDRESS_BITS | 64;
	for (size_t g = 0; g < 2 * ARRAY_LEN(geometries); g++) {
		struct fl_use uses[2];
		struct fl_run *runs[2] = {
			begin_run(&uses[0], geometries[g / 2]),
			begin_shared_run(&uses[1], geometries[g / 2], 2 + g % 2),
		};

		for (int round = 0; round < 700; round++) {
			n = make_accesses(words, records);
			feed_both(runs, words, records, round % 150 == 149 ? n : 0);
			if (round % 300 == 299)
				same_rows(runs[0], runs[1]);
		}
		same_rows(runs[0], runs[1]);
		for (size_t k = 0; k < 2; k++) {
			fl_run_close(runs[k]);
			fl_use_close(&uses[k]);
		}
	}
}

/* ---- strings ------------------------------------------------------------------------ */

static struct flick_record any_string(uint32_t n, bool is_with_next)
{
	static uint64_t at = 1 << 20;
	bool stores = !is_with_next && rand() % 2;

	at = rand() % 3 ? at + (uint64_t)rand() % 200 : 4096 + (uint64_t)rand() % (1 << 17);
	return (struct flick_record){
		.tsc = at | (uint64_t)(rand() % 4) << FLICK_STRING_SIZE |
		       (uint64_t)stores << FLICK_STRING_STORE |
		       (uint64_t)is_with_next << FLICK_STRING_WITH_NEXT |
		       (uint64_t)(rand() % 2) << FLICK_STRING_DOWN,
		.probe = fl_typed(FLICK_TYPE_STRING, (uint32_t)rand() % PLACES), .sp = n,
	};
}

static struct flick_record element(const struct flick_record *s, uint64_t i)
{
	uint32_t size = 1u << (s->tsc >> FLICK_STRING_SIZE & 3);
	uint64_t at = s->tsc & FLICK_STRING_ADDRESS;
	bool stores = s->tsc >> FLICK_STRING_STORE & 1;

	return (struct flick_record){
		.tsc = s->tsc >> FLICK_STRING_DOWN & 1 ? at - i * size : at + i * size,
		.probe = fl_typed(FLICK_TYPE_ACCESS, fl_record_probe(s)),
		.sp = size | (uint32_t)(stores ? FLICK_ACCESS_STORE : FLICK_ACCESS_LOAD),
	};
}

/* One by one. */
static void feed_elements(struct fl_run *run, const struct flick_record *s, size_t n_strings)
{
	for (uint64_t i = 0; i < s->sp; i++) {
		struct flick_record both[2] = { element(&s[0], i),
						element(&s[n_strings - 1], i) };

		assert_int_equal(fl_run_feed(run, &(struct fl_batch){
			.records = both, .n = n_strings }), 0);
	}
}

/* Of two the second may come in the next batch, behind another thread's. */
static void feed_strings(struct fl_run *run, const struct flick_record *s, size_t n_strings)
{
	if (n_strings == 2 && rand() % 2) {
		assert_int_equal(fl_run_feed(run, &(struct fl_batch){
			.thread = 1, .records = s++, .n = 1 }), 0);
		assert_int_equal(fl_run_feed(run, &(struct fl_batch){ .thread = 3 }), 0);
		n_strings = 1;
	}
	assert_int_equal(fl_run_feed(run, &(struct fl_batch){
		.thread = 1, .records = s, .n = n_strings }), 0);
}

static void strings_miss_as_their_accesses(void **unused)
{
	static const char *const geometries[] = {
		"4K,4,64:32K,8,64", "512,8,64:1K,16,64", "1K,2,32:2K,4,32:16K,1,32",
		"256,2,16", "64,1,64",
	};

	(void)unused;
	srand(7);
	for (size_t g = 0; g < ARRAY_LEN(geometries); g++) {
		struct fl_use uses[2];
		struct fl_run *whole = begin_run(&uses[0], geometries[g]);
		struct fl_run *single = begin_run(&uses[1], geometries[g]);

		for (int round = 0; round < 600; round++) {
			uint32_t n = (uint32_t)rand() % (rand() % 4 ? 40 : 3000);
			struct flick_record s[2] = { any_string(n, true),
						     any_string(n, false) };
			size_t n_strings = 1 + (size_t)rand() % 2;

			feed_strings(whole, s + 2 - n_strings, n_strings);
			feed_elements(single, s + 2 - n_strings, n_strings);
		}
		same_rows(whole, single);
		fl_run_close(whole);
		fl_run_close(single);
		fl_use_close(&uses[0]);
		fl_use_close(&uses[1]);
	}
}

/* It has faulted, or the program has written it: nobody waits for it. */
static void what_is_nowhere_is_left_out(void **unused)
{
	const struct flick_record r = {
		.tsc = UINT64_C(8) << FLICK_STRING_MORE | UINT64_C(3) << FLICK_STRING_SIZE,
		.probe = fl_typed(FLICK_TYPE_STRING, 1),
	};
	struct fl_use use;
	struct fl_run *run = begin_run(&use, "4K,4,64");
	struct flick_rows rows;

	(void)unused;
	assert_int_equal(fl_run_feed(run, &(struct fl_batch){ .records = &r, .n = 1 }), 0);
	assert_int_equal(fl_run_rows(run, 0, &rows), 0);
	assert_int_equal(rows.n_rows, 0);
	free(rows.cells);
	fl_run_close(run);
	fl_use_close(&use);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_miss_as_their_accesses),
		cmocka_unit_test(what_is_nowhere_is_left_out),
		cmocka_unit_test(what_fits_misses_once),
		cmocka_unit_test(least_recently_used_goes),
		cmocka_unit_test(an_access_in_two_lines_is_one),
		cmocka_unit_test(what_the_second_level_gives_up_goes),
		cmocka_unit_test(they_miss_as_the_model),
		cmocka_unit_test(levels_are_read),
		cmocka_unit_test(what_is_no_cache_is_said),
		cmocka_unit_test(lines_are_of_one_size),
		cmocka_unit_test(words_miss_as_records),
		cmocka_unit_test(words_end_before_a_record),
		cmocka_unit_test(words_of_several_threads_miss_as_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
