/* tactic.h - how one change can be made. Private to patch/. */
#ifndef FL_TACTIC_H
#define FL_TACTIC_H

#include "patch.h"

/* FL_N_TACTICS: the bytes are the same already. */
enum fl_tactic fl_tactic_of(const struct fl_change *);

#endif
