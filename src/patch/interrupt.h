/* interrupt.h - the signal that interrupts threads to synchronise them. Private to patch/. */
#ifndef FL_INTERRUPT_H
#define FL_INTERRUPT_H

#include "patch.h"

/* Our handler is the one that gets it. Called before each signal that is sent, since
 * the program may have installed a handler of its own. */
int fl_interrupt_install(void);
/* Put the program's own action back. Nobody sends any meanwhile: under the lock of
 * sync.c. */
void fl_interrupt_close(void);

#endif
