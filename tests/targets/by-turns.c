/* by-turns N LIBRARY...: loads and unloads libraries by turns, N times, each where the one
 * before was. With PLACE=FILE each is that file then. */
#include <dlfcn.h>
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

int main(int argc, char **argv)
{
	int n = atoi(argv[1]), times = 0;

	for (int i = 0; i < n; i++) {
		const char *file = put_at(getenv("PLACE"), argv[2 + i % (argc - 2)]);
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
