/*
 * Windows as the reader sees them: which records lie in one, which edges can be
 * relied on, how a rate follows full rings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "channel/filter.h"
#include "channel-rig.h"
#include "probe/table.h"

#define CALLER ((uint32_t)FLICK_TYPE_CALLER << FLICK_PROBE_BITS | 1)

static struct fl_region *m;
static int fd;
static struct fl_filter filter;

static int set_up(void **unused)
{
	struct fl_shm_options o = { .n_slots = 4, .ring_kib = 8, .max_sites = 64,
				    .action = FL_ACT_WINDOW, .rate = FL_RATE_ALL / 20 };

	(void)unused;
	filter = (struct fl_filter){ 0 };
	return fl_shm_create(&o, &m, &fd);
}

static int tear_down(void **unused)
{
	(void)unused;
	fl_filter_free(&filter);
	fl_shm_destroy(m, fd);
	return 0;
}

static void draw(uint64_t at, uint32_t rate)
{
	struct fl_windows *w = &m->session[0].windows;

	w->rates[w->published / 2 % (FL_EDGES / 2)] = rate;
	w->edges[w->published % FL_EDGES] = at;
	w->announced = ++w->published;
}

/* Two windows of 5 %, [100, 200) and [300, 400). */
static void draw_two(void)
{
	for (uint64_t at = 100; at <= 400; at += 100)
		draw(at, FL_RATE_ALL / 20);
	assert_true(fl_filter_look(&filter, m, false));
}

static struct flick_record at(uint64_t tsc)
{
	return (struct flick_record){ .tsc = tsc, .probe = 1 };
}

/* ---- edges ---------------------------------------------------------------------- */

static void an_announced_edge_is_waited_for(void **unused)
{
	(void)unused;
	draw(100, FL_RATE_ALL);
	m->session[0].windows.announced++;
	assert_false(fl_filter_look(&filter, m, false));
	assert_int_equal(filter.n, 1);
	assert_true(fl_filter_look(&filter, m, true));	/* nobody will publish it */
	draw(200, FL_RATE_ALL);
	assert_true(fl_filter_look(&filter, m, false));
	assert_int_equal(filter.n, 2);
	assert_int_equal(m->session[0].windows.taken, 2);
}

static void edges_are_kept_when_their_place_is_used_again(void **unused)
{
	struct fl_cursor p = { 0 };
	struct flick_record r;

	(void)unused;
	for (uint64_t i = 1; i <= 3 * FL_EDGES; i++) {
		draw(i * 100, FL_RATE_ALL / 2);
		assert_true(fl_filter_look(&filter, m, false));
	}
	r = at(350);
	assert_true(fl_filter_next(&filter, &p, &r, 1).is_in);
	assert_int_equal(fl_filter_next(&filter, &p, &r, 1).window.number, 2);
}

static void edges_that_lead_outside_are_not_believed(void **unused)
{
	(void)unused;
	m->session[0].windows.published = m->session[0].windows.announced = UINT64_MAX / 2;
	assert_false(fl_filter_look(&filter, m, false));
	assert_int_equal(filter.n, 0);
}

static bool is_in(uint64_t tsc)
{
	struct fl_cursor p = { 0 };
	struct flick_record r = { .tsc = tsc, .probe = 1 };

	return fl_filter_next(&filter, &p, &r, 1).is_in;
}

/* Of the window that was open when the copying stopped, and of those whose places
 * have been used again, nothing is known to be in; of the others, all. */
static void edges_that_are_gone_hold_nothing(void **unused)
{
	(void)unused;
	draw(100, FL_RATE_ALL);
	assert_true(fl_filter_look(&filter, m, false));
	for (uint64_t i = 2; i <= FL_EDGES + 6; i++)	/* 2 to 6 are gone */
		draw(i * 100, i % 2 ? FL_RATE_ALL / 2 : 1);
	assert_true(fl_filter_look(&filter, m, false));
	assert_int_equal(filter.n, FL_EDGES + 6);
	assert_int_equal(m->session[0].windows.taken, FL_EDGES + 6);
	for (uint64_t i = 1; i <= 6; i++)
		assert_false(is_in(i * 100 + 50));
	for (uint64_t i = 7; i <= FL_EDGES + 6; i++)
		assert_int_equal(is_in(i * 100 + 50), i % 2);
	draw((FL_EDGES + 7) * 100, FL_RATE_ALL);
	assert_true(fl_filter_look(&filter, m, false));
	assert_true(is_in((FL_EDGES + 7) * 100));
}

