/*
 * kill-at: fl_point_hit() for a libflick.so that has points: FLICK_KILL_AT=NAME
 * kills the process that comes to that point, and can unlink the file
 * FLICK_KILL_ONCE, with SIGKILL. So one process is killed; which, is not known. With
 * FLICK_KILL_AFTER=N it is when it has been there N times. With FLICK_LATE_AT=NAME who
 * comes to that point goes on a fifth of a second later. FLICK_KILL_STOP=PID: that process
 * gets SIGSTOP instead; with FLICK_KILL_SIGNAL=N that signal, and a fifth of a second for it.
 * FLICK_KILL_OTHER=FILE, with `NAME PID` in that file: who comes to that
 * point kills that process, and goes on when it is dead.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "os/syscall.h"

/* Who watches has no thread-local storage of the C library's: nothing here needs any. */
static void kill_other(const char *name)
{
	char path[512], line[96];
	size_t len = strlen(name);
	struct pollfd dead = { .events = POLLIN };
	long n, pid = 0;
	int fd;

	if (fl_os_environment("FLICK_KILL_OTHER", path, sizeof(path)))
		return;
	fd = (int)SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = SYS(SYS_read, fd, line, sizeof(line) - 1);
	SYS(SYS_close, fd);
	line[n > 0 ? n : 0] = '\0';
	if (strncmp(line, name, len) || line[len] != ' ' ||
	    SYS(SYS_unlinkat, AT_FDCWD, path, 0))
		return;
	for (const char *p = line + len + 1; *p >= '0' && *p <= '9'; p++)
		pid = pid * 10 + *p - '0';
	dead.fd = (int)SYS(SYS_pidfd_open, pid, 0);
	SYS(SYS_kill, pid, SIGKILL);
	SYS(SYS_ppoll, &dead, 1, NULL, NULL, 0);
	SYS(SYS_close, dead.fd);
}

static void pause_there(void)
{
	syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = 200000000 }, NULL);
}

void fl_point_hit(const char *name)
{
	char at[64], once[512], after[16], pid[16], sig[16];
	static int times;

	kill_other(name);
	if (!fl_os_environment("FLICK_LATE_AT", at, sizeof(at)) && !strcmp(at, name))
		pause_there();
	if (fl_os_environment("FLICK_KILL_AT", at, sizeof(at)) || strcmp(at, name))
		return;
	if (fl_os_environment("FLICK_KILL_ONCE", once, sizeof(once)))
		return;
	if (!fl_os_environment("FLICK_KILL_AFTER", after, sizeof(after)) &&
	    __atomic_fetch_add(&times, 1, __ATOMIC_RELAXED) < after[0] - '0')
		return;
	if (syscall(SYS_unlinkat, AT_FDCWD, once, 0))
		return;
	if (fl_os_environment("FLICK_KILL_STOP", pid, sizeof(pid)))
		syscall(SYS_kill, fl_os_pid(), SIGKILL);
	else if (fl_os_environment("FLICK_KILL_SIGNAL", sig, sizeof(sig)))
		syscall(SYS_kill, atoi(pid), SIGSTOP);
	else if (!syscall(SYS_kill, atoi(pid), atoi(sig)))
		pause_there();
}
