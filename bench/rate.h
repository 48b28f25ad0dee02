/*
 * rate.h - switch one site at a steady rate, and see what its runners keep.
 */
#ifndef RATE_H
#define RATE_H

#include "field.h"
#include "subject.h"

/* What happened in one window of time. */
struct window {
	double ticks;
	struct counts seen;	/* by all executors */
	uint64_t switches;
};

/* For `seconds`, put site `i` into states 0, 1, 0, .. that often a second; 0:
 * leave it alone. `n` executors run it meanwhile. */
typedef struct window window_fn(const struct subject *, size_t i,
				const struct executor *, size_t n,
				double per_second, double seconds);
/* Paced by the TSC, spinning: a switch that is late is made up for. */
window_fn window_paced;
/* This thread sleeps between switches: its CPU is the executors', too. */
window_fn window_slept;

/* Calls a tick, and switches a second. */
double window_rate(const struct window *);
double window_reached(const struct window *);

/* Calls a tick while the site is left alone: the mean of both states. */
double calm_rate(window_fn *, const struct subject *, size_t i,
		 const struct executor *, size_t n, double seconds);

#endif
