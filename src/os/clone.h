/*
 * clone.h - private to os/: threads and a process on stacks of their own, and what they ask.
 */
#ifndef FL_OS_CLONE_H
#define FL_OS_CLONE_H

#include "os/os.h"

/* Stack and TLS; an error as fl_os_map() has it. */
FL_HIDDEN char *fl_clone_map(void);
FL_HIDDEN void fl_clone_unmap(char *all);
/* Does the mapping of a stack hold that address? */
FL_HIDDEN bool fl_clone_holds(const char *all, const void *address);
/* Call `run` in a new thread or process in this memory, with every signal blocked. It unmaps
 * `all` at its end. `id` is for CLONE_PARENT_SETTID and CLONE_CHILD_CLEARTID. */
FL_HIDDEN long fl_clone(unsigned long flags, char *all, int (*run)(void *), void *arg,
			uint32_t *id);

/* Does the address lie where fl_os_map() puts memory if the place is its choice? (map.c) */
FL_HIDDEN bool fl_os_is_apart(uintptr_t at);
/* There was a process outside, and it was killed or has ended (outside.c). */
FL_HIDDEN bool fl_os_outside_died(void);
/* Thread `tid`, 0 is the calling one, goes to those of `others` that the caller does not have,
 * if there are any (outside.c). */
FL_HIDDEN void fl_os_leave_cpus(int tid, const uint64_t others[FL_CPU_WORDS]);
/* If the caller is the process outside, and nobody else runs in this memory: end
 * (outside.c). */
FL_HIDDEN void fl_os_outside_end_alone(void);

#endif
