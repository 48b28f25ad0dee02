/* late.h - private to probe/: probes of calls that were met one by one (late.c), and what is
 * known of such a call (places.c). */
#ifndef FL_LATE_H
#define FL_LATE_H

#include "known.h"
#include "table.h"

/* What was found out about a call by its key, not 0. find: without a lock, by any
 * thread; -ENOENT, or FLE_FULL when no more can be noted. note: the table is locked;
 * 0, FLE_FULL. */
void fl_places_open(void);
int fl_place_find(uint64_t key);
int fl_place_note(uint64_t key, int what);
/* The probes that were met at calls go with their module, and come back: the lowest
 * id of these, or FL_NO_PROBE. */
void fl_late_forget(const struct fl_known *);
/* Take in what other processes have met of the module, which lies elsewhere there. The
 * lowest id; FL_NO_PROBE: nothing. */
uint32_t fl_late_share(struct fl_known *, const char *path);
uint32_t fl_late_revive(const struct fl_known *);

#endif
