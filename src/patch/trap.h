/* trap.h - SIGTRAP, where threads are synchronised by it. Private to patch/. */
#ifndef FL_TRAP_H
#define FL_TRAP_H

#include "patch.h"

/* Our handler is the one that gets it. Called before each signal that is sent, since
 * the program may have installed a handler of its own. */
int fl_trap_install(void);
/* Put the program's own SIGTRAP action back, unless a signal of ours is on its way.
 * Nobody sends any meanwhile: under the lock of sync.c. */
void fl_trap_close(void);

#endif
