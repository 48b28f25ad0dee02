/* fork.h - no fork while bytes or lists are half written. Private to patch/. */
#ifndef FL_FORK_H
#define FL_FORK_H

#include "base/base.h"

/* Hear of forks from here on. 0 or -ENOMEM. */
int fl_fork_open(void);
/* Around what a fork must not cut in two; enter waits while another thread
 * forks, try_enter says false: for a signal handler. Not to be nested. The
 * probe table's own commits need none: a fork takes the table's lock. */
void fl_fork_enter(void);
bool fl_fork_try_enter(void);
void fl_fork_leave(void);

#endif
