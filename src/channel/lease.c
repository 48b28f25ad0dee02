/*
 * lease.c - rings grow and shrink with what their threads produce.
 *
 * READER code. A thread has the chunks that are granted to it: two in its slot, and
 * as many from a pool as it takes for the reader to keep up with the thread. So
 * memory follows the rate of events (paper 2 section 3.3 asks for that), and a
 * thread that is idle keeps two chunks.
 *
 * A ring doubles when it is found full. It is halved at a tick (drain.c) if no more
 * than a quarter of it was full at any time since the last tick. A chunk that was
 * read is granted again under a new number, unless the ring is to shrink.
 *
 * The letters, and the proof that a grant can be taken back, are in ring.c.
 * tests/model/lease.pml is a model of both.
 *
 * WHY two at least: chunk c is not granted again as c + 1, see THE HALF-FILLED
 * CHUNK in drain.c.
 */
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "channel/lease.h"
#include "channel/slot.h"
#include "os/os.h"

/* ---- the pool ---------------------------------------------------------------- */

static uint32_t most_chunks(uint32_t n)
{
	return n < FL_HOME_CHUNKS ? FL_HOME_CHUNKS :
	       n > FL_RING_CHUNKS ? FL_RING_CHUNKS : n;
}

int fl_pool_open(struct fl_pool *p, struct fl_region *m, uint32_t number, uint32_t readers)
{
	const struct fl_shm_session *s = &m->session[0];
	uint32_t from = (uint32_t)((uint64_t)s->pool_chunks * number / readers);
	uint32_t end = (uint32_t)((uint64_t)s->pool_chunks * (number + 1) / readers);
	uint64_t pages = s->chunk_bytes / FL_PAGE;

	*p = (struct fl_pool){
		.shm = m, .chunk_bytes = s->chunk_bytes,
		.before_home = (uint64_t)s->counter_bytes + s->cell_bytes,
		.most_chunks = most_chunks(s->ring_chunks),
		.has_windows = s->windows.rate != 0,
	};
	p->free = calloc(end - from + 1, sizeof(*p->free));
	if (!p->free)
		return -ENOMEM;
	while (end-- > from)
		p->free[p->n++] = (uint32_t)(s->pool_at / FL_PAGE + end * pages);
	p->cold = p->low = p->n;
	return 0;
}

void fl_pool_close(struct fl_pool *p)
{
	free(p->free);
}

/* False: the pool has no chunk left. */
static bool take(struct fl_pool *p, uint32_t *page)
{
	if (!p->n)
		return false;
	*page = p->free[--p->n];
	if (p->cold > p->n)
		p->cold = p->n;
	if (p->low > p->n)
		p->low = p->n;
	return true;
}

static void give(struct fl_pool *p, uint32_t page)
{
	p->free[p->n++] = page;
}

/* Give memory back to the system; where that does not work, the memory stays with the pool. */
void fl_pool_tick(struct fl_pool *p)
{
	for (; p->cold < p->low; p->cold++)
		madvise((char *)p->shm + (uint64_t)p->free[p->cold] * FL_PAGE,
			p->chunk_bytes, MADV_REMOVE);
	p->low = p->n;
}

/* ---- grants ------------------------------------------------------------------- */

static void wake(struct fl_ring *g)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (P) pairs with (O) in ring.c */
	if (load_relaxed(&g->waiting))
		fl_os_futex_wake(&g->granted_word, INT_MAX);
}

/* A thread that waits is not woken yet. To sleep and to be woken takes as long as filling a
 * chunk, or more, and a reader that is slower than its thread would wake it for every chunk. */
static void publish(const struct fl_lease *l)
{
	struct fl_ring *g = l->ring;

	store_release(&g->granted, l->granted);		/* (C) pairs with (D) in ring.c */
	store_relaxed(&g->granted_word, (uint32_t)l->granted);
}

void fl_lease_wake(struct fl_lease *l)
{
	if (l->heard == l->granted)
		return;
	l->heard = l->granted;
	wake(l->ring);
}

static void grant(struct fl_lease *l, uint32_t page)
{
	l->page[l->granted % FL_RING_CHUNKS] = page;
	l->ring->page[l->granted % FL_RING_CHUNKS] = page;
	l->granted++;
}

