/* limited: starts itself again and again, with addresses (ulimit -v) for little more
 * than what it will ask for, 64 MB to 8 GB. Prints what it gets there. */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#define FUNCTIONS(X) X(main) X(ask)
#include "truth.h"

enum { LEAST = 26, MOST = 33, SPARE = 32 << 20 };

BODY static int ask(int bits)
{
	void *p = mmap(NULL, 1ull << bits, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CALLED(ask);
	return printf("1 << %d: %s\n", bits, p == MAP_FAILED ? "no room" : "granted") < 0;
}

static int start_child(const char *self, int bits)
{
	struct rlimit limit = { (1ull << bits) + SPARE, (1ull << bits) + SPARE };
	char text[] = { (char)('A' + bits), '\0' };
	int status, pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_AS, &limit);
		execl(self, self, text, NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
	CALLED(main);
	if (argc > 1)
		return ask(argv[1][0] - 'A');
	for (int bits = LEAST; bits <= MOST; bits++)
		if (!start_child(argv[0], bits))
			puts("wrong: no child");
	truth_print();
	return 0;
}
