/*
 * kill-at: fl_point_hit() for a libflick.so that has points: FLICK_KILL_AT=NAME
 * kills the process that comes to that point, and can unlink the file
 * FLICK_KILL_ONCE, with SIGKILL. So one process is killed; which, is not known. With
 * FLICK_KILL_AFTER=N it is when it has been there N times. With FLICK_LATE_AT=NAME who
 * comes to that point goes on a fifth of a second later. FLICK_KILL_STOP=PID: that process
 * gets SIGSTOP instead.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

void fl_point_hit(const char *name)
{
	char at[64], once[512], after[16], pid[16];
	static int times;

	if (!fl_os_environment("FLICK_LATE_AT", at, sizeof(at)) && !strcmp(at, name))
		syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = 200000000 }, NULL);
	if (fl_os_environment("FLICK_KILL_AT", at, sizeof(at)) || strcmp(at, name))
		return;
	if (fl_os_environment("FLICK_KILL_ONCE", once, sizeof(once)))
		return;
	if (!fl_os_environment("FLICK_KILL_AFTER", after, sizeof(after)) &&
	    __atomic_fetch_add(&times, 1, __ATOMIC_RELAXED) < after[0] - '0')
		return;
	if (syscall(SYS_unlink, once))
		return;
	if (fl_os_environment("FLICK_KILL_STOP", pid, sizeof(pid)))
		syscall(SYS_kill, fl_os_pid(), SIGKILL);
	else
		syscall(SYS_kill, atoi(pid), SIGSTOP);
}
