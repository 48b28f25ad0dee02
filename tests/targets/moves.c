/*
 * moves LIBRARY LIBRARY: uses 200 ms of CPU time in each of its functions, wherever code
 * comes from: its own, a child's, two libraries one after the other in one place, the
 * kernel's, a new image's.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BODY __attribute__((noinline))

enum { US = 200000 };

static long cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Here, in the function that it is written into. */
#define SPIN() do { \
	long until = cpu_us() + US; \
	while (cpu_us() < until) \
		for (unsigned i = 0; i < 200000; i++) \
			__asm__ volatile(""); \
} while (0)

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
