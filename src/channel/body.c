/*
 * body.c - tell the reader whose time it is in near memory, where glue and second bodies stand,
 * and what the numbers of places in them mean.
 *
 * Time in glue is flick's. A sample of the program counter in a body is time of the body's
 * function, so the reader must find that function by the address alone, in any process,
 * whenever it looks.
 *
 * Rows of bodies never change while an image lives that needs them: a body is not unmapped, so
 * its address is nobody else's. A process tree has more bodies than there are rows, so rows
 * whose images have ended are used again. Rows are claimed by blocks, each by one image.
 *
 * PROTOCOL	claim	body_claims + 1, owner: 0 -> the image (C), body_claims + 1 (L)
 *		row	n + 1, and by that number a row; its `lo` is written last (A)
 *		free	by the reader: each `lo` 0, n 0, owner 0 (F), then body_freed + 1
 *		If two threads of a process claim a block at once, the later one gives its block
 *		back as the reader does (M): nobody has a row of that block.
 * INVARIANT	1. A block is one image's, from its claim until it is freed.
 *		2. Rows of a block that is nobody's have no `lo`.
 *		3. The reader frees no block of an image that lives. It frees none either for
 *		   which samples are still to be looked at, of the image or of its children.
 * WHY		1. One exchange from 0 succeeds. A thread that takes a row checks that the
 *		   block is its own image's. That image lives, so nobody frees the block
 *		   meanwhile (3). A fork's child has another image, and finds that its parent's
 *		   block is not its own.
 *		2. Rows have no `lo` at first, nor when they are freed. By (F) and (C) a thread
 *		   that claims a block finds what was written when the block was freed.
 *		3. See perf/originals.c: the kernel tells that an image has ended, or another
 *		   image of the process does.
 * FAILURE	A process that is killed leaves the block to the reader, wherever that happens:
 *		the owner is known before any row. A row without `lo` is nobody's. A process
 *		killed before it counted its claim had counted the attempt (PROTOCOL, the first
 *		of the two counts); the reader hears of the block when anybody looks for a
 *		block, even in vain.
 *		Where no block is free bodies are left out, which is told to the user. A process
 *		that has found no block does not look again before one was freed.
 */
#include "channel/channel.h"
#include "channel/slot.h"
#include "os/os.h"

static void say_left_out(struct fl_region *m, enum fl_left what)
{
	__atomic_fetch_or(&m->left_out, what, __ATOMIC_RELAXED);
}

/* If the table has no room, the reader does not know whose time it is in the range. Without a
 * region there is no reader. */
void fl_channel_tell_glue(struct fl_glue_range range)
{
	struct fl_region *m = fl_region;
	uint32_t i;

	if (!m)
		return;
	range.pid = fl_os_pid();
	/* ordering: none, a row that is not written is nobody's, and the reader looks at all
	 * rows again when the process has ended */
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

/* Claim the first free block, so that few pages are used; false: none is free. If several
 * threads do so at once, the process uses the first one's block. */
static bool claim_block(struct fl_channel *c, uint64_t owner, uint32_t had)
{
	struct fl_region *m = c->region;
	uint32_t freed = load_relaxed(&m->body_freed), i = 0;
	uint64_t nobody = 0;

	if (load_relaxed(&c->full_at) == freed + 1)
		return false;
	/* ordering: none, a block that is claimed then is counted again */
	__atomic_fetch_add(&m->body_claims, 1, __ATOMIC_RELAXED);
	/* (C) pairs with (F) in perf/originals.c; and (C) pairs with (M) */
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
	/* (L) pairs with (K) in perf/originals.c: who sees the count sees the owner */
	__atomic_fetch_add(&m->body_claims, 1, __ATOMIC_RELEASE);
	if (!__atomic_compare_exchange_n(&c->bodies, &had, i, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		/* (M) pairs with (C) */
		store_release(&block_of(m, i - 1)->owner, 0);
	return true;
}

/* Put a body in the block that the process's threads use, or in a new one. */
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
	/* (A) pairs with (B) in perf/originals.c: a reader that sees where the body is sees
	 * whose it is; and (A) pairs with (U) in other.c */
	store_release(&r->lo, body->lo);
}

void fl_channel_tell_body(int pid, uintptr_t function, uintptr_t lo, size_t bytes)
{
	const struct fl_body_row body = { lo, function, (uint32_t)bytes, pid };

	if (fl_region)
		fl_body_put(&fl_first, fl_channel_image(), &body);
}

/* ---- what bodies tell -------------------------------------------------------------------- */

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

/* No access of the place is told before this. So a reader that has a record finds the row, by
 * the ring's order (ring.c). */
void fl_channel_tell_place(uint32_t place, const struct fl_place_row *row)
{
	fl_shm_places(fl_region)[place] = *row;
}
