/*
 * unit/channel-reader.c - the reader alone, before slots that a test has written:
 * nothing in the region leads it outside, or to read anything twice.
 *
 * timeout: 60
 */
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "channel-rig.h"

#define RECORDS(bytes) ((bytes) / sizeof(struct flick_record))
#define AT 0x700000000000ull		/* where a target might have its ring */
#define C 4096ull			/* chunk bytes of a ring of 32 KiB */

/* Written by hand, where a thread would have written. */
static void write_records(struct fl_slot *s, uint64_t from, uint64_t n)
{
	struct flick_record *r = (void *)((char *)s + FL_SLOT_HEADER_BYTES);

	for (uint64_t i = 0; i < n; i++)
		r[i] = (struct flick_record){ .tsc = from + i, .probe = 1,
					      .sp = rig_check(from + i, 1) };
}

/* One full chunk and two records more. */
static void write_life(struct fl_slot *s)
{
	s->ring[0].data = AT;
	s->ring[0].filled = 1;
	s->ring[0].claimed = 2;
	s->ring[0].granted = 2;
	s->ring[0].ptr = AT + C + 32;
	write_records(s, 0, RECORDS(C) + 2);
	*(uint32_t *)&s->owner = (uint32_t)getpid();
	s->state = FL_SLOT_LIVE;
}

/* Twice, one after the other. */
static uint64_t read_two_lives(struct rig *g, struct fl_slot *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < 2; i++) {
		write_life(s);
		*(uint32_t *)&s->owner = FUTEX_OWNER_DIED;
		g->m->session[0].fresh[0] = 1;
		n += fl_reader_poll(g->reader, false);
	}
	return n;
}

/* ---- a scribbled region ---------------------------------------------------------- */

static void a_scribbled_slot_leads_the_reader_nowhere(void **state)
{
	struct rig *g = rig_open(2, 8, FL_ACT_TIME);
	struct fl_slot *s = fl_shm_slot(g->m, 0);

	(void)state;
	memset(s, 0xa5, sizeof(*s));
	s->state = FL_SLOT_LIVE;
	*(uint32_t *)&s->owner = FUTEX_OWNER_DIED;
	memset(g->m->session[0].fresh, 0xff, sizeof(g->m->session[0].fresh));
	g->m->n_slots_used = 0xffffffff;
	g->m->slot_bytes = 0xfffffff0;	/* geometry is the reader's own copy */
	g->m->n_slots = 0xffffffff;
	g->m->session[0].chunk_bytes = 1;
	assert_int_equal(fl_reader_poll(g->reader, true), 0);
	rig_close(g);
}

static void scribble_on(size_t from, size_t upto)
{
	static const uint32_t scribbles[] = { 0, 1, 0xa5a5a5a5, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_LEN(scribbles); i++)
		for (size_t w = from / 4; w < upto / 4; w++) {
			struct rig *g = rig_open(2, 32, FL_ACT_TIME);
			struct fl_slot *s = fl_shm_slot(g->m, 0);

			((uint32_t *)g->m)[w] = scribbles[i];
			assert_int_equal(read_two_lives(g, s), 2 * (RECORDS(C) + 2));
			assert_int_equal(g->torn + g->misordered, 0);
			assert_int_equal(g->ended, 2);
			assert_int_equal(s->state, FL_SLOT_FREE);
			rig_close(g);
		}
}

/* What is constant, of the region and of its session: any word of it may be overwritten by
 * the target. */
static void a_scribbled_header_leads_the_reader_nowhere(void **state)
{
	(void)state;
	scribble_on(0, offsetof(struct fl_region, n_modules));
	scribble_on(offsetof(struct fl_region, session),
		    offsetof(struct fl_region, session[0].phase));
}

/* The target writes over what its reader looks at, once the reader has it. */
static void scribble_and_feed(void *arg, const struct fl_batch *b)
{
	struct rig *g = arg;

	memset((char *)fl_shm_slot(g->m, 0) + FL_SLOT_HEADER_BYTES, 0xa5, 2 * C);
	rig_feed(g, b);
}

static void what_changes_while_it_is_read_changes_nothing(void **state)
{
	struct rig *g = rig_open(2, 32, FL_ACT_TIME);
	struct fl_sink sink = { g, scribble_and_feed, rig_count, rig_end };
	struct fl_slot *s = fl_shm_slot(g->m, 0);

	(void)state;
	fl_reader_close(g->reader);
	assert_int_equal(fl_reader_open(&g->reader, g->m, &sink, 0), 0);
	write_life(s);
	*(uint32_t *)&s->owner = FUTEX_OWNER_DIED;
	s->ring[0].filled = 0;	/* all of it in a chunk that is not full */
	s->ring[0].ptr = AT + C - 32;
	g->m->session[0].fresh[0] = 1;
	assert_int_equal(fl_reader_poll(g->reader, false), RECORDS(C) - 2);
	assert_int_equal(g->torn + g->misordered, 0);
	rig_close(g);
}

/* No glue leaves it between two records. */
static void a_pointer_within_a_record_is_none(void **state)
{
	struct rig *g = rig_open(2, 32, FL_ACT_TIME);
	struct fl_slot *s = fl_shm_slot(g->m, 0);

	(void)state;
	write_life(s);
	s->ring[0].ptr = AT + C + 33;
	*(uint32_t *)&s->owner = FUTEX_OWNER_DIED;
	g->m->session[0].fresh[0] = 1;
	assert_int_equal(fl_reader_poll(g->reader, false), RECORDS(C));
	assert_int_equal(g->torn + g->misordered, 0);
	rig_close(g);
}

