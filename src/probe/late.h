/* late.h - private to probe/: probes of calls that were met one by one (late.c), and what is
 * known of such a call (places.c). */
#ifndef FL_LATE_H
#define FL_LATE_H

#include "known.h"
#include "table.h"

/* What was found out about a call, by a key that is not 0. find: any thread, without a lock;
 * -ENOENT, or FLE_FULL when no more can be noted. note: the table is locked; 0, FLE_FULL. */
void fl_places_open(void);
int fl_place_find(uint64_t key);
int fl_place_note(uint64_t key, int what);
/* Probes that were met at calls go with their module (forget), and come back with it (revive:
 * their lowest id, or FL_NO_PROBE). */
void fl_late_forget(const struct fl_known *);
/* Take in what other processes, where the module lies elsewhere, have met of it. The lowest id;
 * FL_NO_PROBE: nothing. */
uint32_t fl_late_share(struct fl_known *, const char *path);
uint32_t fl_late_revive(const struct fl_known *);

#endif
