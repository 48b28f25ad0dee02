/* arm.h - private to probe/: sets of probes, and the pages that they are in (arm.c). */
#ifndef FL_ARM_H
#define FL_ARM_H

#include "table.h"

/* Mute what is to be muted from `mute` on, then arm the set. A probe that is refused leaves the
 * set. 0, or why nothing was armed. With the switches' lock, as all below. */
int fl_arm_set(struct fl_set *, uint32_t mute);
/* Old bytes come back. restore: up to a second later, if threads are in the way; at_once: now,
 * because a call of the program's waits for it. What cannot be changed stays `off`. Between
 * fl_fork_enter() and fl_fork_leave(); restore leaves that while it waits. */
void fl_arm_restore(struct fl_set *);
void fl_arm_restore_at_once(struct fl_set *);
/* Make pages of the set anew, where text is stored to in another mapping. */
void fl_arm_reopen(const struct fl_set *);
/* Open pages of the set again; a change whose page cannot be opened leaves the set. */
void fl_arm_open_again(struct fl_set *);
/* Open pages of what was muted, likewise: 0, or why one cannot be opened. */
int fl_arm_open_muted(void);

/* unmute: muted probes for which `which` (NULL: any that is not refused) is true become found
 * again. from: all of [from, n) that may be wanted is armed; how many of them are wanted. With
 * the locks of the table and of switches, while no text is frozen. */
void fl_arm_unmute(bool (*which)(uint32_t id));
int fl_arm_from(uint32_t from, enum fl_moment);

#endif
