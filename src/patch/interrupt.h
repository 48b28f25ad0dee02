/* interrupt.h - the signal that interrupts threads to synchronise them. Private to patch/. */
#ifndef FL_INTERRUPT_H
#define FL_INTERRUPT_H

#include "patch.h"

/* Make our handler the one that gets the signal. Called before each signal that is sent,
 * because the program may have installed a handler of its own. */
int fl_interrupt_install(void);
/* Put the program's own action back. The caller has the lock of sync.c: nobody sends the
 * signal meanwhile. */
void fl_interrupt_close(void);

#endif
