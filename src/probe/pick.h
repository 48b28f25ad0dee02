/* pick.h - private to probe/: which calls of a function are timed (pick.c). */
#ifndef FL_PICK_H
#define FL_PICK_H

#include "table.h"

/* Is the call that begins to be timed? Entries of its function are timed now. Any thread. */
bool fl_pick_takes(struct fl_function *);
/* How many timed calls of a function make a round. */
uint32_t fl_pick_most(void);
/* So many timed calls have begun. True: that took an epoch or more, so the next calls are timed
 * as well. Any thread. */
bool fl_pick_goes_on(struct fl_function *, uint64_t now);
/* How many calls the nth timed call of a round stands for, which begins. Any thread. */
uint32_t fl_pick_stands(const struct fl_function *, uint32_t nth, uint64_t now);
/* An epoch of its group begins. With the switches' lock, as the next one. */
void fl_pick_begin(struct fl_function *);
/* The turn of the first group begins, in epochs that have a length. */
void fl_pick_note_cycle(void);

#endif
