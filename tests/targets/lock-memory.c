/*
 * lock-memory [nobody | root DIRECTORY]: mlockall() in all its forms, also of who may lock
 * no more than a program of this size needs (nobody), and where there is no /proc (root).
 * Prints what the calls return, and whether memory was locked; it is never as much as
 * flick has.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#define FUNCTIONS(X) X(main) X(step)
#include "truth.h"

enum { SMALL_KIB = 100 << 10, NOBODY = 65534 };

BODY static long step(long x)
{
	CALLED(step);
	return x + 1;
}

QUIET static long status_kib(const char *what)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, what, strlen(what)))
			kib = atol(line + strlen(what));
	if (f)
		fclose(f);
	return kib;
}

QUIET static void lock(int flags)
{
	char *block;
	int err;

	errno = 0;
	err = mlockall(flags);
	printf("flags %d: %d, errno %d\n", flags, err, errno);
	KEEP(step(flags));
	block = malloc(1 << 20);
	if (block)
		memset(block, 1, 1 << 20);
	printf("locked: %d\n", status_kib("VmLck:") > 0);
	CHECK(status_kib("VmLck:") < SMALL_KIB && status_kib("VmRSS:") < SMALL_KIB);
	free(block);
	CHECK(!munlockall() && status_kib("VmLck:") <= 0);
}

int main(int argc, char **argv)
{
	struct rlimit least = { SMALL_KIB << 10, SMALL_KIB << 10 };

	CALLED(main);
	setrlimit(RLIMIT_MEMLOCK, &least);
	if (argc > 1 && !strcmp(argv[1], "nobody") && (setgid(NOBODY) || setuid(NOBODY)))
		return 2;
	if (argc > 2 && (chroot(argv[2]) || chdir("/")))
		return 2;
	for (int flags = 0; flags < 16; flags++)
		lock(flags);
	least.rlim_cur = 4096;
	setrlimit(RLIMIT_MEMLOCK, &least);
	printf("a page: %d\n", mlockall(MCL_CURRENT));
	least.rlim_cur = 0;
	setrlimit(RLIMIT_MEMLOCK, &least);
	printf("none: %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
	truth_print();
	return truth_failed;
}
