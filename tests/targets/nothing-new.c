/*
 * nothing-new: stops the recorder, which is the parent, and starts itself again, by fork and
 * exec and by fork alone, and a program without sites: none has anything to ask, so all end
 * before it goes on.
 */
#include <signal.h>
#include <sys/wait.h>
#include "states.h"

enum { PAUSE_US = 1000, PATIENCE_US = 5000000 };

__attribute__((noinline)) static void leaf(void)
{
	__asm__("");
}

QUIET static int ends(int pid)
{
	int status = -1;

	for (int us = 0; us < PATIENCE_US; us += PAUSE_US) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status == 0;
		usleep(PAUSE_US);
	}
	return 0;
}

QUIET static void start(const char *path, char *const argv[])
{
	int pid = fork();

	if (!pid) {
		execv(path, argv);
		_exit(1);
	}
	CHECK(ends(pid));
}

QUIET int main(int argc, char **argv)
{
	int reader = getppid(), pid;

	leaf();
	if (argc > 1)
		return 0;
	kill(reader, SIGSTOP);
	await_state(reader, 0, 'T');
	start("/proc/self/exe", (char *[]){ argv[0], "again", NULL });
	start("/bin/true", (char *[]){ "true", NULL });
	pid = fork();
	if (!pid) {
		leaf();
		_exit(0);
	}
	CHECK(ends(pid));
	kill(reader, SIGCONT);
	printf("count leaf 3\n");
	return truth_failed;
}
