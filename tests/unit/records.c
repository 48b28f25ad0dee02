/*
 * unit/records: what a reader does not know is passed over by its length, wherever a batch,
 * a chunk of a ring or a block of a trace ends, and is counted; all else arrives.
 */
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "channel/channel.h"
#include "report/report.h"

#define N 600
#define C 4096ull			/* bytes of a chunk in a ring of 32 KiB */
#define RECORDS (C / sizeof(struct flick_record))
#define SHORT (FLICK_N_TYPES)		/* types that nobody knows yet */
#define LONG (FLICK_TYPE_LONG | 5)

static struct flick_record all[N];
static struct flick_record got[N];
static size_t n_known, n_passed, n_events, n_got;

static size_t put(size_t at, uint32_t what, uint32_t more)
{
	all[at] = (struct flick_record){ .tsc = 1000 + at, .probe = what, .sp = more };
	for (uint32_t i = 1; i <= more && at + i < N; i++)
		all[at + i] = (struct flick_record){ 1, i % 3 ? i : UINT32_MAX, UINT32_MAX };
	return at + 1 + more;
}

/* Of every kind, at random; the last one may be cut short. */
static void make(unsigned seed)
{
	srand(seed);
	n_known = n_passed = n_events = 0;
	for (size_t at = 0; at < N;) {
		int dice = rand() % 20;

		if (dice < 3) {
			at = put(at, fl_typed(LONG, 7), (uint32_t)rand() % (dice ? 9 : 400));
			n_passed++;
		} else if (dice < 5) {
			at = put(at, fl_typed(SHORT, 7), 0);
			n_passed++;
		} else {
			at = put(at, dice == 5 ? fl_typed(FLICK_TYPE_CALLER, 3) : 3, 0);
			n_events += dice != 5;
			n_known++;
		}
	}
}

static void take(void *arg, const struct fl_batch *b)
{
	(void)arg;
	memcpy(got + n_got, b->records, b->n * sizeof(*got));
	n_got += b->n;
}

/* In order, and nothing of what belongs to another. */
static void check(void)
{
	assert_int_equal(n_got, n_known);
	for (size_t i = 0; i < n_got; i++) {
		assert_true(got[i].tsc >= 1000 && (i == 0 || got[i].tsc > got[i - 1].tsc));
		assert_true(fl_record_type(&got[i]) < FLICK_N_TYPES);
	}
	n_got = 0;
}

static void batches_may_end_anywhere(void **state)
{
	(void)state;
	for (size_t length = 1; length <= N; length += 1 + length / 9) {
		uint64_t rest = 0, passed = 0, events = 0;
		struct fl_known_records k;

		make((unsigned)length);
		for (size_t from = 0; from < N; from += length)
			for (size_t at = from, end = from + length < N ? from + length : N;
			     at < end; at += k.from + k.n) {
				k = fl_records_known(all + at, end - at, &rest);
				assert_true(k.from + k.n);
				passed += k.passed;
				events += k.events;
				take(NULL, &(struct fl_batch){ .records = all + at + k.from,
							       .n = k.n });
			}
		assert_int_equal(passed, n_passed);
		assert_int_equal(events, n_events);
		check();
	}
}