/* What begins a window that is announced may stand in its place already. */
static void edges_are_gone_when_another_is_announced(void **unused)
{
	(void)unused;
	for (uint64_t i = 1; i <= FL_EDGES; i++)
		draw(i * 100, FL_RATE_ALL);
	m->session[0].windows.announced++;
	m->session[0].windows.edges[0] = (FL_EDGES + 1) * 100;
	assert_false(fl_filter_look(&filter, m, false));
	assert_int_equal(filter.n, FL_EDGES);
	assert_false(is_in(150));
	assert_true(is_in(350));
	draw((FL_EDGES + 1) * 100, FL_RATE_ALL);
	m->session[0].windows.announced = m->session[0].windows.published;
	assert_true(fl_filter_look(&filter, m, false));
	assert_false(is_in(150));
	assert_true(is_in((FL_EDGES + 1) * 100));
}

/* ---- records ---------------------------------------------------------------------- */

static void a_record_lies_where_its_time_does(void **unused)
{
	(void)unused;
	draw_two();
	assert_false(is_in(99));
	assert_true(is_in(100));
	assert_true(is_in(199));
	assert_false(is_in(200));
	assert_false(is_in(299));
	assert_true(is_in(300));
	assert_false(is_in(1000));
}

static void an_open_window_takes_what_comes(void **unused)
{
	(void)unused;
	draw_two();
	draw(500, FL_RATE_ALL / 20);
	assert_true(fl_filter_look(&filter, m, false));
	assert_true(is_in(1000000));
}

static void records_are_split_at_edges(void **unused)
{
	const uint64_t times[] = { 50, 110, 120, 250, 310, 390, 450 };
	const size_t lengths[] = { 1, 2, 1, 2, 1 };
	const uint64_t numbers[] = { 0, 1, 0, 2, 0 };
	struct flick_record r[7];
	struct fl_cursor p = { 0 };
	size_t done = 0;

	(void)unused;
	draw_two();
	for (size_t i = 0; i < 7; i++)
		r[i] = at(times[i]);
	for (size_t i = 0; i < 5; i++) {
		struct fl_sifted s = fl_filter_next(&filter, &p, r + done, 7 - done);

		assert_int_equal(s.n, lengths[i]);
		assert_int_equal(s.events, lengths[i]);
		assert_int_equal(s.is_in, numbers[i] != 0);
		assert_int_equal(s.window.number, numbers[i]);
		assert_int_equal(s.window.weight, numbers[i] ? 20 * FL_WEIGHT_ONE : 0);
		done += s.n;
	}
	assert_int_equal(done, 7);
}

/* Two windows without a gap, and no record in it, are still two. */
static void neighbouring_windows_are_told_apart(void **unused)
{
	struct flick_record r[2] = { at(150), at(350) };
	struct fl_cursor p = { 0 };
	struct fl_sifted s;

	(void)unused;
	draw_two();
	s = fl_filter_next(&filter, &p, r, 2);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.window.number, 1);
	assert_int_equal(fl_filter_next(&filter, &p, r + 1, 1).window.number, 2);
}

static void who_called_goes_with_its_entry(void **unused)
{
	struct flick_record r[4] = { at(150), { 350, CALLER, 0 }, at(250),
				     { 150, CALLER, 0 } };
	struct fl_cursor p = { 0 };
	struct fl_sifted s;

	(void)unused;
	draw_two();
	s = fl_filter_next(&filter, &p, r, 4);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.events, 1);
	assert_true(s.is_in);
	s = fl_filter_next(&filter, &p, r + 2, 1);	/* a chunk ends between the two */
	assert_false(s.is_in);
	s = fl_filter_next(&filter, &p, r + 3, 1);
	assert_false(s.is_in);
	assert_int_equal(s.events, 0);
}