/* Grant free chunks until the ring is as long as it should be. */
static void extend(struct fl_lease *l, struct fl_pool *p)
{
	uint32_t page;

	while (fl_lease_length(l) < l->want) {
		if (l->n_spare)
			page = l->spare[--l->n_spare];
		else if (!take(p, &page))
			break;
		grant(l, page);
	}
	store_relaxed(&l->ring->bell_at, fl_lease_length(l) / 2);
	publish(l);
	fl_lease_wake(l);
}

static bool is_home(const struct fl_lease *l, const struct fl_pool *p, uint32_t page)
{
	return page >= l->home &&
	       page < l->home + FL_HOME_CHUNKS * p->chunk_bytes / FL_PAGE;
}

static void retire(struct fl_lease *l, struct fl_pool *p, uint32_t page)
{
	if (is_home(l, p, page))
		l->spare[l->n_spare++] = page;
	else
		give(p, page);
}

/* ---- a lease's life -------------------------------------------------------------- */

void fl_lease_begin(struct fl_lease *l, struct fl_slot *s, const struct fl_pool *p)
{
	uint64_t at = (uint64_t)((const char *)s - (const char *)p->shm) +
		      FL_SLOT_HEADER_BYTES + p->before_home;

	*l = (struct fl_lease){ .ring = &s->ring[0], .home = (uint32_t)(at / FL_PAGE),
				.granted = FL_HOME_CHUNKS, .heard = FL_HOME_CHUNKS,
				.want = FL_HOME_CHUNKS };
	for (uint32_t i = 0; i < FL_HOME_CHUNKS; i++)
		l->page[i] = l->home + (uint32_t)(i * p->chunk_bytes / FL_PAGE);
}

/* In windows events come in bursts, which no reader should have to follow: a thread that fills
 * one chunk gets the longest ring, and keeps it. */
static void want_more(struct fl_lease *l, const struct fl_pool *p, uint32_t full)
{
	if (p->has_windows && full)
		l->want = p->most_chunks;
	else if (full >= fl_lease_length(l))
		l->want = 2 * l->want < p->most_chunks ? 2 * l->want : p->most_chunks;
}

void fl_lease_grow(struct fl_lease *l, struct fl_pool *p, uint64_t filled)
{
	uint32_t full = (uint32_t)(filled - l->consumed);

	if (full > l->peak)
		l->peak = full;
	want_more(l, p, full);
	if (fl_lease_length(l) < l->want && (l->n_spare || p->n))
		extend(l, p);
}

void fl_lease_next(struct fl_lease *l, struct fl_pool *p)
{
	uint32_t page = l->page[l->consumed++ % FL_RING_CHUNKS];

	if (fl_lease_length(l) < l->want) {
		grant(l, page);
		publish(l);
		if (l->granted - l->heard >= l->want / 2)
			fl_lease_wake(l);
	} else {
		retire(l, p, page);
	}
}

/* Take back all chunks that are granted, but neither wanted nor claimed. They all stay granted
 * if the thread claims one of them at this moment. */
static void take_back(struct fl_lease *l, struct fl_pool *p)
{
	struct fl_ring *g = l->ring;
	uint64_t claimed = load_relaxed(&g->claimed), left = l->consumed + l->want;

	if (left < claimed)
		left = claimed;
	if (left >= l->granted)
		return;
	FL_POINT("lease.looked");
	store_release(&g->granted, left);		/* (C) pairs with (D) in ring.c */
	store_relaxed(&g->granted_word, (uint32_t)left);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (R) pairs with (Q) in ring.c */
	if (load_relaxed(&g->claimed) > left) {
		publish(l);
		wake(g);
		return;
	}
	while (l->granted > left)
		retire(l, p, l->page[--l->granted % FL_RING_CHUNKS]);
	l->heard = l->granted;
}

void fl_lease_tick(struct fl_lease *l, struct fl_pool *p)
{
	if (l->peak * 4 <= l->want && !p->has_windows)
		l->want = l->want < 2 * FL_HOME_CHUNKS ? FL_HOME_CHUNKS : l->want / 2;
	l->peak = 0;
	if (fl_lease_length(l) > l->want)
		take_back(l, p);
	store_relaxed(&l->ring->bell_at, fl_lease_length(l) / 2);
	FL_MUST(fl_lease_is_valid(l, p));
}

void fl_lease_end(struct fl_lease *l, struct fl_pool *p)
{
	for (; l->consumed != l->granted; l->consumed++)
		retire(l, p, l->page[l->consumed % FL_RING_CHUNKS]);
}
