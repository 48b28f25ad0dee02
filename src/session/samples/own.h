/*
 * own.h - private to session/: is a place flick's own code (own.c)?
 */
#ifndef FL_OWN_H
#define FL_OWN_H

#include "session/session.h"

/* Is it in the library, or in glue as it was when somebody looked last? */
bool fl_own_has(const struct fl_own *, const struct fl_session *, const struct fl_pc *);
bool fl_own_is_glue(const struct fl_own *, uint64_t address);
/* Is a place that is own in glue, which counts calls? */
bool fl_own_counts(const struct fl_own *, const struct fl_pc *);
/* Is it in the agent's work, which is done when modules come? */
bool fl_own_works(const struct fl_own *, const struct fl_pc *);

#endif
