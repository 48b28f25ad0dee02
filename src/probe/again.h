/* again.h - private to probe/: what an earlier recording has made (again.c). The table is
 * locked. */
#ifndef FL_AGAIN_H
#define FL_AGAIN_H

#include "known.h"

/* What glue and a plan were made of; in.glue is where the glue is. */
struct fl_made {
	struct fl_plan_in in;
	uintptr_t *go;
	uint64_t datum;			/* explains `err` */
	int err;			/* of the plan */
	uint8_t does;			/* enum fl_glue_does */
	uint8_t is_planned;
};

/* A late recording may be followed by another: what is made for probes [first, end) of a module
 * from begin to end is kept as one set. `err`: the set is not whole, and not kept. */
void fl_again_begin(const struct fl_known *, uint32_t first, uint32_t end);
void fl_again_keep(uint32_t id, const struct fl_made *);
void fl_again_end(int err);
/* Another module stands in [lo, hi) now. */
void fl_again_forget(uintptr_t lo, uintptr_t hi);
/* The newest set of the module that is older than `set`; `set` 0: the newest. 0: none is. */
uint32_t fl_again_before(uint32_t set, const struct fl_known *);
/* Is there any set of a module at these addresses? */
bool fl_again_is_any(uintptr_t lo, uintptr_t hi);
/* has: was a probe like this one made in the set? made: what was made of it then. */
bool fl_again_has(uint32_t set, uint32_t id, enum fl_glue_does);
const struct fl_made *fl_again_made(uint32_t set, uint32_t id);
/* Are the bytes at the probe's site as they were then? */
bool fl_again_is_as_before(uint32_t set, uint32_t id);
/* The reader hears of the set's memory, as it does of what is made now. */
void fl_again_tell(uint32_t set);

#endif
