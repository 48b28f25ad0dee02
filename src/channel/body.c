/*
 * body.c - to the reader: whose time it is in near memory, where glue and second bodies stand,
 * and what the numbers of places in them mean.
 *
 * Glue is flick's. A sample of the program counter in a body is its function's time, so the
 * reader must find that function by the address alone, of any process, whenever it looks.
 *
 * Rows of bodies are added by any thread of any process and never change: a body is not
 * unmapped, so its place is nobody else's as long as the image lives. A row is claimed,
 * then written, its `lo` last: one without is nobody's, as of a process that was killed.
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

/* A count that has passed its table does not come round. */
void fl_channel_tell_body(int pid, uintptr_t function, uintptr_t lo, size_t bytes)
{
	struct fl_region *m = fl_region;
	struct fl_body_row *r;
	uint32_t row = m ? load_relaxed(&m->n_bodies) : 0;

	if (!m)
		return;
	if (row < m->max_sites)
		row = __atomic_fetch_add(&m->n_bodies, 1, __ATOMIC_RELAXED);
	if (row >= m->max_sites) {
		say_left_out(m, FL_LEFT_BODIES);
		return;
	}
	r = &fl_shm_bodies(m)[row];
	r->function = function;
	r->bytes = (uint32_t)bytes;
	r->pid = pid;
	/* (A) pairs with (B) in cli/originals.c: who sees where it is sees whose; and
	 * (A) pairs with (U) in other.c */
	store_release(&r->lo, lo);
}

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