static void a_thread_never_goes_back_to_a_window(void **unused)
{
	struct flick_record r[2] = { at(350), at(150) };
	struct fl_cursor p = { 0 };

	(void)unused;
	draw_two();
	assert_true(fl_filter_next(&filter, &p, r, 2).is_in);
	assert_false(fl_filter_next(&filter, &p, r + 1, 1).is_in);
}

/* ---- rings ------------------------------------------------------------------------ */


static void put_events(struct rig *g)
{
	static struct flick_record pair[2] = { { 0, 1, 0 }, { 7, CALLER, 0 } };

	(void)g;
	for (uint64_t tsc = 1; tsc <= 2000; tsc++) {
		pair[0].tsc = tsc;
		fl_channel_put_pair(pair);
	}
}

struct seen {
	uint64_t n, outside, callers, ended;
};

static void see(void *arg, const struct fl_batch *b)
{
	struct seen *s = arg;

	for (size_t i = 0; i < b->n; i++) {
		s->n++;
		s->callers += b->records[i].probe == CALLER;
		if (b->records[i].probe != CALLER)
			s->outside += b->records[i].tsc < 500 || b->records[i].tsc >= 700;
		s->outside += !b->window || b->window->number != 1;
	}
}

static void see_end(void *arg, uint32_t thread, uint64_t alive)
{
	(void)thread;
	(void)alive;
	((struct seen *)arg)->ended++;
}

static void what_is_outside_is_filtered_and_nothing_else(void **unused)
{
	struct seen seen = { 0 };
	struct fl_sink sink = { &seen, see, NULL, see_end };
	struct rig g = { .m = m };
	struct rig_sums s;
	int status;

	(void)unused;
	assert_int_equal(fl_reader_open(&g.reader, m, &sink, 0), 0);
	draw(500, FL_RATE_ALL / 20);
	draw(700, FL_RATE_ALL / 20);
	status = rig_drain(&g, rig_fork(&g, put_events));
	assert_int_equal(status, 0);
	s = rig_sum(&g);
	assert_int_equal(s.produced, 2000);
	assert_int_equal(s.delivered, 200);
	assert_int_equal(s.filtered, 1800);
	assert_int_equal(s.unbalanced, 0);
	assert_int_equal(seen.n, 400);
	assert_int_equal(seen.callers, 200);
	assert_int_equal(seen.outside, 0);
	fl_reader_close(g.reader);
}

static void who_called_is_not_lost_besides(void **unused)
{
	struct rig g = { .m = m };
	int status;

	(void)unused;
	for (uint32_t i = 0; i < m->n_slots; i++)
		fl_shm_slot(m, i)->state = FL_SLOT_CLAIMED;
	assert_int_equal(waitpid(rig_fork(&g, put_events), &status, 0) > 0, 1);
	assert_int_equal(m->session[0].lost[FL_LOST_SLOT], 2000);
}

static void put_few(struct rig *g)
{
	(void)g;
	for (uint64_t tsc = 450; tsc < 550; tsc++)
		fl_channel_put(1, tsc, 0);
}

/* An edge that is announced holds back even the end of a thread. */
static void nothing_is_judged_too_early(void **unused)
{
	struct seen seen = { 0 };
	struct fl_sink sink = { &seen, see, NULL, see_end };
	struct rig g = { .m = m };
	int status;

	(void)unused;
	assert_int_equal(fl_reader_open(&g.reader, m, &sink, 0), 0);
	draw(500, FL_RATE_ALL / 20);
	m->session[0].windows.announced++;
	assert_int_equal(waitpid(rig_fork(&g, put_few), &status, 0) > 0, 1);
	for (int i = 0; i < 10; i++)
		assert_int_equal(fl_reader_poll(g.reader, false), 0);
	assert_int_equal(seen.ended, 0);
	draw(520, FL_RATE_ALL / 20);
	assert_int_equal(fl_reader_poll(g.reader, false), 20);
	assert_int_equal(seen.ended, 1);
	assert_int_equal(seen.n, 20);
	assert_int_equal(rig_sum(&g).filtered, 80);
	fl_reader_close(g.reader);
}

static void put_now(struct rig *g)
{
	(void)g;
	for (uint64_t i = 0; i < 2000; i++)
		fl_channel_put(1, fl_arch_ticks(), 0);
}

