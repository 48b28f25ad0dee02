/*
 * clone.h - private to os/: what flick runs on a stack of its own, and what that has to know.
 */
#ifndef FL_OS_CLONE_H
#define FL_OS_CLONE_H

#include "os/os.h"

/* Stack and TLS; an error as fl_os_map() has it. */
FL_HIDDEN char *fl_clone_map(void);
FL_HIDDEN void fl_clone_unmap(char *all);
/* Does the stack, or what lies with it, hold that address? */
FL_HIDDEN bool fl_clone_holds(const char *all, const void *address);
/* `run` in this memory, with every signal blocked; it unmaps `all` at its end. `id` is
 * for CLONE_PARENT_SETTID and CLONE_CHILD_CLEARTID. */
FL_HIDDEN long fl_clone(unsigned long flags, char *all, int (*run)(void *), void *arg,
			uint32_t *id);

/* Is that where memory lies that fl_os_map() chose a place for? (map.c) */
FL_HIDDEN bool fl_os_is_apart(uintptr_t at);
/* Who was outside was killed, or has ended (outside.c). */
FL_HIDDEN bool fl_os_outside_died(void);
/* The thread, 0 is the calling one, goes to those of `others` that the caller does not have, if
 * there are any (outside.c). */
FL_HIDDEN void fl_os_leave_cpus(int tid, const uint64_t others[FL_CPU_WORDS]);
/* Of who waits outside: it ends, if nobody else runs in this memory (outside.c). */
FL_HIDDEN void fl_os_outside_end_alone(void);

#endif
