/* glue.h - private to probe/: glue, and where its dispatch word leads (glue.c). */
#ifndef FL_GLUE_H
#define FL_GLUE_H

#include "known.h"
#include "routine.h"
#include "table.h"

enum fl_decided { FL_UNDECIDED, FL_DECIDED };
/* Make glue and plans for probes [first, end) of a module that have none yet and may be on.
 * Before the reader has decided, only for those that are no calls. */
void fl_glue_make(const struct fl_known *, uint32_t first, uint32_t end,
		  enum fl_decided);
/* The same for probe `id` alone, in memory that later ones of the module share. */
int fl_glue_late(struct fl_known *, uint32_t id);

/*
 * Veneers (island.c). Where a module's glue is out of reach, they stand in free memory within
 * reach of its sites. All 0: there is none yet.
 */
enum { FL_ISLANDS = 4 };		/* of one module, that take more veneers */
struct fl_islands {
	struct fl_near near[FL_ISLANDS];
	size_t used[FL_ISLANDS];
	uint32_t next;			/* the island that gives way to a new one */
	uintptr_t none;			/* a site near which nothing was free; or 0 */
	int err;
};
/* veneer: one for the site at `from`, where it will run; about `more` others may follow. 0:
 * nothing is free there. end: all can be executed, or an error. */
uintptr_t fl_islands_veneer(struct fl_islands *, uintptr_t from, struct fl_veneer *,
			    size_t more);
int fl_islands_end(struct fl_islands *);
/* What was written is code from now on; with an error its memory is given back. */
int fl_glue_seal(struct fl_near *, int err);

/* routine: where a probe's glue goes for an action. direct: its dispatch word leads there;
 * idle: it leads where only calls of other functions are served. */
uintptr_t fl_glue_routine(const struct fl_probe *, enum fl_action);
void fl_glue_direct(const struct fl_probe *, enum fl_action);
void fl_glue_idle(const struct fl_probe *);

#endif
