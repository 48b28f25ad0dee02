/* routine.h - private to probe/: what glue leads to (routine.c). */
#ifndef FL_ROUTINE_H
#define FL_ROUTINE_H

#include "table.h"

/* For routines.S. Index: probe id; the function of a probe that asks. W once, before its glue
 * is made. */
extern uintptr_t *fl_asked __attribute__((visibility("hidden")));
/* For routines.S. Index: probe id; its function, if it has glue. */
extern uint32_t *fl_function_of __attribute__((visibility("hidden")));
/* For routines.S, too: what calls a function of the program's own at a bare site and in a
 * body, with vectors as this CPU has them. W open(). */
extern void (*fl_bare_bound)(void) __attribute__((visibility("hidden")));
extern void (*fl_body_bound)(void) __attribute__((visibility("hidden")));
/* Choose what suits this CPU and kernel; once, before any glue. */
void fl_probe_routines_open(void);
/* For an action that counts: the routine of a probe that has no counter. */
uintptr_t fl_probe_routine_uncounted(enum fl_action, enum fl_convention);
/* Where a glue that counts goes when its block of counts is full. */
uintptr_t fl_probe_routine_full(enum fl_convention);
/* The routine of a probe that asks and that nobody wants: it serves other functions only. */
uintptr_t fl_probe_routine_idle(void);

#endif
