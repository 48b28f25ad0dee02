/*
 * chains.h - private to perf/: calls in one another that samples stood in (chains.c).
 */
#ifndef FL_CHAINS_H
#define FL_CHAINS_H

#include "perf/perf.h"

/* Zeros: there are no chains. add: a chain of places, the innermost first, that samples stood
 * in; it has no `first` yet. A chain that finds no memory is left out. */
void fl_chains_add(struct fl_chains *, const struct fl_pc *places, const struct fl_chain *);
void fl_chains_forget(struct fl_chains *);

#endif
