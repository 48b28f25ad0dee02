/* trap.h - threads that meet a trap while a place is changed. Private. */
#ifndef FL_TRAP_H
#define FL_TRAP_H

#include "patch.h"

/* Have traps acted upon. Called before every commit that writes some, since
 * the program may have installed a handler of its own; ours stays. */
int fl_trap_install(void);
/* Is thread `tid` in our handler, having met a trap? False at times when it is. */
bool fl_trap_has(int tid);
/* Does `blocks` keep saying so of thread `tid` for a second? The C library blocks
 * every signal for a moment around thread creation, handlers may, and a busy
 * machine may stop a thread just then. Where threads come and go there is always
 * some thread that blocks it; so each is waited for by itself. 0 or 1. */
int fl_trap_keeps_blocked(bool (*blocks)(int tid), int tid);
/* Put the program's own SIGTRAP action back. */
void fl_trap_close(void);
/* The thread of this context was interrupted where it stood. If that is inside a
 * row of NOPs that is about to become one instruction, lead it out. */
void fl_trap_leave(void *ucontext);

#endif
