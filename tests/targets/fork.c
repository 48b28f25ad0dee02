/* fork: children by fork, vfork, a bare clone system call, posix_spawn, popen
 * and system. A child's calls are its own: they change no count printed here,
 * nor may they be in the record of the parent. */
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define FUNCTIONS(X) X(main) X(work) X(leaf) X(apart) X(by_fork) X(by_vfork) X(by_clone) \
	X(by_spawn) X(by_system) X(by_popen)
#include "truth.h"
#include "truth-work.h"

QUIET static void reap(pid_t pid, int expected)
{
	int status = -1;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
}

/* In pages of code of its own. */
__attribute__((aligned(8192))) BODY static int apart(int x)
{
	CALLED(apart);
	return x + 1;
}

static unsigned char text[2][64];

QUIET static void note_text(void)
{
	memcpy(text[0], (const void *)leaf, sizeof(text[0]));
	memcpy(text[1], (const void *)apart, sizeof(text[1]));
}

/* With FORK_TEXT in the environment its probes are off: all, or those where it has called
 * something. */
QUIET static void check_text(bool called_apart)
{
	const char *off = getenv("FORK_TEXT");
	bool same_leaf = !memcmp(text[0], (const void *)leaf, sizeof(text[0]));
	bool same_apart = !memcmp(text[1], (const void *)apart, sizeof(text[1]));

	called_apart |= off && !strcmp(off, "all");
	CHECK(!off || (!same_leaf && same_apart != called_apart));
}

/* The child has children of its own. */
BODY static void by_fork(void)
{
	pid_t pid;

	note_text();
	pid = fork();
	CALLED(by_fork);
	if (pid == 0) {
		KEEP(work(1000));
		check_text(false);
		KEEP(apart(1));
		check_text(true);
		pid = fork();
		if (pid == 0)
			_exit(work(10) == 55 ? 7 : 8);
		reap(pid, 7);
		_exit(truth_failed ? 9 : 3);
	}
	KEEP(work(5) + apart(1));
	reap(pid, 3);
}

BODY static void by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		KEEP(leaf(1));		/* in its parent's place and memory */
		execl("/bin/sh", "sh", "-c", "exit 4", (char *)NULL);
		_exit(127);
	}
	CALLED(by_vfork);
	reap(pid, 4);
}

/* No fork handler of any library runs for this one. */
BODY static void by_clone(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	CALLED(by_clone);
	if (pid == 0) {
		KEEP(work(700));
		syscall(SYS_exit_group, 5);
	}
	reap(pid, 5);
}

BODY static void by_spawn(void)
{
	char *argv[] = { "sh", "-c", "exit 6", NULL };
	extern char **environ;
	pid_t pid;

	CALLED(by_spawn);
	CHECK(!posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ));
	reap(pid, 6);
}

BODY static void by_system(void)
{
	int status = system("exit 2");

	CALLED(by_system);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 2);
}

BODY static void by_popen(void)
{
	char line[16] = "";
	FILE *f = popen("echo hello", "r");

	CALLED(by_popen);
	CHECK(f && fgets(line, sizeof(line), f) && !strcmp(line, "hello\n"));
	CHECK(f && pclose(f) == 0);
}

int main(void)
{
	CALLED(main);
	for (int i = 0; i < 5; i++) {
		by_fork();
		KEEP(work(10));
		by_vfork();
		KEEP(work(10));
		by_clone();
		KEEP(work(10));
	}
	by_spawn();
	by_system();
	by_popen();
	KEEP(work(100));
	truth_print();
	return truth_failed;
}
