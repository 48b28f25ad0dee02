/*
 * unit/valid: what is valid is said to be, and not any more when one field of it is wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "channel-rig.h"
#include "channel/lease.h"
#include "channel/public.h"

/* Of every action, with windows and without. */
static void regions_are_valid_as_they_are_made(void **state)
{
	(void)state;
	for (uint32_t action = 0; action < FL_N_ACTIONS; action++)
		for (uint32_t kib = 8; kib <= 32768; kib *= 4) {
			struct fl_shm_options o = { .n_slots = 3, .max_sites = 40,
						    .action = action, .ring_kib = kib };
			struct fl_region *m;
			int fd;

			o.rate = action == FL_ACT_WINDOW ? FL_RATE_ALL / 20 : 0;
			assert_int_equal(fl_shm_create(&o, &m, &fd), 0);
			assert_true(fl_region_is_valid(m));
			assert_true(fl_session_is_valid(&m->session[0]));
			for (uint32_t i = 0; i < m->n_slots; i++)
				assert_true(fl_slot_is_valid(fl_shm_slot(m, i),
							     &m->session[0]));
			fl_shm_destroy(m, fd);
		}
}

/* Says no of `what` while `field` is another. */
#define NOT_WITH(field, wrong, what) do { \
	__typeof__(field) right = (field); \
	(field) = (wrong); \
	assert_false(what); \
	(field) = right; \
	assert_true(what); \
} while (0)

static void one_wrong_field_is_seen_in_a_region(void **state)
{
	struct rig *g = rig_open(2, 32, FL_ACT_TIME);
	struct fl_shm_session *s = &g->m->session[0];
	struct fl_region *m = g->m;

	(void)state;
	NOT_WITH(m->magic, 0, fl_region_is_valid(m));
	NOT_WITH(m->version, FL_SHM_VERSION + 1, fl_region_is_valid(m));
	NOT_WITH(m->n_slots, 0, fl_region_is_valid(m));
	NOT_WITH(m->n_slots, FL_MAX_SLOTS, fl_region_is_valid(m));
	NOT_WITH(m->exclusive, FL_N_EXCLUSIVES, fl_region_is_valid(m));
	NOT_WITH(m->slots_at, m->slots_at + 1, fl_region_is_valid(m));
	NOT_WITH(m->slots_at, m->sites_at, fl_region_is_valid(m));
	NOT_WITH(m->modules_at, m->glue_at, fl_region_is_valid(m));
	NOT_WITH(m->bodies_at, m->found_at, fl_region_is_valid(m));
	NOT_WITH(m->body_rows, m->body_rows + 8, fl_region_is_valid(m));
	NOT_WITH(m->body_rows, 0, fl_region_is_valid(m));
	NOT_WITH(m->n_body_blocks, FL_BODY_BLOCKS + 1, fl_region_is_valid(m));
	NOT_WITH(m->body_rules.text[FL_RULES_BYTES - 1], '+', fl_region_is_valid(m));
	NOT_WITH(m->body_rules.text[FL_RULES_BYTES - 2], '+', fl_region_is_valid(m));
	NOT_WITH(m->slot_bytes, m->slot_bytes + 4096, fl_region_is_valid(m));
	NOT_WITH(m->bytes, m->bytes - 1, fl_region_is_valid(m));
	NOT_WITH(s->chunk_bytes, 100, fl_region_is_valid(m));
	NOT_WITH(s->ring_chunks, 0, fl_session_is_valid(s));
	NOT_WITH(s->action, FL_N_ACTIONS, fl_session_is_valid(s));
	NOT_WITH(s->n_readers, 0, fl_session_is_valid(s));
	NOT_WITH(s->phase, FL_PHASE_QUIT + 1, fl_session_is_valid(s));
	NOT_WITH(s->windows.announced, 2, fl_session_is_valid(s));
	NOT_WITH(s->windows.taken, 1, fl_session_is_valid(s));
	rig_close(g);
}

static void run_one(struct rig *g)
{
	struct fl_ring *r;

	for (uint64_t i = 0; i < 300; i++)
		rig_put(1, i);
	r = &(*fl_tls_slot)->ring[0];
	if (!fl_slot_is_valid(*fl_tls_slot, &g->m->session[0]) || r->filled != 1)
		_exit(1);
}

