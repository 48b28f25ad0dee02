/*
 * fault.h - private to os/: calls that fail because somebody asked for it.
 */
#ifndef FL_OS_FAULT_H
#define FL_OS_FAULT_H

#include "base/base.h"

/* Each call of os/ that may fail, and an errno it can really give. */
#define FL_FAULTS(x) \
	x(mmap, ENOMEM) x(munmap, ENOMEM) x(mprotect, ENOMEM) x(madvise, ENOMEM) \
	x(open, EMFILE) x(read, EIO) x(write, ENOSPC) x(close, EIO) \
	x(lseek, EOVERFLOW) x(readlink, EACCES) x(fstat, ENOMEM) x(fcntl, EPERM) \
	x(close_range, ENOMEM) \
	x(getdents, ENOENT) x(memfd_create, EMFILE) x(ftruncate, ENOSPC) \
	x(membarrier, ENOMEM) x(futex, EINTR) \
	x(sigaction, EPERM) x(tgkill, EAGAIN) x(clone, EAGAIN)

enum fl_fault_call {
#define FL_FAULT_ENUM(name, err) FL_FAULT_##name,
	FL_FAULTS(FL_FAULT_ENUM)
#undef FL_FAULT_ENUM
	FL_N_FAULTS
};

extern bool fl_fault_is_on __attribute__((visibility("hidden")));
/* Count a use; 0, or the -errno it shall fail with. */
long fl_fault_take(enum fl_fault_call) __attribute__((visibility("hidden")));

static inline long fl_fault(enum fl_fault_call call)
{
	return __builtin_expect(fl_fault_is_on, 0) ? fl_fault_take(call) : 0;
}

#endif
