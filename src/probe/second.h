/* second.h - private to probe/: a second session, of the program's own (second.c). */
#ifndef FL_SECOND_H
#define FL_SECOND_H

#include "table.h"

/* fl_probe_switch() where there has been a second session: it is the program's wish. Waits for
 * threads that switch just now; these wait for nobody. */
int fl_second_switch(uint32_t id, int state);
/* With both locks. begin: from now on there is a second session; 0, FLE_RECORDED, or
 * -EAGAIN. */
void fl_second_lock(uint64_t *signals, uint64_t *inner);
void fl_second_unlock(const uint64_t *signals, const uint64_t *inner);
int fl_second_begin(void);
/* Do what a probe of the first session does for that action. */
void fl_second_first(uint32_t id, enum fl_action, uintptr_t caller, uint32_t sp);
/* Called by the glue of what two sessions may want: do what the first one wants, and return
 * whether the second one wants the probe. */
uint32_t fl_second_before(uint32_t id, uintptr_t caller, uint32_t sp)
	__attribute__((visibility("hidden")));

#endif
