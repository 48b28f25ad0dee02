/*
 * body.c - to the reader: where second bodies stand.
 *
 * A sample of the program counter in one is its function's time, so the reader must find
 * that function by the address alone, of any process, whenever it looks.
 *
 * Rows are added by any thread of any process and never change: a body is not unmapped, so
 * its place is nobody else's as long as the image lives. A row is claimed, then written,
 * its `lo` last: one without is nobody's, as of a process that was killed in between.
 */
#include "channel/channel.h"
#include "channel/slot.h"
#include "os/os.h"

/* A count that has passed its table does not come round. */
void fl_channel_tell_body(uintptr_t function, uintptr_t lo, size_t bytes)
{
	struct fl_region *m = fl_region;
	struct fl_body_row *r;
	uint32_t row = load_relaxed(&m->n_bodies);

	if (row < m->max_sites)
		row = __atomic_fetch_add(&m->n_bodies, 1, __ATOMIC_RELAXED);
	if (row >= m->max_sites) {
		__atomic_fetch_or(&m->left_out, FL_LEFT_BODIES, __ATOMIC_RELAXED);
		return;
	}
	r = &fl_shm_bodies(m)[row];
	r->function = function;
	r->bytes = (uint32_t)bytes;
	r->pid = fl_os_pid();
	/* (A) pairs with (B) in cli/originals.c: who sees where it is sees whose */
	store_release(&r->lo, lo);
}