/* The target holds the same memory, and may make it longer. */
static void what_a_target_did_to_the_region_ends_with_it(void **state)
{
	struct rig *g = rig_open(2, 32, FL_ACT_TIME);
	uint64_t bytes = g->m->bytes, *behind;
	const pthread_mutex_t *reader;
	struct fl_region *next;
	struct fl_shm_options o = { .n_slots = 1, .ring_kib = 8 };
	int fd;

	(void)state;
	behind = mmap((char *)g->m + bytes, 4096, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (ftruncate(g->fd, (off_t)(2 * bytes)))
		errno = 0;			/* it is sealed: so much the better */
	memset(&g->m->session[0].reader, 0xa5, sizeof(g->m->session[0].reader));
	memset(&g->m->joining, 0xa5, sizeof(g->m->joining));
	rig_close(g);
	if (behind != MAP_FAILED) {
		*behind = 1;
		munmap(behind, 4096);
	}
	/* This thread's list of robust mutexes is as it was. */
	assert_int_equal(fl_shm_create(&o, &next, &fd), 0);
	reader = &next->session[0].reader;
	assert_ptr_equal(reader->__data.__list.__next, reader->__data.__list.__prev);
	fl_shm_destroy(next, fd);
}

/* A mutex that the thread locked later, and one from before, stay in its list. */
static void who_leaves_takes_its_own_mutex_along(void **state)
{
	struct fl_shm_options o = { .n_slots = 1, .ring_kib = 8 };
	pthread_mutexattr_t robust;
	pthread_mutex_t later;
	pthread_mutex_t *reader[2];
	struct fl_region *m[2];
	int fd[2];

	(void)state;
	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&later, &robust);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fl_shm_create(&o, &m[i], &fd[i]), 0);
	for (int i = 0; i < 2; i++)
		reader[i] = &m[i]->session[0].reader;
	pthread_mutex_lock(&later);
	fl_shm_leave(m[1]);
	fl_shm_leave(m[1]);
	assert_int_equal(*(uint32_t *)reader[1], 0);
	assert_int_not_equal(*(uint32_t *)reader[0], 0);
	assert_ptr_equal(later.__data.__list.__next, &reader[0]->__data.__list.__next);
	assert_ptr_equal(reader[0]->__data.__list.__prev, &later.__data.__list.__next);
	fl_shm_destroy(m[1], fd[1]);
	pthread_mutex_unlock(&later);
	fl_shm_destroy(m[0], fd[0]);
}

/* ---- slots -------------------------------------------------------------------------- */

/* Its thread was between two steps, LIVE and its bit, when the reader found it. */
static void a_slot_that_shows_itself_too_late_is_read_once(void **state)
{
	struct rig *g = rig_open(2, 32, FL_ACT_TIME);

	(void)state;
	write_life(fl_shm_slot(g->m, 0));
	g->m->n_slots_used = 1;
	assert_int_equal(fl_reader_poll(g->reader, true), RECORDS(C) + 2);
	g->m->session[0].fresh[0] = 1;
	assert_int_equal(fl_reader_poll(g->reader, true), 0);
	assert_int_equal(rig_sum(g).produced, RECORDS(C) + 2);
	assert_int_equal(g->misordered, 0);
	rig_close(g);
}

/* ---- a rate that follows ------------------------------------------------------------ */

/* A ring of 128 KiB could be longer, if there were chunks to be had. */
static void a_ring_that_cannot_grow_lowers_the_rate(void **state)
{
	struct fl_shm_options o = { .n_slots = 1, .ring_kib = 128, .rate = FL_RATE_ALL / 2,
				    .action = FL_ACT_WINDOW, .adapts = true };
	struct rig *g = calloc(1, sizeof(*g));
	struct fl_sink sink = { g, rig_feed, rig_count, rig_end };
	struct fl_slot *s;

	(void)state;
	assert_int_equal(fl_shm_create(&o, &g->m, &g->fd), 0);
	g->m->session[0].pool_chunks = 0;
	assert_int_equal(fl_reader_open(&g->reader, g->m, &sink, 0), 0);
	s = fl_shm_slot(g->m, 0);
	*(uint32_t *)&s->owner = (uint32_t)getpid();
	s->state = FL_SLOT_LIVE;
	g->m->session[0].fresh[0] = 1;
	for (int i = 0; i < 100; i++) {
		s->ring[0].filled += 2;			/* and the thread waits */
		s->ring[0].claimed = s->ring[0].filled;
		fl_reader_poll(g->reader, false);
		assert_int_equal(s->ring[0].granted, s->ring[0].filled + 2);
	}
	assert_true(g->m->session[0].windows.rate < FL_RATE_ALL / 8);
	fl_reader_close(g->reader);
	fl_shm_destroy(g->m, g->fd);
	free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scribbled_slot_leads_the_reader_nowhere),
		cmocka_unit_test(a_scribbled_header_leads_the_reader_nowhere),
		cmocka_unit_test(what_changes_while_it_is_read_changes_nothing),
		cmocka_unit_test(a_pointer_within_a_record_is_none),
		cmocka_unit_test(what_a_target_did_to_the_region_ends_with_it),
		cmocka_unit_test(who_leaves_takes_its_own_mutex_along),
		cmocka_unit_test(a_slot_that_shows_itself_too_late_is_read_once),
		cmocka_unit_test(a_ring_that_cannot_grow_lowers_the_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
