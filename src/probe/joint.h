/* joint.h - private to probe/: a second recorder's session (joint.c). */
#ifndef FL_JOINT_H
#define FL_JOINT_H

#include "table.h"

/* hit: do what both recorders want of a probe at this moment, where its glue goes to
 * FL_ACT_BOTH. second: do what the second one wants. */
void fl_joint_hit(uint32_t id, uintptr_t caller, uint32_t sp);
void fl_joint_second(uint32_t id, uint32_t sp);
/* Does the second recorder want times of the probe, whatever is being switched? */
bool fl_joint_times(uint32_t id);
/* FL_ACT_TWICE where the first ring has no room, and where the second ring alone has none. */
void fl_joint_put(uint32_t id, uint64_t tsc, uint32_t sp)
	__attribute__((visibility("hidden")));
void fl_joint_put_second(uint32_t id, uint64_t tsc, uint32_t sp)
	__attribute__((visibility("hidden")));

#endif
