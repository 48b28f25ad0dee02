/*
 * reaper [again]: takes orphans, and says whose ends it is told of: those of the children
 * that it forks and of what they leave behind, one of which runs another program.
 */
#include <sys/prctl.h>
#include <sys/wait.h>
#define FUNCTIONS(X) X(main) X(step)
#include "truth.h"

enum { ROUNDS = 5, CHILD = 1, LEFT = 2 };

BODY static long step(long x)
{
	CALLED(step);
	return x + 1;
}

QUIET static void leave_behind(const char *self)
{
	if (!fork()) {
		KEEP(step(1));
		execl(self, self, "again", (char *)NULL);
		_exit(99);
	}
	KEEP(step(2));
	_exit(CHILD);
}

int main(int argc, char **argv)
{
	int status, n[3] = { 0 };

	CALLED(main);
	if (argc > 1)
		_exit(LEFT);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < ROUNDS; i++)
		if (!fork())
			leave_behind(argv[0]);
	while (wait(&status) > 0)
		n[WIFEXITED(status) && WEXITSTATUS(status) < 3 ? WEXITSTATUS(status) : 0]++;
	printf("children %d left %d others %d\n", n[CHILD], n[LEFT], n[0]);
	CHECK(n[CHILD] == ROUNDS && n[LEFT] == ROUNDS && !n[0]);
	return truth_failed;
}
