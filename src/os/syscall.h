/*
 * syscall.h - private to os/: one system call, its result as the kernel gave it.
 *
 * The routines are a port's (arch/CPU/syscall.S); nobody but os/ calls them.
 */
#ifndef FL_OS_SYSCALL_H
#define FL_OS_SYSCALL_H

#include <sys/syscall.h>

#include "os/fault.h"

#define FL_HIDDEN __attribute__((visibility("hidden")))

FL_HIDDEN long fl_arch_syscall(long nr, long a, long b, long c, long d, long e,
			       long f);
FL_HIDDEN long fl_arch_thread(unsigned long flags, void *stack, void *tls, uint32_t *id);

/* SYS(number, up to six arguments): what is not given is 0. */
#define SYS_PAD(nr, a, b, c, d, e, f, ...) \
	fl_arch_syscall(nr, (long)(a), (long)(b), (long)(c), (long)(d), \
			(long)(e), (long)(f))
#define SYS(...) SYS_PAD(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
/* The same for a call that FLICK_FAULT may name `call`. */
#define SYS_OR_FAULT(call, ...) ({ \
	long fault_ = fl_fault(FL_FAULT_##call); \
	fault_ ? fault_ : SYS(__VA_ARGS__); \
})

#endif
