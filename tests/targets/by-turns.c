/* by-turns N LIBRARY...: loads and unloads libraries by turns, N times, each where the one
 * before was. With PLACE=FILE each is that file then, with COPY=FILE its bytes are. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *put_at(const char *place, const char *library)
{
	if (!place)
		return library;
	unlink(place);
	return link(library, place) ? NULL : place;
}

/* A file's time of change may be as coarse as the kernel's ticks. */
static const char *copy_to(const char *copy, const char *library)
{
	int from = open(library, O_RDONLY), to = open(copy, O_WRONLY | O_CREAT, 0755);
	char bytes[4096];
	ssize_t n;

	usleep(20000);
	while ((n = read(from, bytes, sizeof bytes)) > 0)
		if (write(to, bytes, n) != n)
			return NULL;
	n = ftruncate(to, lseek(to, 0, SEEK_CUR));
	close(from);
	close(to);
	return n ? NULL : copy;
}

static const char *put(const char *library)
{
	const char *copy = getenv("COPY");

	return copy ? copy_to(copy, library) : put_at(getenv("PLACE"), library);
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]), times = 0;

	for (int i = 0; i < n; i++) {
		const char *file = put(argv[2 + i % (argc - 2)]);
		void *lib = file ? dlopen(file, RTLD_NOW) : NULL;
		int (*turn)(int) = lib ? (int (*)(int))dlsym(lib, "turn") : NULL;

		if (!turn) {
			printf("wrong: %s\n", dlerror());
			return 1;
		}
		times += turn(1) == 2 + i % (argc - 2);
		dlclose(lib);
	}
	if (times != n)
		printf("wrong: %d of %d turns\n", times, n);
	return 0;
}
