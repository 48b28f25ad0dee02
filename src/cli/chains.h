/*
 * chains.h - private to cli/: calls in one another that samples stood in (chains.c).
 */
#ifndef FL_CHAINS_H
#define FL_CHAINS_H

#include "base/base.h"
#include "cli/sampler.h"

struct fl_chains {
	struct fl_pc *places;		/* each once; `n` and `taken` say nothing */
	uint32_t n_places;
	uint32_t *steps;		/* of all chains: places, by index */
	uint32_t n_steps;
	struct fl_chain *of;		/* each once */
	uint32_t n;
	struct fl_hash by_place, by_steps;
};

/* Zeros: there are no chains. add: a chain of places, the innermost first, that samples stood
 * in; it has no `first` yet. A chain that finds no memory is left out. */
void fl_chains_add(struct fl_chains *, const struct fl_pc *places, const struct fl_chain *);
void fl_chains_forget(struct fl_chains *);

#endif
