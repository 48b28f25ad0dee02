/*
 * swap-lib FIRST SECOND: loads one after the other, each unloaded before the next
 * comes; both have `first_one` or `other_one` alone, at one place. With -DWORK=NAME it
 * is such a library.
 */
#ifdef WORK
#include "truth.h"

BODY long WORK(long x)
{
	return x + 1;
}

long (*work)(long) = WORK;
#else
#include <dlfcn.h>
#define FUNCTIONS(X) X(main) X(first_one) X(other_one)
#include "truth.h"

QUIET static void *call(const char *path, int n)
{
	void *lib = dlopen(path, RTLD_NOW);
	long (**work)(long) = lib ? dlsym(lib, "work") : NULL;
	void *at = work ? (void *)*work : NULL;

	for (int i = 0; at && i < n; i++)
		KEEP((*work)(i));
	CHECK(at && !dlclose(lib));
	return at;
}

int main(int argc, char **argv)
{
	void *at[4];

	CALLED(main);
	for (int i = 0; argc > 2 && i < 4; i++)
		at[i] = call(argv[1 + i % 2], i % 2 ? 30 : 7);
	truth_first_one = 14;
	truth_other_one = 60;
	truth_print();
	if (argc < 3 || at[0] != at[1] || at[1] != at[2] || at[2] != at[3])
		puts("elsewhere");		/* so nothing is to be seen */
	return truth_failed;
}
#endif
