/* trap.h - threads that meet a trap while a set is being committed. Private. */
#ifndef FL_TRAP_H
#define FL_TRAP_H

#include "patch.h"

/* From here on a trap in `set` is acted upon; the handler stays installed. */
int fl_trap_publish(const struct fl_set *set);
void fl_trap_withdraw(void);
/* Put the program's own SIGTRAP action back. */
void fl_trap_close(void);

#endif
