/*
 * clone.c - a thread, or a child, that the C library does not know.
 *
 * One mapping holds all that such a thread needs, from low to high:
 *
 *	guard page | stack 64 KiB | 4 KiB below the TLS pointer | TLS block
 *
 * The kernel is told of that TLS pointer and of nothing else: no robust list,
 * no rseq. The block is zero except for what the port's TLS ABI wants there; a stack
 * protector finds 0 as its canary. The mapping goes away with the thread
 * (arch/CPU/syscall.S). The thread has directories of its own: shared ones would keep the
 * program out of other mount namespaces (setns(2)), and those that a child shares keep
 * set-user-ID programs from their rights.
 */
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "os/clone.h"
#include "os/os.h"
#include "os/syscall.h"

#define STACK_BYTES (64 * 1024)
#define TLS_BYTES 4096			/* on either side of the pointer */
#define ALL_BYTES (FL_PAGE + STACK_BYTES + 2 * TLS_BYTES)

/* fl_arch_thread() pops this first; its end is aligned to 16 bytes. */
struct start {
	int (*run)(void *);
	void *arg;
	char *mapping;
	size_t bytes;
};

static void *lay_tls(char *all)
{
	uintptr_t *tls = (void *)(all + ALL_BYTES - TLS_BYTES);

	fl_arch_lay_tls(tls);
	return tls;
}

static void *lay_stack(char *all, int (*run)(void *), void *arg)
{
	struct start *s = (void *)(all + FL_PAGE + STACK_BYTES);

	*--s = (struct start){ run, arg, all, ALL_BYTES };
	return s;
}

bool fl_clone_holds(const char *all, const void *address)
{
	return (uintptr_t)address - (uintptr_t)all < ALL_BYTES;
}

char *fl_clone_map(void)
{
	char *all = fl_os_map(NULL, ALL_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!fl_is_err(all))
		fl_os_protect(all, FL_PAGE, PROT_NONE);
	return all;
}

void fl_clone_unmap(char *all)
{
	fl_os_unmap(all, ALL_BYTES);
}

/* Signals are blocked before the thread exists, because the thread inherits the mask. */
long fl_clone(unsigned long flags, char *all, int (*run)(void *), void *arg, uint32_t *id)
{
	uint64_t mask;
	long tid;

	fl_os_signals_block(&mask);
	tid = fl_fault(FL_FAULT_clone);
	if (!tid)
		tid = fl_arch_thread(flags | CLONE_VM | CLONE_FILES | CLONE_SETTLS,
				     lay_stack(all, run, arg), lay_tls(all), id);
	fl_os_signals_restore(&mask);
	return tid;
}

static long start(unsigned long flags, int (*run)(void *), void *arg, uint32_t *id)
{
	char *all = fl_clone_map();
	long tid;

	if (fl_is_err(all))
		return (intptr_t)all;
	tid = fl_clone(flags, all, run, arg, id);
	if (tid < 0)
		fl_clone_unmap(all);
	return tid;
}

static int own_thread;

int fl_os_own_thread(void)
{
	return load_relaxed(&own_thread);
}

static long start_thread(unsigned long more, int (*run)(void *), void *arg, uint32_t *id)
{
	const unsigned long flags = CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | more;
	long tid = start(flags, run, arg, id);

	/* qemu-user knows only threads as the C library makes them */
	return tid == -EINVAL ? start(flags | CLONE_FS, run, arg, id) : tid;
}

int fl_os_thread_start(int (*run)(void *), void *arg)
{
	long tid = start_thread(0, run, arg, NULL);

	if (tid > 0)
		store_relaxed(&own_thread, (int)tid);
	return (int)tid;
}

struct fl_os_spare fl_os_spare;

int fl_os_helper_start(int (*run)(void *), void *arg, uint32_t *id)
{
	long tid = start_thread(CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID, run, arg, id);

	if (tid > 0 && fl_os_spare.others)
		fl_os_leave_cpus((int)tid, fl_os_spare.others);
	return (int)tid;
}

/* The kernel clears `id` when the thread leaves this memory; the thread still exists then. */
void fl_os_helper_join(int tid, uint32_t *id)
{
	uint32_t is;

	/* ordering: none of ours, the kernel clears it behind the thread's last store */
	while ((is = load_acquire(id)) != 0)
		fl_os_futex_wait(id, is, 100000);
	while (!fl_os_signal_thread(tid, 0))
		SYS(SYS_sched_yield);
}

/* The flags have no signal in their low byte: only a wait with __WCLONE or
 * __WALL hears of the end. */
int fl_os_process_start(int (*run)(void *), void *arg)
{
	return (int)start(CLONE_UNTRACED, run, arg, NULL);
}

void fl_os_process_reap(int pid)
{
	while (SYS(SYS_wait4, pid, NULL, __WALL, NULL) == -EINTR)
		;
}