static void edges_are_taken_in_where_no_thread_has_a_slot(void **unused)
{
	struct seen seen = { 0 };
	struct fl_sink sink = { &seen, see, NULL, see_end };
	struct rig g = { .m = m };

	(void)unused;
	assert_int_equal(fl_reader_open(&g.reader, m, &sink, 0), 0);
	for (uint64_t i = 1; i <= 10; i++)
		draw(i, FL_RATE_ALL);
	fl_reader_poll(g.reader, false);
	assert_int_equal(m->session[0].windows.taken, 10);
	fl_reader_close(g.reader);
}

/* An image begins with a window of its own, however many edges the reader has not
 * copied. */
static void a_late_reader_holds_up_nobody(void **unused)
{
	struct seen seen = { 0 };
	struct fl_sink sink = { &seen, see, NULL, see_end };
	struct rig g = { .m = m };
	struct rig_sums s;

	(void)unused;
	assert_int_equal(fl_reader_open(&g.reader, m, &sink, 0), 0);
	for (uint64_t i = 1; i <= FL_EDGES; i++)
		draw(i, FL_RATE_ALL);
	fl_table.shm = m;
	fl_table.session = m->session;
	fl_windows_begin();
	assert_int_equal(m->session[0].windows.published, FL_EDGES + 1);
	assert_int_equal(rig_drain(&g, rig_fork(&g, put_now)), 0);
	s = rig_sum(&g);
	assert_int_equal(s.delivered, 2000);
	assert_int_equal(s.filtered, 0);
	assert_int_equal(m->session[0].windows.taken, FL_EDGES + 1);
	fl_reader_close(g.reader);
}

/* ---- pace ------------------------------------------------------------------------------ */

static void a_ring_half_full_halves_the_rate(void **unused)
{
	struct fl_pace p = { 0 };
	uint32_t rate = 400000;

	(void)unused;
	rate = fl_pace_next(&p, rate, 500);
	assert_int_equal(rate, 200000);
	for (int i = 0; i < 32; i++)		/* it has not had time to work */
		assert_int_equal(fl_pace_next(&p, rate, 900), rate);
	assert_int_equal(fl_pace_next(&p, rate, 900), 100000);
}

static void empty_rings_raise_it_slowly(void **unused)
{
	struct fl_pace p = { 0 };
	uint32_t rate = 400000;
	int looks = 0;

	(void)unused;
	for (; rate == 400000; looks++)
		rate = fl_pace_next(&p, rate, 100);
	assert_int_equal(rate, 500000);
	assert_int_equal(looks, 32);
	for (int i = 0; i < 100; i++)		/* neither full nor empty: it stays */
		assert_int_equal(fl_pace_next(&p, rate, 300), rate);
}

static void a_rate_stays_between_its_ends(void **unused)
{
	struct fl_pace p = { 0 };
	uint32_t rate = FL_RATE_ALL;

	(void)unused;
	for (int i = 0; i < 1000; i++)
		rate = fl_pace_next(&p, rate, 0);
	assert_int_equal(rate, FL_RATE_ALL);
	for (int i = 0; i < 2000; i++)
		rate = fl_pace_next(&p, rate, 1000);
	assert_int_equal(rate, FL_RATE_LEAST);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_announced_edge_is_waited_for),
		TEST(edges_are_kept_when_their_place_is_used_again),
		TEST(edges_that_lead_outside_are_not_believed),
		TEST(edges_that_are_gone_hold_nothing),
		TEST(edges_are_gone_when_another_is_announced),
		TEST(a_record_lies_where_its_time_does),
		TEST(an_open_window_takes_what_comes),
		TEST(records_are_split_at_edges),
		TEST(neighbouring_windows_are_told_apart),
		TEST(who_called_goes_with_its_entry),
		TEST(a_thread_never_goes_back_to_a_window),
		TEST(what_is_outside_is_filtered_and_nothing_else),
		TEST(who_called_is_not_lost_besides),
		TEST(nothing_is_judged_too_early),
		TEST(edges_are_taken_in_where_no_thread_has_a_slot),
		TEST(a_late_reader_holds_up_nobody),
		TEST(a_ring_half_full_halves_the_rate),
		TEST(empty_rings_raise_it_slowly),
		TEST(a_rate_stays_between_its_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
