/* fork.h - no fork while bytes or lists are half written. Private to patch/, but for
 * what patch.h has of it. */
#ifndef FL_FORK_H
#define FL_FORK_H

#include "base/base.h"

/* Hear of forks from here on. 0 or -ENOMEM. */
int fl_fork_open(void);
/* As fl_fork_enter() in patch.h, for a thread of the C library's: it may be in one
 * already, and in a fork. */
void fl_fork_enter_own(void);
void fl_fork_leave_own(void);
/* The calling thread's number: no other thread's, and its own in fork's child. */
uint32_t fl_fork_self(void);

#endif
