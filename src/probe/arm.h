/* arm.h - private to probe/: sets of probes, and the pages that they are in (arm.c). */
#ifndef FL_ARM_H
#define FL_ARM_H

#include "table.h"

/* Mute what is to be from `mute` on, then arm the set. What is refused leaves it. 0, or
 * why nothing was armed. With the switches' lock, as all below. */
int fl_arm_set(struct fl_set *, uint32_t mute);
/* Old bytes come back, a second later if threads are in the way; or at once, where a call of
 * the program's waits for it. What cannot be changed stays `off`. Between fl_fork_enter() and
 * leave, which the former undoes while it waits. */
void fl_arm_restore(struct fl_set *);
void fl_arm_restore_at_once(struct fl_set *);
/* Pages of the set anew, where text is stored to in another mapping. */
void fl_arm_reopen(const struct fl_set *);
/* Pages of the set, which have been closed; what cannot be opened leaves it. */
void fl_arm_open_again(struct fl_set *);
/* Likewise those of what was muted: 0, or why one cannot be. */
int fl_arm_open_muted(void);

/* What was muted is found anew, if `which` (NULL: any that is not refused) is so. All of
 * [from, n) that may be wanted is armed: how many of them are. With the locks of the table
 * and of switches, while no text is frozen. */
void fl_arm_unmute(bool (*which)(uint32_t id));
int fl_arm_from(uint32_t from, enum fl_moment);

#endif
