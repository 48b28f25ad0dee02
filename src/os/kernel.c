/*
 * kernel.c - system calls that are one line each.
 *
 * Hides the numbers, the argument order and the structures of Linux. Each function
 * returns what the kernel said; nothing is retried unless the door says so.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/memfd.h>
#include <linux/prctl.h>
#include <time.h>

#include "os/os.h"
#include "os/syscall.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

int fl_os_unmap(void *at, size_t n)
{
	return (int)SYS_OR_FAULT(munmap, SYS_munmap, at, n);
}

int fl_os_protect(void *at, size_t n, int prot)
{
	return (int)SYS_OR_FAULT(mprotect, SYS_mprotect, at, n, prot);
}

int fl_os_protect_for(uintptr_t at, size_t n, int prot, int pkey)
{
	return (int)(pkey < 0 ? SYS(SYS_mprotect, at, n, prot) :
				SYS(SYS_pkey_mprotect, at, n, prot, pkey));
}

int fl_os_advise(void *at, size_t n, int advice)
{
	return (int)SYS_OR_FAULT(madvise, SYS_madvise, at, n, advice);
}

int fl_os_open(const char *path, int flags)
{
	return (int)SYS_OR_FAULT(open, SYS_openat, AT_FDCWD, path, flags);
}

long fl_os_read(int fd, void *to, size_t n)
{
	return SYS_OR_FAULT(read, SYS_read, fd, to, n);
}

long fl_os_write(int fd, const void *from, size_t n)
{
	return SYS_OR_FAULT(write, SYS_write, fd, from, n);
}

int fl_os_close(int fd)
{
	int err = (int)SYS(SYS_close, fd);
	int fault = (int)fl_fault(FL_FAULT_close);

	return fault ? fault : err;
}

/* A memory file that exec() cannot execute and never will, where the kernel has such files
 * (6.3). For mmap() there is no difference. */
int fl_os_memfd(const char *name)
{
	long fd = SYS_OR_FAULT(memfd_create, SYS_memfd_create, name,
			       MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd == -EINVAL)
		fd = SYS_OR_FAULT(memfd_create, SYS_memfd_create, name,
				  MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return (int)fd;
}

static struct timespec from_us(uint64_t us)
{
	return (struct timespec){ .tv_sec = (time_t)(us / 1000000),
				  .tv_nsec = (long)(us % 1000000 * 1000) };
}

/* Not FUTEX_PRIVATE: the word is shared with another process. */
int fl_os_futex_wait(uint32_t *word, uint32_t while_equal, uint64_t timeout_us)
{
	struct timespec t = from_us(timeout_us);

	return (int)SYS_OR_FAULT(futex, SYS_futex, word, FUTEX_WAIT, while_equal, &t);
}

int fl_os_futex_wake(uint32_t *word, int how_many)
{
	return (int)SYS(SYS_futex, word, FUTEX_WAKE, how_many);
}

int fl_os_membarrier_register(void)
{
	return (int)SYS_OR_FAULT(membarrier, SYS_membarrier,
				 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
}

int fl_os_membarrier_sync_core(void)
{
	return (int)SYS_OR_FAULT(membarrier, SYS_membarrier,
				 MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}

int fl_os_membarrier_restart_register(void)
{
	return (int)SYS_OR_FAULT(membarrier, SYS_membarrier,
				 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ);
}

int fl_os_membarrier_restart(void)
{
	return (int)SYS_OR_FAULT(membarrier, SYS_membarrier,
				 MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0);
}

int fl_os_parent(void)
{
	return (int)SYS(SYS_getppid);
}

int fl_os_user(void)
{
	return (int)SYS(SYS_geteuid);
}

int fl_os_tid(void)
{
	return (int)SYS(SYS_gettid);
}

/* The number of a thread's clock: ~tid, and 6 for CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED. */
uint64_t fl_os_cpu_ns(int tid)
{
	int clock = tid ? (int)(~(uint32_t)tid << 3 | 6) : CLOCK_PROCESS_CPUTIME_ID;
	struct timespec t = { 0 };

	SYS(SYS_clock_gettime, clock, &t);
	return fl_ns(t.tv_sec, t.tv_nsec);
}

void fl_os_thread_name(char name[16])
{
	if (SYS(SYS_prctl, PR_GET_NAME, name))
		name[0] = '\0';
}

uint64_t fl_os_monotonic_ns(void)
{
	struct timespec t = { 0 };

	SYS(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return fl_ns(t.tv_sec, t.tv_nsec);
}

/* The number of a process's clock: ~pid, and 2 for CPUCLOCK_SCHED. */
uint64_t fl_os_process_ns(int pid)
{
	int clock = (int)(~(unsigned)pid << 3 | 2);
	struct timespec t = { 0 };

	if (SYS(SYS_clock_gettime, clock, &t))
		return 0;
	return fl_ns(t.tv_sec, t.tv_nsec);
}

uint64_t fl_os_program_ns(void)
{
	return fl_os_process_ns(fl_os_pid());
}

/* Sleeps by futex(2), a call that every program with threads makes: threads of the program
 * sleep here, and a seccomp filter may kill a thread that calls nanosleep. The program's
 * handlers run after the sleep; an interruption in spite of that begins the sleep anew. */
void fl_os_sleep_us(uint64_t us)
{
	struct timespec t = from_us(us);
	uint32_t nobody_wakes = 0;
	uint64_t signals;
	long err;

	fl_os_signals_block(&signals);
	do
		err = SYS_OR_FAULT(futex, SYS_futex, &nobody_wakes, FUTEX_WAIT_PRIVATE, 0,
				   &t);
	while (err == -EINTR);
	fl_os_signals_restore(&signals);
	if (err != -ETIMEDOUT)
		SYS(SYS_sched_yield);	/* waiting is denied */
}

void fl_os_exit(int status)
{
	for (;;)
		SYS(SYS_exit_group, status);
}
