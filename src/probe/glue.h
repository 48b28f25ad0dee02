/* glue.h - private to probe/: glue, and where its dispatch word leads (glue.c). */
#ifndef FL_GLUE_H
#define FL_GLUE_H

#include "known.h"
#include "routine.h"
#include "table.h"

enum fl_decided { FL_UNDECIDED, FL_DECIDED };
/* Glue and plans for probes [first, end) of a module, that have none yet: for those
 * that may be on. Before the reader has decided, for those alone that are no calls. */
void fl_glue_make(const struct fl_known *, uint32_t first, uint32_t end,
		  enum fl_decided);
/* The same for probe `id` alone, in memory that the module's later ones share. */
int fl_glue_late(struct fl_known *, uint32_t id);

/*
 * Veneers (island.c): where a module's glue is out of reach they stand in what is free within
 * reach of its sites. All 0: there is none yet.
 */
enum { FL_ISLANDS = 4 };		/* that take more, of one module */
struct fl_islands {
	struct fl_near near[FL_ISLANDS];
	size_t used[FL_ISLANDS];
	uint32_t next;			/* the one that gives way */
	uintptr_t none;			/* a site near which nothing was free; or 0 */
	int err;
};
/* One for the site at `from`, where it will run; `more`: about so many others may follow.
 * 0: nothing is free there. Then: all can be executed, or an error. */
uintptr_t fl_islands_veneer(struct fl_islands *, uintptr_t from, struct fl_veneer *,
			    size_t more);
int fl_islands_end(struct fl_islands *);
/* What was written is code from now on, or is gone. */
int fl_glue_seal(struct fl_near *, int err);

/* The routine for what a probe does. Its dispatch word leads there; or where only calls of
 * other functions are served. */
uintptr_t fl_glue_routine(const struct fl_probe *, enum fl_action);
void fl_glue_direct(const struct fl_probe *, enum fl_action);
void fl_glue_idle(const struct fl_probe *);

#endif
