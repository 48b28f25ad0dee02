/* syscall.h - private to os/: one system call, its result as the kernel gave it. */
#ifndef FL_OS_SYSCALL_H
#define FL_OS_SYSCALL_H

#include <sys/syscall.h>

#include "arch/arch.h"
#include "os/fault.h"

/* SYS(number, up to six arguments): an argument that is not given is 0. */
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
