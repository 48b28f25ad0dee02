/*
 * halt.h - every other thread stands still for a moment. Private to patch/; the rest of
 * halt.c is in patch.h.
 */
#ifndef FL_HALT_H
#define FL_HALT_H

#include "patch.h"

/*
 * Hold all threads except the caller and flick's own. No held thread stands in a row behind
 * its first byte, or returns there from a handler. 0, FLE_STANDS with the row, -ETIMEDOUT: a
 * thread does not stop, -EPERM or another -errno: nobody can hold threads. Signals are
 * blocked until end. In between the caller stores, and takes no lock.
 */
int fl_halt_begin(struct fl_halt_row *rows, size_t n, size_t *bad);
void fl_halt_end(void);
/* How often a thread, or a frame of a signal, has been led out so far. */
uint32_t fl_halt_moved(void);

/* ---- held.c, commit.c ------------------------------------------------------------ */

/* Store a set that has been taken, while threads are held. 0, FLE_STANDS, FLE_STUCK, FLE_LOOPS,
 * FLE_THREADS, -ENOMEM; after an error nothing is stored, and the set is still taken. */
int fl_set_store_held(struct fl_set *, size_t *bad);
/* The change has been made: note whether it gave old bytes back to a row at an inner start. */
void fl_set_note_inner(const struct fl_change *);

#endif
