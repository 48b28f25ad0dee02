/* calibrate.h - a trial, and which trials a calibration consists of. Private to trial/. */
#ifndef FL_CALIBRATE_H
#define FL_CALIBRATE_H

#include <stdio.h>

#include "trial.h"

/* Processors that this process may use. */
unsigned fl_trial_cpus(void);
/* Can this processor store in that way? */
bool fl_trial_can(enum fl_way);
/* Run a trial once, for about `ms`, in a child. 0, or -errno: it could not be
 * run; -EINTR: somebody else ended the child. Blocks. */
int fl_trial_run(struct fl_trial *, unsigned ms);

/* Write the trials to `to` unless it is NULL. Returns how many there are. */
enum fl_waits { FL_WAITS_ALL, FL_WAITS_FEWER };
size_t fl_waits_list(struct fl_trial *to, unsigned executors, enum fl_waits);
size_t fl_atoms_list(struct fl_trial *to);

/* The wait after `wait` in the finer list; 0: `wait` is the longest. */
uint32_t fl_waits_next(uint32_t wait);

void fl_findings_judge(struct fl_findings *);
/* The chart, as SVG. */
void fl_chart_write(FILE *to, const struct fl_findings *);

#endif
