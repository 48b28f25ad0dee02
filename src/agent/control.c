/*
 * control.c - the recorder changes its mind while the program runs.
 *
 * What watches beside the program (watch.c) looks whether the reader has staged what is to
 * become of probes, and makes it so (probe/change.c). There is one wish at a time; the reader
 * makes the next one when it has the answer.
 *
 *	reader					who waits beside the program
 *	staged[] = ...				load wish	(B)
 *	wish = wish + 1, wake	(A)		staged[] becomes so, the answer
 *	load done	(D)			done = wish	(C)
 *
 * (B) pairs with (A) in session/change/change.c: who sees the wish sees what is staged.
 * (C) pairs with (D) in session/change/change.c: who sees it answered sees the answer.
 *
 * FAILURE	Nobody watches, or the watch is killed: the reader sees no answer, and says so.
 *	While modules are being unloaded the wish stays, and is looked at again.
 */
#include "agent.h"
#include "os/os.h"

bool fl_control_turn(struct fl_region *m)
{
	struct fl_change_box *box = &m->session[0].change;
	/* (B) pairs with (A) in session/change/change.c */
	uint32_t wish = load_acquire(&box->wish);
	uint64_t signals;
	int err;

	if (wish == box->done)
		return false;
	fl_agent_lock(&signals);
	err = fl_agent_director() ? fl_probes_change(fl_shm_staged(m), box->n, box) : FLE_GONE;
	fl_agent_unlock(&signals);
	if (err == -EAGAIN)
		return true;
	box->error = err;
	FL_POINT("control.changed");
	/* (C) pairs with (D) in session/change/change.c */
	store_release(&box->done, wish);
	fl_channel_doorbell();
	return false;
}
