/* crash abort|segv|exit|quick|kill: ends in that way in the middle of calls
 * whose counts were printed just before. */
#include <signal.h>
#include <unistd.h>
#define FUNCTIONS(X) X(main) X(work) X(leaf) X(end)
#include "truth.h"
#include "truth-work.h"

static volatile int *volatile nowhere;

BODY static int end(const char *how)
{
	CALLED(end);
	CUT(2);
	truth_print();
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		*nowhere = 1;
	if (!strcmp(how, "quick"))
		_exit(5);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	exit(6);
}

int main(int argc, char **argv)
{
	CALLED(main);
	KEEP(work(5000));
	return end(argc > 1 ? argv[1] : "exit");
}