/* Two chunks and a part of a third, as a thread would have written them. */
static void rings_may_hold_what_is_not_known(void **state)
{
	const struct fl_sink sink = { .feed = take };
	const struct fl_shm_options o = { .n_slots = 2, .ring_kib = 32, .max_sites = 16,
					  .action = FL_ACT_TIME };
	const struct fl_thread *t;
	struct fl_reader *reader;
	struct fl_region *m;
	struct fl_slot *s;
	uint64_t offset;
	size_t n;
	int fd;

	(void)state;
	for (unsigned seed = 0; seed < 50; seed++) {
		make(seed);
		assert_int_equal(fl_shm_create(&o, &m, &fd), 0);
		assert_int_equal(fl_reader_open(&reader, m, &sink, 0), 0);
		s = fl_shm_slot(m, 0);
		offset = m->slots_at + FL_SLOT_HEADER_BYTES;
		memcpy((char *)m + offset, all, 2 * C);
		s->ring[0].filled = 2;
		s->ring[0].claimed = s->ring[0].granted = 2;
		*(uint32_t *)&s->owner = 12345;
		s->state = FL_SLOT_LIVE;
		m->session[0].fresh[0] = 1;
		fl_reader_poll(reader, false);
		assert_in_range(s->ring[0].granted, 3, FL_RING_CHUNKS);
		memcpy((char *)m + s->ring[0].page[2] * 4096ull, all + 2 * RECORDS,
		       (N - 2 * RECORDS) * sizeof(*all));
		s->ring[0].data = offset;
		s->ring[0].claimed = 3;
		s->ring[0].ptr = s->ring[0].page[2] * 4096ull +
				 (N - 2 * RECORDS) * sizeof(*all);
		*(uint32_t *)&s->owner = FUTEX_OWNER_DIED;
		fl_reader_poll(reader, true);
		t = fl_reader_threads(reader, &n);
		assert_int_equal(n, 1);
		assert_int_equal(t->filtered, n_passed);
		assert_int_equal(t->delivered, n_events);
		assert_int_equal(t->produced, n_passed + n_events);
		check();
		fl_reader_close(reader);
		fl_shm_destroy(m, fd);
	}
}

/* ---- accesses in words ------------------------------------------------------------- */

#define WORDS (3 * C / 8)
enum { FEW_PLACES = 50, SIZES = 7 };

static uint64_t stream[WORDS];
static uint64_t said[3 * WORDS], n_said;	/* in order: an address, or a time */
static uint64_t n_told, n_made;

static uint32_t what_of(uint32_t place)
{
	return (1 + place % SIZES) | (place & 1 ? FLICK_ACCESS_STORE : FLICK_ACCESS_LOAD);
}

/* The word of every seventh place tells two or three accesses: so far above its address. */
static uint32_t above(uint32_t place)
{
	return place % 7 < 3 ? 5 * (place % 7) : 0;
}

static bool is_with(uint32_t place)
{
	return place % 7 == 1 || place % 14 == 2;
}

/* A word, and what is said of it in records or in words. */
static size_t put_word(size_t at, uint32_t place, bool in_records)
{
	stream[at] = FL_ACCESS_WORD | (uint64_t)place << FL_WORD_ADDRESS_BITS | at;
	said[n_made++] = at + (in_records ? above(place) : 0);
	for (uint32_t k = place + 1; in_records && k < FEW_PLACES && is_with(k); k++)
		said[n_made++] = at + above(k);
	return at + 1;
}

/* What is left of a chunk but for `most` words is filled up. */
static size_t end_chunk(size_t at, size_t most)
{
	while (at % (C / 8) + most > C / 8 && at % (C / 8))
		stream[at++] = FL_WORD_NOTHING;
	return at;
}

static size_t put_record(size_t at, uint32_t what, uint32_t more)
{
	struct flick_record r = { .tsc = at, .probe = what, .sp = more };

	memcpy(&stream[at], &r, sizeof r);
	return at + 2;
}

/* Words, records, and what is longer, looks like words and may go on in the next chunk; where
 * all that ends. */
static size_t mix(unsigned seed, bool in_records)
{
	size_t at = 0, more;

	srand(seed);
	n_said = n_made = 0;
	while (at < WORDS - 60) {
		int dice = rand() % 12;

		at = end_chunk(at, 2);
		if (!dice && at % 2)		/* none lies in two chunks */
			at = put_word(at, 0, in_records);
		if (dice > 2) {
			uint32_t place = (uint32_t)rand() % FEW_PLACES;

			at = put_word(at, is_with(place) ? 0 : place, in_records);
		} else if (dice) {
			said[n_made++] = at;
			at = put_record(at, 3, 0);
		} else {
			more = (size_t)rand() % 14;
			at = put_record(at, fl_typed(LONG, 7), (uint32_t)more);
			for (size_t i = 0; i < 2 * more; i++)
				stream[at++] = FL_ACCESS_WORD | (uint64_t)rand();
		}
	}
	return at;
}

static void hear(uint64_t at)
{
	assert_true(n_said < n_made);
	assert_int_equal(at, said[n_said++]);
}

