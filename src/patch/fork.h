/* fork.h - no fork while bytes or lists are half written. Private to patch/; the rest of
 * fork.c is in patch.h. */
#ifndef FL_FORK_H
#define FL_FORK_H

#include "base/base.h"

/* Install the fork handlers, once. 0 or -ENOMEM. */
int fl_fork_open(void);
/* The same as fl_fork_enter() in patch.h, for a thread that the C library knows: it may be
 * in a change already, and in a fork. */
void fl_fork_enter_own(void);
void fl_fork_leave_own(void);
/* The calling thread's number: no other thread's, and its own in fork's child. */
uint32_t fl_fork_self(void);

#endif