static void one_wrong_field_is_seen_in_a_slot(void **state)
{
	struct rig *g = rig_open(2, 32, FL_ACT_TIME);
	const struct fl_shm_session *s = &g->m->session[0];
	struct fl_slot *slot = fl_shm_slot(g->m, 0);
	struct fl_ring *r = &slot->ring[0];
	int status;

	(void)state;
	assert_int_equal(waitpid(rig_fork(g, run_one), &status, 0) > 0 ? status : -1, 0);
	assert_true(fl_slot_is_valid(slot, s));
	assert_int_equal(slot->state, FL_SLOT_LIVE);
	NOT_WITH(slot->state, 9, fl_slot_is_valid(slot, s));
	NOT_WITH(slot->process, FL_MAX_PROCESSES, fl_slot_is_valid(slot, s));
	NOT_WITH(r->n_counters, 1, fl_slot_is_valid(slot, s));
	NOT_WITH(r->filled, r->entered + 1, fl_ring_is_valid(r, s));
	NOT_WITH(r->entered, r->filled + 2, fl_ring_is_valid(r, s));
	NOT_WITH(r->claimed, r->filled, fl_ring_is_valid(r, s));
	NOT_WITH(r->granted, 0, fl_ring_is_valid(r, s));
	NOT_WITH(r->ptr, r->limit + 16, fl_ring_is_valid(r, s));
	NOT_WITH(r->ptr, r->ptr + 4, fl_ring_is_valid(r, s));
	NOT_WITH(r->ptr, r->limit - s->chunk_bytes - 16, fl_ring_is_valid(r, s));
	rig_close(g);
}

static void one_wrong_field_is_seen_in_a_lease(void **state)
{
	struct rig *g = rig_open(2, 32, FL_ACT_TIME);
	struct fl_lease l;
	struct fl_pool p;

	(void)state;
	assert_int_equal(fl_pool_open(&p, g->m, 0, 1), 0);
	fl_lease_begin(&l, fl_shm_slot(g->m, 0), &p);
	assert_true(fl_lease_is_valid(&l, &p));
	NOT_WITH(l.consumed, 3, fl_lease_is_valid(&l, &p));
	NOT_WITH(l.granted, FL_RING_CHUNKS + 1, fl_lease_is_valid(&l, &p));
	NOT_WITH(l.want, 1, fl_lease_is_valid(&l, &p));
	NOT_WITH(l.want, p.most_chunks + 1, fl_lease_is_valid(&l, &p));
	NOT_WITH(l.n_spare, 1, fl_lease_is_valid(&l, &p));
	NOT_WITH(l.page[1], l.page[0], fl_lease_is_valid(&l, &p));
	fl_lease_grow(&l, &p, 2);
	assert_int_equal(fl_lease_length(&l), 4);
	assert_true(fl_lease_is_valid(&l, &p));
	NOT_WITH(l.page[0], l.page[3], fl_lease_is_valid(&l, &p));
	fl_pool_close(&p);
	rig_close(g);
}

static void one_wrong_field_is_seen_in_a_ring_of_the_programs_own(void **state)
{
	const struct flick_channel_opt o = { .size = sizeof(o), .chunk_bytes = 1024,
					     .chunks = 4 };
	size_t bytes = flick_channel_bytes(&o);
	struct flick_channel *c;
	struct fl_public *r;
	void *memory = aligned_alloc(64, fl_round_up(bytes, 64));

	(void)state;
	assert_int_equal(flick_channel_init(memory, bytes, &o, &c), 0);
	assert_int_equal(flick_channel_produce(c), 0);
	r = fl_public_of(c);
	for (uint64_t i = 0; i < 200; i++) {
		flick_channel_put64(c, i);
		assert_true(fl_public_is_sound(r));
	}
	NOT_WITH(r->magic, 0, fl_public_is_sound(r));
	NOT_WITH(r->claimed, r->filled + 2, fl_public_is_sound(r));
	NOT_WITH(r->aside_kind, FL_N_ASIDE, fl_public_is_sound(r));
	NOT_WITH(r->deferred_n, FL_DEFERRED_WORDS + 1, fl_public_is_sound(r));
	NOT_WITH(r->hot.ptr, r->base + 5 * 1024, fl_public_is_sound(r));
	NOT_WITH(r->filled, 9, fl_public_is_sound(r));
	flick_channel_end(c);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_are_valid_as_they_are_made),
		cmocka_unit_test(one_wrong_field_is_seen_in_a_region),
		cmocka_unit_test(one_wrong_field_is_seen_in_a_slot),
		cmocka_unit_test(one_wrong_field_is_seen_in_a_lease),
		cmocka_unit_test(one_wrong_field_is_seen_in_a_ring_of_the_programs_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
