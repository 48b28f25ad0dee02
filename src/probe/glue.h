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

/* The routine for what a probe does. Its dispatch word leads there; or where only calls of
 * other functions are served. */
uintptr_t fl_glue_routine(const struct fl_probe *, enum fl_action);
void fl_glue_direct(const struct fl_probe *, enum fl_action);
void fl_glue_idle(const struct fl_probe *);

#endif
