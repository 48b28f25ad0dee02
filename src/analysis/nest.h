/*
 * nest.h - which of the bodies in a machine function an address lies in. Private.
 */
#ifndef FL_ANALYSIS_NEST_H
#define FL_ANALYSIS_NEST_H

#include "analysis/analysis.h"

struct fl_nest {
	uint64_t lo, hi;		/* the machine function */
	const unsigned char *code;	/* its bytes */
	/* The wanted site at an address: its kind and function; -1: none. */
	int (*site)(const void *arg, uint64_t at, uint32_t *function);
	const void *arg;
};
/* Of the body that `at` lies in once `depth` bodies, begun there, have ended:
 * its function; FLICK_NO_FUNCTION where that cannot be told. */
uint32_t fl_nest_find(const struct fl_nest *, uint64_t at, uint32_t depth);

#endif
