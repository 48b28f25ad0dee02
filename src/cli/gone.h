/*
 * gone.h - private to cli/: what samples stand for whose callers nobody can say (gone.c).
 */
#ifndef FL_GONE_H
#define FL_GONE_H

#include "cli/chains.h"

/* Of each chain the periods that it stands for; free() them. NULL: no memory. `leaf`: of each
 * place 1 + the function whose code it is, or 0: chains that begin there have none. */
double *fl_gone_share(const struct fl_chains *, const uint32_t *leaf);

#endif
