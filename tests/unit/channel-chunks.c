/*
 * unit/channel-chunks: how far a chunk that is not full is read, whatever its thread does
 * meanwhile; and who is woken by one.
 */
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "channel-half.h"
#include "os/os.h"
#include "stop-at.h"

/* ---- the half-filled chunk --------------------------------------------------- */

/* A ring of four has grown: chunks 0, 1, 4, 5 lie in the slot, 2, 3 in the pool. */
static const struct half halves[] = {
	{ 2, 0, 0, 0, 0 },		/* fresh */
	{ 2, 0, 0, 16, 16 },
	{ 2, 0, 0, C - 16, C - 16 },
	{ 2, 0, 0, C, C },		/* full, not counted yet */
	{ 2, 1, 0, C, 0 },		/* counted, not moved */
	{ 2, 1, 1, 0, 0 },		/* moved, empty: the same address */
	{ 2, 1, 1, 16, 16 },
	{ 2, 1, 1, C, C },
	{ 2, 2, 1, C, 0 },		/* counted, not moved */
	{ 2, 2, 2, 0, 0 },		/* moved: where chunk 0 was */
	{ 2, 2, 2, 16, 16 },
	{ 2, 3, 2, C, 0 },
	{ 4, 2, 1, C, 0 },
	{ 4, 2, 2, 32, 32 },
	{ 4, 2, 3, 32, 0 },		/* `filled` was read late: past chunk 2 */
	{ 4, 3, 4, 16, 0 },		/* the same, into the slot again */
	{ 4, 3, 3, C, C },
	{ 4, 4, 3, C, 0 },
	{ 4, 4, 4, 16, 16 },
	{ 4, 5, 4, C, 0 },
	{ 4, 5, 5, C, C },
};

/* The bytes that a reader delivers of the half-filled chunk, or `rule` would. */
static uint64_t deliver_half(const struct half *h,
			     uint64_t (*rule)(uint64_t start, uint64_t ptr))
{
	struct rig *g = rig_open(1, (uint32_t)(h->n * C / 1024), FL_ACT_TIME);
	struct fl_slot *s = set_slot(g, h);
	uint64_t n, ruled = rule ? rule(start_of(g, s, h->filled), s->ring[0].ptr) : 0;

	*(uint32_t *)&s->owner = FUTEX_OWNER_DIED;
	n = fl_reader_poll(g->reader, false);
	assert_int_equal(g->ended, 1);
	assert_int_equal(s->state, FL_SLOT_FREE);
	rig_close(g);
	return rule ? ruled : n * sizeof(struct flick_record);
}

static void half_filled_chunk_is_read_up_to_what_is_committed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(halves); i++)
		assert_int_equal(deliver_half(&halves[i], NULL), halves[i].expect);
}

/* Plants: rules that look right. The table must tell each from the real one. */
static uint64_t half_closed_range(uint64_t start, uint64_t ptr)
{
	return ptr >= start && ptr < start + C ? ptr - start : 0;
}

static uint64_t half_modulo(uint64_t start, uint64_t ptr)
{
	(void)start;
	return ptr % C;
}

static uint64_t half_no_end(uint64_t start, uint64_t ptr)
{
	return ptr > start ? ptr - start : 0;
}

static void table_of_halves_catches_three_wrong_rules(void **state)
{
	uint64_t (*const plants[])(uint64_t, uint64_t) = {
		half_closed_range, half_modulo, half_no_end,
	};

	(void)state;
	for (size_t p = 0; p < ARRAY_LEN(plants); p++) {
		int caught = 0;

		for (size_t i = 0; i < ARRAY_LEN(halves); i++)
			caught += deliver_half(&halves[i], plants[p]) !=
				  halves[i].expect;
		assert_true(caught > 0);
	}
}

/* Between the reader's two looks a thread in the middle of chunk 0 fills all of its ring:
 * chunk 2 is where 0 was, and nothing of it is there yet. */
static struct {
	struct rig *g;
	struct fl_slot *s;
} looked;

static void fill_ring(void)
{
	looked.s->ring[0].ptr = start_of(looked.g, looked.s, 1) + C;
	looked.s->ring[0].filled = 2;
}

static void a_chunk_that_is_filled_between_two_looks_is_taken_once(void **state)
{
	static const struct half middle = { 2, 0, 0, 32, 32 };
	struct rig *g = rig_open(1, 8, FL_ACT_TIME);
	struct fl_slot *s = set_slot(g, &middle);

	(void)state;
	looked.g = g;
	looked.s = s;
	stop("drain.looked", fill_ring);
	while (g->delivered < RECORDS(C))	/* when it has lain still for a tick */
		if (!fl_reader_poll(g->reader, false))
			fl_reader_wait(g->reader, 1000);
	assert_null(stop_at);
	*(uint32_t *)&s->owner = FUTEX_OWNER_DIED;
	fl_reader_poll(g->reader, false);
	assert_int_equal(g->ended, 1);
	assert_int_equal(g->delivered, 2 * RECORDS(C));
	rig_close(g);
}

/* ---- who is woken ---------------------------------------------------------------- */

/* Until process `pid` sleeps; it does nothing else that could make it. */
static void await_sleep(pid_t pid)
{
	char path[32], state = 'R';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (state != 'S') {
		f = fopen(path, "r");
		assert_non_null(f);
		assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
		fclose(f);
	}
}

/* The producer's own wait times out early and hides a missed wake, so a wait
 * of its kind stands in, with a time-out that shows. */
static void granted_chunk_wakes_the_thread_that_waits(void **state)
{
	struct half full = { 2, 0, 0, C, C };
	struct rig *g = rig_open(1, 8, FL_ACT_TIME);
	struct fl_slot *s = set_slot(g, &full);
	int status;
	pid_t pid;

	(void)state;
	s->ring[0].waiting = 1;
	s->ring[0].granted_word = 2;
	pid = fork();
	if (!pid)
		_exit(fl_os_futex_wait(&s->ring[0].granted_word, 2, 20000000) ? 1 : 0);
	await_sleep(pid);
	s->ring[0].filled = 1;
	assert_int_equal(fl_reader_poll(g->reader, false), RECORDS(C));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rig_close(g);
}

static void put_two_chunks(struct rig *g)
{
	for (uint64_t i = 0; i <= RECORDS(g->m->session[0].chunk_bytes); i++)
		rig_put(1, i);
}

static void full_chunk_wakes_the_reader_that_sleeps(void **state)
{
	struct rig *g = rig_open(1, 8, FL_ACT_TIME);
	uint64_t start = rig_now_ms();
	pid_t reader, target;
	int status;

	(void)state;
	reader = fork();
	if (!reader) {
		fl_reader_wait(g->reader, 20000000);
		_exit(0);
	}
	await_sleep(reader);
	assert_int_equal(g->m->session[0].bells[0].sleeps, 1);
	target = rig_fork(g, put_two_chunks);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_true(rig_now_ms() - start < 15000);
	assert_int_equal(rig_drain(g, target), 0);
	rig_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_filled_chunk_is_read_up_to_what_is_committed),
		cmocka_unit_test(table_of_halves_catches_three_wrong_rules),
		cmocka_unit_test(a_chunk_that_is_filled_between_two_looks_is_taken_once),
		cmocka_unit_test(granted_chunk_wakes_the_thread_that_waits),
		cmocka_unit_test(full_chunk_wakes_the_reader_that_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
