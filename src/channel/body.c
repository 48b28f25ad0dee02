/*
 * body.c - to the reader: whose time it is in near memory, where glue and second bodies stand,
 * and what the numbers of places in them mean.
 *
 * Glue is flick's. A sample of the program counter in a body is its function's time, so the
 * reader must find that function by the address alone, of any process, whenever it looks.
 *
 * Rows of bodies never change while an image lives that needs them: a body is not unmapped, so
 * its place is nobody else's. Of a process tree there are more bodies than rows, so rows whose
 * images have ended are used again. They are claimed by blocks, each by one image.
 *
 * PROTOCOL	claim	body_claims + 1, owner: 0 -> the image (C), body_claims + 1 (L)
 *		row	n + 1, and by that number a row; its `lo` is written last (A)
 *		free	by the reader: each `lo` 0, n 0, owner 0 (F), then body_freed + 1
 *		A thread that has claimed a block while another one of its process did gives it
 *		back as the reader does (M): nobody has a row of it.
 * INVARIANT	1. A block is one image's, from its claim until it is freed.
 *		2. Rows of a block that is nobody's have no `lo`.
 *		3. The reader frees no block of an image that lives, nor one of which samples
 *		   are still to be looked at, of the image or of who was forked of it.
 * WHY		1. From 0 it is one exchange that succeeds. A thread that takes a row looks
 *		   whose its block is: that is its own image, which lives, so nobody frees it
 *		   meanwhile (3). A fork's child has another image, and finds its parent's block
 *		   not its own.
 *		2. They have none at first, and when they are freed: who claims a block finds
 *		   what was written before that, by (F) and (C).
 *		3. See cli/originals.c: the kernel says who has ended, or another image of the
 *		   process does.
 * FAILURE	Who is killed leaves the block to the reader, wherever that happens: its owner
 *		is known before any row. A row without `lo` is nobody's. A claim that was not
 *		counted when it was done was counted before; the reader hears of its block when
 *		anybody looks for one, be it in vain.
 *		Where no block is free bodies are left out, which is said. Who has found none
 *		does not look again before one was freed.
 */
#include "channel/channel.h"
#include "channel/slot.h"
#include "os/os.h"

static void say_left_out(struct fl_region *m, enum fl_left what)
{
	__atomic_fetch_or(&m->left_out, what, __ATOMIC_RELAXED);
}

/* Of what has no place in the table the reader does not know whose it is. Without a region
 * there is no reader. */
void fl_channel_tell_glue(struct fl_glue_range range)
{
	struct fl_region *m = fl_region;
	uint32_t i;

	if (!m)
		return;
	range.pid = fl_os_pid();
	/* ordering: none, a row that is not written is nobody's, and all are looked at again
	 * when the process has ended */
	i = __atomic_fetch_add(&m->n_glue, 1, __ATOMIC_RELAXED);
	if (i < m->max_glue)
		fl_shm_glue(m)[i] = range;
	else
		say_left_out(m, FL_LEFT_GLUE);
}

/* ---- bodies ------------------------------------------------------------------------------ */

static struct fl_body_block *block_of(struct fl_region *m, uint32_t block)
{
	return &fl_shm_body_blocks(m)[block];
}

/* The first that is free, so that few pages are used; false: none is. Of threads that do it at
 * once the first one's counts. */
static bool claim_block(struct fl_channel *c, uint64_t owner, uint32_t had)
{
	struct fl_region *m = c->region;
	uint32_t freed = load_relaxed(&m->body_freed), i = 0;
	uint64_t nobody = 0;

	if (load_relaxed(&c->full_at) == freed + 1)
		return false;
	/* ordering: none, what is claimed then is counted again */
	__atomic_fetch_add(&m->body_claims, 1, __ATOMIC_RELAXED);
	/* (C) pairs with (F) in cli/originals.c; and (C) pairs with (M) */
	while (i < m->n_body_blocks &&
	       (load_relaxed(&block_of(m, i)->owner) ||
		!__atomic_compare_exchange_n(&block_of(m, i)->owner, &nobody, owner, false,
					     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))) {
		nobody = 0;
		i++;
	}
	if (i++ == m->n_body_blocks) {
		store_relaxed(&c->full_at, freed + 1);
		return false;
	}
	FL_POINT("body.claimed");
	/* (L) pairs with (K) in cli/originals.c: who sees the count sees the owner */
	__atomic_fetch_add(&m->body_claims, 1, __ATOMIC_RELEASE);
	if (!__atomic_compare_exchange_n(&c->bodies, &had, i, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		/* (M) pairs with (C) */
		store_release(&block_of(m, i - 1)->owner, 0);
	return true;
}

/* In the block that the process's threads have, or in another one. */
void fl_body_put(struct fl_channel *c, uint32_t image, const struct fl_body_row *body)
{
	struct fl_region *m = c->region;
	uint64_t owner = fl_body_owner(body->pid, image);
	struct fl_body_row *r = NULL;

	while (!r) {
		uint32_t had = load_relaxed(&c->bodies), i = m->body_rows;
		struct fl_body_block *b = had ? block_of(m, had - 1) : NULL;

		if (b && load_relaxed(&b->owner) == owner && load_relaxed(&b->n) < i)
			i = __atomic_fetch_add(&b->n, 1, __ATOMIC_RELAXED);
		if (i < m->body_rows) {
			r = &fl_shm_bodies(m)[(had - 1) * m->body_rows + i];
		} else if (!claim_block(c, owner, had)) {
			say_left_out(m, FL_LEFT_BODIES);
			return;
		}
	}
	FL_POINT("body.taken");
	r->function = body->function;
	r->bytes = body->bytes;
	r->pid = body->pid;
	FL_POINT("body.written");
	/* (A) pairs with (B) in cli/originals.c: who sees where it is sees whose; and
	 * (A) pairs with (U) in other.c */
	store_release(&r->lo, body->lo);
}

void fl_channel_tell_body(int pid, uintptr_t function, uintptr_t lo, size_t bytes)
{
	const struct fl_body_row body = { lo, function, (uint32_t)bytes, pid };

	if (fl_region)
		fl_body_put(&fl_first, fl_channel_image(), &body);
}

/* ---- what they tell ---------------------------------------------------------------------- */

uint32_t fl_channel_weaves(void)
{
	return fl_region ? fl_region->weaves : 0;
}

enum fl_exclusive fl_channel_exclusive(void)
{
	return fl_region ? fl_region->exclusive : FL_EXCLUSIVE_LEAVE;
}

uint32_t fl_channel_claim_places(uint32_t n)
{
	struct fl_region *m = fl_region;
	uint32_t first = m ? load_relaxed(&m->n_places) : 0;

	if (!m || first > m->max_places || n > m->max_places - first)
		return FL_MAX_PLACES;
	/* ordering: none, a number means what its row says when a record has it */
	first = __atomic_fetch_add(&m->n_places, n, __ATOMIC_RELAXED);
	return first + n <= m->max_places ? first : FL_MAX_PLACES;
}

/* Its records come later, and by the ring's order (ring.c). */
void fl_channel_tell_place(uint32_t place, int pid, uintptr_t at, uint32_t what)
{
	fl_shm_places(fl_region)[place] =
		(struct fl_place_row){ .at = at, .pid = pid, .what = what };
}
