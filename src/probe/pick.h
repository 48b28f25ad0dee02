/* pick.h - private to probe/: which calls of a function are timed (pick.c). */
#ifndef FL_PICK_H
#define FL_PICK_H

#include "table.h"

/* Is the call that begins to be timed? Its function's entries are. Any thread. */
bool fl_pick_takes(struct fl_function *);
/* How many of its calls are a round. */
uint32_t fl_pick_most(void);
/* So many have begun. True: that took an epoch or more, so the next ones are timed as well.
 * Any thread. */
bool fl_pick_goes_on(struct fl_function *, uint64_t now);
/* Its epoch begins. With the switches' lock, as the next one. */
void fl_pick_begin(struct fl_function *);
/* The first group's turn begins, and epochs are of some length. */
void fl_pick_note_cycle(void);

#endif
