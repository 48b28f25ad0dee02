/*
 * channel-half.h - a slot as its thread leaves it, in the middle of a chunk.
 */
#ifndef CHANNEL_HALF_H
#define CHANNEL_HALF_H

#include "channel-rig.h"

#define RECORDS(bytes) ((bytes) / sizeof(struct flick_record))
#define AT 0x700000000000ull		/* where a target might have its ring */
#define C 4096ull			/* chunk bytes of the smallest ring */

/* What a thread may leave behind at any instant, n chunks in the ring: `filled`,
 * and `ptr` so many bytes behind the start of a chunk. */
struct half {
	uint64_t n, filled, chunk, bytes, expect;	/* of chunk `filled` */
};

/* Where the target sees the start of a chunk. */
static uint64_t start_of(const struct rig *g, const struct fl_slot *s, uint64_t chunk)
{
	uint64_t data = g->m->slots_at + FL_SLOT_HEADER_BYTES;

	return AT + s->ring[0].page[chunk % FL_RING_CHUNKS] * 4096ull - data;
}

static void fill_to(struct rig *g, struct fl_slot *s, uint64_t filled)
{
	uint64_t chunks = filled - s->ring[0].filled;

	s->ring[0].filled = filled;
	s->ring[0].claimed = filled + 1;
	assert_int_equal(fl_reader_poll(g->reader, false), chunks * RECORDS(C));
}

/* Lead the reader through the chunks before, then leave the slot as a thread
 * that died there would. A ring that was full grows. Returns the slot. */
static struct fl_slot *set_slot(struct rig *g, const struct half *h)
{
	struct fl_slot *s = fl_shm_slot(g->m, 0);

	s->ring[0].data = AT;
	s->ring[0].ptr = AT;
	s->ring[0].page[0] = (uint32_t)((g->m->slots_at + FL_SLOT_HEADER_BYTES) / 4096);
	s->ring[0].page[1] = s->ring[0].page[0] + 1;
	s->ring[0].granted = 2;
	*(uint32_t *)&s->owner = 12345;
	s->state = FL_SLOT_LIVE;
	g->m->session[0].fresh[0] = 1;
	fill_to(g, s, 0);
	if (h->n == 4)
		fill_to(g, s, 2);
	while (s->ring[0].filled < h->filled)
		fill_to(g, s, s->ring[0].filled + 1);
	assert_int_equal(s->ring[0].granted, h->filled + h->n);
	s->ring[0].ptr = start_of(g, s, h->chunk) + h->bytes;
	return s;
}

#endif
