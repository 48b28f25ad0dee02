/*
 * restart.c - system calls that say EINTR whatever SA_RESTART says, and that
 * can simply be made again.
 *
 * Linux restarts most calls by itself when a handler has SA_RESTART; signal(7)
 * lists the others. Each call here has done nothing when it says EINTR. A
 * relative time among the arguments starts anew, unless the call has updated
 * it; an absolute time is what it was.
 */
#include <linux/futex.h>

#include "os/os.h"
#include "os/syscall.h"

static const short plain[] = {
#ifdef SYS_poll
	SYS_poll, SYS_select, SYS_epoll_wait, SYS_pause,
#endif
	SYS_ppoll, SYS_pselect6, SYS_epoll_pwait, SYS_epoll_pwait2,
	SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_semop, SYS_semtimedop,
	SYS_msgsnd, SYS_msgrcv, SYS_io_getevents, SYS_io_uring_enter,
	/* with SO_RCVTIMEO or SO_SNDTIMEO; a connect() that is made again waits on */
	SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_accept, SYS_accept4,
	SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_connect,
	SYS_splice, SYS_sendfile,
	/* of a memory file: some kernels give back what they have allotted, and say EINTR */
	SYS_fallocate,
};

static const short transfers[] = {
	SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, SYS_sendto, SYS_sendmsg,
	SYS_sendmmsg, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendfile, SYS_splice,
	SYS_vmsplice, SYS_copy_file_range, SYS_fallocate, SYS_fsync, SYS_fdatasync,
};

static bool stands_among(const short *calls, size_t n, long number)
{
	for (size_t i = 0; i < n; i++)
		if (number == calls[i])
			return true;
	return false;
}

/* The kernel writes the rest of a sleep to where `rem` points. A caller whose `rem` is its
 * `req` sleeps on for that rest; a caller with another `rem` is ready for EINTR. */
static bool sleeps_on(uint64_t req, uint64_t rem)
{
	return !rem || rem == req;
}

bool fl_os_call_restarts(long number, const uint64_t args[6])
{
	uint64_t op = args[1] & FUTEX_CMD_MASK;

	switch (number) {
	case SYS_nanosleep:
		return sleeps_on(args[0], args[1]);
	case SYS_clock_nanosleep:
		return sleeps_on(args[2], args[3]);
	case SYS_futex:
		return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET;
	}
	return stands_among(plain, ARRAY_LEN(plain), number);
}

bool fl_os_call_transfers(long number)
{
	return stands_among(transfers, ARRAY_LEN(transfers), number);
}
