/*
 * apart MODE: what a program sees of itself, and what it may do, only while nobody
 * is in its thread group, among its children or in its way.
 *
 *	see		threads, children, process groups, descriptors, limits of CPU time
 *	namespaces	unshare() and setns() of what wants a single thread
 *	killed, denied	a filter for all threads that kills for, or denies, all but a few
 *			calls; then calls of its own for some epochs
 *	strict		the same by SECCOMP_MODE_STRICT
 *	exec		runs `see` in a new image, whose file the old one's is not
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define FUNCTIONS(X) X(main) X(spin) X(leaf) X(see) X(namespaces) X(apart)
#include "truth.h"

enum { EPOCHS_NS = 150000000 };

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

/* By the clock, without a system call. */
BODY static void spin(void)
{
	struct timespec t;
	long long end = 0, now, x = 0;

	CALLED(spin);
	do {
		for (int i = 0; i < 1000; i++)
			x = leaf(x);
		clock_gettime(CLOCK_MONOTONIC, &t);
		now = t.tv_sec * 1000000000ll + t.tv_nsec;
		end = end ? end : now + EPOCHS_NS;
	} while (now < end);
}

QUIET static int count_entries(const char *path)
{
	DIR *d = opendir(path);
	int n = -2;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

QUIET static int count_text(const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY), n = 0;
	ssize_t got = read(fd, text, sizeof text);

	close(fd);
	for (ssize_t i = 0; i < got; i++)
		n += text[i] == ' ';
	return n;
}

BODY static int see(void)
{
	struct rusage u;

	CALLED(see);
	spin();
	printf("threads %d\n", count_entries("/proc/self/task"));
	printf("children %d\n", count_text("/proc/thread-self/children"));
	printf("wait %d", waitpid(-1, NULL, __WALL | WNOHANG));
	printf(" %s\n", strerror(errno));
	printf("group %d\n", kill(0, SIGURG));
	printf("descriptors %d\n", count_entries("/proc/self/fd"));
	getrusage(RUSAGE_CHILDREN, &u);
	printf("children's time %ld\n", u.ru_utime.tv_sec * 1000000 + u.ru_utime.tv_usec);
	return 0;
}

QUIET static void tell(const char *what, long err)
{
	printf("%s: %s\n", what, err ? strerror(errno) : "well");
}

/* Into the namespaces of a child. */
QUIET static void follow(const char *which, int flag)
{
	char path[64], c;
	int ends[2], pid, fd;

	if (pipe(ends))
		exit(1);
	pid = fork();
	if (!pid) {
		c = unshare(flag | CLONE_NEWUSER) ? 'n' : 'y';
		if (write(ends[1], &c, 1) == 1)
			pause();
		_exit(0);
	}
	if (read(ends[0], &c, 1) != 1)
		exit(1);
	snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, which);
	fd = open(path, O_RDONLY);
	tell(which, setns(fd, flag));
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
}

BODY static int namespaces(void)
{
	CALLED(namespaces);
	spin();
	follow("user", CLONE_NEWUSER);
	tell("unshare user", unshare(CLONE_NEWUSER));
	tell("unshare all", unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_FILES));
	tell("unshare pid", unshare(CLONE_NEWPID));
	return 0;
}

/* What the C library needs to print and end, and what flick's probes may ask for in a
 * thread of the program (docs/GUEST.md). Not: nanosleep, clock_nanosleep, membarrier,
 * mprotect, openat, prctl, gettid, ... */
static const int allowed[] = {
	SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigprocmask,
	SYS_futex, SYS_clock_gettime, SYS_newfstatat, SYS_fstat, SYS_brk, SYS_mmap,
};

QUIET static int filter(int otherwise)
{
	enum { N = sizeof allowed / sizeof *allowed };
	struct sock_filter code[N + 3];
	struct sock_fprog program = { .len = N + 3, .filter = code };

	code[0] = (struct sock_filter)
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < N; i++)
		code[i + 1] = (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], N - i, 0);
	code[N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	code[N + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		       &program);
}

BODY static int apart(const char *mode)
{
	static char out[4096];

	CALLED(apart);
	setvbuf(stdout, out, _IOFBF, sizeof out);
	spin();
	if (mode[0] == 's' ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) :
	    filter(mode[0] == 'k' ? (int)SECCOMP_RET_KILL_PROCESS :
		   (int)(SECCOMP_RET_ERRNO | EPERM)))
		return puts("no seccomp here") < 0 ? 1 : 77;
	if (mode[0] == 's')
		for (long i = 0; i < 100000000; i++)
			leaf(i);
	else
		spin();
	puts("still here");
	fflush(stdout);
	syscall(SYS_exit, 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	CALLED(main);
	signal(SIGURG, SIG_IGN);
	if (!strcmp(mode, "see"))
		return see();
	if (!strcmp(mode, "namespaces"))
		return namespaces();
	if (!strcmp(mode, "exec") && argc > 2) {
		spin();
		execl(argv[2], argv[2], "see", NULL);
	}
	return apart(mode);
}
