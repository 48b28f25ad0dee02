/*
 * recent.h - private to cli/: sums that looks in the middle of a run tell apart (recent.c).
 */
#ifndef FL_RECENT_H
#define FL_RECENT_H

#include "cli/cli.h"

/* For each function: calls that have ended, each as often as it stands for calls, and their
 * ticks likewise. */
extern const struct flick_analysis fl_recent_analysis;
enum { FL_RECENT_FUNCTION, FL_RECENT_TIMED, FL_RECENT_TICKS, FL_RECENT_COLUMNS };

/* What a look knows of a function. */
struct fl_sum {
	uint64_t calls, counted;	/* fewer are counted: `calls` is an estimate */
	uint64_t timed, ticks;		/* of calls; what these took */
	double error_squared;		/* of calls: the square of their standard error */
};

#endif
