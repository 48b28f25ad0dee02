/*
 * valid.c - invariants of the structures in shared memory.
 *
 * Each function says whether a structure is as its comments in channel.h have it. The test
 * build asks after each step (FL_MUST), and tests ask where they like. A target asks about a
 * region's head before it maps the whole region. A function that reads while others write may
 * see values of different moments: so only the owner of a structure should ask about it.
 */
#include "channel/lease.h"
#include "channel/public.h"
#include "channel/slot.h"

static bool has_space(uint64_t from, uint64_t upto, uint64_t n, uint64_t each)
{
	return from % FL_PAGE == 0 && from <= upto && upto - from >= n * each;
}

/* Fields that are constant after init. */
static bool is_laid_out(const struct fl_shm_session *s)
{
	return s->action < FL_N_ACTIONS &&
	       s->n_readers >= 1 && s->n_readers <= FL_MAX_READERS &&
	       s->chunk_bytes && s->chunk_bytes % FL_PAGE == 0 &&
	       s->counter_bytes % FL_PAGE == 0 && s->cell_bytes % FL_PAGE == 0 &&
	       s->ring_chunks <= FL_RING_CHUNKS &&
	       (s->action == FL_ACT_COUNT) == !s->ring_chunks;
}

bool fl_session_is_valid(const struct fl_shm_session *s)
{
	const struct fl_windows *w = &s->windows;

	return is_laid_out(s) && s->phase <= FL_PHASE_QUIT && w->rate <= FL_RATE_ALL &&
	       w->published <= w->announced && w->announced <= w->published + 1 &&
	       w->taken <= w->published && w->published - w->taken <= FL_EDGES;
}

/* An empty rule ends the rules. */
static bool has_end(const struct fl_body_rules *r)
{
	return !r->text[FL_RULES_BYTES - 2] && !r->text[FL_RULES_BYTES - 1];
}

/* Checks only what is constant in the region and its session: anybody may ask at any time. */
bool fl_region_is_valid(const struct fl_region *m)
{
	const struct fl_shm_session *s = &m->session[0];
	uint64_t home = s->action == FL_ACT_COUNT ? 0 : FL_HOME_CHUNKS * s->chunk_bytes;

	return m->magic == FL_SHM_MAGIC && m->version == FL_SHM_VERSION &&
	       m->header_bytes == sizeof(*m) && m->n_slots && m->n_slots <= FL_MAX_SLOTS &&
	       m->max_sites <= FL_MAX_SITES && m->processes_at >= sizeof(*m) &&
	       has_space(m->processes_at, m->process_index_at, FL_MAX_PROCESSES,
			 sizeof(struct fl_process)) &&
	       has_space(m->process_index_at, m->modules_at, FL_PROCESS_INDEX,
			 sizeof(uint32_t)) &&
	       has_space(m->modules_at, m->glue_at, m->max_modules,
			 sizeof(struct fl_shm_module)) &&
	       has_space(m->glue_at, m->found_at, m->max_glue,
			 sizeof(struct fl_glue_range)) &&
	       has_space(m->found_at, m->body_blocks_at, m->max_sites,
			 sizeof(struct fl_found_row)) &&
	       m->n_body_blocks <= FL_BODY_BLOCKS && m->body_rows &&
	       m->body_rows <= FL_MAX_SITES &&
	       has_space(m->body_blocks_at, m->bodies_at, m->n_body_blocks,
			 sizeof(struct fl_body_block)) &&
	       has_space(m->bodies_at, m->sites_at,
			 (uint64_t)m->n_body_blocks * m->body_rows,
			 sizeof(struct fl_body_row)) &&
	       has_space(m->sites_at, m->staged_at, m->max_sites,
			 sizeof(struct fl_shm_site)) &&
	       has_space(m->staged_at, m->places_at, m->max_sites, 1) &&
	       m->max_places <= FL_MAX_PLACES && m->exclusive < FL_N_EXCLUSIVES &&
	       has_space(m->places_at, m->slots_at, m->max_places,
			 sizeof(struct fl_place_row)) &&
	       m->slot_bytes == FL_SLOT_HEADER_BYTES + s->counter_bytes + s->cell_bytes +
				home &&
	       has_space(m->slots_at, s->pool_at, m->n_slots, m->slot_bytes) &&
	       has_space(s->pool_at, m->bytes, s->pool_chunks, s->chunk_bytes) &&
	       has_end(&m->body_rules) && is_laid_out(s);
}

/* Asked by the ring's thread, with signals blocked, or where nobody enqueues. `limit` is 0 on
 * the way from one chunk to the next. */
bool fl_ring_is_valid(const struct fl_ring *g, const struct fl_shm_session *s)
{
	bool in_hand = g->entered > g->filled;

	if (s->action == FL_ACT_COUNT)
		return !g->granted && !g->claimed && !g->entered && !g->filled &&
		       g->ptr == g->limit;
	return g->entered >= g->filled && g->entered <= g->filled + 1 &&
	       g->claimed >= g->entered && g->claimed <= load_relaxed(&g->granted) + 1 &&
	       g->ptr % sizeof(uint64_t) == 0 &&
	       (!g->limit || !in_hand ||
		(g->ptr <= g->limit + FL_RING_TAIL &&
		 g->limit + FL_RING_TAIL - g->ptr <= s->chunk_bytes));
}

bool fl_slot_is_valid(const struct fl_slot *slot, const struct fl_shm_session *s)
{
	if (slot->state == FL_SLOT_FREE || slot->state == FL_SLOT_CLAIMED)
		return true;			/* the slot is nobody's, or being made */
	return slot->state <= FL_SLOT_LEFT && slot->process < FL_MAX_PROCESSES &&
	       slot->ring[0].data && slot->ring[0].n_counters == s->counter_bytes / 8 &&
	       fl_ring_is_valid(&slot->ring[0], s);
}

/* Each chunk that is granted has pages of its own; the slot's own two are granted or spare. */
bool fl_lease_is_valid(const struct fl_lease *l, const struct fl_pool *p)
{
	uint32_t pages = (uint32_t)(p->chunk_bytes / FL_PAGE), n_home = l->n_spare;

	if (fl_lease_length(l) > FL_RING_CHUNKS || l->consumed > l->granted ||
	    l->want < FL_HOME_CHUNKS || l->want > p->most_chunks ||
	    l->n_spare > FL_HOME_CHUNKS)
		return false;
	for (uint64_t c = l->consumed; c < l->granted; c++) {
		uint32_t page = l->page[c % FL_RING_CHUNKS];

		n_home += page >= l->home && page < l->home + FL_HOME_CHUNKS * pages;
		for (uint64_t d = c + 1; d < l->granted; d++)
			if (page == l->page[d % FL_RING_CHUNKS])
				return false;
	}
	return n_home == FL_HOME_CHUNKS;
}

/* Asked by the producer, or where there is none. */
bool fl_public_is_sound(const struct fl_public *r)
{
	uint64_t freed = r->consumed / (r->chunk_bytes / r->word_bytes);
	uint64_t at = (uintptr_t)r->hot.ptr - (uintptr_t)r->base;

	return fl_public_is_valid(r, r->bytes) && r->claimed - r->filled <= 1 &&
	       r->aside_kind < FL_N_ASIDE && r->deferred_n <= FL_DEFERRED_WORDS &&
	       (fl_public_is_aside(r, r->hot.ptr) || at <= r->chunks * r->chunk_bytes) &&
	       (r->mode == FLICK_SAMPLING || r->claimed <= freed ||
		r->claimed - freed <= r->chunks);
}
