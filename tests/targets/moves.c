/*
 * moves LIBRARY LIBRARY: uses 200 ms of CPU time in each of its functions, wherever code
 * comes from: its own, a child's, two libraries one after the other in one place, the
 * kernel's, a new image's.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu-time.h"

#define BODY __attribute__((noinline))

enum { US = 200000 };

#define SPIN() SPIN_BY(US, 200000)

#ifdef NAME
void NAME(void)
{
	SPIN();
}
#else
BODY void before(void)
{
	SPIN();
}

BODY void in_child(void)
{
	SPIN();
}

BODY void after(void)
{
	SPIN();
}

static char block[1 << 20];

BODY void in_kernel(void)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	long until = cpu_us() + US;

	while (cpu_us() < until)
		(void)!read(fd, block, sizeof block);
	close(fd);
}

static int in_library(const char *path, const char *name, void **at)
{
	void *lib = dlopen(path, RTLD_NOW);
	void (*spin)(void) = lib ? (void (*)(void))dlsym(lib, name) : NULL;

	*at = (void *)spin;
	if (spin)
		spin();
	return spin && dlclose(lib) == 0;
}

int main(int argc, char **argv)
{
	void *a, *b;

	if (argc < 3) {
		after();
		return 0;
	}
	before();
	if (!fork()) {
		in_child();
		_exit(0);
	}
	wait(NULL);
	in_kernel();
	if (!in_library(argv[1], "alpha", &a) || !in_library(argv[2], "gamma", &b))
		return 1;
	printf("one place %d\n", a == b);
	fflush(stdout);
	execl(argv[0], argv[0], "again", (char *)NULL);
	return 1;
}
#endif
