/*
 * resident.c - the program's mlockall(2), without what is flick's.
 *
 * Flick reserves addresses by the gigabyte and uses few of them. To have all of them in
 * memory would take seconds, and memory that a machine may not have; and a program that may
 * lock only little would be refused. So where the program locks all memory, its mappings are
 * locked one by one, and flick's are left out. Flick's mappings are known by where map.c puts
 * them. Where mappings cannot be listed, every page, flick's too, is locked at its first use.
 */
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "os/clone.h"
#include "os/os.h"
#include "os/syscall.h"

#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT 1
#endif

static bool is_programs(const struct fl_mapping *m)
{
	return !fl_os_is_apart(m->lo) && m->hi <= INTPTR_MAX;	/* [vsyscall] is above */
}

static int add_bytes(void *arg, const struct fl_mapping *m)
{
	*(uint64_t *)arg += is_programs(m) ? m->hi - m->lo : 0;
	return 0;
}

/* An error is dropped: mlockall() passes over a mapping that cannot be locked as well. */
static int lock_one(void *arg, const struct fl_mapping *m)
{
	if (is_programs(m))
		SYS(SYS_mlock2, m->lo, m->hi - m->lo, *(const int *)arg);
	return 0;
}

static bool may_lock_any(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return SYS(SYS_capget, &head, data) == 0 &&
	       data[0].effective >> CAP_IPC_LOCK & 1;
}

/* The kernel's own check, made of the program's mappings alone. */
static int check_limit(void)
{
	struct rlimit most = { 0 };
	uint64_t bytes = 0;
	int err = fl_os_mappings(add_bytes, &bytes);

	if (err || may_lock_any())
		return err;
	SYS(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &most);
	if (!most.rlim_cur)
		return -EPERM;
	return bytes > most.rlim_cur ? -ENOMEM : 0;
}

/* An earlier MCL_FUTURE must end if this call has none. munlockall(2) alone does so, and its
 * other effect is undone by lock_one(). */
int fl_os_lock_memory(int flags)
{
	int how = flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0;
	int err = 0;

	if (!(flags & MCL_CURRENT) || flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		return (int)SYS(SYS_mlockall, flags);
	err = check_limit();
	if (err && err != -EPERM && err != -ENOMEM)	/* no /proc, no descriptor */
		return (int)SYS(SYS_mlockall, flags | MCL_ONFAULT);
	if (!err && flags & MCL_FUTURE)
		err = (int)SYS(SYS_mlockall, flags & ~MCL_CURRENT);
	else if (!err)
		err = (int)SYS(SYS_munlockall);
	return err ? err : fl_os_mappings(lock_one, &how);
}