static void hear_records(void *arg, const struct fl_batch *b)
{
	(void)arg;
	for (size_t i = 0; i < b->n; i++) {
		const struct flick_record *r = &b->records[i];

		hear(r->tsc);
		if (fl_record_type(r) == FLICK_TYPE_ACCESS)
			assert_int_equal(r->sp, what_of(fl_record_probe(r)));
		else
			assert_int_equal(r->probe, 3);
	}
}

static void hear_words(void *arg, struct fl_words *w)
{
	size_t n = 0;

	(void)arg;
	for (; n < w->n && w->of[n] & FL_ACCESS_WORD; n++)
		hear(fl_word_address(w->of[n]));
	w->n = n;
	n_told += n;
}

/* As a thread would have written them. */
static void read_stream(struct fl_region *m, struct fl_reader *reader, size_t end)
{
	struct fl_slot *s = fl_shm_slot(m, 0);
	uint64_t offset = m->slots_at + FL_SLOT_HEADER_BYTES;
	const struct fl_thread *t;
	size_t n;

	memcpy((char *)m + offset, stream, 2 * C);
	s->ring[0].filled = 2;
	s->ring[0].claimed = s->ring[0].granted = 2;
	*(uint32_t *)&s->owner = 12345;
	s->state = FL_SLOT_LIVE;
	m->session[0].fresh[0] = 1;
	fl_reader_poll(reader, false);
	memcpy((char *)m + s->ring[0].page[2] * 4096ull, stream + 2 * C / 8, C);
	s->ring[0].data = offset;
	s->ring[0].claimed = 3;
	s->ring[0].ptr = s->ring[0].page[2] * 4096ull + end * 8 - 2 * C;
	*(uint32_t *)&s->owner = FUTEX_OWNER_DIED;
	fl_reader_poll(reader, true);
	t = fl_reader_threads(reader, &n);
	assert_int_equal(n, 1);
	assert_int_equal(t->delivered, n_made);
	assert_int_equal(n_said, n_made);
}

static void words_lie_between_records(void **state)
{
	const struct fl_sink sink = { .feed = hear_records };
	const struct fl_shm_options o = { .n_slots = 2, .ring_kib = 32, .max_sites = 16,
					  .action = FL_ACT_TIME, .weaves = FL_WEAVE_ACCESSES };
	struct fl_reader *reader;
	struct fl_region *m;
	int fd;

	(void)state;
	for (unsigned seed = 0; seed < 60; seed++) {
		assert_int_equal(fl_shm_create(&o, &m, &fd), 0);
		for (uint32_t i = 0; i < FEW_PLACES; i++)
			fl_shm_places(m)[i].what = what_of(i) |
				above(i) << FL_PLACE_ABOVE |
				(is_with(i) ? FL_PLACE_WITH : 0);
		assert_int_equal(fl_reader_open(&reader, m, &sink, 0), 0);
		n_told = 0;
		if (seed % 2)
			fl_reader_give_words(reader, hear_words);
		read_stream(m, reader, mix(seed, seed % 2 == 0));
		assert_true(seed % 2 ? n_told > n_made / 2 : !n_told);
		fl_reader_close(reader);
		fl_shm_destroy(m, fd);
	}
}

/* A trace of the version that has them. */
static void traces_may_hold_what_is_not_known(void **state)
{
	const struct fl_sink sink = { .feed = take };
	char dir[] = "/tmp/flick-records-XXXXXX", file[64], why[FL_WHY] = "";
	struct fl_trace *t;

	(void)state;
	assert_non_null(mkdtemp(dir));
	make(3);
	assert_int_equal(fl_trace_create(&t, dir, why), 0);
	fl_trace_put(t, &(struct fl_batch){ .records = all, .n = N });
	assert_int_equal(fl_trace_save(t, why), 0);
	fl_trace_close(t);
	assert_int_equal(fl_trace_read(dir, &sink, why), 0);
	check();
	snprintf(file, sizeof(file), "%s/trace.zst", dir);
	unlink(file);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_may_end_anywhere),
		cmocka_unit_test(rings_may_hold_what_is_not_known),
		cmocka_unit_test(words_lie_between_records),
		cmocka_unit_test(traces_may_hold_what_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
