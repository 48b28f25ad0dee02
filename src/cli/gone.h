/*
 * gone.h - private to cli/: what samples stand for whose callers cannot be known (gone.c).
 */
#ifndef FL_GONE_H
#define FL_GONE_H

#include "cli/chains.h"

/* The periods that each chain stands for; free() them. NULL: no memory. `leaf`: for each place
 * 1 + the function whose code it is, or 0: chains that begin there stand for none. */
double *fl_gone_share(const struct fl_chains *, const uint32_t *leaf);

#endif
